"""Which NumPy dtype holds each PTX register.

PTX gives a register a width and lets every instruction choose how to read its bits. A program register has one dtype:
the one that most of its instructions want, so that few of them need a view.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from gpukit.machine.frontends.ptx.syntax import (
    TYPES,
    Function,
    Instruction,
    Memory,
    Negated,
    Operand,
    Pair,
    Register,
    Vector,
)

# Without a vote: indices and addresses are signed more often than not.
_DEFAULT: dict[int, np.dtype] = {
    1: np.dtype(np.uint8),
    2: np.dtype(np.uint16),
    4: np.dtype(np.int32),
    8: np.dtype(np.int64),
}
# For these a signed and an unsigned operand are the same, so they only say that it is an integer.
_EITHER = frozenset(
    (
        "add", "sub", "mad", "mul", "and", "or", "xor", "not", "shl", "mov", "ld", "ldu", "st", "selp", "cvta", "shfl",
        "bfi", "lop3", "prmt", "neg", "popc", "brev", "clz", "shf", "atom", "red",
    )
)  # fmt: skip


def dtypes(function: Function) -> dict[str, np.dtype]:
    """The dtype of each register that the function's instructions mention."""
    votes: dict[str, Counter[np.dtype]] = {}
    for inst in function.body or ():
        if isinstance(inst, Instruction):
            _vote(inst, votes)
    return {name: _choice(TYPES[kind], votes[name]) for name, kind in function.registers.items() if name in votes}


def _vote(inst: Instruction, votes: dict[str, Counter[np.dtype]]) -> None:
    if inst.guard is not None:
        votes.setdefault(inst.guard[0].name, Counter())
    types = inst.types
    for position, operand in enumerate(inst.operands):
        for name in _registers(operand):
            votes.setdefault(name, Counter())
        if not types or isinstance(operand, Memory):
            continue
        # cvt.f32.s32: the destination's type comes first; of mul.wide.s32 the destination is twice as wide.
        kind = TYPES[types[0] if position == 0 else types[-1]]
        if inst.has("wide") and position in (0, 3) and kind.itemsize <= 4:
            kind = np.dtype(f"{kind.kind}{kind.itemsize * 2}")
        if inst.opcode in ("shl", "shr", "shf") and position == len(inst.operands) - 1:
            kind = np.dtype(np.uint32)
        weight = 4
        if inst.opcode in _EITHER and kind.kind in "iu":
            kind, weight = _DEFAULT[kind.itemsize], 1
        for name in _registers(operand):
            votes[name][kind] += weight


def _registers(operand: Operand) -> list[str]:
    match operand:
        case Register(name):
            return [name]
        case Memory(base):
            return _registers(base)
        case Pair(first, second):
            return _registers(first) + _registers(second)
        case Vector(items):
            return [name for item in items for name in _registers(item)]
        case Negated(register):
            return [register.name]
        case _:
            return []


def _choice(declared: np.dtype, votes: Counter[np.dtype]) -> np.dtype:
    if declared.kind in "fbV":
        return declared
    found: Counter[np.dtype] = Counter()
    default = _DEFAULT[declared.itemsize]
    for dtype, n in votes.items():
        if dtype.itemsize != declared.itemsize or dtype.kind not in "iuf":
            continue
        found[dtype] += n
    if not found:
        return default
    best = max(found.values())
    return default if found[default] == best else next(dtype for dtype, n in found.items() if n == best)
