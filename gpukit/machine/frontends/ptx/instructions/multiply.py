"""Integer products: mul mad mul24 mad24 with .lo .hi .wide, and mad.cc madc."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpukit.machine.frontends.ptx.instructions import carry
from gpukit.machine.frontends.ptx.instructions.forms import as_held, compute, expect, one_of, operands, unsigned
from gpukit.machine.frontends.ptx.instructions.table import instruction
from gpukit.machine.frontends.ptx.syntax import INTEGER, Instruction
from gpukit.machine.program import Const
from gpukit.machine.program import Operand as Value

if TYPE_CHECKING:
    from gpukit.machine.frontends.ptx.emitter import Emitter

NARROW = "u16 s16 u32 s32"
PLAIN = f"{NARROW} u64 s64"


@instruction("mul", families=(INTEGER,))
def multiply(out: Emitter, inst: Instruction) -> None:
    part = one_of(out, inst, "lo", "hi", "wide")
    dtype = expect(out, inst, NARROW if part == "wide" else PLAIN, part)
    target, a, b = operands(out, inst, 3)
    if part == "lo":
        dtype = as_held(out, target, dtype)
        out.alu(target, dtype, "{0} * {1}", out.read(a, dtype), out.read(b, dtype))
        return
    x, y = out.read(a, dtype), out.read(b, dtype)
    if part == "wide":
        out.alu(target, double(dtype), *wide_product(dtype, x, y))
    else:
        out.alu(target, dtype, high_half(dtype), x, y)


@instruction("mad", "madc", families=(INTEGER,))
def multiply_add(out: Emitter, inst: Instruction) -> None:
    part = one_of(out, inst, "lo", "hi", "wide")
    if inst.opcode == "madc" or inst.has("cc"):
        _with_carry(out, inst, part)
        return
    saturate = inst.has("sat")
    types = "s32" if saturate and part == "hi" else "" if saturate else NARROW if part == "wide" else PLAIN
    dtype = expect(out, inst, types, part, "sat")
    target, a, b, c = operands(out, inst, 4)
    if part == "lo":
        dtype = as_held(out, target, dtype)
        out.alu(target, dtype, "{0} * {1} + {2}", *(out.read(s, dtype) for s in (a, b, c)))
        return
    x, y = out.read(a, dtype), out.read(b, dtype)
    if part == "wide":
        code, *sources = wide_product(dtype, x, y)
        out.alu(target, double(dtype), code + " + {2}", *sources, out.read(c, double(dtype)))
    else:
        high = compute(out, dtype, high_half(dtype), x, y)
        out.alu(target, dtype, SATURATING_SUM if saturate else "{0} + {1}", high, out.read(c, dtype))


SATURATING_SUM = "np.clip({0}.astype('i8') + {1}, -0x80000000, 0x7fffffff).astype('i4')"


def _with_carry(out: Emitter, inst: Instruction, part: str) -> None:
    """mad.lo.cc, mad.hi.cc, madc.lo, madc.hi and both with .cc: c plus a half of the product."""
    dtype = expect(out, inst, carry.TYPES_WITH_CARRY, part, "cc")
    if part == "wide":
        out.refuse(f"`{inst.name}`")
    target, a, b, c = operands(out, inst, 4)
    half = "{0} * {1}" if part == "lo" else high_half(dtype)
    product = compute(out, dtype, half, out.read(a, dtype), out.read(b, dtype))
    bits = unsigned(dtype)
    carry.total(out, inst, target, bits, out.viewed(product, bits), out.read(c, bits))


@instruction("mul24", "mad24", families=(INTEGER,))
def multiply_24_bits(out: Emitter, inst: Instruction) -> None:
    """Products of the low 24 bits of each operand, 48 bits long: bits 31..0 with .lo, bits 47..16 with .hi."""
    part = one_of(out, inst, "lo", "hi")
    adds = inst.opcode == "mad24"
    saturate = adds and inst.has("sat")
    types = "s32" if saturate and part == "hi" else "" if saturate else "s32 u32"
    dtype = expect(out, inst, types, part, *(("sat",) if adds else ()))
    target, a, b, *c = operands(out, inst, 4 if adds else 3)
    wide, narrow = double(dtype).str[1:], dtype.str[1:]
    low = f"({{0}} << 8 >> 8).astype('{wide}') * ({{1}} << 8 >> 8)"
    code = f"({low}).astype('{narrow}')" if part == "lo" else f"({low} >> 16).astype('{narrow}')"
    x, y = out.read(a, dtype), out.read(b, dtype)
    if not adds:
        out.alu(target, dtype, code, x, y)
        return
    product = compute(out, dtype, code, x, y)
    out.alu(target, dtype, SATURATING_SUM if saturate else "{0} + {1}", product, out.read(c[0], dtype))


# --- products ------------------------------------------------------------------------------------------------------


def double(dtype: np.dtype) -> np.dtype:
    """The integers of the same sign and twice the size."""
    return np.dtype(f"{dtype.kind}{2 * dtype.itemsize}")


def wide_product(dtype: np.dtype, x: Value, y: Value) -> tuple[str, Value, Value]:
    """Template and operands of the whole product: one operand is widened, which widens the other."""
    wide = double(dtype)
    if isinstance(x, Const):
        x, y = y, x
    if isinstance(y, Const):
        y = Const(wide.type(y.value))
    return f"{{0}}.astype('{wide.str[1:]}') * {{1}}", x, y


def high_half(dtype: np.dtype):
    """Template or function of the upper half of a product."""
    if dtype.itemsize < 8:
        wide, narrow = double(dtype).str[1:], dtype.str[1:]
        return f"({{0}}.astype('{wide}') * {{1}} >> {8 * dtype.itemsize}).astype('{narrow}')"
    return high_half_u64 if dtype.kind == "u" else high_half_s64


_HALF, _LOW = np.uint64(32), np.uint64(0xFFFFFFFF)


def high_half_u64(x, y):
    """The upper 64 bits of the 128-bit product of uint64, from four products of halves."""
    x_high, x_low, y_high, y_low = x >> _HALF, x & _LOW, y >> _HALF, y & _LOW
    middle = x_low * y_high + (x_low * y_low >> _HALF)
    other = x_high * y_low + (middle & _LOW)
    return x_high * y_high + (middle >> _HALF) + (other >> _HALF)


def high_half_s64(x, y):
    """The same of int64: a negative operand stands for itself less 2^64."""
    high = high_half_u64(x.view(np.uint64), y.view(np.uint64)).view(np.int64)
    return high - (y & (x >> np.int64(63))) - (x & (y >> np.int64(63)))
