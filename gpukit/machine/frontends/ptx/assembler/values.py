"""What is known of the addresses that a PTX function computes: which are equal up to a constant, and how aligned.

An address is a sum of terms (a value times a constant) and a constant. Two addresses with the same terms differ by
their constants alone. How many of the low bits of a value are zero is known from shifts, multiplications and masks.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass

from gpukit.machine.frontends.ptx.assembler.flow import Flow, Version
from gpukit.machine.frontends.ptx.syntax import (
    SIZES,
    Float,
    Instruction,
    Integer,
    Memory,
    Negated,
    Operand,
    Pair,
    Register,
    Symbol,
    Vector,
)

MAX_TERMS = 16  # of a sum; longer ones are values of their own
EXACT = 64  # zero bits of zero: the value is known altogether

# Opcodes whose result depends on their operands alone.
_PURE = frozenset(
    [
        "mov",
        "add",
        "sub",
        "mul",
        "mad",
        "and",
        "or",
        "xor",
        "not",
        "neg",
        "shl",
        "shr",
        "cvt",
        "cvta",
        "selp",
        "setp",
        "bfe",
        "bfi",
        "min",
        "max",
        "abs",
        "rem",
        "div",
        "prmt",
        "lop3",
        "mul24",
        "mad24",
        "sad",
        "popc",
        "clz",
        "brev",
        "shf",
        "slct",
        "sin",
        "cos",
        "ex2",
        "lg2",
        "rcp",
        "sqrt",
        "rsqrt",
        "fma",
    ]
)
_CHANGING_SPECIALS = ("%clock", "%globaltimer")
# Opcodes whose first operand is read, not written.
_NO_RESULT = frozenset(
    [
        "st",
        "red",
        "bra",
        "brx",
        "bar",
        "barrier",
        "ret",
        "exit",
        "trap",
        "call",
        "fence",
        "membar",
        "prefetch",
        "prefetchu",
        "cp",
        "nanosleep",
        "brkpt",
        "discard",
    ]
)


_SPACES = ("global", "shared", "local", "const", "param")


def space_of(inst: Instruction) -> str:
    """The state space an instruction names, "generic" if none."""
    for modifier in inst.modifiers:
        name = modifier.split("::")[0]
        if name in _SPACES:
            return name
    return "generic"


def registers_of(operand: Operand) -> Iterator[str]:
    """Names of the registers in an operand."""
    match operand:
        case Register(name):
            yield name
        case Negated(register):
            yield register.name
        case Memory(base):
            yield from registers_of(base)
        case Pair(first, second):
            yield from registers_of(first)
            yield from registers_of(second)
        case Vector(items):
            for item in items:
                yield from registers_of(item)


def targets(inst: Instruction) -> tuple[str, ...]:
    """Registers that an instruction writes."""
    if not inst.operands:
        return ()
    if inst.opcode == "call":  # call (results), function, (arguments)
        first = inst.operands[0]
        return tuple(registers_of(first)) if isinstance(first, Vector) else ()
    if inst.opcode in _NO_RESULT or isinstance(inst.operands[0], Memory):
        return ()
    return tuple(registers_of(inst.operands[0]))


def sources(inst: Instruction) -> Iterator[str]:
    """Registers that an instruction reads."""
    if inst.guard is not None:
        yield inst.guard[0].name
    written = bool(targets(inst))
    for position, operand in enumerate(inst.operands):
        if position or not written:
            yield from registers_of(operand)


@dataclass(frozen=True, slots=True)
class Sum:
    """terms (number of a value, factor; sorted) + constant."""

    terms: tuple[tuple[int, int], ...]
    constant: int


@dataclass(frozen=True, slots=True)
class Place:
    """Where an access goes: `base` + `offset`. What the assembler can prove of the alignment: base + `aligned_at` is a
    multiple of 2**zeros."""

    base: Hashable
    offset: int
    zeros: int
    aligned_at: int


class Values:
    """The values of the registers of one function. `shared`: byte offset of each variable in shared memory."""

    def __init__(self, flow: Flow, shared: Mapping[str, int]):
        self.flow = flow
        self.shared = shared
        self.definitions: dict[str, list[int]] = {}
        for i, statement in enumerate(flow.body):
            if isinstance(statement, Instruction):
                for name in targets(statement):
                    self.definitions.setdefault(name, []).append(i)
        self.read = {
            name for statement in flow.body if isinstance(statement, Instruction) for name in sources(statement)
        }
        self._versions: dict[str, dict[int, Version]] = {}
        self._sums: dict[tuple[str, Version], Sum] = {}
        self._numbers: dict[Hashable, int] = {}
        self._alignments: dict[tuple[str, int], tuple[int, int]] = {}
        self._zeros = self._zero_bits()
        for i in flow.statements():  # in this order, so that no sum is far from the sums it is made of
            statement = flow.body[i]
            if isinstance(statement, Instruction):
                for name in targets(statement):
                    self._at(name, i)

    # --- places -----------------------------------------------------------------------------------------------------

    def place(self, memory: Memory, at: int) -> Place:
        """Where the access of statement `at` through `memory` goes."""
        base = memory.base
        if isinstance(base, Integer):
            return Place((), base.value + memory.offset, EXACT, 0)
        if isinstance(base, Symbol):
            whole = self._symbol(base)
            zeros, constant = self._symbol_alignment(base)
        else:
            whole = self.sum(base.name, at)
            zeros, constant = self._alignment(base.name, at)
        offset = whole.constant + memory.offset
        # base register - constant is a multiple of 2**zeros, and base + whole.constant is the register
        return Place(whole.terms, offset, zeros, whole.constant - constant)

    # --- sums of terms ----------------------------------------------------------------------------------------------

    def version(self, name: str, at: int) -> Version:
        """Which write of a register statement `at` sees."""
        definitions = self.definitions.get(name, ())
        if len(definitions) == 1:
            return definitions[0]
        if name not in self._versions:
            self._versions[name] = self.flow.versions(definitions)
        return self._versions[name].get(at, ("nowhere", at))

    def sum(self, name: str, at: int) -> Sum:
        """A register's value, as statement `at` reads it."""
        return self._at(name, self.version(name, at))

    def _at(self, name: str, version: Version) -> Sum:
        key = name, version
        found = self._sums.get(key)
        if found is None:
            self._sums[key] = self._one(key)  # what a value that depends on itself finds
            found = self._computed(name, version)
            if len(found.terms) > MAX_TERMS:
                found = self._one(key)
            self._sums[key] = found
        return found

    def _one(self, key: Hashable) -> Sum:
        """A value that is no sum of others."""
        return Sum(((self._numbers.setdefault(key, len(self._numbers)), 1),), 0)

    def _computed(self, name: str, version: Version) -> Sum:
        own = self._one((name, version))
        if not isinstance(version, int):
            return own
        inst = self.flow.body[version]
        assert isinstance(inst, Instruction)
        if inst.guard is not None or inst.opcode not in _PURE or not isinstance(inst.operands[0], Register):
            return own
        rest = inst.operands[1:]
        integer = (
            inst.type[:1] in ("s", "u", "b") and not inst.has("wide") and not inst.has("hi") and not inst.has("sat")
        )
        values = [self._operand(operand, version) for operand in rest]
        match inst.opcode, values:
            case "mov" | "cvta", [Sum() as value]:
                return value
            case "add", [Sum() as a, Sum() as b] if integer:
                return _added(a, b, 1)
            case "sub", [Sum() as a, Sum() as b] if integer:
                return _added(a, b, -1)
            case "shl", [Sum() as a, Sum((), shift)]:
                return _scaled(a, 1 << min(shift, 63))
            case ("mul", [Sum() as a, Sum((), factor)]) | ("mul", [Sum((), factor), Sum() as a]) if integer:
                return _scaled(a, factor)
            case ("mad", [Sum() as a, Sum((), factor), Sum() as b]) | (
                "mad",
                [Sum((), factor), Sum() as a, Sum() as b],
            ) if integer:
                return _added(_scaled(a, factor), b, 1)
        if any(value is None for value in values):
            return own
        return self._one((inst.name, *values))

    def _operand(self, operand: Operand, at: int) -> Sum | Hashable | None:
        """A key of an operand's value; None if there is none."""
        match operand:
            case Register(name):
                if name in self.definitions:
                    return self.sum(name, at)
                return None if name.startswith(_CHANGING_SPECIALS) else self._one(name)
            case Integer(value):
                return Sum((), value)
            case Symbol():
                return self._symbol(operand)
            case Float(bits, width):
                return "float", bits, width
            case _:
                return None

    def _symbol(self, symbol: Symbol) -> Sum:
        if symbol.name in self.shared:
            shared = self._one(("shared memory",))
            return Sum(shared.terms, self.shared[symbol.name] + symbol.offset)
        return Sum(self._one((symbol.name,)).terms, symbol.offset)

    # --- alignment --------------------------------------------------------------------------------------------------

    def _symbol_alignment(self, symbol: Symbol) -> tuple[int, int]:
        return (EXACT, self.shared[symbol.name] + symbol.offset) if symbol.name in self.shared else (0, 0)

    def _alignment(self, name: str, at: int) -> tuple[int, int]:
        """(zeros, constant): the register, as statement `at` reads it, minus constant is a multiple of 2**zeros.
        Constants are seen where they are added last, or to a variable's address."""
        version = self.version(name, at)
        if not isinstance(version, int):
            return self._zeros.get(name, 0), 0
        found = self._alignments.get((name, version))
        if found is None:
            found = self._alignments[name, version] = self._alignment_made(name, version)
        return found

    def _alignment_made(self, name: str, at: int) -> tuple[int, int]:
        """The same for what statement `at` writes."""
        inst = self.flow.body[at]
        assert isinstance(inst, Instruction)
        rest = inst.operands[1:] if inst.guard is None else ()
        match inst.opcode, rest:
            case "mov" | "cvta", (Register() as only,):
                return self._alignment(only.name, at)
            case "mov", (Symbol() as symbol,):
                return self._symbol_alignment(symbol)
            case ("add", (Register() as only, Integer(value))) | ("add", (Integer(value), Register() as only)):
                zeros, constant = self._alignment(only.name, at)
                return zeros, constant + value
            case "add", (first, second):
                for one, other in ((first, second), (second, first)):
                    exact = self._exactly(one, at)
                    if exact is not None:
                        return self._zeros_of(other), exact
            case "mad", (first, second, third):
                exact = self._exactly(third, at)
                if exact is not None:
                    return self._product(inst, first, second), exact
        return (self._zeros_made(inst) if inst.guard is None else self._zeros.get(name, 0)), 0

    def _exactly(self, operand: Operand, at: int) -> int | None:
        """The offset in shared memory that an operand is, if it is the address of a variable plus a constant."""
        if isinstance(operand, Register):
            zeros, constant = self._alignment(operand.name, at)
        elif isinstance(operand, Symbol):
            zeros, constant = self._symbol_alignment(operand)
        else:
            return None
        return constant if zeros == EXACT else None

    def _zero_bits(self) -> dict[str, int]:
        """How many low bits of each register are zero, whichever of its writes was the last one."""
        found = dict.fromkeys(self.definitions, EXACT)
        self._zeros = found
        work = [i for i, statement in enumerate(self.flow.body) if isinstance(statement, Instruction)]
        changed = True
        while changed:
            changed = False
            for i in work:
                inst = self.flow.body[i]
                assert isinstance(inst, Instruction)
                for name in targets(inst):
                    zeros = self._zeros_made(inst)
                    if zeros < found[name]:
                        found[name] = zeros
                        changed = True
        return found

    def _zeros_of(self, operand: Operand) -> int:
        match operand:
            case Register(name):
                return self._zeros.get(name, 0)
            case Integer(value):
                return _trailing(value)
            case Symbol(name, offset):
                return _trailing(self.shared[name] + offset) if name in self.shared else 0
            case _:
                return 0

    def _product(self, inst: Instruction, first: Operand, second: Operand) -> int:
        return 0 if inst.has("hi") else min(self._zeros_of(first) + self._zeros_of(second), EXACT)

    def _zeros_made(self, inst: Instruction) -> int:
        rest = inst.operands[1:]
        zeros = [self._zeros_of(operand) for operand in rest]
        if inst.type[:1] not in ("s", "u", "b"):
            return 0
        match inst.opcode, rest:
            case "mov" | "cvta" | "neg", (_,):
                return zeros[0]
            case "cvt", (_,):
                return zeros[0] if all(t[0] in "sub" for t in inst.types) and not inst.has("sat") else 0
            case "add" | "sub" | "or" | "xor", (_, _):
                return min(zeros)
            case "and", (_, _):
                return max(zeros)
            case "mul", (first, second):
                return self._product(inst, first, second)
            case "mad", (first, second, _):
                return min(self._product(inst, first, second), zeros[2])
            case "shl", (_, Integer(shift)):
                return min(zeros[0] + shift, EXACT)
            case "shl", (_, _):
                return zeros[0]
            case "selp", (_, _, _):
                return min(zeros[:2])
            case "bfi", (_, _, Integer(position), _):
                return min(zeros[0] + position, zeros[1])
        return 0


def access_bytes(inst: Instruction) -> int:
    """Bytes a lane that an ld or st moves."""
    operand = inst.operands[0] if inst.opcode in ("ld", "ldu") else inst.operands[1]
    return SIZES[inst.type] * (len(operand.items) if isinstance(operand, Vector) else 1)


def _trailing(value: int) -> int:
    return (value & -value).bit_length() - 1 if value else EXACT


def _scaled(value: Sum, factor: int) -> Sum:
    if factor == 0:
        return Sum((), 0)
    return Sum(tuple((key, n * factor) for key, n in value.terms), value.constant * factor)


def _added(a: Sum, b: Sum, sign: int) -> Sum:
    terms = dict(a.terms)
    for key, n in b.terms:
        terms[key] = terms.get(key, 0) + sign * n
    return Sum(tuple(sorted((key, n) for key, n in terms.items() if n)), a.constant + sign * b.constant)
