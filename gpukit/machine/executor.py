"""Runs a launch: wave after wave of whole blocks, always the lowest program block that has lanes.

All lanes at a block run it together. Where a branch sends them different ways the set is split; where the ways meet the
parts are joined again. Lanes that must wait (a barrier, a warp synchronisation whose named lanes are not all there)
are parked until those they wait for arrive or can no longer come. Everything is bounded and deterministic.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from gpukit.errors import GpukitError, KernelDeadlock, UnsupportedFeature
from gpukit.machine.access import MemoryAccess
from gpukit.machine.analysis import Loop
from gpukit.machine.codegen import Compiled, compile_program
from gpukit.machine.counters import Counts
from gpukit.machine.hazards import Hazard, HazardTracker
from gpukit.machine.lanes import Geometry, LaneSet, Wave
from gpukit.machine.program import (
    UNIFORM,
    Atomic,
    Barrier,
    Branch,
    Call,
    Exit,
    GridSync,
    Jump,
    Launch,
    Load,
    Op,
    Program,
    Store,
    WarpSync,
)
from gpukit.machine.surroundings import Surroundings
from gpukit.machine.value_checks import ValueChecks
from gpukit.machine.waiting import Waiting

# Lanes of a wave: enough that NumPy's cost per call vanishes, few enough that the vectors stay in the cache.
WAVE_LANES = 1 << 16
# Lanes that a large GPU (an H200) holds at once: 132 multiprocessors of 2,048 threads.
RESIDENT_LANES = 132 * 2048
# Shared and local memory of a wave stay below this.
WAVE_BYTES = 1 << 27
# What the lanes of a wave may save in recursive calls, all together.
STACK_BYTES = 1 << 29
# A launch may spend this much on one wave. A step is one memory access of a few lanes, about 10 microseconds. More
# lanes count as more steps, a block of arithmetic as a tenth, an access whose hazards are looked for as several.
MAX_STEPS = 1 << 21
STEP_LANES = 4096
BLOCK_STEPS = 0.1
TRACKED_STEPS = 8
# Every so many steps the machine looks whether a loop only polls memory for other lanes, or cannot end at all.
LOOK_STEPS = 64
MAX_CALL_DEPTH = 512
# Characters that a kernel may print: a GPU, too, keeps about a megabyte of a launch's text.
MAX_OUTPUT = 1 << 20
RAISE_THE_LIMIT = (
    ", or, if the kernel really needs that long, raise the limit in the environment variable GPUKIT_MAX_STEPS"
)
CUT = "\n... the rest of what the kernel prints is left out\n"

if sys.platform == "linux":
    # glibc hands every freed block of more than 128 KiB back to the system, and each vector of a wave is one: half of a
    # run would go into page faults. Once a block of 32 MiB has been freed it keeps blocks up to that size.
    np.empty(1 << 25, np.uint8)


@dataclass
class Run:
    """What a launch left behind, besides the arrays it wrote."""

    compiled: Compiled
    counts: Counts
    geometry: Geometry
    hazards: list[Hazard] = field(default_factory=list)
    findings: list[Hazard] = field(default_factory=list)
    output: list[str] = field(default_factory=list)


def run(
    launch: Launch,
    hazards: bool = True,
    progress: Callable[[int, int], None] | None = None,
    output: Callable[[str], None] | None = None,
    max_steps: int | None = None,
    wave_run: Callable[..., WaveRun] | None = None,
) -> Run:
    """Run a launch to its end.

    Args:
        launch: program, shape and memory; global allocations are modified in place.
        hazards: whether to look for races and other hazards (slower).
        progress: called with (blocks done, blocks in all) after each wave, and now and then in a long one.
        output: receives each piece of text that the kernel prints, in lane order; MAX_OUTPUT characters at most.
        max_steps: bound on the work of one wave (default MAX_STEPS, or the environment's GPUKIT_MAX_STEPS).
        wave_run: makes what runs a wave, called as `WaveRun` is (default: `WaveRun`).

    Raises:
        KernelDeadlock: the kernel does not end.
        KernelAssertion: an assert or raise in the kernel fired.
    """
    compiled = compile_program(launch.program, hazards)
    geometry = Geometry(launch.grid, launch.block)
    counts = Counts.empty(len(compiled.analysis.blocks), len(compiled.access))
    tracker = HazardTracker(launch, geometry) if hazards else None
    result = Run(compiled, counts, geometry)
    limit = max_steps or _step_limit()
    make = WaveRun if wave_run is None else wave_run

    room = MAX_OUTPUT

    def collect(text: str) -> bool:
        """Whether there is room for more."""
        nonlocal room
        if room < 0 or not text:
            return room >= 0
        room -= len(text)
        kept = text if room >= 0 else CUT
        result.output.append(kept)
        if output is not None:
            output(kept)
        return room >= 0

    with np.errstate(all="ignore"):
        for first, n_blocks in _waves(launch, compiled, geometry):
            wave = Wave(geometry, first, n_blocks)
            pulse = None if progress is None else functools.partial(progress, first, geometry.n_blocks)
            make(launch, compiled, wave, counts, tracker, collect, limit, pulse).run()
            if progress is not None:
                progress(first + n_blocks, geometry.n_blocks)
        if tracker is not None:
            result.hazards, result.findings = tracker.finish()
    return result


def _step_limit() -> int:
    text = os.environ.get("GPUKIT_MAX_STEPS", "")
    if text and not text.isdecimal():
        raise GpukitError(f"the environment variable GPUKIT_MAX_STEPS must be a whole number; it is {text!r}")
    return int(text or MAX_STEPS)


def _waves(launch: Launch, compiled: Compiled, geometry: Geometry) -> Iterator[tuple[int, int]]:
    """(first block, number of blocks) of each wave. A grid-wide barrier needs all blocks at once."""
    if launch.program.cooperative or any(isinstance(block.end, GridSync) for block in compiled.analysis.blocks):
        yield 0, geometry.n_blocks
        return
    per_block = launch.shared_bytes + launch.program.static_shared_bytes
    per_block += launch.program.local_bytes * geometry.lanes_per_block
    stack = _stack_bytes(launch.program) * geometry.lanes_per_block
    lanes = WAVE_LANES // geometry.lanes_per_block
    if geometry.n_blocks * geometry.lanes_per_block <= RESIDENT_LANES and any(
        not loop.sealed for loop in compiled.analysis.loops.values()
    ):
        lanes = geometry.n_blocks  # blocks may wait for each other: all that a GPU holds at once must run at once
    size = max(1, min(lanes, WAVE_BYTES // max(1, per_block), STACK_BYTES // max(1, stack)))
    for first in range(0, geometry.n_blocks, size):
        yield first, min(size, geometry.n_blocks - first)


def _stack_bytes(program: Program) -> int:
    """Bytes that the deepest recursion of one lane may save."""
    calls = [block.end for block in program.blocks if isinstance(block.end, Call)]
    saved = {register for call in calls for register in call.save}
    frame = 8 + sum(program.registers[register].dtype.itemsize for register in saved)
    return MAX_CALL_DEPTH * frame if calls else 0


class WaveRun(MemoryAccess, Surroundings, ValueChecks, Waiting):
    """One wave: its registers and lane sets. Generated code knows it as `X`.

    `R` holds a full vector per register (an entry per lane of the wave) or one value for all lanes; `C` the compact
    values of the current lane set `L` (the same list when the set is the whole wave).
    """

    def __init__(
        self,
        launch: Launch,
        compiled: Compiled,
        wave: Wave,
        counts: Counts,
        tracker: HazardTracker | None,
        output: Callable[[str], bool],
        max_steps: int,
        pulse: Callable[[], None] | None = None,
    ):
        MemoryAccess.__init__(self, launch, wave, compiled, counts, tracker)
        Surroundings.__init__(self, output)
        Waiting.__init__(self)
        self.functions = compiled.functions
        self.max_steps = max_steps
        self.pulse = pulse  # called now and then in a long run
        self.registers = launch.program.registers
        self.level = compiled.analysis.level
        self.blocks = compiled.analysis.blocks
        self.loops = compiled.analysis.loops
        self.ends = [block.end for block in self.blocks]
        self.loops_with_barrier = {
            header
            for header, loop in self.loops.items()
            if tracker is not None and any(isinstance(self.ends[b], Barrier | GridSync) for b in loop.blocks)
        }
        self.leaves = [isinstance(block.end, Exit) and not block.ops for block in self.blocks]
        self.R: list = [None] * len(self.registers)
        for register, value in launch.registers.items():
            self.R[register] = value
        self.L: LaneSet = wave.everyone
        self.C: list = self.R if self.L.index is None else [None] * len(self.R)
        self.dirty: set[int] = set()
        self.owned: set[int] = set()  # registers whose full vector no other register shares: safe to write into
        self.lockstep = True
        self.pending: dict[int, list[LaneSet]] = {}
        self.polling: list[tuple[int, LaneSet]] = []
        self.watched: set[int] = set()  # headers of loops whose turns may only watch memory until others change it
        self._polled: tuple = ()
        self.looks = 0
        self.weight = [sum(getattr(op, "count", 0) for op in (*block.ops, block.end)) for block in self.blocks]
        self.cost = [self._cost(block.ops) for block in self.blocks]
        self.work = np.zeros(wave.n_lanes // 32, np.int64)  # warp instructions of each warp
        self.frames: list[dict[int, np.ndarray]] = []
        self.depth: np.ndarray | None = None
        # Registers to restore, by the block a call returns to.
        self.saved_at = {end.target: end.save for end in self.ends if isinstance(end, Call)}

    def _cost(self, ops: list[Op]) -> float:
        """Steps that one run of a block counts for."""
        steps = BLOCK_STEPS
        for op in ops:
            if isinstance(op, Store | Atomic) or (isinstance(op, Load) and self.may_be_written(op)):
                steps += 1 if self.tracker is None else TRACKED_STEPS
            elif isinstance(op, Load):
                steps += 1
        return steps

    # --- registers ---------------------------------------------------------------------------------------------

    def fetch(self, register: int) -> np.ndarray | np.generic:
        """Compact value of a register for the current lanes. One that was never written reads zero, as in numba."""
        value = self.R[register]
        if value is None:
            value = self.registers[register].dtype.type()
        elif isinstance(value, np.ndarray) and self.L.index is not None:
            value = value[self.L.index]
        self.C[register] = value
        return value

    def set(self, register: int, value: np.ndarray | np.generic) -> None:
        """A new compact value for the current lanes (what a terminator produced)."""
        self.C[register] = value
        if self.L.index is not None:
            self.dirty.add(register)

    def activate(self, lanes: LaneSet) -> None:
        """Make `lanes` the current set."""
        self.flush()
        self.L = lanes
        if lanes.index is None:
            self.C = self.R
            self.owned.clear()  # whole vectors may be shared between registers from here on
        else:
            self.C = [None] * len(self.R)

    def flush(self) -> None:
        """Write what the current lanes changed back to the full vectors."""
        for register in self.dirty:
            self.assign(register, self.L, self.C[register])
        self.dirty.clear()

    def assign(self, register: int, lanes: LaneSet, value: np.ndarray | np.generic) -> None:
        """Give the lanes of a set a new value in the full vector."""
        if lanes.index is None or (self.level[register] == UNIFORM and self.lockstep):
            self.R[register] = value
            self.owned.discard(register)
            return
        full = self.R[register]
        if register not in self.owned:
            dtype = self.registers[register].dtype
            if isinstance(full, np.ndarray):
                full = full.copy()
            else:
                full = np.full(self.wave.n_lanes, dtype.type() if full is None else full, dtype)
            self.R[register] = full
            self.owned.add(register)
        full[lanes.index] = value

    def leave_lockstep(self) -> None:
        """Some lanes go on while others wait behind them: from now on no register has one value for all."""
        if self.lockstep:
            self.flush()
            self.lockstep = False
            for register, value in enumerate(self.R):
                if value is not None and not isinstance(value, np.ndarray):
                    self.R[register] = np.full(self.wave.n_lanes, value, self.registers[register].dtype)
            self.activate(self.L)

    # --- the loop ----------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Run the wave to its end."""
        if self.tracker is not None:
            self.tracker.begin_wave(self.wave)
        self.push(0, self.wave.everyone)
        steps = 0.0
        while True:
            steps = self.drain(steps)
            if not self.release_stuck():
                break
        self.counts.work.add(self.work, self.wave.geometry.warps_per_block)
        if self.tracker is not None:
            self.tracker.end_wave()

    def push(self, block: int, lanes: LaneSet) -> None:
        """Put lanes at the entry of a block; those at an empty exit are done at once."""
        if lanes.n == 0:
            return
        if self.leaves[block]:
            self.exit(lanes)
        elif block in self.pending:
            self.pending[block].append(lanes)
        else:
            self.pending[block] = [lanes]

    def drain(self, steps: float) -> float:
        """Run until no lane can go on without others. Takes and returns the steps used so far."""
        functions, written, ends, leaves = self.functions, self.compiled.written, self.ends, self.leaves
        block_warps, block_lanes = self.counts.block_warps, self.counts.block_lanes
        weight, cost = self.weight, self.cost
        pending = self.pending
        probe: _Turn | None = None
        suspect = -1  # header of the loop whose next turn is looked at
        ticks = 0
        while pending or self.polling:
            if not pending:
                self.resume_polling()
            block = min(pending)
            if probe is not None and block not in probe.loop.blocks:
                probe = None
            lanes = join(pending.pop(block))
            if lanes is not self.L:
                self.activate(lanes)
            ceiling = min(pending) if pending else len(functions)
            load = 1.0 + lanes.n / STEP_LANES
            work = 0
            n, n_warps, partial = lanes.n, lanes.n_warps, lanes.index is not None
            while True:
                result = functions[block](self, self.C)
                block_warps[block] += n_warps
                block_lanes[block] += n
                if partial:
                    self.dirty.update(written[block])
                steps += load * cost[block]
                work += weight[block]
                ticks += 1
                end = ends[block]
                if isinstance(end, Branch):
                    if isinstance(result, np.ndarray):
                        yes = int(np.count_nonzero(result))
                        if 0 < yes < n:
                            self.split(block, end, result)
                            break
                        target = end.if_true if yes else end.if_false
                    else:
                        target = end.if_true if result else end.if_false
                elif isinstance(end, Jump):
                    target = end.target
                elif isinstance(end, Exit):
                    self.exit(lanes)
                    break
                elif isinstance(end, WarpSync):
                    if not self.warp_sync(block, end, result):
                        break
                    if probe is not None:
                        probe.waited = True
                    target = end.target
                elif isinstance(end, Barrier | GridSync):
                    if not self.barrier(block, end, result):
                        break
                    if probe is not None:
                        probe.waited = True
                    target = end.target
                elif isinstance(end, Call):
                    self.call(end)
                    break
                else:
                    self.give_back()
                    break
                if target >= ceiling or leaves[target]:
                    self.push(target, lanes)
                    break
                if probe is not None and target not in probe.loop.blocks:
                    probe = None
                if target <= block:  # a loop's next turn
                    if partial and target in self.loops_with_barrier and n < self.alive:
                        self.turn(target, lanes)
                    if probe is not None and probe.loop.header == target:
                        if probe.repeats(self):
                            self.endless(target, "nothing that this loop's condition depends on changes")
                        if (pending or self.polling) and target in self.watched and probe.in_vain(self):
                            self.polling.append((target, lanes))
                            break
                        probe = None
                    if ticks >= LOOK_STEPS:
                        ticks = 0
                        suspect = self.look(target, steps)
                    if target == suspect or ((pending or self.polling) and target in self.watched):
                        probe = _Turn(self, self.loops[target])
                        suspect = -1
                block = target
            if partial:
                self.work[lanes.warps[lanes.warp_starts]] += work
            else:
                self.work += work
        return steps

    def split(self, block: int, end: Branch, condition: np.ndarray) -> None:
        """Lanes of the current set go both ways."""
        lanes = self.L
        yes, no = lanes.subset(condition), lanes.subset(~condition)
        for target, part in ((end.if_true, yes), (end.if_false, no)):
            if target <= block and target in self.loops_with_barrier:
                self.turn(target, part)
        self.counts.divergent[block] += yes.n_warps + no.n_warps - lanes.n_warps
        self.push(end.if_true, yes)
        self.push(end.if_false, no)

    # --- loops that wait for other lanes, or for ever ----------------------------------------------------------

    def look(self, header: int, steps: float) -> int:
        """A look, now and then, at whether the loop at `header` and those around it can end; one of them, each in its
        turn, is to be watched for a turn."""
        if self.pulse is not None:
            self.pulse()
        around = [loop for loop in self.loops.values() if header in loop.blocks]
        if steps > self.max_steps:
            raise_it = "" if self.max_steps != _step_limit() else RAISE_THE_LIMIT
            self.endless(header, f"after {self.max_steps:,} steps it is still in this loop", raise_it)
        for loop in around:
            if not loop.leaves:
                self.endless(loop.header, "no way leads out of this loop")
        self.watching = True
        if (self.pending or self.polling) and not self.loops[header].sealed:
            self.watched.add(header)
            self.leave_lockstep()
        self.looks += 1
        return around[self.looks % len(around)].header

    def resume_polling(self) -> None:
        """Every other lane has had its turn: look again, unless nothing has changed since the last look."""
        self.flush()
        state = (
            self.effects,
            self.clock,
            self.alive,
            [(block, *self._steering(block, lanes)) for block, lanes in self.polling],
        )
        if state == self._polled:
            block, lanes = self.polling[0]
            self.activate(lanes)
            self.endless(block, "its threads wait for memory that no thread is left to change")
        self._polled = state
        for block, lanes in self.polling:
            self.push(block, lanes)
        self.polling.clear()

    def _steering(self, block: int, lanes: LaneSet) -> tuple[bytes, ...]:
        """What decides how the loop at `block` goes on for these lanes, comparable."""
        values = [self.R[register] for register in self.loops[block].steering]
        compact = [v[lanes.lanes] if isinstance(v, np.ndarray) else v for v in values]
        return (lanes.lanes.tobytes(), *(np.asarray(v if v is not None else 0).tobytes() for v in compact))

    def endless(self, block: int, why: str, else_: str = "") -> None:
        """Raise KernelDeadlock for the loop around `block`. `else_`: what else to do than to check its condition."""
        program = self.launch.program
        line = program.lines[next((op.line for op in self.blocks[block].ops), self.ends[block].line)]
        raise KernelDeadlock(
            f"the kernel `{program.kernel_name}` does not end: {why} ({self.L.n} thread(s), for example "
            f"{self.describe(int(self.L.lanes[0]))}); check the loop's condition{else_}",
            file=line.file,
            line=line.number,
        )

    # --- subroutines -------------------------------------------------------------------------------------------

    def call(self, end: Call) -> None:
        """Enter a subroutine: push the caller's registers, lane by lane at its own depth."""
        self.flush()
        lanes = self.L
        if self.depth is None:
            self.depth = np.zeros(self.wave.n_lanes, np.int64)
        depth = self.depth[lanes.lanes]
        deepest = int(depth.max())
        if deepest >= MAX_CALL_DEPTH:
            line = self.launch.program.lines[end.line]
            raise UnsupportedFeature(
                f"the recursion is deeper than {MAX_CALL_DEPTH} calls ({self.describe(int(lanes.lanes[0]))}); a GPU's "
                "stack is small too: write it as a loop",
                file=line.file,
                line=line.number,
            )
        while len(self.frames) <= deepest:
            self.frames.append({})
        for d in np.unique(depth).tolist():
            part = lanes.subset(depth == d)
            frame = self.frames[d]
            self._save(frame, _RETURN_TO, part, np.int64(end.target), np.dtype(np.int64))
            for register in end.save:
                value = self.R[register]
                dtype = self.registers[register].dtype
                compact = (
                    value[part.lanes] if isinstance(value, np.ndarray) else dtype.type(0 if value is None else value)
                )
                self._save(frame, register, part, compact, dtype)
        self.depth[lanes.lanes] += 1
        self.push(end.entry, lanes)

    def _save(
        self, frame: dict[int, np.ndarray], key: int, part: LaneSet, value: np.ndarray | np.generic, dtype: np.dtype
    ) -> None:
        if key not in frame:
            frame[key] = np.zeros(self.wave.n_lanes, dtype)
        frame[key][part.lanes] = value

    def give_back(self) -> None:
        """Return from a subroutine: restore the caller's registers and go on where each lane was called from."""
        self.flush()
        lanes = self.L
        assert self.depth is not None
        self.depth[lanes.lanes] -= 1
        depth = self.depth[lanes.lanes]
        for d in np.unique(depth).tolist():
            frame = self.frames[d]
            at_depth = lanes.subset(depth == d)
            target = frame[_RETURN_TO][at_depth.lanes]
            for block in np.unique(target).tolist():
                part = at_depth.subset(target == block)
                for register in self.saved_at[block]:
                    self.assign(register, part, frame[register][part.lanes])
                self.push(block, part)
        self.activate(lanes)  # the compact values are out of date


_RETURN_TO = -1


class _Turn:
    """What steers a loop, at one of its turns."""

    def __init__(self, wave: WaveRun, loop: Loop):
        self.loop = loop
        self.lanes = wave.L
        self.effects = wave.effects
        self.clock = wave.clock
        self.waited = False  # at a barrier or warp synchronisation, which is progress
        self.values = self._values(wave)

    def _values(self, wave: WaveRun) -> list[np.ndarray | np.generic]:
        return [wave.C[r] if wave.C[r] is not None else wave.fetch(r) for r in self.loop.steering]

    def comes_back(self, wave: WaveRun) -> bool:
        """Whether the same lanes are at the loop again with the same values."""
        if wave.L is not self.lanes:
            return False
        pairs = zip(self.values, self._values(wave), strict=True)
        return all(a is b or np.array_equal(a, b, equal_nan=np.asarray(a).dtype.kind in "fc") for a, b in pairs)

    def in_vain(self, wave: WaveRun) -> bool:
        """Whether this turn of a polling loop changed nothing, in memory or of what the loop depends on."""
        return wave.effects == self.effects and not self.waited and self.comes_back(wave)

    def repeats(self, wave: WaveRun) -> bool:
        """Whether this turn will be repeated for ever: what steers the loop is as it was, and that decides alone, or
        memory is as it was too, nobody is left to change it, and nobody looks at the clock."""
        alone = (wave.effects, wave.clock) == (self.effects, self.clock) and not wave.pending and not wave.polling
        return (self.loop.sealed or alone) and self.comes_back(wave)


def join(parts: list[LaneSet]) -> LaneSet:
    """One lane set out of parts that met at a block. Parts that make up a set they were split from give that very
    set back, with all that it has cached."""
    if len(parts) == 1:
        return parts[0]
    total = sum(part.n for part in parts)
    ancestor = parts[0].parent
    while ancestor is not None and (ancestor.n < total or not all(_descends(part, ancestor) for part in parts)):
        ancestor = ancestor.parent
    if ancestor is not None and ancestor.n == total:
        return ancestor
    wave = parts[0].wave
    index = np.sort(np.concatenate([part.lanes for part in parts]))
    if index.size == wave.everyone.n:
        return wave.everyone
    return LaneSet(wave, index, ancestor)


def _descends(lanes: LaneSet | None, ancestor: LaneSet) -> bool:
    while lanes is not None and lanes is not ancestor:
        lanes = lanes.parent
    return lanes is ancestor
