"""What a hazard or finding is, and how repeats are folded into one."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import asdict, dataclass, field

import numpy as np

from gpukit.machine.lanes import Geometry, LaneSet
from gpukit.machine.memory import extent
from gpukit.machine.program import (
    CONSTANT,
    GLOBAL,
    GLOBAL_BASE,
    LOCAL,
    LOCAL_BASE,
    SHARED,
    Address,
    Allocation,
    Const,
    Element,
    Launch,
    Operand,
    is_cpp,
)

ERROR, WARNING, NOTE = "error", "warning", "note"
_SEVERITIES = (ERROR, WARNING, NOTE)
# An address this far from an array, and further than the array is long, is no index that ran over.
FAR_BYTES = 1 << 20
MAX_THREADS = 4  # examples kept per hazard; counts are never capped


@dataclass
class Hazard:
    """A correctness problem, or (severity "note") something worth knowing.

    `kind` is a word of the hazard table. `line` is a line number in `file`, `lines` all lines involved, in ascending
    order. `block` and `threads` are (x, y, z) indices, `threads` the first few. `array` and `index` say which element.
    `count` is how often it happened, `message` one sentence that says all this, `advice` one sentence with the cure,
    `details` numbers that belong to the kind.
    """

    kind: str
    severity: str
    line: int
    message: str
    count: int = 1
    file: str = ""
    array: str | None = None
    index: tuple[int, ...] | None = None
    block: tuple[int, int, int] | None = None
    threads: list[tuple[int, int, int]] = field(default_factory=list)
    lines: tuple[int, ...] = ()
    advice: str = ""
    details: dict = field(default_factory=dict)

    def to_dict(self) -> dict:
        """The same as plain values that JSON can hold."""
        return {name: _plain(value) for name, value in asdict(self).items()}

    def __str__(self) -> str:
        return f"{self.severity}: {self.message}"


def _plain(value: object) -> object:
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if isinstance(value, np.generic):
        return _plain(value.item())
    if (isinstance(value, float) and not np.isfinite(value)) or isinstance(value, complex):
        return str(value)
    return value


class Entry:
    """A folded hazard while the launch runs: a count, and numbers its message needs."""

    __slots__ = ("build", "count", "facts")

    def __init__(self, build: Callable[[Entry], Hazard]):
        self.count = 0
        self.facts: dict = {}
        self.build = build


class Ledger:
    """Hazards by what makes them the same (kind, lines, array); the first example builds the message, at the end."""

    def __init__(self) -> None:
        self._entries: dict[Hashable, Entry] = {}

    def add(self, key: Hashable, count: int, build: Callable[[Entry], Hazard]) -> Entry:
        """Add `count` occurrences; `build` is kept from the first one."""
        entry = self._entries.get(key)
        if entry is None:
            entry = self._entries[key] = Entry(build)
        entry.count += int(count)
        return entry

    def hazards(self) -> list[Hazard]:
        """All of them: errors first, then by line and kind."""
        made = [entry.build(entry) for entry in self._entries.values()]
        return sorted_hazards(made)


def sorted_hazards(hazards: list[Hazard]) -> list[Hazard]:
    """Errors, warnings, notes; each by file, line, kind and array."""
    return sorted(
        hazards, key=lambda h: (_SEVERITIES.index(h.severity), h.file, h.line, h.kind, h.lines, h.array or "")
    )


@dataclass(frozen=True)
class Stretch:
    """Memory that has a name: virtual addresses `start` to `end`, in elements of `itemsize` bytes."""

    name: str
    start: int
    end: int
    itemsize: int


class Names:
    """How threads, blocks, lines, arrays and elements of a launch are called in messages."""

    def __init__(self, launch: Launch, geometry: Geometry):
        self.launch = launch
        self.program = launch.program
        self.geometry = geometry
        cpp = is_cpp(self.program.file) or any(is_cpp(line.file, line.text) for line in self.program.source)
        self.syncthreads = "__syncthreads()" if cpp else "cuda.syncthreads()"
        self.syncwarp = "__syncwarp()" if cpp else "cuda.syncwarp()"
        self.threadfence = "__threadfence()" if cpp else "cuda.threadfence()"
        self.atomic_add = "atomicAdd" if cpp else "cuda.atomic.add"

    def line(self, index: int) -> int:
        """Line number of Program.lines[index]; 0 when the program does not say."""
        return self.program.lines[index].number if index < len(self.program.lines) else 0

    def file(self, index: int) -> str:
        """File of Program.lines[index]."""
        return self.program.lines[index].file if index < len(self.program.lines) else self.program.file

    def thread(self, thread: tuple[int, int, int]) -> str:
        """ "thread 5" in a 1-D block, "thread (5, 1, 0)" otherwise."""
        return f"thread {thread[0]}" if self.geometry.block[1:] == (1, 1) else f"thread {thread}"

    def block(self, block: tuple[int, int, int]) -> str:
        """As `thread`."""
        return f"block {block[0]}" if self.geometry.grid[1:] == (1, 1) else f"block {block}"

    def array(self, op: object, fallback: str) -> str:
        """The array an access goes to, as the user calls it."""
        name = getattr(getattr(op, "place", None), "name", "")
        root = getattr(op, "root", None)
        if not name and root is not None:
            name = self.program.roots[root].name
        return name or fallback

    def value(self, operand: Operand) -> int | None:
        """An operand that is the same for the whole launch, None for any other."""
        if isinstance(operand, Const):
            return int(operand.value)
        initial = self.launch.registers.get(operand)
        return None if initial is None else int(initial)

    def view(self, op: object) -> tuple[int, tuple[int, ...], tuple[int, ...]] | None:
        """(address of the first element, shape, strides in bytes) of the array an access indexes, if it is known."""
        place = getattr(op, "place", None)
        if not isinstance(place, Element):
            return None
        base = self.value(place.base)
        shape = tuple(self.value(o) for o in place.shape)
        strides = tuple(self.value(o) for o in place.strides)
        if base is None or None in shape or None in strides:
            return None
        return base, shape, strides  # type: ignore[return-value]

    def element(self, op: object, address: int, allocation: Allocation | None) -> tuple[int, ...] | None:
        """Index of the element at a byte address (shared and local: of the block's or thread's window)."""
        view = self.view(op)
        if view is not None:
            index = _index_in_view(address - view[0], view[1], view[2])
            if index is not None:
                return index
        if allocation is not None:
            flat = (address - allocation.base) // max(1, allocation.dtype.itemsize)
            if 0 <= flat < int(np.prod(allocation.shape, dtype=np.int64)):
                return tuple(int(i) for i in np.unravel_index(flat, allocation.shape))
            return (int(flat),)
        return self._slot(op, address)

    def _slot(self, op: object, address: int) -> tuple[int] | None:
        """Number of the element in a shared or local array that is taken as flat: one that is accessed by address, or
        a dynamic shared array (slices whose start is computed)."""
        number = getattr(op, "root", None)
        by_address = isinstance(getattr(op, "place", None), Address)
        if not by_address and (number is None or not self.program.roots[number].dynamic):
            return None
        stretch = self.stretch(op, address)
        return None if stretch is None else ((address - stretch.start) // stretch.itemsize,)

    # --- memory by address ---------------------------------------------------------------------------------------

    def at(self, op: object, address: int, allocation: Allocation | None = None) -> str:
        """The array an access reaches at an address, as the user calls it."""
        if allocation is not None and allocation.name:
            return self.array(op, allocation.name)
        stretch = self.stretch(op, address)
        space = "memory" if address >= GLOBAL_BASE else "local memory" if address >= LOCAL_BASE else "shared memory"
        return self.array(op, space if stretch is None else stretch.name)

    def stretch(self, op: object, address: int) -> Stretch | None:
        """The memory that an access at an address means: its root's where that is known, or else what holds the
        address, or in global memory the nearest array."""
        number = getattr(op, "root", None)
        if number is not None:
            return self._of_root(op, number)
        if address >= GLOBAL_BASE or getattr(op, "space", None) in (GLOBAL, CONSTANT):
            return self._nearest_array(address)
        space = LOCAL if address >= LOCAL_BASE else SHARED
        for number, root in enumerate(self.program.roots):
            if root.space == space:
                start, end = extent(self.launch, number)
                if start <= address < end:
                    return self._of_root(op, number)
        return None

    def former(self, address: int) -> str | None:
        """The array that was at an address in an earlier launch and is gone."""
        return next((p.name for p in self.launch.former if p.base <= address < p.base + p.nbytes), None)

    def _of_root(self, op: object, number: int) -> Stretch:
        root = self.program.roots[number]
        start, end = extent(self.launch, number)
        allocation = self.launch.allocations[number] if number < len(self.launch.allocations) else None
        itemsize = root.dtype.itemsize
        if allocation is not None:
            itemsize = allocation.dtype.itemsize
        elif itemsize == 1:  # untyped bytes: the access says what they are
            itemsize = getattr(op, "dtype", root.dtype).itemsize
        return Stretch(self.array(op, root.name), start, end, max(1, itemsize))

    def _nearest_array(self, address: int) -> Stretch | None:
        arrays = [a for a in (*self.launch.allocations, *self.launch.others) if a is not None]
        if not arrays:
            return None

        def distance(array: Allocation) -> int:
            return max(array.base - address, address - array.base - array.nbytes, 0)

        nearest = min(arrays, key=distance)
        if distance(nearest) > max(nearest.nbytes, FAR_BYTES):
            return None
        end = nearest.base + nearest.nbytes
        return Stretch(nearest.name, nearest.base, end, max(1, nearest.dtype.itemsize))


class Where:
    """Makes hazards of one line, and names the lane an event happened in."""

    def __init__(self, names: Names):
        self.names = names

    def thread(self, lanes: LaneSet, position: int) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
        """((x, y, z) of the block, (x, y, z) of the thread) of the lane at a position of the set."""
        block, thread = lanes.wave.locate(int(lanes.lanes[position]))
        return self.names.geometry.block_index(block), self.names.geometry.thread_index(thread)

    def hazard(self, kind: str, severity: str, line: int, text: str, advice: str, **more: object) -> Hazard:
        """A hazard of one line. `text` says what happened; `line` indexes Program.lines."""
        number = self.names.line(line)
        return Hazard(
            kind=kind,
            severity=severity,
            line=number,
            message=f"line {number}: {text}. {advice}",
            file=self.names.file(line),
            lines=(number,),
            advice=advice,
            **more,  # type: ignore[arg-type]
        )


def _index_in_view(offset: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[int, ...] | None:
    """Index of the element that holds byte `offset` of a strided view, None when it lies outside."""
    index = [0] * len(shape)
    for axis in sorted(range(len(shape)), key=lambda a: -strides[a]):
        if strides[axis] <= 0:
            return None
        index[axis], offset = divmod(offset, strides[axis])
        if not 0 <= index[axis] < shape[axis]:
            return None
    return tuple(int(i) for i in index)


def spell(array: str, index: tuple[int, ...] | None) -> str:
    """ "tile[3, 4]", "points[3].x" for a field, or just "tile"."""
    if index is None:
        return array
    name, dot, field = array.partition(".")
    if not dot or len(index) > 1:  # an array in a record has the index of both: points.position[3, 0]
        name, dot, field = array, "", ""
    return f"{name}[{', '.join(map(str, index))}]{dot}{field}"


def plural(n: int, noun: str) -> str:
    """ "1 thread", "2 threads", "1,024 threads"."""
    if n == 1:
        return f"{n} {noun}"
    return f"{n:,} {noun}es" if noun.endswith("s") else f"{n:,} {noun}s"
