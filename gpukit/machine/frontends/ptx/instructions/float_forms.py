"""What all instructions on f32 and f64 share: rounding modes, .ftz, .sat and the NaN they give.

The NaN are those of an H200. An f32 instruction that gives NaN gives 0x7fffffff, whatever NaN went in (PTX leaves the
payload open). An f64 instruction hands on a NaN it was given, made quiet, and otherwise makes 0xfff8000000000000.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING

import numpy as np

from gpukit.machine.arithmetic import floats
from gpukit.machine.arithmetic.elementwise import vector
from gpukit.machine.frontends.ptx.syntax import TYPES, Instruction, Operand

if TYPE_CHECKING:
    from gpukit.machine.frontends.ptx.emitter import Emitter

F32, F64 = np.dtype(np.float32), np.dtype(np.float64)
# PTX's rounding modes -> those of gpukit.machine.arithmetic.rounding.
ROUNDING = {"rn": "rn", "rz": "rz", "rm": "rd", "rp": "ru"}
# Which operand's NaN an f64 instruction hands on, if several are NaN; the first of those not named here.
_NAN_FROM = dict.fromkeys(("add", "sub", "mul", "min", "max"), (1, 0)) | dict.fromkeys(("fma", "mad"), (1, 2, 0))

_SMALLEST_NORMAL = np.finfo(np.float32).smallest_normal
_UP = np.float32(2.0**32)


def rounding_mode(out: Emitter, inst: Instruction) -> str:
    """The instruction's rounding mode; to nearest where it names none."""
    found = [ROUNDING[modifier] for modifier in inst.modifiers if modifier in ROUNDING]
    if len(found) > 1:
        out.refuse(f"`{inst.name}`")
    return found[0] if found else "rn"


def by_the_rules(inst: Instruction, code: Callable) -> Callable:
    """`code`, a function of floats, with the instruction's NaN, .ftz and .sat; for f32x2, of both halves."""
    flushes, saturates = inst.has("ftz"), inst.has("sat")

    @wraps(code)
    def double(*operands):
        order = _NAN_FROM.get(inst.opcode, range(len(operands)))
        return floats.with_payload(code(*operands), *(operands[i] for i in order))

    @wraps(code)
    def single(*operands):
        if flushes:
            operands = tuple(map(floats.flush, operands))
        result = floats.canonical(code(*operands))
        if flushes:
            result = _flushed(inst.opcode, code, operands, result)
        return floats.saturate(result) if saturates else result

    @vector
    @wraps(code)
    def both(*operands):
        return single(*(np.ascontiguousarray(x).view(F32) for x in operands)).view(np.uint64)

    if inst.type == "f64":  # its .ftz forms are approximate and have rules of their own
        return code if flushes else double
    return single if inst.type == "f32" else both


def _flushed(opcode: str, code: Callable, operands: tuple, result):
    """`result` without subnormal numbers.

    The hardware flushes what would be below the smallest normal number if exponents had no limit. IEEE's result may
    have been rounded up to that number only because subnormal numbers lie less densely.
    """
    edge = np.abs(result) == _SMALLEST_NORMAL
    if opcode in _ENLARGED and edge.any():
        below = np.abs(code(*_ENLARGED[opcode](*operands))) < _SMALLEST_NORMAL * _UP
        result = np.where(edge & below, result * 0, result)[()]
    return floats.flush(result)


def _enlarge_factor(a, b, *addend):
    small = np.abs(a) < np.abs(b)
    return (np.where(small, a * _UP, a)[()], np.where(small, b, b * _UP)[()], *(c * _UP for c in addend))


# Operands that make the same instruction's result 2**32 times as large, where it is the smallest normal number.
_ENLARGED: dict[str, Callable] = {
    **dict.fromkeys(("mul", "fma", "mad"), _enlarge_factor),
    "div": lambda a, b: (a * _UP, b),
    "rcp": lambda a: (a / _UP,),
}


def compute(
    out: Emitter, inst: Instruction, code: Callable, target: Operand, *sources: Operand, check: str | None = None
) -> None:
    """target = code(sources), all of the instruction's type, by the rules of its modifiers."""
    dtype = TYPES[inst.type]
    out.alu(target, dtype, by_the_rules(inst, code), *(out.read(s, dtype) for s in sources), check=check)
