"""Arithmetic on f32 and f64: add sub mul fma mad div rcp sqrt neg abs min max copysign; add sub mul fma of f32x2.

Sums, products, quotients and square roots are those of IEEE 754, rounded once in the direction the instruction names
(.rn .rz .rm .rp; .rn where it names none). `approximate` has what their .approx and .full forms compute.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpukit.machine.arithmetic import floats, rounding
from gpukit.machine.frontends.ptx.instructions import approximate
from gpukit.machine.frontends.ptx.instructions.float_forms import F32, ROUNDING, compute, rounding_mode
from gpukit.machine.frontends.ptx.instructions.forms import expect, operands
from gpukit.machine.frontends.ptx.instructions.table import instruction
from gpukit.machine.frontends.ptx.syntax import FLOAT, Instruction

if TYPE_CHECKING:
    from gpukit.machine.frontends.ptx.emitter import Emitter

_SUMS_AND_PRODUCTS = {"add": rounding.add, "sub": rounding.subtract, "mul": rounding.multiply}
_QUOTIENTS_AND_ROOTS = {"div": rounding.divide, "rcp": rounding.reciprocal, "sqrt": rounding.square_root}


def _arithmetic_type(out: Emitter, inst: Instruction) -> np.dtype:
    """The dtype that add, sub, mul and fma compute in."""
    types = "f32" if inst.has("sat") else "f32 f32x2" if inst.has("ftz") else "f32 f64 f32x2"
    dtype = expect(out, inst, types, *ROUNDING, "ftz", "sat")
    return F32 if inst.type == "f32x2" else dtype


@instruction("add", "sub", "mul", families=(FLOAT,))
def add_subtract_multiply(out: Emitter, inst: Instruction) -> None:
    dtype = _arithmetic_type(out, inst)
    target, a, b = operands(out, inst, 3)
    check, accumulator = "float", out.running_sums.get(inst.text_line)
    if accumulator in (a, b):
        check = "accumulate"  # which wants the accumulator first
        if inst.opcode == "add" and a != accumulator:
            a, b = b, a
    code = _SUMS_AND_PRODUCTS[inst.opcode](dtype, rounding_mode(out, inst))
    compute(out, inst, code, target, a, b, check=check)


@instruction("fma", "mad", families=(FLOAT,))
def multiply_add(out: Emitter, inst: Instruction) -> None:
    dtype = _arithmetic_type(out, inst)
    target, a, b, c = operands(out, inst, 4)
    check = "accumulate_product" if out.running_sums.get(inst.text_line) == c else "float"
    compute(out, inst, rounding.fma(dtype, rounding_mode(out, inst)), target, a, b, c, check=check)


@instruction("div", "rcp", "sqrt", families=(FLOAT,))
def divide_or_take_root(out: Emitter, inst: Instruction) -> None:
    if inst.has("approx") or inst.has("full"):
        return approximate.divide_or_take_root(out, inst)
    dtype = expect(out, inst, "f32" if inst.has("ftz") else "f32 f64", *ROUNDING, "ftz")
    code = _QUOTIENTS_AND_ROOTS[inst.opcode](dtype, rounding_mode(out, inst))
    target, *sources = operands(out, inst, 3 if inst.opcode == "div" else 2)
    compute(out, inst, code, target, *sources, check="float")


@instruction("neg", "abs", families=(FLOAT,))
def change_sign(out: Emitter, inst: Instruction) -> None:
    expect(out, inst, "f32" if inst.has("ftz") else "f32 f64", "ftz")
    target, a = operands(out, inst, 2)
    compute(out, inst, np.negative if inst.opcode == "neg" else np.abs, target, a)


@instruction("min", "max", families=(FLOAT,))
def extremum(out: Emitter, inst: Instruction) -> None:
    expect(out, inst, "f64 f32" if len(inst.modifiers) == 1 else "f32", "ftz", "NaN", "xorsign", "abs")
    three, xorsign = len(inst.operands) == 4, inst.has("xorsign")
    if (inst.has("abs") != xorsign and not three) or (xorsign and three) or (three and inst.type == "f64"):
        out.refuse(f"`{inst.name}` of {len(inst.operands) - 1} values")
    target, *sources = operands(out, inst, 3, 4)
    code = floats.extremum(inst.opcode, nan=inst.has("NaN"), magnitude=inst.has("abs"), xorsign=xorsign)
    compute(out, inst, code, target, *sources)


@instruction("copysign", families=(FLOAT,))
def copy_sign(out: Emitter, inst: Instruction) -> None:
    dtype = expect(out, inst, "f32 f64")
    target, sign, value = operands(out, inst, 3)
    out.alu(target, dtype, "np.copysign({1}, {0})", out.read(sign, dtype), out.read(value, dtype))
