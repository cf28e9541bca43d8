"""Several small integers in one register: dot products dp4a dp2a, and the SIMD video instructions vadd vsub vabsdiff
vmin vmax of two halves or four bytes, without lane selection or masks (compilers emit none; vavrg, vset and the scalar
video instructions are refused)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from gpukit.machine.frontends.ptx.instructions.forms import U32, known, operands
from gpukit.machine.frontends.ptx.instructions.table import instruction
from gpukit.machine.frontends.ptx.syntax import INTEGER, TYPES, Instruction

if TYPE_CHECKING:
    from gpukit.machine.frontends.ptx.emitter import Emitter


def parts(x, dtype) -> np.ndarray:
    """The small integers in each value: (lanes, parts), lowest first; one row for a scalar."""
    return np.ascontiguousarray(x).view(dtype).reshape(-1, 4 // np.dtype(dtype).itemsize)


def packed(rows: np.ndarray, scalar: bool):
    """The opposite of parts, as uint32: a scalar if all that went in was."""
    whole = np.ascontiguousarray(rows).view(np.uint32).reshape(-1)
    return whole[0] if scalar else whole


def _scalars(*values) -> bool:
    return not any(isinstance(value, np.ndarray) for value in values)


def in_halves(function: Callable, half) -> Callable:
    """A function of two packed values (uint32) that applies `function` to their halves, taken as `half`."""

    def both(a, b):
        return packed(function(parts(a, half), parts(b, half)).astype(half, copy=False), _scalars(a, b))

    return both


# --- dot products --------------------------------------------------------------------------------------------------


@instruction("dp4a", "dp2a", families=(INTEGER,))
def dot_product(out: Emitter, inst: Instruction) -> None:
    """dp4a: four bytes of a with those of b. dp2a: two halves of a with the low or high two bytes of b."""
    halves = inst.opcode == "dp2a"
    known(out, inst, *(("lo", "hi") if halves else ()))
    if len(inst.types) != 2 or not set(inst.types) <= {"s32", "u32"} or inst.has("lo") + inst.has("hi") != halves:
        out.refuse(f"`{inst.name}`")
    target, a, b, c = operands(out, inst, 4)
    kinds = [TYPES[name].kind for name in inst.types]
    left = np.dtype(f"{kinds[0]}{2 if halves else 1}")
    right = np.dtype(f"{kinds[1]}1")
    used = slice(2, 4) if inst.has("hi") else slice(0, 2) if halves else slice(0, 4)

    def dot(a, b, c):
        # Modulo 2^32 the signs of the products and of the sum make no difference.
        products = parts(a, left).astype(np.int32) * parts(b, right)[:, used]
        total = sum(products[:, k] for k in range(products.shape[1])).view(np.uint32) + c
        return total[0] if _scalars(a, b, c) else total

    out.alu(target, U32, dot, *(out.read(s, U32) for s in (a, b, c)))


# --- SIMD video instructions ---------------------------------------------------------------------------------------

_VIDEO: dict[str, Callable] = {
    "vadd": np.add,
    "vsub": np.subtract,
    "vabsdiff": lambda x, y: np.abs(x - y),
    "vmin": np.minimum,
    "vmax": np.maximum,
}


@instruction(*(f"{name}{count}" for name in _VIDEO for count in (2, 4)), families=(INTEGER,))
def video(out: Emitter, inst: Instruction) -> None:
    """vop4.dtype.atype.btype{.sat}{.add} d, a, b, c: each part of a with that of b; with .add the parts' sum plus c.
    Without .add the third operand only fills parts that a mask leaves out, of which there are none here."""
    known(out, inst, "sat", "add")
    saturate, accumulate = inst.has("sat"), inst.has("add")
    if (saturate and accumulate) or len(inst.types) != 3 or not set(inst.types) <= {"s32", "u32"}:
        out.refuse(f"`{inst.name}`")
    target, a, b, c = operands(out, inst, 4)
    size = 4 // int(inst.opcode[-1])
    function = _VIDEO[inst.opcode[:-1]]
    to, left, right = (np.dtype(f"{TYPES[name].kind}{size}") for name in inst.types)
    limits = np.iinfo(to)

    def apply(a, b, *c):
        result = function(parts(a, left).astype(np.int32), parts(b, right).astype(np.int32))
        if saturate:
            result = np.clip(result, limits.min, limits.max)
        if not accumulate:
            return packed(result.astype(to), _scalars(a, b))
        total = result.sum(axis=1, dtype=np.int32).view(np.uint32) + c[0]
        return total[0] if _scalars(a, b, *c) else total

    out.alu(target, U32, apply, *(out.read(s, U32) for s in ((a, b, c) if accumulate else (a, b))))
