"""What the counters of a launch say about its speed, in sentences: findings are notes and never fail a check.

The thresholds are few and stand here. They are set so that kernels which do what they should (a coalesced copy, a
reduction with sequential addressing, a padded transpose) have no finding.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from gpukit.machine.counters import Work
from gpukit.machine.hazards.ledger import NOTE, Hazard, Names, sorted_hazards
from gpukit.machine.lanes import WARP_SIZE, Geometry
from gpukit.machine.program import (
    GENERIC,
    GLOBAL,
    SHARED,
    Branch,
    Call,
    Const,
    Element,
    Exit,
    Launch,
    Load,
    Program,
    Return,
    Store,
    Terminator,
)

Number = int | float
Counters = Mapping[str, Number]

SECTOR_BYTES = 32
BANKS = 32

# A misaligned access costs 5 sectors instead of 4, an access with stride 2 costs 8: the line is drawn between the two.
UNCOALESCED = 2.0
# A conflict now and then (a partial warp, a boundary) is no finding; two-way conflicts throughout are.
CONFLICT_WAYS = 1.5
# Part of the kernel's sectors, or of its wavefronts, that a line must waste before it is worth a look.
TRAFFIC_SHARE = 0.05
# Part of all issued lane slots that idle because of one branch or loop. The tree of a good block reduction idles about
# 6 % of them, the tree that tests `tid % stride` about 40 %.
IDLE_SHARE = 0.15
# A branch is a finding where at least half of the warps that reach it split: the end of a tree splits one of many.
SPLIT_SHARE = 0.5
# What happened less often is a boundary of the data, not a pattern.
SEEN_OFTEN = 4
# A line counts as short of lanes below three quarters of a warp.
FEW_LANES = 0.75 * WARP_SIZE
# The busiest block or warp over the average one: a last block or a first warp that finishes the sum stays below.
IMBALANCE = 3.0


def ridge_intensity(fp32_tflops: float, bandwidth_gb_s: float) -> float:
    """FLOP per byte from which on arithmetic limits a kernel, and not memory: peak (10^12 FLOP/s) over bandwidth
    (10^9 B/s)."""
    return 1000 * fp32_tflops / bandwidth_gb_s


def find(
    program: Program,
    launch: Launch,
    total: Counters,
    by_line: Mapping[int, Counters],
    work: Work | None = None,
    gpu: Mapping | None = None,
) -> list[Hazard]:
    """Findings of a launch, by line.

    Args:
        program: the program whose lines and blocks explain the counters.
        launch: the launch they belong to.
        total: counters of the kernel, additive ones as below.
        by_line: counters by index into Program.lines; a missing name means 0. Read are, for `way` in load, store:
            global_{way}_requests, global_{way}_sectors, global_{way}_bytes (asked for by the lanes),
            shared_{way}_wavefronts, shared_{way}_bank_conflicts, and branches, divergent_branches, warp_instructions,
            thread_instructions; in `total` also float_operations and global_atomic_sectors.
        work: how the work is spread over blocks and warps, for load_imbalance.
        gpu: "name", "fp32_tflops" (10^12 FLOP/s) and "bandwidth_gb_s" (10^9 B/s) of a GPU, for the roofline hints.
    """
    finder = _Finder(program, launch, total, by_line)
    found = [*finder.uncoalesced(), *finder.bank_conflicts(), *finder.idle_lanes()]
    if work is not None:
        found += finder.imbalance(work)
    if gpu is not None:
        found += finder.roofline(gpu)
    return sorted_hazards(found)


@dataclass
class _Cause:
    """Why lanes idle: the branch at a line (None: the launch shape), and the lines that suffer."""

    line: int | None
    loop: bool
    idle: float = 0.0
    worst: int = 0
    worst_idle: float = 0.0


class _Finder:
    def __init__(self, program: Program, launch: Launch, total: Counters, by_line: Mapping[int, Counters]):
        self.program = program
        self.total = total
        self.by_line = by_line
        self.geometry = Geometry(launch.grid, launch.block)
        self.names = Names(launch, self.geometry)

    # --- memory ------------------------------------------------------------------------------------------------

    def uncoalesced(self) -> Iterator[Hazard]:
        """Lines whose requests touch far more sectors than their bytes need."""
        all_sectors = sum(self.total.get(f"global_{way}_sectors", 0) for way in ("load", "store"))
        for line, counters in self.by_line.items():
            scattered: dict[str, tuple[Number, Number, Number, float]] = {}
            for way in ("load", "store"):
                requests = counters.get(f"global_{way}_requests", 0)
                sectors = counters.get(f"global_{way}_sectors", 0)
                nbytes = counters.get(f"global_{way}_bytes", 0)
                if requests < SEEN_OFTEN:
                    continue
                # The two halves of a complex number are two requests, and each of them skips every other word.
                halves = 2 if any(op.dtype.kind == "c" for op in self._moves(line, way)) else 1
                ideal = max(requests, halves * nbytes / SECTOR_BYTES)
                if sectors < UNCOALESCED * ideal or sectors - ideal < TRAFFIC_SHARE * all_sectors:
                    continue
                scattered[way] = (requests, sectors, nbytes, ideal)
            if len(scattered) == 2 and self._arrays(line, "load") == self._arrays(line, "store"):
                # `a[i] += v`: one mistake, told once.
                requests, sectors, nbytes, ideal = (sum(pair) for pair in zip(*scattered.values(), strict=True))
                yield self._uncoalesced(line, "load and store", requests, sectors, nbytes, ideal)
            else:
                for way, numbers in scattered.items():
                    yield self._uncoalesced(line, way, *numbers)

    def _uncoalesced(
        self, line: int, way: str, requests: Number, sectors: Number, nbytes: Number, ideal: float
    ) -> Hazard:
        ops = self._moves(line, way)
        width = min((op.dtype.itemsize * len(op.dst if isinstance(op, Load) else op.src) for op in ops), default=4)
        array = self._arrays(line, way)
        lanes = nbytes / requests / width
        each, best = sectors / requests, ideal / requests
        stride: float | None = SECTOR_BYTES * each / max(1.0, lanes) / width
        if each >= 0.9 * lanes:
            seen = f"nearly every lane has its own sector ({max(1, SECTOR_BYTES // width)} or more elements apart)"
            stride = None
        else:
            seen = f"neighbouring lanes are about {stride:.3g} elements apart"
        text = (
            f"each {way} request of {array or 'global memory'} touches {each:.1f} sectors of {SECTOR_BYTES} bytes "
            f"where {best:.1f} would do: {seen}"
        )
        advice = (
            "Let neighbouring threads use neighbouring elements (swap loops or indices, use a structure of arrays), or "
            "bring a tile into shared memory first."
        )
        details = {
            "way": way,
            "sectors_per_request": each,
            "ideal_sectors_per_request": best,
            "stride_elements": stride,
            "wasted_sectors": sectors - ideal,
        }
        return self._finding("uncoalesced", line, text, advice, int(requests), array, details)

    def _arrays(self, line: int, way: str) -> str | None:
        """Names of the arrays in global memory that a line moves."""
        return ", ".join(dict.fromkeys(self.names.array(op, "global memory") for op in self._moves(line, way))) or None

    def bank_conflicts(self) -> Iterator[Hazard]:
        """Lines whose lanes queue at the same shared-memory banks."""
        waves = sum(self.total.get(f"shared_{way}_wavefronts", 0) for way in ("load", "store"))
        for line, counters in self.by_line.items():
            for way in ("load", "store"):
                conflicts = counters.get(f"shared_{way}_bank_conflicts", 0)
                wavefronts = counters.get(f"shared_{way}_wavefronts", 0)
                if not conflicts or conflicts < TRAFFIC_SHARE * waves:
                    continue
                ways = wavefronts / max(1, wavefronts - conflicts)
                if ways >= CONFLICT_WAYS:
                    yield self._bank_conflict(line, way, conflicts, ways)

    def _bank_conflict(self, line: int, way: str, conflicts: Number, ways: float) -> Hazard:
        ops = [op for op in self._accesses(line) if op.space == SHARED and isinstance(op, Load) == (way == "load")]
        array = ", ".join(dict.fromkeys(self.names.array(op, "shared memory") for op in ops)) or None
        shape = next((s for op in ops if (s := _constant_shape(op)) and len(s) > 1), None)
        text = (
            f"the {way} of {array or 'shared memory'} has {ways:.3g}-way bank conflicts: {conflicts:,} extra "
            f"wavefronts, because lanes of a warp use different words of one bank (there are {BANKS}, 4 bytes wide)"
        )
        if shape is not None and shape[-1] % 2 == 0:
            padded = (*shape[:-1], shape[-1] + 1)
            advice = f"Pad the rows by one element: shape {padded} instead of {shape}."
        else:
            shape = padded = None
            advice = "Use an odd stride between lanes (1 is best), or pad the index: i + i // 32."
        details = {"way": way, "ways": ways, "extra_wavefronts": conflicts, "padded_shape": padded}
        return self._finding("bank_conflicts", line, text, advice, int(conflicts), array, details)

    def _moves(self, line: int, way: str) -> list[Load | Store]:
        """Loads or stores (`way`: "load", "store" or "load and store") of a line that may go to global memory."""
        kinds = tuple(kind for kind in (Load, Store) if kind.__name__.lower() in way)
        return [op for op in self._accesses(line) if op.space in (GLOBAL, GENERIC) and isinstance(op, kinds)]

    def _accesses(self, line: int) -> list[Load | Store]:
        return [
            op for block in self.program.blocks for op in block.ops if isinstance(op, (Load, Store)) and op.line == line
        ]

    # --- lanes -------------------------------------------------------------------------------------------------

    def idle_lanes(self) -> Iterator[Hazard]:
        """Branches, loops and launch shapes that leave lanes without work."""
        issued = WARP_SIZE * sum(c.get("warp_instructions", 0) for c in self.by_line.values())
        if not issued:
            return
        flow = _Flow(self.program, self.by_line)
        causes: dict[int | None, _Cause] = {}
        for line, counters in self.by_line.items():
            warps = counters.get("warp_instructions", 0)
            threads = counters.get("thread_instructions", 0)
            if not warps or threads / warps >= FEW_LANES:
                continue
            branch, loop = flow.cause(line)
            cause = causes.setdefault(branch, _Cause(branch, loop))
            idle = WARP_SIZE * warps - threads
            cause.idle += idle
            if idle > cause.worst_idle:
                cause.worst, cause.worst_idle = line, idle
        for cause in causes.values():
            if cause.idle >= IDLE_SHARE * issued and self._is_pattern(cause):
                yield self._idle(cause, cause.idle / issued)

    def _is_pattern(self, cause: _Cause) -> bool:
        if cause.line is None:
            return True
        counters = self.by_line[cause.line]
        split, branches = counters.get("divergent_branches", 0), counters.get("branches", 0)
        return split >= SEEN_OFTEN and (cause.loop or split >= SPLIT_SHARE * branches)

    def _idle(self, cause: _Cause, share: float) -> Hazard:
        worst = self.by_line[cause.worst]
        lanes = worst["thread_instructions"] / worst["warp_instructions"]
        at = self.names.line(cause.worst)
        if cause.line is None:
            threads = self.geometry.threads_per_block
            text = (
                f"{lanes:.1f} of {WARP_SIZE} lanes work here: the launch has {threads} threads a block, so its warps "
                "are not full"
            )
            advice = f"Use blocks of a multiple of {WARP_SIZE} threads, with work for all of them."
            kind, line, reason = "low_lane_utilisation", cause.worst, "launch"
        elif cause.loop:
            text = (
                f"the lanes of a warp leave this loop at different times, and the warp runs as long as its longest "
                f"lane: line {at} has {lanes:.1f} of {WARP_SIZE} lanes at work ({share:.0%} of all lane slots idle)"
            )
            advice = (
                "Give neighbouring threads loops of similar length (sort or group them), or a whole warp to long ones."
            )
            kind, line, reason = "low_lane_utilisation", cause.line, "loop"
        else:
            counters = self.by_line[cause.line]
            split, branches = counters.get("divergent_branches", 0), counters.get("branches", 0)
            text = (
                f"{split:,} of {branches:,} warps split at this branch, so its sides run one after the other: line "
                f"{at} works with {lanes:.1f} of {WARP_SIZE} lanes ({share:.0%} of all lane slots idle for it)"
            )
            advice = "Let the condition be the same for all threads of a warp: neighbouring threads, the same way."
            kind, line, reason = "divergence", cause.line, "branch"
        count = int(self.by_line[line].get("divergent_branches", 0)) or int(self.by_line[line]["warp_instructions"])
        details = {"cause": reason, "active_lanes": lanes, "worst_line": at, "idle_share": share}
        finding = self._finding(kind, line, text, advice, count, None, details)
        finding.lines = tuple(sorted({finding.line, at}))
        return finding

    # --- the whole launch --------------------------------------------------------------------------------------

    def imbalance(self, work: Work) -> Iterator[Hazard]:
        """Blocks, or warps, whose work differs by a large factor."""
        for unit, factor in (("block", work.block_imbalance), ("warp", work.warp_imbalance)):
            if factor is None or factor < IMBALANCE:
                continue
            line = max(self.by_line, key=lambda i: (self.by_line[i].get("warp_instructions", 0), -i), default=0)
            text = (
                f"the busiest {unit} does {factor:.1f} times the work of the average {unit}, and the kernel ends only "
                "when it ends (this is the line with most work)"
            )
            advice = "Cut the work in equal pieces, or give the long pieces to more threads."
            yield self._finding("load_imbalance", line, text, advice, 1, None, {"unit": unit, "factor": factor})
            return

    def roofline(self, gpu: Mapping) -> Iterator[Hazard]:
        """Whether arithmetic or memory limits the kernel on a GPU, if nothing else does."""
        flops = self.total.get("float_operations", 0)
        names = ("global_load_sectors", "global_store_sectors", "global_atomic_sectors")
        nbytes = SECTOR_BYTES * sum(self.total.get(name, 0) for name in names)
        peak, bandwidth = gpu.get("fp32_tflops"), gpu.get("bandwidth_gb_s")
        if not nbytes or not peak or not bandwidth:
            return
        intensity, ridge = flops / nbytes, ridge_intensity(peak, bandwidth)
        if intensity < ridge:
            kind, limit = "memory_bound_hint", "memory"
            advice = "Move fewer bytes: coalesce, reuse what is loaded, fuse kernels; arithmetic is free here."
        else:
            kind, limit = "compute_bound_hint", "arithmetic"
            advice = "Do less arithmetic, or in a cheaper type; memory is not the limit here."
        message = (
            f"the kernel does {intensity:.3g} FLOP per byte of global memory traffic (caches left aside); "
            f"{gpu['name']} needs {ridge:.3g} to be limited by arithmetic, so {limit} is the limit. {advice}"
        )
        yield Hazard(
            kind,
            NOTE,
            self.program.source[0].number if self.program.source else 0,
            message,
            file=self.program.file,
            advice=advice,
            details={"intensity": intensity, "ridge": ridge, "gpu": gpu["name"], "flops": flops, "bytes": nbytes},
        )

    def _finding(
        self, kind: str, line: int, text: str, advice: str, count: int, array: str | None, details: dict
    ) -> Hazard:
        number = self.names.line(line)
        return Hazard(
            kind,
            NOTE,
            number,
            f"line {number}: {text}. {advice}",
            count=count,
            file=self.names.file(line),
            array=array,
            lines=(number,),
            advice=advice,
            details=details,
        )


class _Flow:
    """The program's control flow, as far as it explains why few lanes are somewhere."""

    def __init__(self, program: Program, by_line: Mapping[int, Counters]):
        self.blocks = program.blocks
        self.by_line = by_line
        self.before: list[list[int]] = [[] for _ in self.blocks]
        for b, block in enumerate(self.blocks):
            for target in _targets(block.end):
                self.before[target].append(b)
        self.of_line: dict[int, list[int]] = {}
        for b, block in enumerate(self.blocks):
            for op in (*block.ops, block.end):
                self.of_line.setdefault(op.line, []).append(b)

    def cause(self, line: int) -> tuple[int | None, bool]:
        """(line of the nearest branch before `line` that splits warps, whether it is the exit of a loop)."""
        start = self.of_line.get(line, [])
        seen: set[int] = set()
        queue = [p for b in start for p in self.before[b]]
        # A loop test is short of lanes because of itself: its lanes left in an earlier round.
        queue = [b for b in start if self._splits(b)] + queue
        while queue:
            b = queue.pop(0)
            if b in seen:
                continue
            seen.add(b)
            if self._splits(b):
                return self.blocks[b].end.line, self._leaves_loop(b)
            queue += self.before[b]
        return None, False

    def _splits(self, b: int) -> bool:
        end = self.blocks[b].end
        return isinstance(end, Branch) and self.by_line.get(end.line, {}).get("divergent_branches", 0) > 0

    def _leaves_loop(self, b: int) -> bool:
        """One way leads back to this branch, the other does not."""
        yes, no = (self._reaches(target, b) for target in _targets(self.blocks[b].end))
        return yes != no

    def _reaches(self, start: int, goal: int) -> bool:
        seen: set[int] = set()
        stack = [start]
        while stack:
            b = stack.pop()
            if b == goal:
                return True
            if b not in seen:
                seen.add(b)
                stack += _targets(self.blocks[b].end)
        return False


def _targets(end: Terminator) -> tuple[int, ...]:
    match end:
        case Branch():
            return end.if_true, end.if_false
        case Call():
            return end.entry, end.target
        case Exit() | Return():
            return ()
        case _:
            return (end.target,)


def _constant_shape(op: Load | Store) -> tuple[int, ...] | None:
    """Shape of the array an access indexes, if it is known before the launch."""
    place = op.place
    if not isinstance(place, Element) or not all(isinstance(n, Const) for n in place.shape):
        return None
    return tuple(int(n.value) for n in place.shape if isinstance(n, Const))
