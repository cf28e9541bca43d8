"""Which memory requests the assembler makes of a function's loads and stores.

It looks at the elements of the accesses (a `ld.v4.f32` has four), drops the ones nobody uses, finds equal places, and
makes one wide request of elements that are neighbours in an aligned window. The rules are read off ptxas; `__init__`
says which.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass

from gpukit.machine.frontends.ptx.assembler.flow import Flow
from gpukit.machine.frontends.ptx.assembler.values import Place, Values, access_bytes, sources, space_of
from gpukit.machine.frontends.ptx.syntax import (
    SIZES,
    Instruction,
    Memory,
    Register,
    Request,
    Sink,
    Vector,
)

_MERGED_SPACES = ("shared", "global")
_WIDEST = 16  # bytes of the widest request
_ORDERED = ("volatile", "acquire", "release", "mmio")
# What ends the life of everything that was read: other threads may have written.
_SYNCHRONISING = frozenset(["bar", "barrier", "membar", "fence", "call", "cp"])


def changes_memory(inst: Instruction, space: str) -> bool:
    """Whether what was read of a space before may have changed after the instruction."""
    if inst.opcode in _SYNCHRONISING:
        return True
    if inst.opcode == "ld" and inst.has("acquire"):
        return True
    return inst.opcode in ("st", "atom", "red") and space_of(inst) in (space, "generic")


@dataclass(frozen=True, slots=True)
class Element:
    """One element of an access: its place relative to the access, its size, and whether anybody uses it."""

    offset: int
    nbytes: int
    used: bool


@dataclass(frozen=True, slots=True)
class Access:
    """A load or store that may be merged."""

    statement: int
    place: Place
    elements: tuple[Element, ...]
    kind: Hashable  # only accesses of one kind and base merge

    @property
    def nbytes(self) -> int:
        return sum(element.nbytes for element in self.elements)


Requests = dict[int, tuple[Request, ...]]


def requests(flow: Flow, values: Values) -> Requests:
    """Statement -> its requests, for the loads and stores of which the assembler makes something else."""
    found: Requests = {}
    for space in _MERGED_SPACES:
        alignment = Alignment(flow, values, space)
        found |= _loads(flow, values, space, alignment)
        found |= _stores(flow, values, space, alignment)
    written = {i: (Request(0, access_bytes(_instruction(flow, i))),) for i in found}
    return {i: made for i, made in found.items() if made != written[i]}


class Alignment:
    """What accesses of a space show of the addresses they share: each is aligned to its own width."""

    def __init__(self, flow: Flow, values: Values, space: str):
        self.flow = flow
        self.shown: dict[Hashable, list[tuple[int, int, int]]] = {}  # base -> (statement, zeros, offset)
        for i in flow.statements():
            inst = flow.body[i]
            if isinstance(inst, Instruction) and _is_access(inst, space):
                width = access_bytes(inst)
                where = inst.operands[inst.opcode == "ld"]
                assert isinstance(where, Memory)
                place = values.place(where, i)
                of_base = self.shown.setdefault(place.base, [])
                of_base.append((i, (width & -width).bit_length() - 1, place.offset))
                of_base.append((i, place.zeros, place.aligned_at))

    def of(self, base: Hashable, at: int) -> tuple[int, int]:
        """(zeros, offset): base + offset is a multiple of 2**zeros, as accesses before statement `at`, or in its block,
        show best."""
        best = 0, 0
        for i, zeros, offset in self.shown.get(base, ()):
            if zeros > best[0] and self.flow.dominates(self.flow.blocks[self.flow.block_of[i]].start, at):
                best = zeros, offset
        return best


def _is_access(inst: Instruction, space: str) -> bool:
    """Whether the instruction is an unconditional load or store of a space through an address."""
    if inst.opcode not in ("ld", "st") or space_of(inst) != space or inst.guard is not None or inst.type not in SIZES:
        return False
    return isinstance(inst.operands[inst.opcode == "ld"], Memory)


def _instruction(flow: Flow, i: int) -> Instruction:
    statement = flow.body[i]
    assert isinstance(statement, Instruction)
    return statement


# --- loads ---------------------------------------------------------------------------------------------------------


def _loads(flow: Flow, values: Values, space: str, alignment: Alignment) -> Requests:
    """Loads of one place, or of neighbouring places, that see the same memory."""
    statements = list(flow.statements())
    instructions = {i: s for i in statements if isinstance(s := flow.body[i], Instruction)}
    loads = [i for i, inst in instructions.items() if inst.opcode == "ld" and _is_access(inst, space) and _plain(inst)]
    if not loads:
        return {}
    memory = flow.versions(i for i, inst in instructions.items() if changes_memory(inst, space))
    extended = _extended_halves(flow)
    classes: dict[Hashable, list[Access]] = {}
    for i in loads:
        inst = instructions[i]
        where = inst.operands[1]
        assert isinstance(where, Memory)
        elements = _elements(inst, values.read)
        alone = not _mergeable(inst, flow, extended)
        access = Access(i, values.place(where, i), elements, i if alone else ("size", elements[0].nbytes))
        # A constant load (ld.global.nc) sees no changes.
        version = "constant" if inst.has("nc") else memory[i]
        classes.setdefault((access.place.base, access.kind, version), []).append(access)
    found: Requests = {}
    for accesses in classes.values():
        found |= _merged(flow, accesses, alignment)
    return found


def _plain(inst: Instruction) -> bool:
    return not any(inst.has(modifier) for modifier in _ORDERED)


def _elements(inst: Instruction, read: set[str]) -> tuple[Element, ...]:
    target = inst.operands[0]
    items = target.items if isinstance(target, Vector) else (target,)
    size = SIZES[inst.type]
    used = [not isinstance(item, Sink) and not (isinstance(item, Register) and item.name not in read) for item in items]
    if size < 4 and size * len(items) >= 4 and len(items) > 1 + (size == 2):
        # Short vectors of small elements are loaded as words.
        per = 4 // size
        words = [any(used[i : i + per]) for i in range(0, len(used), per)]
        return tuple(Element(4 * i, 4, use) for i, use in enumerate(words))
    return tuple(Element(size * i, size, use) for i, use in enumerate(used))


def _extended_halves(flow: Flow) -> set[str]:
    """16-bit registers that something reads as 32 bits with zeros above: their load extends them, and stays alone."""
    return {
        name
        for statement in flow.body
        if isinstance(statement, Instruction) and _reads_extended(statement)
        for name in sources(statement)
    }


def _reads_extended(inst: Instruction) -> bool:
    types = inst.types
    match inst.opcode:
        case "cvt":  # a bfloat16 becomes a float by zeros, below its bits
            return types in (("f32", "bf16"), ("u32", "u16"), ("s32", "u16"), ("u64", "u16"), ("s64", "u16"))
        case "add" | "sub" | "and" | "or" | "xor" | "not" | "shl" | "shr" | "selp":
            return types[-1:] in (("s16",), ("u16",), ("b16",))
        case "setp":
            return types == ("u16",) or (types[-1:] in (("s16",), ("b16",)) and (inst.has("eq") or inst.has("ne")))
        case "mul" | "mad":
            return types == ("u16",) and inst.has("wide")
    return False


def _mergeable(inst: Instruction, flow: Flow, extended: set[str]) -> bool:
    """Whether a load can share a request with others: not bytes, nor 16-bit loads into wider registers."""
    target = inst.operands[0]
    if SIZES[inst.type] >= 4 or not isinstance(target, Register):
        return True
    return SIZES[inst.type] == 2 == SIZES[flow.function.registers[target.name]] and target.name not in extended


def _merged(flow: Flow, accesses: list[Access], alignment: Alignment) -> Requests:
    """What becomes of loads that read one version of memory; dominating ones come first in `accesses`.

    A request is made where the first of its elements is loaded; it serves all that this load dominates.
    """
    found: dict[int, list[Request]] = {access.statement: [] for access in accesses}
    size = accesses[0].elements[0].nbytes
    waiting: dict[int, list[Access]] = {}  # offset of an element from the base -> loads of it that have no request yet
    for access in accesses:
        for element in access.elements:
            if element.used:
                waiting.setdefault(access.place.offset + element.offset, []).append(access)

    def served(start: int, count: int, by: int) -> dict[int, list[Access]]:
        """Elements of a window that statement `by` could load for others."""
        offsets = range(start, start + count * size, size)
        ready = {o: [a for a in waiting.get(o, ()) if flow.dominates(by, a.statement)] for o in offsets}
        return {o: those for o, those in ready.items() if those}

    for access in accesses:
        zeros, aligned_at = alignment.of(access.place.base, access.statement)
        for element in access.elements:
            offset = access.place.offset + element.offset
            if access not in waiting.get(offset, ()):
                continue
            for count, least in ((4, 3), (2, 2), (1, 1)):
                width = count * size
                if count > 1 and (width > _WIDEST or width > 1 << zeros):
                    continue
                start = offset - (offset - aligned_at) % width if count > 1 else offset
                together = served(start, count, access.statement)
                if len(together) >= least:
                    break
            for o, those in together.items():
                waiting[o] = [a for a in waiting[o] if a not in those]
            found[access.statement].append(Request(start - access.place.offset, width))
    return {i: tuple(made) for i, made in found.items()}


# --- stores --------------------------------------------------------------------------------------------------------


def _stores(flow: Flow, values: Values, space: str, alignment: Alignment) -> Requests:
    """Stores that follow each other in a block without another access to their space between them."""
    found: Requests = {}
    for b in flow.order:
        run: list[Access] = []
        for i in range(flow.blocks[b].start, flow.blocks[b].stop):
            inst = flow.body[i]
            if not isinstance(inst, Instruction) or not _ends_runs(inst, space):
                continue
            access = _store(inst, i, values, space)
            if run and (access is None or not _continues(run, access, alignment)):
                found |= _written(run, alignment)
                run = []
            if access is not None:
                run.append(access)
        found |= _written(run, alignment)
    return found


def _ends_runs(inst: Instruction, space: str) -> bool:
    """Whether a store after the instruction cannot be made together with one before it, were it no store itself."""
    if inst.opcode in ("ld", "st", "atom", "red"):
        return space_of(inst) in (space, "generic")
    return inst.opcode in _SYNCHRONISING or has_slow_path(inst)


def has_slow_path(inst: Instruction) -> bool:
    """Whether the instruction becomes a branch to a subroutine for rare operands, which ends a block."""
    match inst.opcode:
        case "div" | "rem" if inst.type in ("s64", "u64"):
            return True
        case "div" | "sqrt" | "rcp" | "rsqrt":
            return inst.type == "f64" or any(inst.has(rounding) for rounding in ("rn", "rz", "rm", "rp"))
    return False


def _store(inst: Instruction, i: int, values: Values, space: str) -> Access | None:
    """A store that may be merged, None if the instruction is none."""
    if inst.opcode != "st" or not _is_access(inst, space) or not _plain(inst) or SIZES[inst.type] == 1:
        return None
    where = inst.operands[0]
    assert isinstance(where, Memory)
    whole = access_bytes(inst)
    return Access(i, values.place(where, i), (Element(0, whole, True),), ("size", whole, SIZES[inst.type]))


def _window(access: Access, zeros: int, aligned_at: int) -> tuple[int, int]:
    """(start, units) of the widest aligned window an access of this size can be merged in."""
    size = access.nbytes
    units = 4
    while units > 1 and (units * size > _WIDEST or units * size > 1 << zeros):
        units //= 2
    width = units * size
    return access.place.offset - (access.place.offset - aligned_at) % width, units


def _continues(run: list[Access], access: Access, alignment: Alignment) -> bool:
    """Whether a store goes into the window of the stores before it, to a place that is still free."""
    first = run[0]
    if (access.place.base, access.kind) != (first.place.base, first.kind) or access.place.offset in [
        other.place.offset for other in run
    ]:
        return False
    zeros, aligned_at = alignment.of(access.place.base, access.statement)
    return _window(access, zeros, aligned_at) == _window(first, zeros, aligned_at)


def _written(run: list[Access], alignment: Alignment) -> Requests:
    """The requests of the stores into one window: all four at once, or halves of which both parts are there."""
    if not run:
        return {}
    zeros, aligned_at = alignment.of(run[0].place.base, run[0].statement)
    start, units = _window(run[0], zeros, aligned_at)
    size = run[0].nbytes
    by_unit = {(access.place.offset - start) // size: access for access in run}
    found: Requests = {}
    for group in _groups(units, set(by_unit)):
        first = by_unit[group[0]]
        last = max((by_unit[u] for u in group), key=lambda access: access.statement)
        for u in group:
            found[by_unit[u].statement] = ()
        offset = first.place.offset - last.place.offset
        found[last.statement] = (Request(offset, size * len(group)),)
    return found


def _groups(units: int, there: set[int]) -> Iterator[tuple[int, ...]]:
    if units == 4 and len(there) == 4:
        yield 0, 1, 2, 3
        return
    for unit in sorted(there):
        if units > 1 and unit ^ 1 in there:
            if unit & 1 == 0:
                yield unit, unit + 1
        else:
            yield (unit,)
