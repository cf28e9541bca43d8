"""What all instructions on f32 and f64 share: rounding modes, .ftz, .sat and the NaN they give.

An f32 operation that gives NaN gives 0x7fffffff, as an H200 does, whatever NaN went in (PTX leaves the payload open).
An f64 operation keeps the payload of the first operand that is NaN, quiet, as the CPU's own arithmetic does.
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


def rounding_mode(out: Emitter, inst: Instruction) -> str:
    """The instruction's rounding mode; to nearest where it names none."""
    found = [ROUNDING[modifier] for modifier in inst.modifiers if modifier in ROUNDING]
    if len(found) > 1:
        out.refuse(f"`{inst.name}`")
    return found[0] if found else "rn"


def by_the_rules(inst: Instruction, code: Callable) -> Callable:
    """`code`, a function of floats, with the instruction's .ftz and .sat and f32's one NaN; for f32x2, of both halves."""
    if inst.type == "f64":
        return code
    flushes, saturates = inst.has("ftz"), inst.has("sat")

    @wraps(code)
    def single(*operands):
        if flushes:
            operands = tuple(map(floats.flush, operands))
        result = floats.canonical(code(*operands))
        if flushes:
            result = floats.flush(result)
        return floats.saturate(result) if saturates else result

    if inst.type == "f32":
        return single

    @vector
    @wraps(code)
    def both(*operands):
        return single(*(np.ascontiguousarray(x).view(F32) for x in operands)).view(np.uint64)

    return both


def compute(
    out: Emitter, inst: Instruction, code: Callable, target: Operand, *sources: Operand, check: str | None = None
) -> None:
    """target = code(sources), all of the instruction's type, by the rules of its modifiers."""
    dtype = TYPES[inst.type]
    out.alu(target, dtype, by_the_rules(inst, code), *(out.read(s, dtype) for s in sources), check=check)
