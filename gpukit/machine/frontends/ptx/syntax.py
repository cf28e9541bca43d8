"""PTX as a tree: what the parser makes and the lowering reads. Facts from the PTX ISA manual, versions 6.0 to 9.x."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

# --- operands -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Register:
    """A virtual register, or a special one (`%tid.x`: its name keeps the dot). Names are unique in a function."""

    name: str


@dataclass(frozen=True, slots=True)
class Integer:
    """An integer literal, as a Python int of any sign; the instruction's type says how many bits are used."""

    value: int


@dataclass(frozen=True, slots=True)
class Float:
    """A float literal: 0fXXXXXXXX (width 4) or 0dXXXXXXXXXXXXXXXX and plain decimals (width 8), by its bits."""

    bits: int
    width: int

    @property
    def value(self) -> np.generic:
        kind, raw = (np.float32, np.uint32) if self.width == 4 else (np.float64, np.uint64)
        return raw(self.bits).view(kind)


@dataclass(frozen=True, slots=True)
class Symbol:
    """The address of a variable, or the name of a function or label, plus a constant byte offset."""

    name: str
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Memory:
    """[base + offset]; base is a register, a symbol (whose own offset is folded into `offset`) or an integer."""

    base: Register | Symbol | Integer
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Vector:
    """{a, b, ...}"""

    items: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Pair:
    """a|b: two destinations."""

    first: Operand
    second: Operand


@dataclass(frozen=True, slots=True)
class Negated:
    """!p: the opposite of a predicate."""

    operand: Register


@dataclass(frozen=True, slots=True)
class Sink:
    """_: a result nobody wants."""


Operand = Register | Integer | Float | Symbol | Memory | Vector | Pair | Negated | Sink


# --- statements ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Location:
    """Where an instruction comes from: a `.loc`, innermost first; `inlined_at` is where its function was inlined."""

    file: int
    line: int
    column: int = 0
    inlined_at: Location | None = None


@dataclass(frozen=True, slots=True)
class Request:
    """A memory request the hardware makes in an instruction's place: `nbytes` bytes a lane, `offset` bytes after the
    instruction's own address."""

    offset: int
    nbytes: int


@dataclass(slots=True)
class Instruction:
    """opcode.modifier.modifier operands; `guard` is (predicate, negated). `text_line`: its line in the PTX text.

    `requests` is what the assembler makes of a load or store: None as written, () nothing of its own. `together` is
    which lanes an atomic is done for in one go, as in program.Atomic.
    """

    opcode: str
    modifiers: tuple[str, ...]
    operands: tuple[Operand, ...]
    guard: tuple[Register, bool] | None = None
    location: Location | None = None
    text_line: int = 0
    requests: tuple[Request, ...] | None = None
    together: str = ""

    @property
    def name(self) -> str:
        """As written: "add.rn.f32"."""
        return ".".join((self.opcode, *self.modifiers))

    @property
    def type(self) -> str:
        """The last type among the modifiers ("f32"), which is that of the sources; "" if there is none."""
        return next((m for m in reversed(self.modifiers) if m in TYPES), "")

    @property
    def types(self) -> tuple[str, ...]:
        """All types among the modifiers, in order: ("f32", "s32") for cvt.rn.f32.s32."""
        return tuple(m for m in self.modifiers if m in TYPES)

    def has(self, modifier: str) -> bool:
        return modifier in self.modifiers


@dataclass(frozen=True, slots=True)
class Label:
    name: str


Statement = Instruction | Label


@dataclass(slots=True)
class Variable:
    """A .shared, .global, .const, .local or .param variable. `count` elements of `type`, or an incomplete array (0 and
    `dynamic`: extern shared memory). `initial` holds the bytes given, `pointers` symbols stored at byte offsets."""

    name: str
    space: str
    type: str
    count: int = 1
    align: int = 0
    dynamic: bool = False
    external: bool = False  # defined in another module
    initial: bytes = b""
    pointers: dict[int, Symbol] = field(default_factory=dict)

    @property
    def nbytes(self) -> int:
        return self.count * SIZES[self.type]


@dataclass(slots=True)
class Function:
    """A kernel (`entry`) or device function. `registers`: name -> PTX type. `body` is None for a declaration.

    `labels_of` holds `.branchtargets` and `.calltargets` lists by their name; `prototypes` `.callprototype` ones.
    """

    name: str
    entry: bool
    parameters: list[Variable]
    results: list[Variable] = field(default_factory=list)
    registers: dict[str, str] = field(default_factory=dict)
    variables: list[Variable] = field(default_factory=list)
    body: list[Statement] | None = None
    labels_of: dict[str, tuple[str, ...]] = field(default_factory=dict)
    prototypes: dict[str, tuple[list[Variable], list[Variable]]] = field(default_factory=dict)
    rolled: set[str] = field(default_factory=set)  # labels whose loops the assembler must not unroll
    limits: dict[str, tuple[int, ...]] = field(default_factory=dict)  # maxntid, reqntid, minnctapersm, ...


@dataclass(slots=True)
class Module:
    """One PTX file. `files` maps `.file` numbers to paths; function and variable names are those of the PTX."""

    version: tuple[int, int]
    target: str
    functions: dict[str, Function] = field(default_factory=dict)
    variables: dict[str, Variable] = field(default_factory=dict)
    files: dict[int, str] = field(default_factory=dict)


# --- types ---------------------------------------------------------------------------------------------------------

# The NumPy dtype that holds a value of each PTX type. bfloat16, packed halves and untyped bits are held as their bits.
TYPES: dict[str, np.dtype] = {
    name: np.dtype(kind)
    for name, kind in {
        "s8": "i1", "s16": "i2", "s32": "i4", "s64": "i8",
        "u8": "u1", "u16": "u2", "u32": "u4", "u64": "u8",
        "b8": "u1", "b16": "u2", "b32": "u4", "b64": "u8",
        "f16": "f2", "f32": "f4", "f64": "f8",
        "f32x2": "u8", "f16x2": "u4", "bf16": "u2", "bf16x2": "u4",
        "s16x2": "u4", "u16x2": "u4", "e4m3": "u1", "e5m2": "u1", "e4m3x2": "u2", "e5m2x2": "u2", "tf32": "u4",
        "b128": "V16",
        "pred": "?",
    }.items()
}  # fmt: skip
SIZES: dict[str, int] = {name: dtype.itemsize for name, dtype in TYPES.items()}

INTEGER, FLOAT, HALF, PREDICATE = "integer", "float", "half", "predicate"


def family(type_name: str) -> str:
    """Which kind of instruction a type makes: the same opcode means different things to each."""
    if type_name in ("f32", "f64", "f32x2"):
        return FLOAT
    if type_name in ("f16", "f16x2", "bf16", "bf16x2"):
        return HALF
    return PREDICATE if type_name == "pred" else INTEGER
