"""Accesses outside an array or before any write, outputs that stay unwritten, dynamic shared arrays that overlap."""

from __future__ import annotations

import math

import numpy as np

from gpukit.machine.analysis import defines, uses
from gpukit.machine.hazards.ledger import (
    ERROR,
    MAX_THREADS,
    NOTE,
    WARNING,
    Entry,
    Hazard,
    Ledger,
    Names,
    Where,
    plural,
    spell,
)
from gpukit.machine.hazards.races import Memory
from gpukit.machine.lanes import LaneSet
from gpukit.machine.program import (
    CONSTANT,
    GENERIC,
    GLOBAL,
    GLOBAL_BASE,
    LOCAL,
    LOCAL_BASE,
    SHARED,
    Allocation,
    Atomic,
    Element,
    Launch,
    Load,
    Operand,
    Place,
    Program,
    Store,
)

NULL_REACH = 1 << 32  # addresses below this come from a null pointer and an index

MemoryOp = Load | Store | Atomic


class BoundsChecks:
    """Folds what is wrong with where an access goes."""

    def __init__(self, names: Names, ledger: Ledger):
        self.names = names
        self.ledger = ledger
        self.where = Where(names)

    def outside(self, op: MemoryOp, lanes: LaneSet, index: list[np.ndarray], shape: tuple[int, ...], kind: str) -> None:
        """Lanes whose index lies outside its axis; their access was suppressed.

        Args:
            index: one int64 (n,) per axis.
            kind: "read" or "write".
        """
        word = _word(op.space, kind)
        array = self.names.array(op, "the array")

        def build(entry: Entry) -> Hazard:
            facts = entry.facts
            first, block, thread = facts["index"], facts["block"], facts["threads"][0]
            who = f"{self.names.thread(thread)} of {self.names.block(block)} {kind}s"
            if 0 in shape:
                text = f"{who} {spell(array, first)}, but {array} is empty (shape {_shape(shape)})"
                advice = "Test for the empty case before the access."
            else:
                axis = next(a for a, (i, n) in enumerate(zip(first, shape, strict=True)) if not -n <= i < n)
                text = f"{who} {spell(array, first)}, but {array} has shape {_shape(shape)}: "
                text += f"axis {axis} ends at {shape[axis] - 1}" if len(shape) > 1 else f"it ends at {shape[0] - 1}"
                inside = facts["inside"]
                if inside:
                    text += f"; {plural(inside, 'such access')} would silently hit another element of the same array"
                if len(shape) == 1:
                    advice = "Guard the access with `if i < n`, or correct the index."
                elif len(facts["axes"]) == 1:
                    advice = f"Guard axis {axis} (index < {shape[axis]}), or correct the index."
                else:
                    advice = (
                        "Guard every axis: a thread is outside when i >= rows OR j >= columns, or correct the index."
                    )
            return self.where.hazard(
                word, ERROR, op.line, text, advice,
                count=entry.count, array=array, index=first, block=block, threads=facts["threads"],
                details={"shape": list(shape), "inside_allocation": facts["inside"]},
            )  # fmt: skip

        entry = self._example((word, op.line, array), op, lanes, index, build)
        entry.facts["inside"] = entry.facts.get("inside", 0) + _inside(index, shape)
        outside = {a for a, (i, n) in enumerate(zip(index, shape, strict=False)) if ((i < -n) | (i >= n)).any()}
        entry.facts["axes"] = entry.facts.get("axes", set()) | outside

    def outside_memory(self, op: MemoryOp, lanes: LaneSet, address: np.ndarray, width: int, kind: str) -> None:
        """Lanes whose `width` bytes at an address (int64 (n,)) are not in memory they may reach; their access was
        suppressed. `kind`: "read" or "write"."""
        first = int(address[0])
        space = op.space
        if space == GENERIC:
            space = GLOBAL if first >= GLOBAL_BASE else LOCAL if first >= LOCAL_BASE else SHARED
        gone = self.names.former(first)
        stretch = None if gone is not None else self.names.stretch(op, first)
        array = gone or (self.names.at(op, first) if stretch is None else stretch.name)
        facts: dict = {}
        if stretch is not None:
            low, high = (
                (first - stretch.start) // stretch.itemsize,
                (first + width - 1 - stretch.start) // stretch.itemsize,
            )
            size = (stretch.end - stretch.start) // stretch.itemsize
            before, behind = max(0, stretch.start - first), max(0, first + width - stretch.end)
            facts = {"shape": [size], "bytes_before": before, "bytes_behind": behind}

        def build(entry: Entry) -> Hazard:
            block, thread = entry.facts["block"], entry.facts["threads"][0]
            who = f"{self.names.thread(thread)} of {self.names.block(block)} {kind}s"
            advice = "Guard the access with `if (i < n)`, or correct the index."
            if gone is not None:
                text = f"{who} {gone}, an array that no longer exists"
                advice = "Keep the array alive while device code holds pointers to it."
            elif stretch is None or (not size and 0 <= first < NULL_REACH):
                null = "through a null pointer" if 0 <= first < NULL_REACH else "at an address outside every array"
                text = f"{who} {array} {null} (address {first:#x})"
                advice = "Check the pointer and the index."
            elif not size and space == SHARED:  # `extern __shared__`: an array of fixed size is never empty
                text = f"{who} {spell(array, (low,))}, but the launch gives the block no dynamic shared memory"
                advice = "Say at the launch how many bytes it takes (<<<grid, block, bytes>>>, shared_mem=, --shared)."
            elif not size:
                text = f"{who} {spell(array, (low,))}, but {array} is empty"
                advice = "Test for the empty case before the access."
            else:
                what = f"element {low:,}" if low == high else f"elements {low:,} to {high:,}"
                far = (
                    f"{plural(before, 'byte')} before its start" if before else f"{plural(behind, 'byte')} past its end"
                )
                text = f"{who} {what} of {array}, which has {size:,}: the access {'begins' if before else 'ends'} {far}"
            return self.where.hazard(
                _word(space, kind), ERROR, op.line, text, advice,
                count=entry.count, array=array, index=(low,) if stretch is not None else None,
                block=block, threads=entry.facts["threads"], details=facts,
            )  # fmt: skip

        self._example((_word(space, kind), op.line, array), op, lanes, [address], build)

    def misaligned(self, op: MemoryOp, lanes: LaneSet, address: np.ndarray, width: int, kind: str) -> None:
        """Lanes whose address (int64 (n,)) is no multiple of the `width` bytes of their suppressed access."""
        first = int(address[0])
        stretch = self.names.stretch(op, first)
        array = self.names.at(op, first) if stretch is None else stretch.name

        def build(entry: Entry) -> Hazard:
            block, thread = entry.facts["block"], entry.facts["threads"][0]
            who = f"{self.names.thread(thread)} of {self.names.block(block)}"
            text = f"{who} {kind}s {plural(width, 'byte')} of {array} at "
            index = None
            if stretch is not None:
                index = ((first - stretch.start) // stretch.itemsize,)
                text += f"byte {first - stretch.start:,} (element {index[0]:,}), which is"
            else:
                text += f"address {first:#x}, which is"
            text += f" no multiple of {width}: a GPU stops the kernel with `misaligned address`"
            advice = (
                f"A vector access of {width} bytes needs an address that is a multiple of {width}: let its index step "
                "by whole vectors from an aligned start, or access the elements one by one."
            )
            return self.where.hazard(
                "misaligned_access", ERROR, op.line, text, advice,
                count=entry.count, array=array, index=index, block=block, threads=entry.facts["threads"],
                details={"width": width, "remainder": first % width},
            )  # fmt: skip

        self._example(("misaligned_access", op.line, array), op, lanes, [address], build)

    def negative(self, op: MemoryOp, lanes: LaneSet, index: list[np.ndarray], shape: tuple[int, ...]) -> None:
        """Lanes with an index below zero, counted from the end as numba does."""
        array = self.names.array(op, "the array")

        def build(entry: Entry) -> Hazard:
            facts = entry.facts
            first, block, thread = facts["index"], facts["block"], facts["threads"][0]
            who = f"{self.names.thread(thread)} of {self.names.block(block)}"
            wrapped = tuple(i + n if i < 0 else i for i, n in zip(first, shape, strict=True))
            lost = any(not 0 <= i < n for i, n in zip(wrapped, shape, strict=True))
            where = "is outside the array all the same" if lost else f"silently becomes {spell(array, wrapped)}"
            text = f"{who} uses the index {spell(array, first)}: a negative index counts from the end, so it {where}"
            advice = 'If -1 marks padding or "nothing", test for it before the access.'
            return self.where.hazard(
                "negative_index", WARNING, op.line, text, advice,
                count=entry.count, array=array, index=first, block=block, threads=facts["threads"],
                details={"shape": list(shape)},
            )  # fmt: skip

        self._example(("negative_index", op.line, array), op, lanes, index, build)

    def uninitialised(self, op: MemoryOp, memory: Memory, lanes: LaneSet, which: np.ndarray, unit: np.ndarray) -> None:
        """Lanes (bool (n,)) that read a granule (int64 (n,) or one for all) nobody wrote."""
        shared = memory.space == SHARED
        kind = "uninit_shared_read" if shared else "uninit_local_read"
        positions = np.flatnonzero(which)
        array = self.names.at(op, memory.address(int(unit[positions[0] if unit.size > 1 else 0])))

        def build(entry: Entry) -> Hazard:
            facts = entry.facts
            block, slots = facts["block"], facts["slots"]
            elements = [self.names.element(op, memory.address(int(u)), None) for u in slots]
            known = [e for e in elements if e is not None]
            shown = ", ".join(spell(array, e) for e in known[:MAX_THREADS]) if known else array
            more = len(slots) - MAX_THREADS
            if more > 0 and known:
                shown += f" and {more} more"
            first, readers = self.names.thread(facts["threads"][0]), facts["readers"]
            who = f"{first} of {self.names.block(block)} reads"
            if readers > 1:
                who = f"{plural(readers, 'thread')} of {self.names.block(block)} (first {first}) read"
            owner = "any thread of the block" if shared else "this thread"
            text = f"{who} {shown} before {owner} wrote there"
            advice = (
                f"{'Shared' if shared else 'Local'} memory is never zeroed for you: write it first, a neutral element "
                "(0 for a sum) where there is no data."
            )
            return self.where.hazard(
                kind, ERROR, op.line, text, advice,
                count=entry.count, array=array, index=known[0] if known else None,
                block=block, threads=facts["threads"],
                details={"slots": [e[0] if len(e) == 1 else list(e) for e in known]},
            )  # fmt: skip

        entry = self.ledger.add((kind, op.line, array), positions.size, build)
        if not entry.facts:
            numbers = lanes.lanes[positions]
            size = lanes.wave.geometry.lanes_per_block
            same = numbers // size == numbers[0] // size
            block, _ = self.where.thread(lanes, int(positions[0]))
            units = unit[positions] if unit.size > 1 else np.repeat(unit, positions.size)
            slots = np.unique(units[same] % memory.units_per_owner)
            threads = [lanes.wave.geometry.thread_index(int(n) % size) for n in numbers[same][:MAX_THREADS]]
            entry.facts.update(block=block, threads=threads, slots=slots[:1024].tolist(), readers=int(same.sum()))

    def _example(self, key: tuple, op: MemoryOp, lanes: LaneSet, index: list[np.ndarray], build) -> Entry:
        entry = self.ledger.add(key, lanes.n, build)
        if not entry.facts:
            same = lanes.lanes[lanes.blocks == lanes.blocks[0]]
            size = lanes.wave.geometry.lanes_per_block
            entry.facts.update(
                block=self.where.thread(lanes, 0)[0],
                threads=[lanes.wave.geometry.thread_index(int(n) % size) for n in same[:MAX_THREADS]],
                index=tuple(int(i.flat[0]) for i in index),
            )
        return entry


def _word(space: str, kind: str) -> str:
    """The hazard word of a suppressed access."""
    return "oob_shared" if space == SHARED else "oob_local" if space == LOCAL else f"oob_global_{kind}"


def _shape(shape: tuple[int, ...]) -> str:
    return f"({shape[0]},)" if len(shape) == 1 else str(tuple(shape))


def _inside(index: list[np.ndarray], shape: tuple[int, ...]) -> int:
    """How many of these outside indices still fall inside an array of this shape in row-major order."""
    if len(shape) < 2:
        return 0
    flat = np.zeros(index[0].size, np.int64)
    for i, n in zip(index, shape, strict=True):
        flat = flat * n + i
    return int(np.count_nonzero((flat >= 0) & (flat < math.prod(shape))))


def _only_tail(missing: np.ndarray) -> bool:
    """Whether everything from the first missing element on is missing."""
    flat = missing.ravel()
    return bool(flat[int(np.argmax(flat)) :].all())


class AliasCheck:
    """Which bytes of dynamic shared memory each of the program's dynamic arrays used."""

    def __init__(self, names: Names, ledger: Ledger):
        self.names = names
        self.ledger = ledger
        self.where = Where(names)
        dynamic = {i for i, r in enumerate(names.program.roots) if r.space == SHARED and r.dynamic}
        self.roots = dynamic if len(dynamic) > 1 else set()
        self._used: dict[int, tuple[int, int, int]] = {}  # root -> first byte, end byte, line

    def used(self, op: MemoryOp, memory: Memory, unit: np.ndarray, units: int) -> None:
        """An access of `units` granules from each of `unit` on."""
        offset = unit % memory.units_per_owner * memory.granule
        low, high = int(offset.min()), int(offset.max()) + units * memory.granule
        assert op.root is not None
        before = self._used.get(op.root)
        if before is not None:
            low, high = min(low, before[0]), max(high, before[1])
        self._used[op.root] = (low, high, before[2] if before else op.line)

    def finish(self) -> None:
        """Report every overlapping pair of arrays that differ in name or type."""
        roots = self.names.program.roots
        used = sorted(self._used.items())
        for n, (a, (low_a, high_a, line_a)) in enumerate(used):
            for b, (low_b, high_b, line_b) in used[n + 1 :]:
                low, high = max(low_a, low_b), min(high_a, high_b)
                different = roots[a].name != roots[b].name or roots[a].dtype != roots[b].dtype
                if low < high and different:
                    self._report(a, b, high - low, (line_a, line_b))

    def _report(self, a: int, b: int, nbytes: int, lines: tuple[int, int]) -> None:
        roots = self.names.program.roots
        first, second = (f"{roots[i].name} ({roots[i].dtype})" for i in (a, b))
        text = (
            f"{first} and {second} are both dynamic shared memory and share {plural(nbytes, 'byte')}: every dynamic "
            "shared array starts at the same place"
        )
        advice = "Take one dynamic array and cut it in slices that do not overlap."

        def build(entry: Entry) -> Hazard:
            hazard = self.where.hazard(
                "alias_dynamic_shared", WARNING, lines[1], text, advice,
                array=roots[b].name, details={"arrays": [roots[a].name, roots[b].name], "bytes": nbytes},
            )  # fmt: skip
            hazard.lines = tuple(sorted({self.names.line(i) for i in lines}))
            return hazard

        self.ledger.add(("alias_dynamic_shared", a, b), 1, build)


def _roots_written_where_data_says(program: Program) -> set[int]:
    """Roots with a store whose index comes from memory or an atomic (a compaction, a scatter): the data decides which
    elements are written, and the rest is no mistake."""
    loaded: set[int] = set()
    everything = [op for block in program.blocks for op in (*block.ops, block.end)]
    grown = True
    while grown:
        before = len(loaded)
        for op in everything:
            from_memory = isinstance(op, Atomic) or (isinstance(op, Load) and op.space != CONSTANT)
            if from_memory or not loaded.isdisjoint(uses(op)):
                loaded.update(defines(op))
        grown = len(loaded) > before
    return {
        op.root
        for op in everything
        if isinstance(op, Store) and op.root is not None and not loaded.isdisjoint(_steering(op.place))
    }


def _steering(place: Place) -> tuple[Operand, ...]:
    """The operands that say which element of its array an access goes to."""
    return place.index if isinstance(place, Element) else (place.address,)


class OutputCheck:
    """Elements of write-only arrays that nobody wrote."""

    def __init__(self, launch: Launch, names: Names):
        self.launch = launch
        self.names = names
        self.where = Where(names)
        self.stores: dict[int, Store] = {}  # root -> a store to it, for roots that are only stored to
        touched: set[int] = set()
        for block in launch.program.blocks:
            for op in block.ops:
                if isinstance(op, (Load, Atomic)) and op.root is not None:
                    touched.add(op.root)
                elif isinstance(op, Store) and op.root is not None:
                    self.stores.setdefault(op.root, op)
        # An array that is also read under another name is not write-only.
        read = {a.base for i, a in enumerate(launch.allocations) if a is not None and i in touched}
        for root in list(self.stores):
            allocation = launch.allocations[root] if root < len(launch.allocations) else None
            if allocation is None or allocation.base in read:
                del self.stores[root]
        chosen = _roots_written_where_data_says(launch.program)
        self.stores = {root: op for root, op in self.stores.items() if root not in chosen}

    def finish(self, memories: dict[tuple[int, int], Memory | None]) -> list[Hazard]:
        """unwritten_output findings. `memories`: by base address and length of the allocation."""
        found = []
        seen: set[int] = set()
        for root, op in self.stores.items():
            allocation = self.launch.allocations[root]
            assert allocation is not None
            memory = memories.get((allocation.base, allocation.nbytes))
            if (memory is not None and memory.loaded) or allocation.base in seen:
                continue
            seen.add(allocation.base)
            written = self._written(root, op, allocation, memory)
            if written is not None and written.size and not written.all():
                finding = self._finding(root, op, written)
                if finding is not None:
                    found.append(finding)
        return found

    def _written(self, root: int, op: Store, allocation: Allocation, memory: Memory | None) -> np.ndarray | None:
        """bool in the shape of the argument: which elements were written. None when the layout is not known."""
        parameter = self.names.program.roots[root].parameter
        arguments = self.launch.arguments
        argument = arguments[parameter] if parameter is not None and parameter < len(arguments) else {}
        shape = tuple(int(n) for n in argument.get("shape", allocation.shape))
        if 0 in shape:
            return None
        itemsize = allocation.dtype.itemsize
        view = self.names.view(op)
        if view is not None and view[1] == shape:
            start, _, strides = view
        elif shape == tuple(allocation.shape):
            start = allocation.base
            strides = tuple(itemsize * math.prod(shape[axis + 1 :]) for axis in range(len(shape)))
        else:
            return None
        if memory is None:
            return np.zeros(shape, bool)
        offset = np.zeros(shape, np.int64)
        for axis, (n, stride) in enumerate(zip(shape, strides, strict=True)):
            offset += (np.arange(n) * stride).reshape([-1 if a == axis else 1 for a in range(len(shape))])
        first = (offset + (start - allocation.base)) // memory.granule
        written = np.zeros(shape, bool)
        for step in range(max(1, itemsize // memory.granule)):
            written |= ~memory.shadow.unwritten(first + step, since=1)
        return written

    def _finding(self, root: int, op: Store, written: np.ndarray) -> Hazard | None:
        missing = ~written
        n = int(np.count_nonzero(missing))
        if n == written.size == 1:
            return None  # a flag that is only set when something happens
        array = self.names.program.roots[root].name
        first = tuple(int(i) for i in np.unravel_index(int(np.argmax(missing)), written.shape))
        axes = []
        for axis in range(written.ndim):
            others = tuple(a for a in range(written.ndim) if a != axis)
            axes.append((int(np.count_nonzero(written.any(axis=others))), written.shape[axis]))
        threads = tuple(g * b for g, b in zip(self.launch.grid, self.launch.block, strict=True))
        text = f"{n:,} of {written.size:,} elements of {array} were never written, first {spell(array, first)}"
        if written.ndim > 1:
            reached = ", ".join(f"{got:,} of {size:,} along axis {axis}" for axis, (got, size) in enumerate(axes))
            text += f" (written indices: {reached}; the launch has {' x '.join(map(str, threads))} threads)"
        elif math.prod(threads) < written.size:
            text += f" (the launch has {plural(math.prod(threads), 'thread')})"
        if written.ndim > 1 and threads[1] == threads[2] == 1:
            advice = "The launch is one-dimensional: give grid and block as pairs, one entry per axis of the array."
        elif (written.ndim > 1 and any(got < size for got, size in axes)) or _only_tail(missing):
            advice = (
                "Check that the grid is rounded up, ceil(size / block) along every axis, that each index uses the "
                "block size of its own axis, and that the guard stops at the end of the array."
            )
        else:
            advice = "Let every thread store its result, zero too, so that nothing old stays in the array."
        return self.where.hazard(
            "unwritten_output", NOTE, op.line, text, advice,
            count=n, array=array, index=first,
            details={
                "unwritten": n, "size": int(written.size), "written_per_axis": [list(a) for a in axes],
                "threads_per_axis": list(threads),
            },
        )  # fmt: skip
