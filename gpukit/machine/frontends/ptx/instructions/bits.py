"""Logic and shifts: and or xor not cnot lop3 shl shr shf prmt.

Shift amounts are unsigned and not masked: by the width or more, shl and shr of unsigned types give 0, shr of signed
ones the sign. `bitfields` has what counts, extracts and inserts bits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpukit.machine.frontends.ptx.instructions.forms import (
    BOOL,
    U32,
    as_held,
    compute,
    expect,
    one_of,
    operands,
    signed,
)
from gpukit.machine.frontends.ptx.instructions.table import instruction
from gpukit.machine.frontends.ptx.instructions.truth_table import expressions
from gpukit.machine.frontends.ptx.syntax import INTEGER, PREDICATE, Instruction, Integer, Operand, Sink
from gpukit.machine.program import Const
from gpukit.machine.program import Operand as Value

if TYPE_CHECKING:
    from gpukit.machine.frontends.ptx.emitter import Emitter

LOGIC = "pred b16 b32 b64"
SIGNS = {"and": "&", "or": "|", "xor": "^"}


@instruction("and", "or", "xor", families=(INTEGER, PREDICATE))
def logic(out: Emitter, inst: Instruction) -> None:
    target, a, b = operands(out, inst, 3)
    dtype = as_held(out, target, expect(out, inst, LOGIC))
    out.alu(target, dtype, f"{{0}} {SIGNS[inst.opcode]} {{1}}", out.read(a, dtype), out.read(b, dtype))


@instruction("not", families=(INTEGER, PREDICATE))
def complement(out: Emitter, inst: Instruction) -> None:
    target, a = operands(out, inst, 2)
    dtype = as_held(out, target, expect(out, inst, LOGIC))
    out.alu(target, dtype, "~{0}", out.read(a, dtype))


@instruction("cnot", families=(INTEGER,))
def logical_not(out: Emitter, inst: Instruction) -> None:
    """1 for 0, else 0."""
    target, a = operands(out, inst, 2)
    dtype = as_held(out, target, expect(out, inst, "b16 b32 b64"))
    out.alu(target, dtype, f"({{0}} == 0).astype('{dtype.str[1:]}')", out.read(a, dtype))


# --- any function of three operands --------------------------------------------------------------------------------


@instruction("lop3", families=(INTEGER,))
def logic_of_three(out: Emitter, inst: Instruction) -> None:
    """lop3.b32 d, a, b, c, table; lop3.or/and.b32 d|p, a, b, c, table, q also gives p = (d != 0) or/and q."""
    combines = inst.has("or") or inst.has("and")
    dtype = expect(out, inst, "b32", "or", "and")
    target, *sources, table = operands(out, inst, 6 if combines else 5)[:5]
    if not isinstance(table, Integer) or not 0 <= table.value <= 255:
        out.refuse(f"`{inst.name}` with a truth table that is no number from 0 to 255")
    d, p = out.two(target) if combines else (target, Sink())
    dtype = as_held(out, d, dtype)
    code, values = _function(table.value, [out.read(s, dtype) for s in sources], dtype)
    if not combines:
        out.alu(d, dtype, code, *values)
        return
    result = compute(out, dtype, code, *values, count=1)
    sign = SIGNS[one_of(out, inst, "or", "and")]
    out.alu(p, BOOL, f"({{0}} != 0) {sign} {{1}}", result, out.read(inst.operands[5], BOOL), count=0)
    out.write(d, result)


def _function(table: int, sources: list[Value], dtype: np.dtype) -> tuple[str, list[Value]]:
    """Template and operands of the function with this truth table; operands it does not depend on are left out."""
    if table in (0, 255):
        return "{0}", [Const(signed(dtype).type(-(table & 1)).view(dtype))]
    code = expressions()[table]
    used = [name for name in "abc" if name in code]
    for position, name in enumerate(used):
        code = code.replace(name, f"{{{position}}}")
    return code, [sources["abc".index(name)] for name in used]


# --- shifts --------------------------------------------------------------------------------------------------------


@instruction("shl", "shr", families=(INTEGER,))
def shift(out: Emitter, inst: Instruction) -> None:
    target, a, amount = operands(out, inst, 3)
    if inst.opcode == "shl":
        dtype = as_held(out, target, expect(out, inst, "b16 b32 b64"))
        sign = "<<"
    else:
        dtype = expect(out, inst, "b16 b32 b64 u16 u32 u64 s16 s32 s64")
        sign = ">>"
    out.alu(target, dtype, f"{{0}} {sign} {{1}}", out.read(a, dtype), _amount(out, amount, dtype))


def _amount(out: Emitter, operand: Operand, dtype: np.dtype) -> Value:
    """A shift amount (u32) as `dtype`. NumPy's shifts by the width or more are those of PTX, and an amount that turns
    negative when viewed as int32 counts as one."""
    width = 8 * dtype.itemsize
    value = out.read(operand, U32)
    if isinstance(value, Const):
        return Const(dtype.type(min(int(value.value), width)))
    if width == 32:
        return out.viewed(value, dtype)
    clamped = f"np.minimum({{0}}, {width})" if width < 32 else "{0}"
    return compute(out, dtype, f"{clamped}.astype('{dtype.str[1:]}')", value)


@instruction("shf", families=(INTEGER,))
def funnel_shift(out: Emitter, inst: Instruction) -> None:
    """shf.l.mode.b32 and shf.r.mode.b32 d, a, b, c: the upper half of b:a << n, or the lower half of b:a >> n, where n
    is c clamped to 32 or its low five bits."""
    left = one_of(out, inst, "l", "r") == "l"
    wraps = one_of(out, inst, "wrap", "clamp") == "wrap"
    expect(out, inst, "b32", "l", "r", "wrap", "clamp")
    target, a, b, c = operands(out, inst, 4)
    low, high, amount = (out.read(s, U32) for s in (a, b, c))
    if isinstance(amount, Const):
        n = int(amount.value) & 31 if wraps else min(int(amount.value), 32)
        up, down = (n, 32 - n) if left else (32 - n, n)
        out.alu(target, U32, f"{{1}} << {up} | {{0}} >> {down}", low, high)
        return
    n = compute(out, U32, "{0} & 31" if wraps else "np.minimum({0}, 32)", amount)
    # A shift by 32 gives 0, so n = 0 and n = 32 need no care.
    code = "{1} << {2} | {0} >> 32 - {2}" if left else "{1} << 32 - {2} | {0} >> {2}"
    out.alu(target, U32, code, low, high, n)


# --- byte permutation ----------------------------------------------------------------------------------------------

# The selectors that the special modes stand for, by the low two bits of the third operand. Bytes 0 to 3 are those of a,
# 4 to 7 those of b.
MODES = {
    "f4e": (0x3210, 0x4321, 0x5432, 0x6543),
    "b4e": (0x5670, 0x6701, 0x7012, 0x0123),
    "rc8": (0x0000, 0x1111, 0x2222, 0x3333),
    "ecl": (0x3210, 0x3211, 0x3222, 0x3333),
    "ecr": (0x0000, 0x1110, 0x2210, 0x3210),
    "rc16": (0x1010, 0x3232, 0x1010, 0x3232),
}


@instruction("prmt", families=(INTEGER,))
def permute_bytes(out: Emitter, inst: Instruction) -> None:
    """Each byte of d is one of the eight of b:a, picked by the low three bits of its four in c, or, if the fourth is
    set, that byte's sign in all bits. The other modes stand for rows of such selectors."""
    expect(out, inst, "b32", *MODES)
    modes = [m for m in inst.modifiers if m in MODES]
    if len(modes) > 1:
        out.refuse(f"`{inst.name}`")
    target, a, b, c = operands(out, inst, 4)
    x, y, selector = (out.read(s, U32) for s in (a, b, c))
    if isinstance(selector, Const):
        chosen = int(selector.value)
        out.alu(target, U32, permutation(MODES[modes[0]][chosen & 3] if modes else chosen), x, y)
        return
    if modes:
        rows = np.array(MODES[modes[0]], np.uint32)
        selector = compute(out, U32, lambda c: rows[c & 3], selector)
    out.alu(target, U32, permute, x, y, selector)


def permute(x, y, selector):
    """The bytes of y:x that a selector per lane picks; all uint32."""
    pool = x | (y.astype(np.uint64) << np.uint64(32))
    result = np.uint32(0)
    for place in range(0, 16, 4):
        pick = selector >> place
        byte = (pool >> ((pick & 7) << 3)).astype(np.uint32) & 0xFF
        sign = (byte >> 7) * np.uint32(0xFF)
        byte = byte ^ ((byte ^ sign) & -(pick >> 3 & 1))
        result = result | (byte << (2 * place))
    return result


def permutation(selector: int) -> str:
    """Template of the permutation with a constant selector. Neighbours that stay neighbours move together."""
    picks = [selector >> place & 0xF for place in range(0, 16, 4)]
    if picks == [3, 2, 1, 0]:
        return "{0}.byteswap()"
    terms = []
    to = 0
    while to < 4:
        pick, count = picks[to], 1
        same = pick >> 3  # a sign is repeated, bytes go on
        while (
            to + count < 4 and picks[to + count] == pick + (0 if same else count) and (same or (pick & 3) + count < 4)
        ):
            count += 1
        source, start = f"{{{pick >> 2 & 1}}}", pick & 3
        mask = ((1 << 8 * count) - 1) << 8 * to
        if same:
            terms.append(f"(-({source} >> {8 * start + 7} & 1) & {mask})")
        else:
            shift = 8 * (to - start)
            moved = f"({source} << {shift})" if shift > 0 else f"({source} >> {-shift})" if shift < 0 else source
            # The shift itself drops what lies outside on its side.
            alone = to + count == 4 if shift > 0 else start + count == 4 if shift < 0 else count == 4
            alone = alone and (to == 0 if shift < 0 else start == 0 if shift > 0 else True)
            terms.append(moved if alone else f"({moved} & {mask})")
        to += count
    return " | ".join(terms)
