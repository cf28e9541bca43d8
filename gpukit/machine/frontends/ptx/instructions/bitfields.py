"""Counting, finding, extracting and inserting bits: popc clz bfind fns brev bfe bfi bmsk szext."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpukit.machine.addressing import Lanewise
from gpukit.machine.frontends.ptx.instructions.forms import (
    U32,
    compute,
    expect,
    one_of,
    operands,
    unsigned,
)
from gpukit.machine.frontends.ptx.instructions.table import instruction
from gpukit.machine.frontends.ptx.syntax import INTEGER, TYPES, Instruction, Operand
from gpukit.machine.program import Const
from gpukit.machine.program import Operand as Value

if TYPE_CHECKING:
    from gpukit.machine.frontends.ptx.emitter import Emitter

# --- counting and finding -------------------------------------------------------------------------------------------


@instruction("popc", families=(INTEGER,))
def population_count(out: Emitter, inst: Instruction) -> None:
    dtype = expect(out, inst, "b32 b64")
    target, a = operands(out, inst, 2)
    out.alu(target, U32, "np.bitwise_count({0}).astype('u4')", out.read(a, dtype))


@instruction("clz", families=(INTEGER,))
def count_leading_zeros(out: Emitter, inst: Instruction) -> None:
    dtype = expect(out, inst, "b32 b64")
    target, a = operands(out, inst, 2)
    length = compute(out, U32, bit_length, out.read(a, dtype))
    out.alu(target, U32, f"{8 * dtype.itemsize} - {{0}}", length)


@instruction("bfind", families=(INTEGER,))
def find_leading_bit(out: Emitter, inst: Instruction) -> None:
    """Position of the highest bit that is no copy of the sign (with .shiftamt its distance from the top); all bits set
    if there is none."""
    dtype = expect(out, inst, "u32 s32 u64 s64", "shiftamt")
    target, a = operands(out, inst, 2)
    value = out.read(a, dtype)
    top = 8 * dtype.itemsize - 1
    if dtype.kind == "i":
        value = out.viewed(compute(out, dtype, f"{{0}} ^ {{0}} >> {top}", value), unsigned(dtype))
    length = compute(out, U32, bit_length, value)
    # A length of 0 has all bits set when 1 is taken off.
    code = "{0} - 1" if not inst.has("shiftamt") else f"{top + 1} - {{0}} | -({{0}} == 0).astype('u4')"
    out.alu(target, U32, code, length)


def bit_length(x):
    """Bits up to the highest set one, as uint32, of uint32 or uint64: the exponent of the number as a float."""
    if x.dtype.itemsize == 8:
        x = x & ~(x >> np.uint64(1))  # without the bit below the highest, rounding cannot reach the next power of two
    exponent = x.astype(np.float64).view(np.int64) >> np.int64(52)
    return np.maximum(exponent - np.int64(1022), np.int64(0)).astype(np.uint32)


@instruction("fns", families=(INTEGER,))
def find_nth_set(out: Emitter, inst: Instruction) -> None:
    """fns.b32 d, mask, base, offset: the |offset|-th set bit from base on, upwards or, if negative, downwards; for 0
    the bit at base itself. All bits set if there is none."""
    expect(out, inst, "b32")
    target, mask, base, offset = operands(out, inst, 4)
    out.alu(target, U32, nth_set_bit, out.read(mask, U32), out.read(base, U32), out.read(offset, TYPES["s32"]))


def nth_set_bit(mask, base, offset):
    """The function of fns; mask and base uint32, offset int32."""
    up = mask & (np.uint32(0xFFFFFFFF) << base)
    down = reversed_bits(mask) & (np.uint32(0xFFFFFFFF) << 31 - base)
    here = mask & (np.uint32(1) << base)
    bits = np.where(offset > 0, up, np.where(offset < 0, down, here))
    wanted = np.maximum(np.abs(offset).view(np.uint32), np.uint32(1))
    there = wanted <= np.bitwise_count(bits)
    place: Lanewise = np.uint32(0)
    for half in (16, 8, 4, 2, 1):
        below = np.bitwise_count((bits >> place) & ((1 << half) - 1)).astype(np.uint32)
        further = wanted > below
        wanted = wanted - below * further
        place = place + further * np.uint32(half)
    place = np.where(offset < 0, 31 - place, place)
    return np.where(there, place, np.uint32(0xFFFFFFFF)).astype(np.uint32)[()]


@instruction("brev", families=(INTEGER,))
def reverse_bits(out: Emitter, inst: Instruction) -> None:
    dtype = expect(out, inst, "b32 b64")
    target, a = operands(out, inst, 2)
    out.alu(target, dtype, reversed_bits, out.read(a, dtype))


def reversed_bits(x):
    """The bits of unsigned integers in opposite order."""
    x = x.byteswap()
    for distance, pattern in ((4, 0x0F), (2, 0x33), (1, 0x55)):
        mask = x.dtype.type(int.from_bytes(bytes([pattern]) * x.dtype.itemsize))
        x = (x >> distance & mask) | (x & mask) << distance
    return x


# --- extracting and inserting --------------------------------------------------------------------------------------


def _field(out: Emitter, operand: Operand, dtype: np.dtype) -> Value:
    """A position or length (the low byte of a u32) as `dtype`."""
    value = out.read(operand, U32)
    if isinstance(value, Const):
        return Const(dtype.type(int(value.value) & 0xFF))
    return compute(out, dtype, f"({{0}} & 255).astype('{dtype.str[1:]}')", value)


@instruction("bfe", families=(INTEGER,))
def extract_field(out: Emitter, inst: Instruction) -> None:
    """d = the field of a at position b and c bits long. A signed field is extended by its highest bit, or by a's where
    the field goes beyond it."""
    dtype = expect(out, inst, "u32 s32 u64 s64")
    target, a, b, c = operands(out, inst, 4)
    value, start, length = out.read(a, dtype), _field(out, b, dtype), _field(out, c, dtype)
    if dtype.kind == "u":
        # Shifts by the width or more give 0, so a long field has a mask of 0 - 1.
        ones = Const(dtype.type(1))
        out.alu(target, dtype, "{0} >> {1} & ({3} << {2}) - {3}", value, start, length, ones)
        return
    width = 8 * dtype.itemsize
    if isinstance(start, Const) and isinstance(length, Const) and int(length.value) > 0:
        above = max(0, width - int(start.value) - int(length.value))
        out.alu(target, dtype, f"{{0}} << {above} >> {min(width, above + int(start.value))}", value)
        return
    above = compute(out, dtype, f"np.maximum({width} - {{0}} - {{1}}, 0)", start, length)
    out.alu(target, dtype, "({0} << {3} >> {3} + {1}) * ({2} != 0)", value, start, length, above)


@instruction("bfi", families=(INTEGER,))
def insert_field(out: Emitter, inst: Instruction) -> None:
    """d = b, with the low bits of a, as many as the length says and fit, from the position on."""
    dtype = expect(out, inst, "b32 b64")
    target, a, b, position, count = operands(out, inst, 5)
    start, length = _field(out, position, dtype), _field(out, count, dtype)
    if isinstance(start, Const) and isinstance(length, Const):
        bits = (1 << int(length.value)) - 1 << int(start.value)
        mask: Value = Const(dtype.type(bits & (1 << 8 * dtype.itemsize) - 1))
    else:
        mask = compute(out, dtype, "({1} << {0}) - {1} << {2}", length, Const(dtype.type(1)), start)
    out.alu(target, dtype, "({0} << {2} ^ {1}) & {3} ^ {1}", out.read(a, dtype), out.read(b, dtype), start, mask)


@instruction("bmsk", families=(INTEGER,))
def make_mask(out: Emitter, inst: Instruction) -> None:
    """d = ones from position a on, b of them as far as they fit. Beyond 31, position and width are clamped or wrap."""
    mode = one_of(out, inst, "clamp", "wrap")
    expect(out, inst, "b32", mode)
    target, a, b = operands(out, inst, 3)
    start, width = _limited(out, a, mode), _limited(out, b, mode)
    out.alu(target, U32, "({2} << {1}) - {2} << {0}", start, width, Const(np.uint32(1)))


@instruction("szext", families=(INTEGER,))
def extend(out: Emitter, inst: Instruction) -> None:
    """d = the low b bits of a, extended by zeros (u32) or the highest of them (s32)."""
    mode = one_of(out, inst, "clamp", "wrap")
    dtype = expect(out, inst, "u32 s32", mode)
    target, a, b = operands(out, inst, 3)
    width = _limited(out, b, mode)
    value = out.read(a, dtype)
    if dtype.kind == "u":
        out.alu(target, dtype, "{0} & ({2} << {1}) - {2}", value, width, Const(np.uint32(1)))
    else:
        above = compute(out, dtype, "(32 - {0}).view('i4')", width)
        out.alu(target, dtype, "{0} << {1} >> {1}", value, above)


def _limited(out: Emitter, operand: Operand, mode: str) -> Value:
    """A position or width (u32), at most 32, or its low five bits."""
    return compute(out, U32, "{0} & 31" if mode == "wrap" else "np.minimum({0}, 32)", out.read(operand, U32))
