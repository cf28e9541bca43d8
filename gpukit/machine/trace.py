"""A trace: what a few thread blocks do, step by step, as plain data small enough for a slide.

A *step* is one source line (a run of operations of one line) that the machine carries out for a set of lanes, in the
order in which the machine ran them. All warps of a block that stand at the line take the step together; on hardware
each of them would issue it by itself, so a warp's own time line is made of the steps in which it has active lanes.

`Trace.to_dict()` is ready for JSON and survives it unchanged:

    kernel, file, level, grid, block, shared_bytes   as in a report
    warps_per_block, threads_per_block
    blocks      numbers of the thread blocks that were recorded (linear, x fastest)
    lines       [{file, number, text}]: the kernel's source, then other lines that ran
    arrays      [{name, space, dtype, nbytes, start}]: where requests go
    steps       [{step, block, line, active, waiting, done}]
    requests    [{step, block, warp, line, space, kind, width, array, mask, offsets, sectors or wavefronts, part}]
    truncated   true when the run went on after the recording had stopped

In a step, `line` is an index into `lines`, and `active`, `waiting` and `done` map a warp of the block ("0", "1", ...)
to a 32-bit mask of its lanes, bit n for lane n; warps with an empty mask are left out, and so are `waiting` and `done`
where they are empty. *Waiting* lanes stand at a barrier or a warp synchronisation; *done* lanes have left the kernel;
lanes in none of the three wait for the active ones to come to where they are. Blocks that take a step together share
its number.

A request is one warp's access to global or shared memory (local and constant memory are not recorded): `width` bytes
for each lane of `mask`, the n-th active lane at `offsets[n]` bytes from the beginning of array `array`. An array's
`start` is how far it begins behind a multiple of 128 bytes (global) or behind the beginning of the block's shared
memory, so with p = start + offset the sector is p // 32, the cache line p // 128 and the bank p // 4 % 32 in either
space. Global requests have `sectors`, shared ones `wavefronts`, counted as in the report. An access whose lanes go to
several arrays is one request in several entries: those after the first have a `part` of 1, 2, ...
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gpukit.machine import executor
from gpukit.machine.counters import count_atomic_sectors, count_sectors, count_wavefronts
from gpukit.machine.executor import Run, WaveRun
from gpukit.machine.lanes import Geometry, LaneSet, Wave
from gpukit.machine.memory import extent
from gpukit.machine.program import (
    GLOBAL,
    SHARED,
    SHARED_BASE,
    Allocation,
    Alu,
    Atomic,
    Barrier,
    BasicBlock,
    Exit,
    GridSync,
    Jump,
    Launch,
    Load,
    Program,
    Return,
    SourceLine,
    Special,
    Store,
    WarpSync,
)
from gpukit.machine.spots import Spot

CACHE_LINE_BYTES = 128
DEFAULT_STEPS = 20_000
MAX_REQUESTS = 100_000  # about 100 MB at 32 addresses each
Masks = dict[int, int]  # warp of the block -> its lanes, bit n for lane n


@dataclass(frozen=True, slots=True)
class TracedArray:
    """Memory that requests go to. `start`: bytes behind a multiple of 128 (global), or in the block's shared memory."""

    name: str
    space: str
    dtype: str
    nbytes: int
    start: int


@dataclass(frozen=True, slots=True)
class Step:
    """One source line, run by the lanes of `active`; `line` is an index into the trace's lines."""

    step: int
    block: int
    line: int
    active: Masks
    waiting: Masks = field(default_factory=dict)
    done: Masks = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        found: dict[str, Any] = {"step": self.step, "block": self.block, "line": self.line}
        for name in ("active", "waiting", "done"):
            masks = getattr(self, name)
            if masks or name == "active":
                found[name] = {str(warp): mask for warp, mask in masks.items()}
        return found


@dataclass(frozen=True, slots=True)
class Request:
    """One warp's access to memory. `cost` is its sectors (global) or wavefronts (shared)."""

    step: int
    block: int
    warp: int
    line: int
    space: str
    kind: str
    width: int
    array: int
    mask: int
    offsets: tuple[int, ...]
    cost: int
    part: int = 0

    def to_dict(self) -> dict[str, Any]:
        names = ("step", "block", "warp", "line", "space", "kind", "width", "array", "mask")
        found = {name: getattr(self, name) for name in names}
        found["offsets"] = list(self.offsets)
        found["sectors" if self.space == GLOBAL else "wavefronts"] = self.cost
        if self.part:
            found["part"] = self.part
        return found


@dataclass
class Trace:
    """What the recorded blocks of a launch did; see the module for what the parts mean."""

    kernel: str
    file: str
    level: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int
    blocks: tuple[int, ...]
    lines: list[SourceLine] = field(default_factory=list)
    arrays: list[TracedArray] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    truncated: bool = False

    @property
    def threads_per_block(self) -> int:
        return self.block[0] * self.block[1] * self.block[2]

    @property
    def warps_per_block(self) -> int:
        return Geometry(self.grid, self.block).warps_per_block

    def to_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON; the module says what it means."""
        return {
            "kernel": self.kernel,
            "file": self.file,
            "level": self.level,
            "grid": list(self.grid),
            "block": list(self.block),
            "shared_bytes": self.shared_bytes,
            "warps_per_block": self.warps_per_block,
            "threads_per_block": self.threads_per_block,
            "blocks": list(self.blocks),
            "lines": [{"file": line.file, "number": line.number, "text": line.text} for line in self.lines],
            "arrays": [{name: getattr(array, name) for name in TracedArray.__slots__} for array in self.arrays],
            "steps": [step.to_dict() for step in self.steps],
            "requests": [request.to_dict() for request in self.requests],
            "truncated": self.truncated,
        }


def record(launch: Launch, blocks: Sequence[int], max_steps: int = DEFAULT_STEPS) -> Trace:
    """Run a launch to its end, as `executor.run` does, and record what the thread blocks `blocks` do.

    The recording stops before it holds more than `max_steps` steps, and when it has come to MAX_REQUESTS requests; the
    run goes on.

    Args:
        launch: program, shape and memory; global allocations are modified in place.
        blocks: linear numbers of thread blocks of the grid.
        max_steps: bound on the length of the trace.
    """
    return record_run(launch, blocks, max_steps, hazards=False)[1]


def record_run(launch: Launch, blocks: Sequence[int], trace_steps: int, **options: Any) -> tuple[Run, Trace]:
    """As `record` with max_steps=trace_steps, and what the executor returns of the same run, with its options."""
    recorder = _Recorder(launch, blocks, trace_steps)
    return executor.run(launch, wave_run=recorder.wave_run, **options), recorder.trace


class _Recorder:
    """Fills a trace, and gives the executor the wave runs that report to it."""

    def __init__(self, launch: Launch, blocks: Sequence[int], max_steps: int):
        program = launch.program
        self.launch = launch
        self.max_steps = max_steps
        self.next_step = 0
        self.trace = Trace(
            program.kernel_name,
            program.file,
            program.level,
            launch.grid,
            launch.block,
            program.static_shared_bytes + launch.shared_bytes,
            tuple(dict.fromkeys(blocks)),
            list(program.source),
        )
        self._lines = {(line.file, line.number): place for place, line in enumerate(program.source)}
        self._arrays: dict[tuple[str, int, int], int] = {}
        self._shared = [
            (*extent(launch, number), root.name, root.dtype.name)
            for number, root in enumerate(program.roots)
            if root.space == SHARED
        ]

    def wave_run(self, launch: Launch, compiled: Any, wave: Wave, *rest: Any) -> WaveRun:
        """What runs a wave: one that records, where a chosen block is in it."""
        end = wave.first_block + wave.n_blocks
        chosen = [block for block in self.trace.blocks if wave.first_block <= block < end]
        if not chosen or self.trace.truncated:
            return WaveRun(launch, compiled, wave, *rest)
        return _TracedRun(self, chosen, launch, compiled, wave, *rest)

    def room_for(self, steps: int) -> bool:
        """Whether so many more steps fit; if not, the trace ends here."""
        trace = self.trace
        if len(trace.steps) + steps > self.max_steps or len(trace.requests) >= MAX_REQUESTS:
            trace.truncated = True
        return not trace.truncated

    def line(self, number: int) -> int:
        """Index in the trace of a line of the program."""
        line = self.launch.program.lines[number]
        place = self._lines.setdefault((line.file, line.number), len(self.trace.lines))
        if place == len(self.trace.lines):
            self.trace.lines.append(line)
        return place

    def array(self, allocation: Allocation | None, address: int) -> tuple[int, int]:
        """(index in the trace, virtual address of the first byte) of the array that an address belongs to."""
        if allocation is not None:
            base = allocation.base
            found = TracedArray(
                allocation.name, GLOBAL, allocation.dtype.name, allocation.nbytes, base % CACHE_LINE_BYTES
            )
        else:
            base, end, name, dtype = next(
                (root for root in self._shared if root[0] <= address < root[1]),
                (SHARED_BASE, SHARED_BASE + self.trace.shared_bytes, "shared memory", "uint8"),
            )
            found = TracedArray(name, SHARED, dtype, end - base, base - SHARED_BASE)
        place = self._arrays.setdefault((found.space, base, found.nbytes), len(self.trace.arrays))
        if place == len(self.trace.arrays):
            self.trace.arrays.append(found)
        return place, base


class _TracedRun(WaveRun):
    """A wave run that reports each step of the chosen blocks.

    The executor calls a function per program block; here each of these first records its steps. Nothing is looked at
    anywhere else, so a run that is not traced pays nothing.
    """

    def __init__(self, recorder: _Recorder, chosen: Iterable[int], launch: Launch, compiled: Any, *rest: Any):
        super().__init__(launch, compiled, *rest)
        self._recorder = recorder
        size = self.wave.geometry.lanes_per_block
        starts = [(block, (block - self.wave.first_block) * size) for block in chosen]
        self._chosen = [(block, start, start + size) for block, start in starts]
        self._lines_of, self._place_of_slot = _steps_of(launch.program, self.blocks)
        self._before_barrier = [_leads_to_waiting(block) for block in self.blocks]
        self._first = 0  # number of the first step of the program block that runs
        # The latest step: its line, the lanes of the chosen blocks, and the program blocks that belong to it.
        self._latest: tuple[int, list, set[int]] = (-1, [], set())
        self._parts: dict[tuple[int, int, int, int], int] = {}
        self.functions = [self._recording(block, function) for block, function in enumerate(compiled.functions)]

    def _recording(self, block: int, function: Callable) -> Callable:
        def recorded(run: _TracedRun, values: list) -> Any:
            run._record(block)
            return function(run, values)

        return recorded

    def _record(self, block: int) -> None:
        """Record the steps of a program block that is about to run for the current lanes."""
        recorder, lines = self._recorder, self._lines_of[block]
        here = [(number, start, masks) for number, start, end in self._chosen if (masks := self._masks(start, end))]
        goes_on = self._continues(block, here)
        new = lines[goes_on:]
        if not recorder.room_for(len(new) * len(here)):
            self.functions[:] = self.compiled.functions  # the run has this very list in hand
            return
        self._first = recorder.next_step - goes_on
        self._parts.clear()
        if not here or not lines:
            return
        parts = {*self._latest[2], block} if goes_on and not new else {block}
        self._latest = lines[-1], here, parts
        states = [self._bystanders(start) for _, start, _ in here]
        for i, line in enumerate(new):
            place = recorder.line(line)
            for (number, _, active), (waiting, done) in zip(here, states, strict=True):
                recorder.trace.steps.append(Step(recorder.next_step + i, number, place, active, waiting, done))
        recorder.next_step += len(new)

    def _continues(self, block: int, here: list) -> bool:
        """Whether a program block begins with what is left of the latest step: the same lanes are still on the same
        line, as behind a shuffle, or where a compiler has cut a line into pieces. A piece that comes again is the next
        turn of a loop on one line, which is a step of its own."""
        line, lanes, parts = self._latest
        return self._lines_of[block][:1] == [line] and lanes == here and block not in parts

    def _masks(self, start: int, end: int) -> Masks:
        """The current lanes of the thread block whose lanes are `start` to `end`."""
        return self._masks_of([self.L.lanes], start, end)

    def _bystanders(self, start: int) -> tuple[Masks, Masks]:
        """(waiting lanes, done lanes) of the thread block whose lanes begin at `start`."""
        end = start + self.wave.geometry.lanes_per_block
        parked = [parked.lanes.lanes for parked in (*self.at_barrier, *self.at_warp_sync)]
        for block, sets in self.pending.items():
            if self._before_barrier[block]:
                parked += [lanes.lanes for lanes in sets]
        done = [] if self.exited is None else [np.flatnonzero(self.exited[start:end]) + start]
        return self._masks_of(parked, start, end), self._masks_of(done, start, end)

    def _masks_of(self, sets: Sequence[np.ndarray], start: int, end: int) -> Masks:
        bits = np.zeros((end - start) // 32, np.uint32)
        for lanes in sets:
            low, high = np.searchsorted(lanes, (start, end))
            own = lanes[low:high] - start
            np.bitwise_or.at(bits, own >> 5, np.uint32(1) << (own & 31).astype(np.uint32))
        return {warp: mask for warp, mask in enumerate(bits.tolist()) if mask}

    def _count(self, slot: int, spot: Spot) -> None:
        super()._count(slot, spot)
        if spot.space not in (GLOBAL, SHARED) or self._recorder.trace.truncated:
            return
        for number, start, end in self._chosen:
            low, high = np.searchsorted(spot.lanes.lanes, (start, end))
            if low < high:
                self._record_requests(slot, spot, number, start, slice(low, high))

    def _record_requests(self, slot: int, spot: Spot, number: int, start: int, which: slice) -> None:
        """Record the requests of one thread block: the lanes `which` of a spot, warp by warp."""
        op, trace = self.compiled.access[slot], self._recorder.trace
        lanes = LaneSet(self.wave, spot.lanes.lanes[which])
        addresses = np.broadcast_to(spot.address, (spot.lanes.n,))[which]
        step, line = self._first + self._place_of_slot[slot], self._recorder.line(op.line)
        kind = "load" if isinstance(op, Load) else "store" if isinstance(op, Store) else "atomic"
        limits = [*lanes.warp_starts.tolist(), lanes.n]
        for shift, width in self.requests[slot]:
            for first, last in itertools.pairwise(limits):
                part = LaneSet(self.wave, lanes.lanes[first:last])
                address = addresses[first:last] + shift
                if spot.space == SHARED:
                    cost = count_wavefronts(address, width, part, isinstance(op, Load))[0]
                elif isinstance(op, Atomic):
                    cost = count_atomic_sectors(address, part, self._together[slot])
                else:
                    cost = count_sectors(address, width, part)
                own = part.lanes - start
                warp = int(own[0]) >> 5
                array, base = self._recorder.array(spot.allocation, int(address[0]))
                key = slot, shift, number, warp
                entry = self._parts.get(key, 0) if spot.space == GLOBAL else 0
                self._parts[key] = entry + 1
                mask = sum(1 << bit for bit in (own & 31).tolist())
                offsets = tuple((address - base).tolist())
                trace.requests.append(
                    Request(step, number, warp, line, spot.space, kind, width, array, mask, offsets, cost, entry)
                )


def _steps_of(program: Program, blocks: Sequence[BasicBlock]) -> tuple[list[list[int]], list[int]]:
    """(lines of the steps of each program block, the step within its block of each memory access).

    Operations of one line that follow each other are one step. What a front end adds for itself is none: a jump, an
    exit, and moves that no instruction is needed for, where they are all that is left of a line.
    """
    lines_of: list[list[int]] = []
    place_of_slot: list[int] = []
    for block in blocks:
        groups: list[tuple[int, list]] = []
        for op in (*block.ops, *([] if isinstance(block.end, Jump | Exit | Return) else [block.end])):
            if not groups or groups[-1][0] != op.line:
                groups.append((op.line, []))
            groups[-1][1].append(op)
        lines: list[int] = []
        for place, (line, ops) in enumerate(groups):
            moves = all(isinstance(op, Alu) and not op.count for op in ops)
            last = place == len(groups) - 1
            goes_on = last and isinstance(block.end, Jump) and _first_line(blocks[block.end.target]) == line
            if moves and (goes_on or program.level == "compiled"):
                continue
            place_of_slot += [len(lines)] * sum(isinstance(op, Load | Store | Atomic) for op in ops)
            lines.append(line)
        lines_of.append(lines)
    return lines_of, place_of_slot


def _first_line(block: BasicBlock) -> int:
    return block.ops[0].line if block.ops else block.end.line


def _leads_to_waiting(block: BasicBlock) -> bool:
    """Whether lanes at the beginning of a program block have nothing to do but to wait for others."""
    waits = isinstance(block.end, Barrier | WarpSync | GridSync)
    return waits and all(isinstance(op, Alu | Special) for op in block.ops)
