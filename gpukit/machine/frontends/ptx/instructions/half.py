"""Arithmetic and comparison of half-precision numbers: types f16, bf16 and the pairs f16x2, bf16x2.

    add sub mul         .rn .ftz .sat
    fma                 .rn .ftz .sat .relu
    neg abs             .ftz
    min max             .ftz .NaN .xorsign.abs
    setp set            all comparisons, ordered and unordered, .and .or .xor with a predicate, .ftz
    ex2.approx          .ftz
    tanh.approx

Arithmetic rounds once, and a NaN result is 0x7FFF, as on the GPU. ex2 and tanh are computed in float32 and truncated,
which is what an H200 gives for nearly all numbers of bf16 and most of f16; the manual allows a relative error of 2^-9.9
(f16) or 2^-7 (bf16) in ex2 and an absolute one of 2^-10.987 or 2^-8 in tanh. neg and abs change the sign bit of a NaN
too. Not here: fma.oob, and the forms of add, sub and fma that mix half with f32 operands.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from gpukit.machine.arithmetic.halves import BF16, BITS, F16, FLOAT16, FLOAT32, NAN, PAIR, SIGN, Half, packed, split
from gpukit.machine.frontends.ptx.instructions.forms import BOOL, compute, expect, known, one_of, operands
from gpukit.machine.frontends.ptx.instructions.table import instruction
from gpukit.machine.frontends.ptx.syntax import HALF, Instruction, Operand, Pair

if TYPE_CHECKING:
    from gpukit.machine.frontends.ptx.emitter import Emitter

FORMATS: dict[str, Half] = {"f16": F16, "f16x2": F16, "bf16": BF16, "bf16x2": BF16}

# Comparisons of float32 numbers, which hold every half exactly.
COMPARISONS: dict[str, Callable] = {
    "eq": lambda x, y: x == y,
    "ne": lambda x, y: (x < y) | (x > y),
    "lt": lambda x, y: x < y,
    "le": lambda x, y: x <= y,
    "gt": lambda x, y: x > y,
    "ge": lambda x, y: x >= y,
    "equ": lambda x, y: ~((x < y) | (x > y)),
    "neu": lambda x, y: x != y,
    "ltu": lambda x, y: ~(x >= y),
    "leu": lambda x, y: ~(x > y),
    "gtu": lambda x, y: ~(x <= y),
    "geu": lambda x, y: ~(x < y),
    "num": lambda x, y: (x == x) & (y == y),
    "nan": lambda x, y: (x != x) | (y != y),
}
COMBINE: dict[str, np.ufunc] = {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}


# --- functions over bits -------------------------------------------------------------------------------------------


@cache
def function(opcode: str, type_name: str, modifiers: tuple[str, ...] = ()) -> Callable:
    """What an instruction computes, over values in the dtype that holds its type: `function("add", "f16x2")`.

    `opcode` is one of add, sub, mul, fma, min, max, ex2, tanh; `modifiers` those of the instruction.
    """
    half = FORMATS[type_name]
    code = _minimum_or_maximum(half, opcode, modifiers) if opcode in ("min", "max") else _computed(half, opcode)
    if "ftz" in modifiers:
        code = _flushing(half, code)
    if "sat" in modifiers:
        code = _then(half.saturated, code)
    if "relu" in modifiers:
        code = _then(half.relu, code)
    if type_name == "f16":
        return lambda *values: code(*(value.view(BITS) for value in values)).view(FLOAT16)
    return packed(code) if type_name.endswith("x2") else code


def _computed(half: Half, opcode: str) -> Callable:
    wide, rounded = half.widen, half.rounded
    table: dict[str, Callable] = {
        "add": lambda x, y: rounded(wide(x) + wide(y)),
        "sub": lambda x, y: rounded(wide(x) - wide(y)),
        "mul": lambda x, y: rounded(wide(x) * wide(y)),
        "fma": half.fma,
        "ex2": lambda x: _truncated(half, np.exp2(wide(x))),
        "tanh": lambda x: _truncated(half, np.tanh(wide(x))),
    }
    return table[opcode]


def _truncated(half: Half, value):
    """float32 numbers rounded toward zero, but to infinity where they are too large."""
    largest = half.widen(BITS.type(half.infinity - 1))
    return half.rounded(np.where(value > largest, FLOAT32.type(np.inf), value)[()], "rz")


def _flushing(half: Half, code: Callable) -> Callable:
    return lambda *values: half.flushed(code(*(half.flushed(value) for value in values)))


def _then(last: Callable, code: Callable) -> Callable:
    return lambda *values: last(code(*values))


def _minimum_or_maximum(half: Half, opcode: str, modifiers: tuple[str, ...]) -> Callable:
    """-0 is less than +0. A NaN operand loses, or wins with .NaN; with .xorsign.abs magnitudes are compared."""
    choose: np.ufunc = np.minimum if opcode == "min" else np.maximum

    def extreme(x, y):
        result = half.ordered(choose(half.ordered(x), half.ordered(y))).view(BITS)
        nan_x, nan_y = half.is_nan(x), half.is_nan(y)
        if not (nan_x | nan_y).any():
            return result
        if "NaN" in modifiers:
            return np.where(nan_x | nan_y, NAN, result)[()]
        return half.canonical(np.where(nan_x, y, np.where(nan_y, x, result))[()])

    if "xorsign" not in modifiers:
        return extreme
    return lambda x, y: half.canonical(extreme(x & 0x7FFF, y & 0x7FFF) | ((x ^ y) & SIGN))


@cache
def _comparing(half: Half, name: str, ftz: bool) -> Callable:
    compare = COMPARISONS[name]
    if ftz:
        return lambda x, y: compare(half.widen(half.flushed(x)), half.widen(half.flushed(y)))
    return lambda x, y: compare(half.widen(x), half.widen(y))


# --- instructions --------------------------------------------------------------------------------------------------


@instruction("add", "sub", "mul", families=(HALF,))
def arithmetic(out: Emitter, inst: Instruction) -> None:
    accumulator = out.running_sums.get(inst.text_line)
    if accumulator not in inst.operands[1:]:
        _elementwise(out, inst, 2, "rn", "ftz", "sat", check="float")
        return
    target, a, b = inst.operands
    if (
        inst.opcode == "add" and a != accumulator
    ):  # the check wants the accumulator first; halves are added in any order
        inst = replace(inst, operands=(target, b, a))
    _elementwise(out, inst, 2, "rn", "ftz", "sat", check="accumulate")


@instruction("fma", families=(HALF,))
def fused_multiply_add(out: Emitter, inst: Instruction) -> None:
    check = "accumulate_product" if out.running_sums.get(inst.text_line) == inst.operands[-1] else "float"
    _elementwise(out, inst, 3, "rn", "ftz", "sat", "relu", check=check)


@instruction("min", "max", families=(HALF,))
def minimum_or_maximum(out: Emitter, inst: Instruction) -> None:
    _elementwise(out, inst, 2, "ftz", "NaN", "xorsign", "abs")


@instruction("ex2", "tanh", families=(HALF,))
def approximate(out: Emitter, inst: Instruction) -> None:
    _elementwise(out, inst, 1, "approx", "ftz", check="float")


def _elementwise(out: Emitter, inst: Instruction, arity: int, *modifiers: str, check: str | None = None) -> None:
    dtype = expect(out, inst, " ".join(FORMATS), *modifiers)
    target, *sources = operands(out, inst, 1 + arity)
    code = function(inst.opcode, inst.type, inst.modifiers)
    # Only f16 is held as numbers, which can be checked for where a NaN comes from.
    check = check if dtype == FLOAT16 else None
    out.alu(target, dtype, code, *(out.read(source, dtype) for source in sources), check=check)


@instruction("neg", "abs", families=(HALF,))
def sign(out: Emitter, inst: Instruction) -> None:
    expect(out, inst, " ".join(FORMATS), "ftz")
    target, source = operands(out, inst, 2)
    half, pair = FORMATS[inst.type], inst.type.endswith("x2")
    dtype = PAIR if pair else BITS
    operator, mask = ("^", 0x8000) if inst.opcode == "neg" else ("&", 0x7FFF)
    template = f"({{0}} {operator} np.{dtype.name}({mask << 16 | mask if pair else mask}))"
    value = out.read(source, dtype)
    if inst.has("ftz"):
        value = compute(out, dtype, packed(half.flushed) if pair else half.flushed, value)
    out.alu(target, dtype, template, value)


@instruction("setp", families=(HALF,))
def set_predicate(out: Emitter, inst: Instruction) -> None:
    """p = the comparison; of pairs p|q = the comparison of the low and of the high halves."""
    if len(inst.types) != 1:
        out.refuse(f"`{inst.name}`")
    compare, combine, (target, a, b, *c) = _comparison(out, inst)
    dtype = PAIR if inst.type.endswith("x2") else BITS
    sources = out.read(a, dtype), out.read(b, dtype), *(out.read(operand, BOOL) for operand in c)
    code = compare if combine is None else lambda x, y, condition: combine(compare(x, y), condition)
    if dtype == BITS:
        if isinstance(target, Pair):
            out.refuse(f"`{inst.name}` with two predicates")
        out.alu(target, BOOL, code, *sources)
        return
    p, q = out.two(target)
    # Both are computed before either is written: the predicate they are combined with may be one of them.
    low = compute(out, BOOL, _of_halves(code, 1), *sources, count=1)
    high = compute(out, BOOL, _of_halves(code, 0), *sources)
    out.write(p, low)
    out.write(q, high)


@instruction("set", families=(HALF,))
def set_value(out: Emitter, inst: Instruction) -> None:
    """d = 1.0 (halves) or all bits (integers) where the comparison holds, else 0; of pairs for each half."""
    if len(inst.types) != 2:
        out.refuse(f"`{inst.name}`")
    compare, combine, (target, a, b, *c) = _comparison(out, inst)
    pair = inst.type.endswith("x2")
    true = (_TRUE_PAIR if pair else _TRUE).get(inst.types[0])
    if true is None:
        out.refuse(f"`{inst.name}`")
    dtype = PAIR if pair else BITS
    sources = out.read(a, dtype), out.read(b, dtype), *(out.read(operand, BOOL) for operand in c)
    one = true.astype(BITS) if pair else true
    code: Callable = _times(compare, one)
    code = packed(code) if pair else code
    if combine is not None:
        code = _combined(code, combine, true)
    out.alu(target, true.dtype, code, *sources)


# What set writes for "true" in each type of result.
_TRUE: dict[str, np.unsignedinteger] = {
    "f16": F16.one, "bf16": BF16.one, "u16": BITS.type(0xFFFF), "s16": BITS.type(0xFFFF),
    "u32": PAIR.type(0xFFFFFFFF), "s32": PAIR.type(0xFFFFFFFF),
}  # fmt: skip
_TRUE_PAIR: dict[str, np.unsignedinteger] = {
    "f16x2": PAIR.type(0x3C003C00), "bf16x2": PAIR.type(0x3F803F80),
    "u32": PAIR.type(0xFFFFFFFF), "s32": PAIR.type(0xFFFFFFFF),
}  # fmt: skip


def _comparison(out: Emitter, inst: Instruction) -> tuple[Callable, np.ufunc | None, tuple[Operand, ...]]:
    """Of setp and set: the comparison, over bits; how it is combined with a predicate, if it is; the operands."""
    known(out, inst, *COMPARISONS, *COMBINE, "ftz")
    compare = _comparing(FORMATS[inst.type], one_of(out, inst, *COMPARISONS), inst.has("ftz"))
    combines = [COMBINE[word] for word in inst.modifiers if word in COMBINE]
    if len(combines) > 1:
        out.refuse(f"`{inst.name}`")
    return compare, combines[0] if combines else None, operands(out, inst, 3 + len(combines))


def _of_halves(code: Callable, which: int) -> Callable:
    """A function of two halves as one of the high (0) or low (1) halves of two pairs."""
    return lambda x, y, *condition: code(split(x)[which], split(y)[which], *condition)


def _times(compare: Callable, one: np.unsignedinteger) -> Callable:
    return lambda x, y: compare(x, y) * one


def _combined(bits: Callable, combine: np.ufunc, true: np.unsignedinteger) -> Callable:
    """The result of a set combined with a predicate, which stands for the bits of "true" in every half."""
    return lambda x, y, condition: combine(bits(x, y), condition * true)
