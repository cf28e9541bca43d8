"""Integer arithmetic: add sub sad div rem abs neg min max.

All sums and products wrap, as on hardware; add.sat and sub.sat (s32) clamp. div truncates toward zero; a division by
zero, undefined on hardware, gives 0 and leaves the dividend as remainder, and is reported. The packed types u16x2 and
s16x2 work on each half. `multiply` has the products, `carry` the forms with .cc, `packed` the dot products.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpukit.machine.frontends.ptx.instructions import carry
from gpukit.machine.frontends.ptx.instructions.forms import U32, as_held, compute, expect, operands
from gpukit.machine.frontends.ptx.instructions.packed import in_halves
from gpukit.machine.frontends.ptx.instructions.table import instruction
from gpukit.machine.frontends.ptx.syntax import INTEGER, Instruction, Operand
from gpukit.machine.program import Const
from gpukit.machine.program import Operand as Value

if TYPE_CHECKING:
    from collections.abc import Callable

    from gpukit.machine.frontends.ptx.emitter import Emitter

PLAIN = "u16 s16 u32 s32 u64 s64"
PACKED = "u16x2 s16x2"


@instruction("add", "sub", families=(INTEGER,))
def add_or_subtract(out: Emitter, inst: Instruction) -> None:
    if inst.has("cc"):
        (carry.add if inst.opcode == "add" else carry.subtract)(out, inst)
        return
    adds = inst.opcode == "add"
    types = "s32" if inst.has("sat") else f"{PLAIN} {PACKED}" if adds else PLAIN
    dtype = expect(out, inst, types, "sat")
    target, a, b = operands(out, inst, 3)
    if inst.type in PACKED.split():
        out.alu(target, U32, in_halves(np.add, np.uint16), out.read(a, U32), out.read(b, U32))
        return
    sign = "+" if adds else "-"
    if inst.has("sat"):
        code = "np.clip({0}.astype('i8') " + sign + " {1}, -0x80000000, 0x7fffffff).astype('i4')"
    else:
        code, dtype = "{0} " + sign + " {1}", as_held(out, target, dtype)
    out.alu(target, dtype, code, out.read(a, dtype), out.read(b, dtype))


@instruction("sad", families=(INTEGER,))
def sum_of_absolute_difference(out: Emitter, inst: Instruction) -> None:
    dtype = expect(out, inst, PLAIN)
    target, *sources = operands(out, inst, 4)
    code = "np.maximum({0}, {1}) - np.minimum({0}, {1}) + {2}"
    out.alu(target, dtype, code, *(out.read(s, dtype) for s in sources))


@instruction("div", "rem", families=(INTEGER,))
def divide(out: Emitter, inst: Instruction) -> None:
    dtype = expect(out, inst, PLAIN)
    target, a, b = operands(out, inst, 3)
    dividend, divisor = out.read(a, dtype), out.read(b, dtype)
    quotient = inst.opcode == "div"
    known = int(divisor.value) if isinstance(divisor, Const) else 0
    if known > 0 and known & (known - 1) == 0:
        _divide_by_power(out, target, dtype, dividend, known, quotient)
        return
    if out.guard is not None and not known:
        # Lanes that the guard leaves out divide nothing, whatever their divisor is.
        divisor = compute(out, dtype, "np.where({0}, {1}, {2})[()]", out.guard, divisor, Const(dtype.type(1)))
    code: str | Callable
    if dtype.kind == "i":
        code = truncated_quotient if quotient else truncated_remainder
    else:
        # NumPy's remainder by zero is 0, so it is made from the quotient, which also is the faster way.
        code = "{0} // {1}" if quotient else "{0} - {0} // {1} * {1}"
    out.alu(target, dtype, code, dividend, divisor, check=None if known else "int_div")


def _divide_by_power(
    out: Emitter, target: Operand, dtype: np.dtype, dividend: Value, divisor: int, quotient: bool
) -> None:
    """target = dividend / divisor or what is left, where the divisor is a power of two."""
    shift = divisor.bit_length() - 1
    if dtype.kind == "u":
        out.alu(target, dtype, f"{{0}} >> {shift}" if quotient else f"{{0}} & {divisor - 1}", dividend)
        return
    # A negative dividend gets what makes the shift round toward zero.
    code = f"{{0}} + ({{0}} >> {8 * dtype.itemsize - 1} & {divisor - 1})"
    raised = compute(out, dtype, code, dividend)
    if quotient:
        out.alu(target, dtype, f"{{0}} >> {shift}", raised)
    else:
        out.alu(target, dtype, f"{{0}} - ({{1}} & {-divisor})", dividend, raised)


def truncated_quotient(a, b):
    """a / b rounded toward zero, of signed integers; 0 where b is 0; the lowest integer wraps when divided by -1."""
    floor = a // b
    return floor + ((floor * b != a) & ((a ^ b) < 0) & (b != 0))


def truncated_remainder(a, b):
    """What truncated_quotient leaves, with the sign of a; a where b is 0."""
    return a - truncated_quotient(a, b) * b


@instruction("abs", families=(INTEGER,))
def absolute(out: Emitter, inst: Instruction) -> None:
    dtype = expect(out, inst, "s16 s32 s64")
    target, a = operands(out, inst, 2)
    out.alu(target, dtype, "np.abs({0})", out.read(a, dtype))


@instruction("neg", families=(INTEGER,))
def negate(out: Emitter, inst: Instruction) -> None:
    target, a = operands(out, inst, 2)
    dtype = as_held(out, target, expect(out, inst, "s16 s32 s64"))
    out.alu(target, dtype, "-{0}", out.read(a, dtype))


@instruction("min", "max", families=(INTEGER,))
def extremum(out: Emitter, inst: Instruction) -> None:
    dtype = expect(out, inst, "s32 s16x2" if inst.has("relu") else f"{PLAIN} {PACKED}", "relu")
    target, a, b = operands(out, inst, 3)
    chosen = np.minimum if inst.opcode == "min" else np.maximum
    code: str | Callable
    if inst.type in PACKED.split():
        half = np.int16 if inst.type == "s16x2" else np.uint16
        code = in_halves(chosen, half)
        if inst.has("relu"):
            code = in_halves(lambda x, y: np.maximum(chosen(x, y), half(0)), half)
    else:
        code = f"np.{chosen.__name__}({{0}}, {{1}})"
        if inst.has("relu"):
            code = f"np.maximum({code}, np.int32(0))"
    out.alu(target, dtype, code, out.read(a, dtype), out.read(b, dtype))
