"""Programs that compute byte addresses themselves, as compiled code does: what a second front end will emit."""

from __future__ import annotations

import time
import tracemalloc

import numpy as np
import pytest

from gpukit.errors import KernelDeadlock
from gpukit.machine import executor
from gpukit.machine.counters import summarise
from gpukit.machine.memory import GlobalMemory
from gpukit.machine.program import (
    CONSTANT,
    GENERIC,
    GLOBAL,
    GLOBAL_BASE,
    LOCAL,
    LOCAL_BASE,
    SHARED,
    SHARED_BASE,
    Address,
    Allocation,
    Alu,
    Atomic,
    Barrier,
    BasicBlock,
    Branch,
    Call,
    Const,
    Exit,
    Fence,
    Jump,
    Launch,
    Load,
    Program,
    Register,
    Return,
    Root,
    SourceLine,
    Special,
    Store,
    WarpSync,
    Whereabouts,
)

I64, F32, U32 = np.dtype(np.int64), np.dtype(np.float32), np.dtype(np.uint32)
U8, BOOL = np.dtype(np.uint8), np.dtype(bool)


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
        self.bases: list[int | None] = []  # of the arrays, where the memory is not to choose them
        self.others: list[np.ndarray] = []
        self.former: list[Whereabouts] = []

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

    def alu(self, dtype: np.dtype, code: str, *src: int | Const) -> int:
        """A register with the value of a template."""
        result = self.register(dtype)
        self.emit(Alu(result, src, code, 0))
        return result

    def alu_at(self, block: int, dtype: np.dtype, code: str, *src: int | Const) -> int:
        """As `alu`, at the end of a block written before."""
        result = self.register(dtype)
        self.blocks[block].ops.append(Alu(result, src, code, 0))
        return result

    def special(self, name: str) -> int:
        result = self.register()
        self.emit(Special(result, name, 0))
        return result

    def own(self, name: str, space: str, dtype: np.dtype, offset: int, count: int, dynamic: bool = False) -> int:
        """The number of a shared or local array; made after all pointers."""
        nbytes = 0 if dynamic else count * dtype.itemsize
        self.roots.append(Root(name, space, dtype, dtype.itemsize, offset, nbytes, dynamic))
        return len(self.roots) - 1

    def block(self) -> int:
        """A new block, to be written next."""
        self.blocks.append(BasicBlock())
        return len(self.blocks) - 1

    def when(self, condition: int, body) -> None:
        """Lanes where the condition holds do what `body` writes."""
        before = len(self.blocks) - 1
        inside = self.block()
        body()
        last = len(self.blocks) - 1
        after = self.block()
        self.blocks[before].end = Branch(condition, inside, after, 0)
        self.blocks[last].end = Jump(after)

    def barrier(self) -> None:
        self.end(lambda target: Barrier(target, 0))

    def run(
        self,
        threads: int,
        blocks: int = 1,
        shared: int = 0,
        local: int = 0,
        dynamic: int = 0,
        cooperative: bool = False,
    ):
        """(counters, (kind, count) of each hazard); the hazards themselves are in `self.hazards`."""
        self.blocks[-1].end = Exit()
        lines = [SourceLine("hand.cu", 1, "")]
        program = Program("hand", "hand.cu", self.blocks, self.registers, lines, self.roots, shared, local)
        program.cooperative = cooperative
        memory = GlobalMemory()
        bases = self.bases or [None] * len(self.arrays)
        allocations = [
            memory.allocate(array, name=f"p{i + 1}", base=base)
            for i, (array, base) in enumerate(zip(self.arrays, bases, strict=True))
        ]
        values = {p: np.int64(a.base) for p, a in zip(self.pointers, allocations, strict=True)}
        placed = [*allocations, *[None] * (len(self.roots) - len(allocations))]
        launch = Launch(program, (blocks, 1, 1), (threads, 1, 1), values, placed, dynamic)
        launch.others = [Allocation("other", GLOBAL_BASE, x.view(np.uint8), x.shape, x.dtype) for x in self.others]
        launch.former = self.former
        done = executor.run(launch, hazards=True)
        self.hazards, self.findings = done.hazards, done.findings
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


# --- limits --------------------------------------------------------------------------------------------------------


def reading(
    x: np.ndarray, step: int, dtype: np.dtype = F32, k: int = 1, root: int | None = 0, start: int = 0
) -> Sketch:
    """32 lanes, each reading k values at x + start + lane * step."""
    sketch = Sketch()
    source = sketch.pointer(x)
    where = sketch.offset(source, sketch.thread(), step)
    sketch.emit(
        Load(tuple(sketch.register(dtype) for _ in range(k)), Address(where, offset=start), GLOBAL, dtype, 0, root)
    )
    return sketch


def test_an_index_past_the_end_is_named_with_the_length_of_the_array():
    sketch = reading(np.zeros(20, np.float32), 4)
    assert sketch.run(32)[1] == [("oob_global_read", 12)]
    (hazard,) = sketch.hazards
    assert "reads element 20 of p1, which has 20: the access ends 4 bytes past its end" in hazard.message
    assert (hazard.array, hazard.index, hazard.details["shape"]) == ("p1", (20,), [20])


def test_an_index_before_the_start():
    sketch = reading(np.zeros(64, np.float32), 4, start=-8)
    assert sketch.run(32)[1] == [("oob_global_read", 2)]
    assert (
        "reads element -2 of p1, which has 64: the access begins 8 bytes before its start" in sketch.hazards[0].message
    )


@pytest.mark.parametrize("root", [0, None])
def test_an_access_that_straddles_the_end_is_out_of_bounds(root):
    sketch = reading(np.zeros(127, np.float32), 16, k=4, root=root)
    assert sketch.run(32)[1] == [("oob_global_read", 1)]
    text = "reads elements 124 to 127 of p1, which has 127: the access ends 4 bytes past its end"
    assert text in sketch.hazards[0].message


@pytest.mark.parametrize("root", [0, None])
def test_an_access_that_lands_in_a_neighbouring_array_is_out_of_bounds_where_the_root_is_known(root):
    sketch = Sketch()
    x, y = np.zeros(64, np.float32), np.arange(64, dtype=np.float32)
    source, other, tid = sketch.pointer(x), sketch.pointer(y), sketch.thread()
    value = sketch.register(F32)
    # p2 begins 512 bytes behind p1: 256 of its own and as many of a gap that belongs to nobody.
    sketch.emit(Load((value,), Address(sketch.offset(source, tid, 4), offset=512), GLOBAL, F32, 0, root))
    sketch.emit(Store((value,), Address(sketch.offset(other, tid, 4), offset=128), GLOBAL, F32, 0, 1))
    _, hazards = sketch.run(32)
    assert hazards == ([("oob_global_read", 32)] if root == 0 else [])
    assert y[32:].tolist() == ([0] * 32 if root == 0 else list(range(32)))


def test_a_null_pointer_and_a_wild_one():
    for address, text in ((0, "through a null pointer (address 0x0)"), (1 << 50, "outside every array (address 0x4")):
        sketch = Sketch()
        sketch.pointer(np.zeros(4, np.float32))
        sketch.emit(Load((sketch.register(F32),), Address(const(address)), GLOBAL, F32, 0))
        assert sketch.run(32)[1] == [("oob_global_read", 32)]
        assert text in sketch.hazards[0].message


def test_an_empty_array():
    sketch = reading(np.zeros(0, np.float32), 4)
    assert sketch.run(32)[1] == [("oob_global_read", 32)]
    assert "p1 is empty" in sketch.hazards[0].message


def shared_pair(offset: int, root: bool) -> Sketch:
    """16 floats of `a`, then 16 of `b`, all written; lanes 0 to 15 then read a[lane] `offset` bytes on."""
    sketch = Sketch()
    a = sketch.own("a", SHARED, F32, 0, 16)
    sketch.own("b", SHARED, F32, 64, 16)
    tid = sketch.thread()
    where = sketch.offset(const(SHARED_BASE), tid, 4)
    sketch.emit(Store((Const(np.float32(1)),), Address(where), SHARED, F32, 0))
    sketch.barrier()
    inside = sketch.alu(BOOL, "({0} < 16)", tid)

    def body():
        place = Address(where, offset=offset)
        sketch.emit(Load((sketch.register(F32),), place, SHARED, F32, 0, a if root else None))

    sketch.when(inside, body)
    return sketch


def test_an_access_that_runs_over_into_the_next_shared_array():
    sketch = shared_pair(8, root=True)
    assert sketch.run(32, shared=128)[1] == [("oob_shared", 2)]
    assert "reads element 16 of a, which has 16: the access ends 4 bytes past its end" in sketch.hazards[0].message
    assert shared_pair(8, root=False).run(32, shared=128)[1] == []


def test_behind_all_shared_memory():
    sketch = shared_pair(68, root=False)
    assert sketch.run(32, shared=128)[1] == [("oob_shared", 1)]


@pytest.mark.parametrize("space", [LOCAL, SHARED])
def test_an_access_of_another_space_is_out_of_bounds(space):
    base = LOCAL_BASE if space == SHARED else SHARED_BASE
    sketch = Sketch()
    sketch.emit(Load((sketch.register(),), Address(const(base)), space, I64, 0))
    assert sketch.run(32, shared=64, local=64)[1] == [(f"oob_{space}", 32)]


# --- alignment -----------------------------------------------------------------------------------------------------


def test_a_vector_load_from_an_odd_element_is_misaligned():
    x = np.arange(160, dtype=np.float32)
    sketch = reading(x, 16, k=4, start=4)
    assert sketch.run(32)[1] == [("misaligned_access", 32)]
    (hazard,) = sketch.hazards
    assert "reads 16 bytes of p1 at byte 4 (element 1), which is no multiple of 16" in hazard.message
    assert (hazard.severity, hazard.array, hazard.index) == ("error", "p1", (1,))


def test_only_the_lanes_that_are_misaligned_are_suppressed():
    sketch = Sketch()
    x, out = np.arange(64, dtype=np.float32), np.full(32, -1, np.float32)
    source, target, tid = sketch.pointer(x), sketch.pointer(out), sketch.thread()
    parts = (sketch.register(F32), sketch.register(F32))
    sketch.emit(Load(parts, Address(sketch.offset(source, tid, 4)), GLOBAL, F32, 0, 0))
    sketch.emit(Store((parts[1],), Address(sketch.offset(target, tid, 4)), GLOBAL, F32, 0, 1))
    assert sketch.run(32)[1] == [("misaligned_access", 16)]
    assert out.tolist() == [t + 1 if t % 2 == 0 else 0 for t in range(32)]


def test_a_distance_may_make_up_for_a_base_that_is_not_aligned():
    sketch = Sketch()
    x, out = np.arange(160, dtype=np.float32), np.zeros(32, np.float32)
    source, target, tid = sketch.pointer(x), sketch.pointer(out), sketch.thread()
    base = sketch.alu(I64, "({0} - np.int64(8))", sketch.offset(source, tid, 16))
    for distance in (8, 24):
        parts = tuple(sketch.register(F32) for _ in range(4))
        sketch.emit(Load(parts, Address(base, offset=distance), GLOBAL, F32, 0, 0))
    sketch.emit(Store((parts[0],), Address(sketch.offset(target, tid, 4)), GLOBAL, F32, 0, 1))
    counters, hazards = sketch.run(32)
    assert not hazards
    assert out.tolist() == [4 * t + 4 for t in range(32)]
    assert counters["global_load_sectors"] == 16 + 17  # the second reads 16 bytes on, in the middle of a sector


def test_atomics_and_shared_memory_want_alignment_too():
    sketch = Sketch()
    target = sketch.pointer(np.zeros(8, np.uint32))
    sketch.emit(Atomic(None, "add", (Const(np.uint32(1)),), Address(target, offset=2), GLOBAL, U32, 0, 0))
    sketch.emit(Store((Const(np.uint32(1)),), Address(const(SHARED_BASE + 1)), SHARED, U32, 0))
    _, hazards = sketch.run(32, shared=16)
    assert sorted(hazards) == [("misaligned_access", 32), ("misaligned_access", 32)]
    assert {h.array for h in sketch.hazards} == {"p1", "shared memory"}


# --- accesses of several widths ------------------------------------------------------------------------------------


def test_bytes_of_words_and_words_of_vectors():
    sketch = Sketch()
    out = np.zeros(32, np.uint32)
    target, tid = sketch.pointer(out), sketch.thread()
    word = sketch.alu(U32, "({0} * 0x01020304).astype(np.uint32)", sketch.alu(I64, "({0} % 16)", tid))
    sketch.emit(Store((word,), Address(sketch.offset(const(SHARED_BASE), tid, 4)), SHARED, U32, 0))
    sketch.barrier()
    byte = sketch.register(U8)
    sketch.emit(Load((byte,), Address(sketch.offset(const(SHARED_BASE), tid, 4), offset=1), SHARED, U8, 0))
    four = tuple(sketch.register(U32) for _ in range(4))
    group = sketch.alu(I64, f"({{0}} // 4 * 16 + np.int64({SHARED_BASE}))", tid)
    sketch.emit(Load(four, Address(group), SHARED, U32, 0))
    total = sketch.alu(U32, "({0}.astype(np.uint32) + {1})", byte, four[3])
    sketch.emit(Store((total,), Address(sketch.offset(target, tid, 4)), GLOBAL, U32, 0, 0))
    assert sketch.run(32, shared=128)[1] == []
    want = [(3 * (t % 16) & 255) + 0x01020304 * ((t // 4 * 4 + 3) % 16) for t in range(32)]
    assert out.tolist() == want


def test_a_race_on_one_byte_of_a_vector_is_seen_and_its_neighbours_are_not_blamed():
    def racing(byte: int) -> list:
        sketch = Sketch()
        sketch.own("s", SHARED, U8, 0, 64)
        tid = sketch.thread()
        first, second = sketch.alu(BOOL, "({0} == 0)", tid), sketch.alu(BOOL, "({0} == 40)", tid)
        zero = Const(np.uint32(0))
        sketch.when(first, lambda: sketch.emit(Store((zero,) * 4, Address(const(SHARED_BASE)), SHARED, U32, 0, 0)))
        place = Address(const(SHARED_BASE + byte))
        sketch.when(second, lambda: sketch.emit(Store((Const(np.uint8(1)),), place, SHARED, U8, 0, 0)))
        return sketch.run(64, shared=64)[1]

    assert racing(15) == [("race_shared", 1)]
    assert racing(16) == []


def test_memory_of_which_only_a_part_was_written():
    sketch = Sketch()
    s = sketch.own("s", SHARED, F32, 16, 32)
    tid = sketch.thread()
    where = sketch.offset(const(SHARED_BASE + 16), tid, 4)
    sketch.when(
        sketch.alu(BOOL, "({0} != 5)", tid),
        lambda: sketch.emit(Store((Const(np.float32(0)),), Address(where), SHARED, F32, 0)),
    )
    sketch.barrier()
    parts = tuple(sketch.register(F32) for _ in range(2))
    pairs = sketch.alu(I64, f"({{0}} % 16 * 8 + np.int64({SHARED_BASE + 16}))", tid)
    sketch.emit(Load(parts, Address(pairs), SHARED, F32, 0, s))
    assert sketch.run(32, shared=144)[1] == [("uninit_shared_read", 2)]
    assert "s[5]" in sketch.hazards[0].message  # by the array's own type, though pairs were read


def test_an_output_with_elements_that_nobody_wrote():
    sketch = Sketch()
    out = np.zeros((4, 10), np.float32)
    target, tid = sketch.pointer(out), sketch.thread()
    sketch.emit(Store((Const(np.float32(1)),), Address(sketch.offset(target, tid, 4)), GLOBAL, F32, 0, 0))
    assert sketch.run(32)[1] == []
    (finding,) = sketch.findings
    assert (finding.kind, finding.count, finding.index) == ("unwritten_output", 8, (3, 2))


def test_an_output_written_where_the_data_says_is_left_alone():
    sketch = Sketch()
    source, target = sketch.pointer(np.arange(32)[::-1].copy()), sketch.pointer(np.zeros(40, np.int64))
    tid, chosen = sketch.thread(), sketch.register()
    sketch.emit(Load((chosen,), Address(sketch.offset(source, tid, 8)), GLOBAL, I64, 0, 0))
    sketch.emit(Store((tid,), Address(sketch.offset(target, chosen, 8)), GLOBAL, I64, 0, 1))
    sketch.run(32)
    assert not sketch.findings


# --- constant memory -----------------------------------------------------------------------------------------------


def test_constant_loads_are_counted_apart():
    sketch = Sketch()
    table, out = np.arange(4, dtype=np.float32), np.zeros(64, np.float32)
    source, target, tid = sketch.pointer(table), sketch.pointer(out), sketch.thread()
    one, mine = sketch.register(F32), sketch.register(F32)
    sketch.emit(Load((one,), Address(source, offset=4), CONSTANT, F32, 0, 0))
    quarter = sketch.alu(I64, "({0} // 16)", tid)
    sketch.emit(Load((mine,), Address(sketch.offset(source, quarter, 4)), CONSTANT, F32, 0))
    total = sketch.alu(F32, "({0} + {1})", one, mine)
    sketch.emit(Store((total,), Address(sketch.offset(target, tid, 4)), GLOBAL, F32, 0, 1))
    counters, hazards = sketch.run(64)
    assert out.tolist() == [1 + t // 16 for t in range(64)]
    assert (counters["constant_loads"], counters["global_load_requests"], counters["global_load_sectors"]) == (4, 0, 0)
    assert not hazards


# --- what the assembler makes of accesses ----------------------------------------------------------------------------


def test_counts_follow_the_requests_of_the_hardware_and_values_do_not():
    sketch = Sketch()
    x, out = np.arange(160, dtype=np.float32), np.zeros(32, np.float32)
    source, target, tid = sketch.pointer(x), sketch.pointer(out), sketch.thread()
    where = sketch.offset(source, tid, 16)
    parts = tuple(sketch.register(F32) for _ in range(4))
    # Of a vector only elements 1 and 2 are used; and two neighbours are fetched at once.
    sketch.emit(Load(parts, Address(where), GLOBAL, F32, 0, 0, requests=((4, 4), (8, 4))))
    one, two = sketch.register(F32), sketch.register(F32)
    sketch.emit(Load((one,), Address(where), GLOBAL, F32, 0, 0, requests=((0, 8),)))
    sketch.emit(Load((two,), Address(where, offset=4), GLOBAL, F32, 0, 0, requests=()))
    total = sketch.alu(F32, "({0} + {1} + {2} + {3})", parts[1], parts[2], one, two)
    sketch.emit(Store((total,), Address(sketch.offset(target, tid, 4)), GLOBAL, F32, 0, 1))
    near = sketch.offset(const(SHARED_BASE), tid, 16)
    for value, offset, requests in ((one, 0, ((0, 16),)), (two, 4, ()), (total, 8, ())):
        sketch.emit(Store((value,), Address(near, offset=offset), SHARED, F32, 0, None, requests=requests))
    counters, _ = sketch.run(32, shared=512)
    assert out.tolist() == [4 * 4 * t + 1 + 2 + 0 + 1 for t in range(32)]
    assert (counters["global_load_requests"], counters["global_load_sectors"]) == (3, 3 * 16)
    assert counters["global_load_bytes"] == 32 * (4 + 4 + 8)
    assert (counters["shared_store_requests"], counters["shared_store_wavefronts"]) == (1, 4)


# --- atomics -------------------------------------------------------------------------------------------------------


def test_an_atomic_may_be_a_function():
    sketch = Sketch()
    bits = np.zeros(2, np.uint32)
    target, tid = sketch.pointer(bits), sketch.thread()

    def add_halves(old: np.ndarray, value: np.ndarray) -> np.ndarray:
        return (old.view(np.float16) + value.view(np.float16)).view(np.uint32)

    pair = int(np.array([1, 0.5], np.float16).view(np.uint32)[0])
    where = sketch.offset(target, sketch.alu(I64, "({0} % 2)", tid), 4)
    value = Const(np.uint32(pair))
    sketch.emit(Atomic(None, add_halves, (value,), Address(where), GLOBAL, U32, 0, 0, float_action=True))
    counters, hazards = sketch.run(64)
    assert bits.view(np.float16).tolist() == [32, 16, 32, 16]
    assert (counters["global_atomics"], counters["atomic_max_contention"]) == (2, 16)
    assert hazards == [("nonassociative_atomics", 64)]


@pytest.mark.parametrize(("kind", "found"), [(np.int32, []), (np.uint32, ["int_overflow"])])
def test_whether_a_sum_overflows_is_for_the_array_to_say(kind, found):
    sketch = Sketch()
    target = sketch.pointer(np.full(1, -1, np.int32).view(kind))
    sketch.emit(Atomic(None, "add", (Const(np.uint32(1)),), Address(target), GLOBAL, U32, 0, 0, wraps=True))
    assert [kind for kind, _ in sketch.run(32)[1]] == found


# --- strong accesses and what they order ---------------------------------------------------------------------------


def leader(sketch: Sketch, tid: int, body) -> None:
    """Thread 0 of each block does what `body` writes."""
    sketch.when(sketch.alu(BOOL, "({0} == 0)", tid), body)


def spin(sketch: Sketch, place: Address, until: str, *, acquire: bool = True, **how) -> None:
    """Load until the value satisfies a template."""
    before = len(sketch.blocks) - 1
    loop = sketch.block()
    sketch.blocks[before].end = Jump(loop)
    value = sketch.register(U32)
    sketch.emit(Load((value,), place, GLOBAL, U32, 0, **how))
    if acquire:
        sketch.emit(Fence("device", 0))
    ready = sketch.alu(BOOL, until, value)
    after = sketch.block()
    sketch.blocks[loop].end = Branch(ready, after, loop, 0)


def grid_barrier(release: bool = True, acquire: bool = True, strong: bool = True) -> Sketch:
    """Every block writes its element; all blocks meet at a barrier made of an atomic counter and a polling loop, as
    cooperative_groups' is; every block then reads its neighbour's element."""
    sketch = Sketch()
    data, count, out = np.zeros(8, np.uint32), np.zeros(1, np.uint32), np.zeros(8, np.uint32)
    x, counter, target = sketch.pointer(data), sketch.pointer(count), sketch.pointer(out)
    sketch.out = out
    tid, block = sketch.thread(), sketch.special("ctaid.x")
    last = sketch.alu(BOOL, "({0} == 63)", tid)
    mine = sketch.alu(U32, "({0} * 10).astype(np.uint32)", block)
    at_mine = sketch.offset(x, block, 4)
    sketch.when(last, lambda: sketch.emit(Store((mine,), Address(at_mine), GLOBAL, U32, 0, 0)))
    sketch.barrier()

    def meet():
        if release:
            sketch.emit(Fence("device", 0))
        sketch.emit(Atomic(None, "add", (Const(np.uint32(1)),), Address(counter), GLOBAL, U32, 0, 1))
        spin(sketch, Address(counter), "({0} == 8)", acquire=acquire, root=1, strong=strong)

    leader(sketch, tid, meet)
    sketch.barrier()
    value = sketch.register(U32)
    beside = sketch.alu(I64, "(({0} + 1) % 8)", block)
    at_beside, at_out = sketch.offset(x, beside, 4), sketch.offset(target, block, 4)

    def read():
        sketch.emit(Load((value,), Address(at_beside), GLOBAL, U32, 0, 0))
        sketch.emit(Store((value,), Address(at_out), GLOBAL, U32, 0, 2))

    sketch.when(sketch.alu(BOOL, "({0} == 31)", tid), read)
    return sketch


def test_a_barrier_of_all_blocks_made_of_an_atomic_and_a_polling_loop():
    sketch = grid_barrier()
    assert sketch.run(64, blocks=8, cooperative=True)[1] == []
    assert sketch.out.tolist() == [(b + 1) % 8 * 10 for b in range(8)]


def test_without_a_release_the_barrier_orders_nothing():
    sketch = grid_barrier(release=False, acquire=False)
    assert sketch.run(64, blocks=8, cooperative=True)[1] == [("race_global_interblock", 8)]
    assert sketch.hazards[0].array == "p1"


def test_polling_with_a_plain_load_races_with_the_atomics():
    sketch = grid_barrier(strong=False)
    assert "race_global_interblock" in [kind for kind, _ in sketch.run(64, blocks=8, cooperative=True)[1]]


@pytest.mark.parametrize(("blocks", "cooperative"), [(100, False), (300, True)])
def test_blocks_that_wait_for_each_other_are_all_there_at_once(blocks, cooperative):
    # More than one wave holds. Without a cooperative launch, as many as a large GPU holds.
    assert meeting(blocks, cooperative) == []


def test_blocks_that_a_gpu_cannot_hold_at_once_wait_for_ever():
    with pytest.raises(KernelDeadlock):
        meeting(300, False)


def meeting(blocks: int, cooperative: bool) -> list:
    """Hazards of blocks of 1,024 threads that count themselves and wait for all."""
    sketch = Sketch()
    counter = sketch.pointer(np.zeros(1, np.uint32))
    tid = sketch.thread()

    def meet():
        sketch.emit(Atomic(None, "add", (Const(np.uint32(1)),), Address(counter), GLOBAL, U32, 0, 0))
        spin(sketch, Address(counter), f"({{0}} == {blocks})", root=0, strong=True)

    leader(sketch, tid, meet)
    return sketch.run(1024, blocks=blocks, cooperative=cooperative)[1]


def hand_over(fence: bool = True, **how) -> Sketch:
    """Block 0 writes data, then a flag; block 1 waits for the flag and reads the data."""
    sketch = Sketch()
    x, flag = sketch.pointer(np.zeros(1, np.uint32)), sketch.pointer(np.zeros(1, np.uint32))
    block = sketch.special("ctaid.x")
    one = Const(np.uint32(1))

    def write():
        sketch.emit(Store((one,), Address(x), GLOBAL, U32, 0, 0))
        if fence:
            sketch.emit(Fence("device", 0))
        sketch.emit(Store((one,), Address(flag), GLOBAL, U32, 0, 1, **how))

    def read():
        spin(sketch, Address(flag), "({0} == 1)", root=1, **how)
        sketch.emit(Load((sketch.register(U32),), Address(x), GLOBAL, U32, 0, 0))

    sketch.when(sketch.alu(BOOL, "({0} == 0)", block), write)
    sketch.when(sketch.alu(BOOL, "({0} == 1)", block), read)
    return sketch


@pytest.mark.parametrize("how", [{"strong": True}, {"volatile": True}], ids=["strong", "volatile"])
def test_a_flag_hands_data_over(how):
    assert (
        hand_over(**how).run(1, blocks=2, cooperative=True)[1][:-1] == []
    )  # the last is the note about the block size
    sketch = hand_over(fence=False, **how)
    kinds = sketch.run(1, blocks=2, cooperative=True)[1]
    assert [kind for kind, _ in kinds if kind != "launch_config"] == ["race_global_interblock"]
    assert sketch.hazards[0].array == "p1"


def test_a_plain_flag_races():
    sketch = hand_over()
    kinds = [kind for kind, _ in sketch.run(1, blocks=2, cooperative=True)[1]]
    assert "race_global_interblock" in kinds
    assert "p2" in {h.array for h in sketch.hazards}


@pytest.mark.parametrize(("strong", "races"), [(True, 0), (False, 1)])
def test_strong_stores_of_many_threads_do_not_race(strong, races):
    sketch = Sketch()
    target, tid = sketch.pointer(np.zeros(1, np.int64)), sketch.thread()
    sketch.emit(Store((tid,), Address(target), GLOBAL, I64, 0, 0, strong=strong))
    sketch.emit(Load((sketch.register(),), Address(target), GLOBAL, I64, 0, 0, strong=strong))
    assert bool(sketch.run(64)[1]) == bool(races)


@pytest.mark.parametrize("strong_first", [True, False])
def test_a_strong_load_races_with_a_plain_store_in_either_order(strong_first):
    sketch = Sketch()
    target, tid = sketch.pointer(np.zeros(1, np.int64)), sketch.thread()
    load = Load((sketch.register(),), Address(target), GLOBAL, I64, 0, 0, strong=True)
    store = Store((const(1),), Address(target), GLOBAL, I64, 0, 0)
    one, two = sketch.alu(BOOL, "({0} == 3)", tid), sketch.alu(BOOL, "({0} == 40)", tid)
    first, second = (load, store) if strong_first else (store, load)
    sketch.when(one, lambda: sketch.emit(first))
    sketch.when(two, lambda: sketch.emit(second))
    assert sketch.run(64)[1] == [("race_global", 1)]


def test_a_strong_load_beside_a_plain_load_is_no_race():
    sketch = Sketch()
    x, y = sketch.pointer(np.zeros(1, np.int64)), sketch.pointer(np.zeros(1, np.int64))
    for strong in (True, False, True):
        sketch.emit(Load((sketch.register(),), Address(x), GLOBAL, I64, 0, 0, strong=strong))
    sketch.when(sketch.alu(BOOL, "({0} > 99)", sketch.thread()), lambda: sketch.emit(
        Store((const(1),), Address(x), GLOBAL, I64, 0, 0)
    ))  # fmt: skip
    sketch.emit(Store((const(1),), Address(y), GLOBAL, I64, 0, 1, strong=True))
    assert sketch.run(64)[1] == []


def test_the_volatile_tail_of_a_reduction_is_a_race_in_shared_memory():
    sketch = Sketch()
    sketch.own("s", SHARED, U32, 0, 64)
    tid, a, b = sketch.thread(), sketch.register(U32), sketch.register(U32)
    where = sketch.offset(const(SHARED_BASE), tid, 4)
    one = Const(np.uint32(1))
    for offset in (0, 128):
        sketch.emit(Store((one,), Address(where, offset=offset), SHARED, U32, 0, 0))
    for distance in (128, 64):
        sketch.emit(Load((a,), Address(where), SHARED, U32, 0, 0, volatile=True))
        sketch.emit(Load((b,), Address(where, offset=distance), SHARED, U32, 0, 0, volatile=True))
        sketch.emit(Store((sketch.alu(U32, "({0} + {1})", a, b),), Address(where), SHARED, U32, 0, 0, volatile=True))
    kinds = {kind for kind, _ in sketch.run(32, shared=256)[1]}
    assert kinds == {"race_shared"}


def test_stores_to_one_place_are_watched_for_what_the_last_lane_leaves_there():
    sketch = Sketch()
    target, tid, turn = sketch.pointer(np.zeros(1, np.int64)), sketch.thread(), sketch.register()
    sketch.emit(Alu(turn, (const(0),), "{0}", 0))
    before = len(sketch.blocks) - 1
    loop = sketch.block()
    sketch.blocks[before].end = Jump(loop)
    sketch.emit(Store((tid,), Address(target), GLOBAL, I64, 0, 0, strong=True))
    sketch.emit(Alu(turn, (turn,), "({0} + np.int64(1))", 0))
    more = sketch.alu(BOOL, "({0} < 200)", turn)
    after = sketch.block()
    sketch.blocks[loop].end = Branch(more, loop, after, 0)
    assert sketch.run(64)[1] == []
    assert sketch.arrays[0].tolist() == [63]


# --- named barriers ------------------------------------------------------------------------------------------------


def bar(sketch: Sketch, number: int | Const, threads: int | None = None, **more) -> None:
    """bar.sync number{, threads}, or bar.arrive."""
    opens = None if threads is None else Const(np.int32(threads))
    sketch.end(lambda target: Barrier(target, 0, number=number, threads=opens, **more))


def named(number: int) -> Const:
    return Const(np.int32(number))


def exchange(number, threads: int | None, distance: int) -> Sketch:
    """128 threads write s[t], meet at a named barrier, and read s[t ^ distance]."""
    sketch = Sketch()
    out = np.zeros(128, np.int64)
    target, tid = sketch.pointer(out), sketch.thread()
    s = sketch.own("s", SHARED, I64, 0, 128)
    sketch.out = out
    sketch.emit(Store((tid,), Address(sketch.offset(const(SHARED_BASE), tid, 8)), SHARED, I64, 0, s))
    bar(sketch, number(sketch, tid), threads)
    other, value = sketch.alu(I64, f"({{0}} ^ np.int64({distance}))", tid), sketch.register()
    sketch.emit(Load((value,), Address(sketch.offset(const(SHARED_BASE), other, 8)), SHARED, I64, 0, s))
    sketch.emit(Store((value,), Address(sketch.offset(target, tid, 8)), GLOBAL, I64, 0, 0))
    return sketch


def test_a_named_barrier_of_the_whole_block_is_a_barrier():
    sketch = exchange(lambda s, t: named(3), None, 127)
    counters, hazards = sketch.run(128, shared=1024)
    assert (hazards, counters["barriers"]) == ([], 1)
    assert sketch.out.tolist() == [t ^ 127 for t in range(128)]


def test_a_number_that_is_computed_may_be_that_of_the_plain_barrier():
    sketch = exchange(lambda s, t: s.alu(np.dtype(np.int32), "({0} * 0).astype(np.int32)", t), None, 127)
    counters, hazards = sketch.run(128, shared=1024)
    assert (hazards, counters["barriers"]) == ([], 1)


def by_half(sketch: Sketch, tid: int) -> int:
    return sketch.alu(np.dtype(np.int32), "({0} // 64 + 1).astype(np.int32)", tid)


def test_two_halves_of_a_block_meet_at_barriers_of_their_own():
    sketch = exchange(by_half, 64, 63)
    counters, hazards = sketch.run(128, shared=1024)
    assert (hazards, counters["barriers"]) == ([], 2)
    assert sketch.out.tolist() == [t ^ 63 for t in range(128)]


def test_a_barrier_of_half_a_block_does_not_order_the_halves():
    assert exchange(by_half, 64, 64).run(128, shared=1024)[1] == [("race_shared", 128)]


def test_one_barrier_number_may_open_twice_for_threads_that_come_together():
    counters, hazards = exchange(lambda s, t: named(1), 64, 31).run(128, shared=1024)
    assert (hazards, counters["barriers"]) == ([], 1)


def producer_and_consumer(too_early: bool = False) -> Sketch:
    """Warp 0 fills a buffer three times, warp 1 reads it each time: bar.arrive by who goes on, bar.sync by who waits.
    The buffer is full at barrier 1 and empty at barrier 2. `too_early`: it is called empty before it is read."""
    sketch = Sketch()
    out = np.zeros(96, np.int64)
    target = sketch.pointer(out)
    sketch.out = out
    tid = sketch.thread()
    s = sketch.own("s", SHARED, I64, 0, 32)
    lane = sketch.alu(I64, "({0} % 32)", tid)
    mine, value = sketch.offset(const(SHARED_BASE), lane, 8), sketch.register()
    mirrored = sketch.offset(const(SHARED_BASE), sketch.alu(I64, "(31 - {0})", lane), 8)
    places = [sketch.offset(target, lane, 8) for _ in range(3)]
    before = len(sketch.blocks) - 1
    producer = sketch.block()
    for turn in range(3):
        bar(sketch, named(2), 64)
        data = sketch.alu(I64, f"({{0}} + {100 * turn})", lane)
        sketch.emit(Store((data,), Address(mine), SHARED, I64, 0, s))
        bar(sketch, named(1), 64, arrive=True)
    last = len(sketch.blocks) - 1
    consumer = sketch.block()
    bar(sketch, named(2), 64, arrive=True)
    for turn in range(3):
        bar(sketch, named(1), 64)
        if too_early and turn < 2:
            bar(sketch, named(2), 64, arrive=True)
        sketch.emit(Load((value,), Address(mirrored), SHARED, I64, 0, s))
        sketch.emit(Store((value,), Address(places[turn], offset=256 * turn), GLOBAL, I64, 0, 0))
        if not too_early and turn < 2:
            bar(sketch, named(2), 64, arrive=True)
    end = sketch.block()
    sketch.blocks[before].end = Branch(sketch.alu_at(before, BOOL, "({0} < 32)", tid), producer, consumer, 0)
    sketch.blocks[last].end = Jump(end)
    sketch.blocks[end - 1].end = Jump(end)
    return sketch


def test_a_producer_and_a_consumer():
    sketch = producer_and_consumer()
    counters, hazards = sketch.run(64, shared=256)
    assert (hazards, counters["barriers"]) == ([], 6)
    assert sketch.out.tolist() == [100 * turn + 31 - t for turn in range(3) for t in range(32)]


def test_a_consumer_that_calls_the_buffer_empty_too_early():
    _, hazards = producer_and_consumer(too_early=True).run(64, shared=256)
    assert hazards == [("race_shared", 64)]


def test_a_named_barrier_that_too_few_threads_reach():
    sketch = Sketch()
    tid = sketch.thread()
    sketch.when(sketch.alu(BOOL, "({0} < 32)", tid), lambda: bar(sketch, named(1), 64))
    assert sketch.run(64)[1] == [("barrier_divergence", 1)]


def test_threads_at_barriers_of_different_numbers_wait_for_ever():
    sketch = Sketch()
    bar(sketch, by_half(sketch, sketch.thread()))
    assert sketch.run(128)[1] == [("barrier_divergence", 1)]


def test_a_named_barrier_counts_the_threads_that_say_yes():
    sketch = Sketch()
    out = np.zeros(128, np.int32)
    target, tid = sketch.pointer(out), sketch.thread()
    count, odd = sketch.register(np.dtype(np.int32)), sketch.alu(BOOL, "({0} % 4 == 1)", tid)
    bar(sketch, by_half(sketch, tid), 64, reduce="count", src=odd, dst=count)
    sketch.emit(Store((count,), Address(sketch.offset(target, tid, 4)), GLOBAL, np.dtype(np.int32), 0, 0))
    assert sketch.run(128)[1] == []
    assert out.tolist() == [16] * 128


def test_a_warp_that_is_not_full_counts_as_a_whole_one():
    sketch = Sketch()
    bar(sketch, named(1), 64)
    assert [kind for kind, _ in sketch.run(48)[1]] == ["launch_config"]


# --- recursion -----------------------------------------------------------------------------------------------------


def sum_by_recursion(depths: np.ndarray, n_saved: int) -> tuple[Sketch, np.ndarray]:
    """f(n) = n + f(n - 1), with `n_saved` registers that must survive the call."""
    sketch = Sketch()
    out = np.zeros(depths.size, np.int64)
    source, target = sketch.pointer(depths), sketch.pointer(out)
    where = sketch.alu(I64, "({0} + {1} * np.int64(64))", sketch.thread(), sketch.special("ctaid.x"))
    argument, result = sketch.register(), sketch.register()
    sketch.emit(Load((argument,), Address(sketch.offset(source, where, 8)), GLOBAL, I64, 0, 0))
    at_out = sketch.offset(target, where, 8)
    base, recurse, after, finish = 2, 3, 4, 5
    sketch.blocks[0].end = Call(1, finish, (), 0)
    sketch.block()  # 1: the function
    nothing = sketch.alu(BOOL, "({0} == 0)", argument)
    sketch.blocks[1].end = Branch(nothing, base, recurse, 0)
    sketch.block()
    sketch.emit(Alu(result, (const(0),), "{0}", 0))
    sketch.blocks[base].end = Return()
    sketch.block()
    saved = [sketch.alu(I64, f"({{0}} + np.int64({i}))", argument) for i in range(n_saved)]
    sketch.emit(Alu(argument, (argument,), "({0} - np.int64(1))", 0))
    sketch.blocks[recurse].end = Call(1, after, tuple(saved), 0)
    sketch.block()
    for i, register in enumerate(saved):
        sketch.emit(Alu(result, (result, register), f"({{0}} + {{1}} - np.int64({i}))", 0))
    sketch.blocks[after].end = Return()
    sketch.block()
    sketch.emit(Store((result,), Address(at_out), GLOBAL, I64, 0, 1))
    return sketch, out


def test_a_deep_recursion_with_hundreds_of_registers():
    depths = np.array([500 - 3 * (t % 4) for t in range(64)])
    sketch, out = sum_by_recursion(depths, 200)
    start = time.process_time()
    sketch.run(64)
    assert time.process_time() - start < 20  # 3 s on a quiet computer
    assert out.tolist() == [200 * n * (n + 1) // 2 for n in depths.tolist()]


def test_recursion_of_many_threads_stays_within_bounds():
    depths = np.full(64 * 120, 20)
    sketch, out = sum_by_recursion(depths, 60)
    tracemalloc.start()
    sketch.run(64, blocks=120)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert out.tolist() == [60 * 210] * depths.size
    assert most < 40 << 20  # 75 MB if all lanes ran in one wave


# --- memory that no argument names -----------------------------------------------------------------------------------


def test_a_pointer_in_memory_may_lead_to_an_array_that_is_no_argument():
    sketch = Sketch()
    whole, table = np.arange(64), np.zeros(1, np.int64)
    sketch.pointer(whole[:8])  # a view at the same address, and shorter
    where = sketch.pointer(table)
    tid, base = sketch.thread(), sketch.register()
    sketch.emit(Load((base,), Address(where), GLOBAL, I64, 0, 1))
    there = sketch.offset(base, tid, 8)
    value = sketch.register()
    sketch.emit(Load((value,), Address(there, offset=256), GLOBAL, I64, 0))
    sketch.emit(Store((value,), Address(there), GLOBAL, I64, 0))
    sketch.barrier()
    sketch.emit(Store((value,), Address(there, offset=512 - 8), GLOBAL, I64, 0))
    sketch.others = [whole]
    sketch.bases = [GLOBAL_BASE, GLOBAL_BASE + (1 << 20)]
    table[0] = GLOBAL_BASE
    assert sketch.run(32)[1] == [("oob_global_write", 31)]
    assert "element 64 of other, which has 64" in sketch.hazards[0].message
    assert whole[:32].tolist() == list(range(32, 64))


def test_a_pointer_to_an_array_that_is_gone():
    sketch = Sketch()
    sketch.pointer(np.zeros(4))
    gone = 2 * GLOBAL_BASE
    sketch.former = [Whereabouts(gone, 64, "data")]
    sketch.emit(Load((sketch.register(),), Address(const(gone + 8)), GLOBAL, I64, 0))
    assert sketch.run(32)[1] == [("oob_global_read", 32)]
    assert "reads data, an array that no longer exists" in sketch.hazards[0].message


def test_an_array_may_lie_at_an_address_that_only_suits_its_elements():
    sketch = Sketch()
    x, out = np.arange(40, dtype=np.float32), np.zeros(32, np.float32)
    source, target, tid = sketch.pointer(x), sketch.pointer(out), sketch.thread()
    sketch.bases = [GLOBAL_BASE + (1 << 20) + 8, None]
    pair = tuple(sketch.register(F32) for _ in range(4))
    quarter = sketch.alu(I64, "({0} // 4 * 4)", tid)
    sketch.emit(Load(pair, Address(sketch.offset(source, quarter, 4), offset=8), GLOBAL, F32, 0, 0))
    sketch.emit(Store((pair[0],), Address(sketch.offset(target, tid, 4)), GLOBAL, F32, 0, 1))
    counters, hazards = sketch.run(32)
    assert not hazards
    assert out.tolist() == [t // 4 * 4 + 2 for t in range(32)]
    assert counters["global_load_sectors"] == 5  # 128 bytes from the middle of a sector on
