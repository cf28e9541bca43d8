"""Barriers that not all threads reach, and warp operations whose mask does not say who takes part."""

from __future__ import annotations

import numpy as np

from gpukit.machine.hazards.ledger import ERROR, MAX_THREADS, WARNING, Entry, Hazard, Ledger, Names, Where, plural
from gpukit.machine.lanes import LaneSet, Wave
from gpukit.machine.program import GridSync, Terminator


class SyncChecks:
    """Folds the synchronisation hazards of a launch. The executor decides that there is one; this says it."""

    def __init__(self, names: Names, ledger: Ledger):
        self.names = names
        self.ledger = ledger
        self.where = Where(names)

    def barrier_divergence(self, sites: list[tuple[Terminator, LaneSet]], blocks: np.ndarray) -> None:
        """Threads of `blocks` (numbers in the wave) wait at different barriers, or others never arrive.

        `sites`: each barrier with the lanes of those blocks that wait at it.
        """
        if not sites:
            return
        wave = sites[0][1].wave
        end, waiting = min(sites, key=lambda site: site[0].line)
        first_block = int(blocks.min())
        at_site = [(e.line, lanes.lanes[lanes.blocks == first_block]) for e, lanes in sites]
        lines = sorted({e.line for e, _ in sites})
        threads_per_block = self.names.geometry.threads_per_block

        def build(entry: Entry) -> Hazard:
            facts = entry.facts
            block, numbers = facts["block"], [self.names.line(i) for i in lines]
            here = sum(n for line, n in facts["waiting"] if line == lines[0])
            others = [(self.names.line(line), n) for line, n in facts["waiting"] if line != lines[0]]
            missing = threads_per_block - here - sum(n for _, n in others)
            away = [f"{plural(n, 'thread')} {_wait(n)} at the one in line {line}" for line, n in others]
            if missing:
                away.append(f"{plural(missing, 'thread')} {'is' if missing == 1 else 'are'} elsewhere")
            who = f"{plural(here, 'thread')} of {self.names.block(block)}"
            if here == threads_per_block:
                who += " meet at this barrier"
            else:
                who += f" (first {self.names.thread(facts['threads'][0])}) {_wait(here)} at this barrier"
            if isinstance(end, GridSync) and not away:
                text = f"{who} for the whole grid, but other blocks never reach it"
            elif not away:
                text = f"{who} in different turns of its loop, so some of them have skipped it before"
            else:
                text = f"{who}, but {' and '.join(away)}"
            advice = (
                "Let every thread of every block reach the grid barrier, and guard only the work around it."
                if isinstance(end, GridSync)
                else f"Put {self.names.syncthreads} where every thread of the block passes, and guard only the work "
                "around it with the `if`."
            )
            hazard = self.where.hazard(
                "barrier_divergence", ERROR, lines[0], text, advice,
                count=entry.count, block=block, threads=facts["threads"],
                details={"waiting": here, "others": others, "missing": missing},
            )  # fmt: skip
            hazard.lines = tuple(sorted(set(numbers)))
            return hazard

        entry = self.ledger.add(("barrier_divergence", tuple(lines)), blocks.size, build)
        if not entry.facts:
            mine = next((lanes for line, lanes in at_site if line == end.line and lanes.size), waiting.lanes)
            entry.facts.update(
                block=self.names.geometry.block_index(wave.first_block + first_block),
                threads=self._threads(wave, mine),
                waiting=[(line, int(lanes.size)) for line, lanes in at_site if lanes.size],
            )

    def barrier_with_exited(self, end: Terminator, blocks: np.ndarray, wave: Wave, exited: np.ndarray) -> None:
        """Blocks (numbers in the wave) passed a barrier after some of their threads (bool (n_lanes,)) had returned."""

        def build(entry: Entry) -> Hazard:
            block, threads, gone = entry.facts["block"], entry.facts["threads"], entry.facts["gone"]
            lines = sorted({self.names.line(line) for line in entry.facts["lines"]})
            others = [str(line) for line in lines if line != self.names.line(end.line)]
            text = (
                f"{plural(gone, 'thread')} of {self.names.block(block)} (first {self.names.thread(threads[0])}) "
                f"returned or ended before this barrier{' (and in line ' + ', '.join(others) + ')' if others else ''}; "
                "the hardware goes on without them, so their share of the work is missing"
            )
            advice = (
                "Let every thread reach the barrier: guard the work around it with an `if`, rather than returning or "
                "putting the barrier inside."
            )
            hazard = self.where.hazard(
                "barrier_with_exited_threads", WARNING, end.line, text, advice,
                count=entry.count, block=block, threads=threads, details={"exited": gone},
            )  # fmt: skip
            hazard.lines = tuple(lines)
            return hazard

        # Threads that are gone are missing at every barrier from there on: one mistake.
        entry = self.ledger.add(("barrier_with_exited_threads",), blocks.size, build)
        entry.facts.setdefault("lines", set()).add(end.line)
        if "gone" not in entry.facts:
            block = int(blocks[0])
            size = wave.geometry.lanes_per_block
            gone = block * size + np.flatnonzero(exited[block * size : (block + 1) * size])
            entry.facts.update(
                block=wave.geometry.block_index(wave.first_block + block),
                threads=self._threads(wave, gone),
                gone=int(gone.size),
            )

    def mask_excludes_caller(self, end: Terminator, lanes: LaneSet, masks: np.ndarray) -> None:
        """These lanes call a warp operation with masks (uint32 (n,)) that leave them out."""

        def text(facts: dict) -> tuple[str, str]:
            return (
                f"{self._who(facts)} is lane {facts['lane']} of its warp and not in its own mask {facts['mask']:#010x}",
                "The mask must name exactly the lanes that execute the call, the caller among them.",
            )

        self._lanes("warp_mask_excludes_caller", end, lanes, text, lambda first: {"mask": int(masks[first])})

    def mask_names_absent(self, end: Terminator, lanes: LaneSet, masks: np.ndarray, absent: np.ndarray) -> None:
        """These lanes' masks (uint32 (n,)) name lanes (bits `absent`) that do not take part."""

        def text(facts: dict) -> tuple[str, str]:
            missing = [i for i in range(32) if facts["absent"] >> i & 1]
            named = ", ".join(map(str, missing[:MAX_THREADS])) + (", ..." if len(missing) > MAX_THREADS else "")
            one = len(missing) == 1
            return (
                f"{self._who(facts)} uses mask {facts['mask']:#010x}, which names lane{'' if one else 's'} {named} of "
                f"its warp, but {'that lane does' if one else 'those lanes do'} not take part (exited, not in the "
                "block, or on another path)",
                "Let all lanes of the warp reach the call, or take the mask of those that do from a ballot before the "
                "branch.",
            )

        self._lanes(
            "shuffle_mask_names_absent_lane", end, lanes, text,
            lambda first: {"mask": int(masks[first]), "absent": int(absent[first])},
        )  # fmt: skip

    def inactive_source(self, end: Terminator, lanes: LaneSet, sources: np.ndarray) -> None:
        """These lanes read from lanes (0 to 31, (n,)) that do not take part."""

        def text(facts: dict) -> tuple[str, str]:
            return (
                f"{self._who(facts)} (lane {facts['lane']} of its warp) reads from lane {facts['source']}, which does "
                "not take part; the value is undefined",
                "Shuffle where all lanes of the warp are active, with 0 or another neutral value in the idle ones.",
            )

        self._lanes("shuffle_inactive_source", end, lanes, text, lambda first: {"source": int(sources[first])})

    def _lanes(self, kind: str, end: Terminator, lanes: LaneSet, text, facts) -> None:
        """An error at a warp operation, of some lanes."""

        def build(entry: Entry) -> Hazard:
            told, advice = text(entry.facts)
            details = {k: v for k, v in entry.facts.items() if k not in ("block", "threads")}
            return self.where.hazard(
                kind, ERROR, end.line, told, advice,
                count=entry.count, block=entry.facts["block"], threads=entry.facts["threads"], details=details,
            )  # fmt: skip

        entry = self.ledger.add((kind, end.line), lanes.n, build)
        if not entry.facts:
            block, _ = self.where.thread(lanes, 0)
            same = lanes.lanes[lanes.blocks == lanes.blocks[0]]
            entry.facts.update(
                block=block, threads=self._threads(lanes.wave, same), lane=int(lanes.lanes[0]) & 31, **facts(0)
            )

    def _who(self, facts: dict) -> str:
        return f"{self.names.thread(facts['threads'][0])} of {self.names.block(facts['block'])}"

    def _threads(self, wave: Wave, lanes: np.ndarray) -> list[tuple[int, int, int]]:
        size = self.names.geometry.lanes_per_block
        return [self.names.geometry.thread_index(int(lane) % size) for lane in lanes[:MAX_THREADS]]


def _wait(n: int) -> str:
    return "waits" if n == 1 else "wait"
