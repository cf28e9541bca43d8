"""Approximate functions of f32 and f64: div rcp sqrt rsqrt ex2 lg2 sin cos tanh with .approx, and div.full.

They are computed to the last bit or nearly so, where hardware looks up a table and interpolates. PTX allows the
hardware these errors, so a GPU's results differ from the machine's by no more (an H200's by 2 units at most in div and
ex2, by 1 in rcp, sqrt and rsqrt):

    div.approx div.full             2 units in the last place
    rcp.approx                      1 unit in the last place
    sqrt.approx                     2**-23, relative
    rsqrt.approx                    2**-22.9, relative
    ex2.approx                      2 units in the last place
    lg2.approx                      2**-22, absolute in (0.5, 2) and relative elsewhere
    sin.approx cos.approx           2**-20.5 absolute in [-2 pi, 2 pi], 2**-14.7 in [-100 pi, 100 pi], none beyond;
                                    the operand is first scaled to turns, as hardware does, so that results stay within
                                    4e-7 of an H200's however large the operand
    tanh.approx                     2**-11, relative

rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64 use and give only the upper 32 bits of a double. div.approx.f32 is a * (1/b)
with the reciprocal flushed to zero: beyond |b| = 2**126 it gives zero, and NaN for an infinite a.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from gpukit.machine.arithmetic import floats, rounding
from gpukit.machine.arithmetic.elementwise import vector
from gpukit.machine.frontends.ptx.instructions.float_forms import F32, F64, compute
from gpukit.machine.frontends.ptx.instructions.forms import expect, operands
from gpukit.machine.frontends.ptx.instructions.table import instruction
from gpukit.machine.frontends.ptx.syntax import FLOAT, Instruction

if TYPE_CHECKING:
    from gpukit.machine.frontends.ptx.emitter import Emitter

_UPPER = np.uint64(0xFFFFFFFF00000000)
_UPPER_NAN = np.uint64(0x7FFFFFFF00000000).view(np.float64)
_fma = rounding.fma(F64)
_LARGE_DIVISOR = np.float32(2.0**126)


_TURNS = F32.type(1 / (2 * np.pi))


def through_double(function: Callable) -> Callable:
    """A function of float64 for float32: the result rounded twice is the correct one in all but a few lanes."""
    return lambda x: function(x.astype(F64)).astype(F32)


def of_turns(function: Callable) -> Callable:
    """A function of an angle, which is scaled to turns in float32, rounded toward zero: for large angles this is what
    is left of their precision on a GPU."""
    scaled = rounding.multiply(F32, "rz")
    return lambda x: function(2 * np.pi * np.fmod(scaled(x, _TURNS).astype(F64), 1.0)).astype(F32)


def reciprocal(x):
    """1 / x."""
    return x.dtype.type(1) / x


def reciprocal_root(x):
    """1 / sqrt(x); of -0 it is -Inf."""
    return x.dtype.type(1) / np.sqrt(x)


@vector
def precise_reciprocal_root(x):
    """1 / sqrt(x) of a double, correctly rounded but for one result in thousands."""
    mantissa, exponent = np.frexp(x)
    odd = exponent & 1
    mantissa, exponent = np.ldexp(mantissa, odd), (exponent - odd) >> 1
    root = reciprocal_root(mantissa)
    product = mantissa * root
    error = _fma(mantissa, root, -product)
    rest = _fma(-product, root, 1.0) - error * root  # 1 - mantissa * root**2
    refined = np.ldexp(root + 0.5 * root * rest, -exponent)
    return np.where(np.isfinite(x) & (x > 0), refined, root)


def quotient_by_reciprocal(a, b):
    """a / b; a * 0 where |b| is so large that its reciprocal is subnormal."""
    large = np.abs(b) > _LARGE_DIVISOR
    return np.where(large, a * np.copysign(F32.type(0), b), a / b)[()]


def upper_word(function: Callable) -> Callable:
    """A function of float64 from the upper 32 bits of its operand to those of its result, subnormal numbers flushed."""

    def of_upper(x):
        operand = floats.flush((x.view(np.uint64) & _UPPER).view(np.float64))
        result = function(operand)
        upper = floats.flush((result.view(np.uint64) & _UPPER).view(np.float64))
        return np.where(result != result, _UPPER_NAN, upper)[()]

    return of_upper


_QUOTIENTS_AND_ROOTS: dict[str, Callable] = {"div": quotient_by_reciprocal, "rcp": reciprocal, "sqrt": np.sqrt}
_FUNCTIONS: dict[str, Callable] = {
    "ex2": through_double(np.exp2),
    "lg2": through_double(np.log2),
    "sin": of_turns(np.sin),
    "cos": of_turns(np.cos),
    "tanh": through_double(np.tanh),
}


def divide_or_take_root(out: Emitter, inst: Instruction) -> None:
    """The .approx and .full forms of div, rcp and sqrt."""
    target, *sources = operands(out, inst, 3 if inst.opcode == "div" else 2)
    if inst.opcode == "rcp" and inst.modifiers == ("approx", "ftz", "f64"):
        code = upper_word(reciprocal)
    elif inst.opcode == "div" and inst.has("full"):
        expect(out, inst, "f32", "full", "ftz")
        code = np.divide
    else:
        expect(out, inst, "f32", "approx", "ftz")
        code = _QUOTIENTS_AND_ROOTS[inst.opcode]
    compute(out, inst, code, target, *sources, check="float")


@instruction("rsqrt", families=(FLOAT,))
def take_reciprocal_root(out: Emitter, inst: Instruction) -> None:
    expect(out, inst, "f32 f64", "approx", "ftz")
    if inst.type == "f32":
        code = through_double(reciprocal_root)
    else:
        code = upper_word(reciprocal_root) if inst.has("ftz") else precise_reciprocal_root
    target, a = operands(out, inst, 2)
    compute(out, inst, code, target, a, check="float")


@instruction(*_FUNCTIONS, families=(FLOAT,))
def take_function(out: Emitter, inst: Instruction) -> None:
    expect(out, inst, "f32", "approx", *(("ftz",) if inst.opcode != "tanh" else ()))
    target, a = operands(out, inst, 2)
    check = "float" if inst.opcode == "lg2" else None
    compute(out, inst, _FUNCTIONS[inst.opcode], target, a, check=check)
