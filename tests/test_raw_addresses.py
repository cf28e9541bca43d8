"""Programs that compute byte addresses themselves, as compiled code does: what a second front end will emit."""

from __future__ import annotations

import numpy as np
import pytest

from gpukit.machine import executor
from gpukit.machine.counters import summarise
from gpukit.machine.memory import GlobalMemory
from gpukit.machine.program import (
    GENERIC,
    GLOBAL,
    LOCAL,
    LOCAL_BASE,
    SHARED,
    SHARED_BASE,
    Address,
    Alu,
    Atomic,
    Barrier,
    BasicBlock,
    Const,
    Exit,
    Launch,
    Load,
    Program,
    Register,
    Root,
    SourceLine,
    Special,
    Store,
    WarpSync,
)

I64, F32, U32 = np.dtype(np.int64), np.dtype(np.float32), np.dtype(np.uint32)


def const(value: int) -> Const:
    return Const(np.int64(value))


class Sketch:
    """A program under construction: one straight line of blocks, and the arrays it is given."""

    def __init__(self) -> None:
        self.registers: list[Register] = []
        self.blocks = [BasicBlock()]
        self.roots: list[Root] = []
        self.arrays: list[np.ndarray] = []
        self.pointers: list[int] = []

    def register(self, dtype: np.dtype = I64) -> int:
        self.registers.append(Register("", dtype))
        return len(self.registers) - 1

    def emit(self, op: object) -> None:
        self.blocks[-1].ops.append(op)  # type: ignore[arg-type]

    def end(self, make) -> None:
        self.blocks[-1].end = make(len(self.blocks))
        self.blocks.append(BasicBlock())

    def pointer(self, array: np.ndarray) -> int:
        """A register that holds the address of an array."""
        self.arrays.append(array)
        self.roots.append(Root(f"p{len(self.arrays)}", GLOBAL, array.dtype, array.itemsize, parameter=0))
        self.pointers.append(self.register())
        return self.pointers[-1]

    def offset(self, base: int | Const, index: int, size: int) -> int:
        """A register: base + index * size."""
        scaled, address = self.register(), self.register()
        self.emit(Alu(scaled, (index, const(size)), "({0} * {1})", 0))
        self.emit(Alu(address, (base, scaled), "({0} + {1})", 0))
        return address

    def thread(self) -> int:
        tid = self.register()
        self.emit(Special(tid, "tid.x", 0))
        return tid

    def run(self, threads: int, blocks: int = 1, shared: int = 0, local: int = 0):
        self.blocks[-1].end = Exit()
        lines = [SourceLine("hand.ptx", 1, "")]
        program = Program("hand", "hand.ptx", self.blocks, self.registers, lines, self.roots, shared, local)
        memory = GlobalMemory()
        allocations = [memory.allocate(array, name=f"p{i}") for i, array in enumerate(self.arrays)]
        values = {p: np.int64(a.base) for p, a in zip(self.pointers, allocations, strict=True)}
        launch = Launch(program, (blocks, 1, 1), (threads, 1, 1), values, allocations)
        done = executor.run(launch, hazards=True)
        analysis = done.compiled.analysis
        counters, _ = summarise(program, analysis.blocks, analysis.level, done.counts)
        return counters, [(h.kind, h.count) for h in done.hazards]


def test_a_vector_load_is_one_request():
    sketch = Sketch()
    x, out = np.arange(128, dtype=np.float32), np.zeros(32, np.float32)
    source, target = sketch.pointer(x), sketch.pointer(out)
    tid = sketch.thread()
    parts = tuple(sketch.register(F32) for _ in range(4))
    total = sketch.register(F32)
    sketch.emit(Load(parts, Address(sketch.offset(source, tid, 16)), GLOBAL, F32, 0))
    sketch.emit(Alu(total, parts, "({0} + {1} + {2} + {3})", 0))
    sketch.emit(Store((total,), Address(sketch.offset(target, tid, 4)), GLOBAL, F32, 0))
    counters, hazards = sketch.run(32)
    assert out.tolist() == x.reshape(32, 4).sum(1).tolist()
    assert (counters["global_load_requests"], counters["global_load_sectors"]) == (1, 16)
    assert not hazards


def test_a_vector_store_is_one_request():
    sketch = Sketch()
    out = np.zeros(64, np.int64)
    target, tid = sketch.pointer(out), sketch.thread()
    sketch.emit(Store((tid, const(7)), Address(sketch.offset(target, tid, 16)), GLOBAL, I64, 0))
    counters, hazards = sketch.run(32)
    assert out.reshape(32, 2).tolist() == [[t, 7] for t in range(32)]
    assert (counters["global_store_requests"], counters["global_store_sectors"]) == (1, 16)
    assert not hazards


def test_addresses_outside_every_allocation_are_suppressed_and_reported():
    sketch = Sketch()
    x, out = np.arange(20, dtype=np.int64), np.full(32, -1)
    source, target, tid = sketch.pointer(x), sketch.pointer(out), sketch.thread()
    value = sketch.register()
    sketch.emit(Load((value,), Address(sketch.offset(source, tid, 8)), GLOBAL, I64, 0))
    sketch.emit(Store((value,), Address(sketch.offset(target, tid, 8)), GLOBAL, I64, 0))
    _, hazards = sketch.run(32)
    assert out.tolist() == [*range(20), *[0] * 12]
    assert hazards == [("oob_global_read", 12)]


@pytest.mark.parametrize("space", [SHARED, GENERIC])
def test_shared_memory_by_address_belongs_to_the_block(space):
    sketch = Sketch()
    out = np.zeros(128, np.int64)
    target, tid = sketch.pointer(out), sketch.thread()
    block, mine, mirrored, value, where = (sketch.register() for _ in range(5))
    sketch.emit(Special(block, "ctaid.x", 0))
    sketch.emit(Alu(mine, (block, tid), "({0} * 1000 + {1})", 0))
    sketch.emit(Store((mine,), Address(sketch.offset(const(SHARED_BASE), tid, 8)), space, I64, 0))
    sketch.end(lambda target: Barrier(target, 0))
    sketch.emit(Alu(mirrored, (tid,), "(63 - {0})", 0))
    sketch.emit(Load((value,), Address(sketch.offset(const(SHARED_BASE), mirrored, 8)), space, I64, 0))
    sketch.emit(Alu(where, (block, tid), "({0} * 64 + {1})", 0))
    sketch.emit(Store((value,), Address(sketch.offset(target, where, 8)), GLOBAL, I64, 0))
    counters, hazards = sketch.run(64, blocks=2, shared=512)
    assert out.tolist() == [b * 1000 + 63 - t for b in range(2) for t in range(64)]
    # 8 bytes a lane: two half-warps, one wavefront each.
    assert (counters["shared_load_requests"], counters["shared_load_wavefronts"]) == (4, 8)
    assert not hazards


def test_local_memory_by_address_belongs_to_the_thread():
    sketch = Sketch()
    out = np.zeros(64, np.int64)
    target, tid, value = sketch.pointer(out), sketch.thread(), sketch.register()
    sketch.emit(Store((tid,), Address(const(LOCAL_BASE + 8)), LOCAL, I64, 0))
    sketch.emit(Load((value,), Address(const(LOCAL_BASE), offset=8), LOCAL, I64, 0))
    sketch.emit(Store((value,), Address(sketch.offset(target, tid, 8)), GLOBAL, I64, 0))
    _, hazards = sketch.run(64, local=16)
    assert out.tolist() == list(range(64))
    assert not hazards


def test_local_memory_that_nobody_wrote_is_found_by_address_too():
    sketch = Sketch()
    out = np.zeros(32, np.int64)
    target, tid, value = sketch.pointer(out), sketch.thread(), sketch.register()
    sketch.emit(Load((value,), Address(const(LOCAL_BASE)), LOCAL, I64, 0))
    sketch.emit(Store((value,), Address(sketch.offset(target, tid, 8)), GLOBAL, I64, 0))
    _, hazards = sketch.run(32, local=16)
    assert hazards == [("uninit_local_read", 32)]


def test_atomics_and_races_by_address():
    sketch = Sketch()
    total = np.zeros(1, np.uint32)
    target = sketch.pointer(total)
    sketch.emit(Atomic(None, "add", (Const(np.uint32(3)),), Address(target), GLOBAL, U32, 0))
    counters, hazards = sketch.run(64, blocks=3)
    assert total[0] == 3 * 64 * 3
    assert (counters["global_atomics"], counters["atomic_max_contention"]) == (6, 32)
    assert not hazards

    racing = Sketch()
    target, tid = racing.pointer(np.zeros(1, np.int64)), racing.thread()
    racing.emit(Store((tid,), Address(target), GLOBAL, I64, 0))
    _, hazards = racing.run(32)
    assert [kind for kind, _ in hazards] == ["race_global"]


def test_a_segmented_shuffle_says_which_lanes_were_in_range():
    sketch = Sketch()
    out = np.zeros(32, np.int64)
    target, tid = sketch.pointer(out), sketch.thread()
    value, inside, shown = sketch.register(), sketch.register(np.dtype(bool)), sketch.register()
    control = Const(np.int32((32 - 8) << 8 | 31))
    mask = Const(np.uint32(0xFFFFFFFF))
    sketch.end(lambda to: WarpSync("shfl_down", to, (mask, tid, Const(np.int32(1)), control), (value, inside), 0))
    sketch.emit(Alu(shown, (value, inside), "({0} * 10 + {1})", 0))
    sketch.emit(Store((shown,), Address(sketch.offset(target, tid, 8)), GLOBAL, I64, 0))
    sketch.run(32)
    assert out.tolist() == [t * 10 if t % 8 == 7 else (t + 1) * 10 + 1 for t in range(32)]
