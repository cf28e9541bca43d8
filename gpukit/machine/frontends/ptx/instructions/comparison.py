"""Comparison and selection of integers and bits: setp set selp slct.

Comparison words: eq ne for all types; lt le gt ge for signed and unsigned; lo ls hi hs for unsigned. The result can be
combined with a predicate by .and .or .xor.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gpukit.machine.frontends.ptx.instructions.forms import (
    BOOL,
    as_held,
    compute,
    expect,
    known,
    one_of,
    operands,
)
from gpukit.machine.frontends.ptx.instructions.table import instruction
from gpukit.machine.frontends.ptx.syntax import INTEGER, TYPES, Instruction, Operand, Sink
from gpukit.machine.program import Const
from gpukit.machine.program import Operand as Value

if TYPE_CHECKING:
    from gpukit.machine.frontends.ptx.emitter import Emitter

EQUAL = {"eq": "==", "ne": "!="}
ORDER = {"lt": "<", "le": "<=", "gt": ">", "ge": ">="}
UNSIGNED_ORDER = {"lo": "<", "ls": "<=", "hi": ">", "hs": ">="}
COMBINE = {"and": "&", "or": "|", "xor": "^"}
BITS = ("b16", "b32", "b64")
COMPARED = ("u16", "s16", "u32", "s32", "u64", "s64", *BITS)
SELECTED = ("f32", "f64", *COMPARED)


@instruction("setp", families=(INTEGER,))
def set_predicate(out: Emitter, inst: Instruction) -> None:
    """p|q = the comparison and its opposite, each combined with a predicate if the instruction says so."""
    if len(inst.types) != 1:
        out.refuse(f"`{inst.name}`")
    write_predicates(out, _comparison(out, inst))


@instruction("set", families=(INTEGER,))
def set_value(out: Emitter, inst: Instruction) -> None:
    """d = all bits (integers) or 1.0 (f32) where the comparison holds, else 0."""
    if len(inst.types) != 2 or inst.types[0] not in ("u32", "s32", "f32"):
        out.refuse(f"`{inst.name}`")
    write_value(out, inst, _comparison(out, inst))


def _comparison(out: Emitter, inst: Instruction) -> Comparison:
    if inst.type not in COMPARED:
        out.refuse(f"`{inst.name}`")
    words = EQUAL | ({} if inst.type in BITS else ORDER) | (UNSIGNED_ORDER if inst.type[0] == "u" else {})
    known(out, inst, *words, *COMBINE)
    word = one_of(out, inst, *words)
    dtype = TYPES[inst.type]

    def source(operand: Operand) -> Value:
        return out.read(operand, as_held(out, inst.operands[1], dtype) if word in EQUAL else dtype)

    return comparison(out, inst, "{0} " + words[word] + " {1}", source)


# --- what all comparisons share ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Comparison:
    """A setp or set: template and operands of the comparison, and of its combination with a predicate ("{}" is where
    the comparison goes); "{}" and nothing without one."""

    target: Operand
    condition: str
    sources: tuple[Value, Value]
    combination: str
    predicate: tuple[Value, ...]

    @property
    def template(self) -> str:
        """Of the whole, over the sources and the predicate."""
        return self.combination.format(self.condition)


def comparison(out: Emitter, inst: Instruction, condition: str, source: Callable[[Operand], Value]) -> Comparison:
    """The instruction with this condition; `source` reads an operand that is compared."""
    combines = [COMBINE[word] for word in inst.modifiers if word in COMBINE]
    if len(combines) > 1:
        out.refuse(f"`{inst.name}`")
    target, a, b, *c = operands(out, inst, 3 + len(combines))
    combination = f"({{}}) {combines[0]} {{{{2}}}}" if combines else "{}"
    predicate = tuple(out.read(operand, BOOL) for operand in c)
    return Comparison(target, condition, (source(a), source(b)), combination, predicate)


def write_predicates(out: Emitter, it: Comparison) -> None:
    """p|q = the comparison and its opposite, combined."""
    p, q = out.two(it.target)
    if isinstance(q, Sink):
        out.alu(p, BOOL, it.template, *it.sources, *it.predicate)
        return
    holds = compute(out, BOOL, it.condition, *it.sources, count=1)
    combination = it.combination.replace("{2}", "{1}")
    # Both are computed before either is written: the predicate they are combined with may be one of them.
    opposite = compute(out, BOOL, combination.format("~{0}"), holds, *it.predicate)
    out.alu(p, BOOL, combination.format("{0}"), holds, *it.predicate, count=0)
    out.write(q, opposite)


def write_value(out: Emitter, inst: Instruction, it: Comparison) -> None:
    """d = the comparison as a number of the instruction's first type: 1.0, or all bits of an integer."""
    dtype = TYPES[inst.types[0]]
    sign = "" if dtype.kind == "f" else "-"
    out.alu(it.target, dtype, f"{sign}({it.template}).astype('{dtype.str[1:]}')", *it.sources, *it.predicate)


# --- selection -----------------------------------------------------------------------------------------------------


@instruction("selp", families=(INTEGER,))
def select_by_predicate(out: Emitter, inst: Instruction) -> None:
    dtype = expect(out, inst, " ".join(COMPARED))
    target, a, b, p = operands(out, inst, 4)
    dtype = as_held(out, target, dtype)
    select(out, target, dtype, out.read(p, BOOL), out.read(a, dtype), out.read(b, dtype))


@instruction("slct", families=(INTEGER,))
def select_by_sign(out: Emitter, inst: Instruction) -> None:
    """d = a where c >= 0, else b."""
    known(out, inst)
    if len(inst.types) != 2 or inst.types[0] not in SELECTED or inst.types[1] != "s32":
        out.refuse(f"`{inst.name}`")
    target, a, b, c = operands(out, inst, 4)
    dtype = TYPES[inst.types[0]]
    if dtype.kind != "f":
        dtype = as_held(out, target, dtype)
    nonnegative = compute(out, BOOL, "{0} >= 0", out.read(c, TYPES["s32"]))
    select(out, target, dtype, nonnegative, out.read(a, dtype), out.read(b, dtype))


def select(out: Emitter, target: Operand, dtype: np.dtype, p: Value, a: Value, b: Value) -> None:
    """target = a where p, else b. Integers are selected by masks: where lanes disagree np.where takes several times as
    long, once for each branch that the processor guesses wrong."""
    if dtype.kind == "f":
        out.alu(target, dtype, "np.where({0}, {1}, {2})[()]", p, a, b)
        return
    mask = f"-{{0}}.astype('{dtype.str[1:]}')"
    if not (isinstance(b, Const) and b.value == 0):
        out.alu(target, dtype, f"(({{1}} ^ {{2}}) & {mask}) ^ {{2}}", p, a, b)
    elif isinstance(a, Const) and a.value == 1:
        out.alu(target, dtype, mask[1:], p)
    else:
        out.alu(target, dtype, f"{{1}} & {mask}", p, a)
