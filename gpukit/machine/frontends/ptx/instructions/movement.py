"""mov, cvta, isspacep: values and addresses that change hands without changing."""

from __future__ import annotations

import numpy as np

from gpukit.machine.frontends.ptx import specials
from gpukit.machine.frontends.ptx.emitter import BOOL, I64, Emitter
from gpukit.machine.frontends.ptx.instructions.table import instruction
from gpukit.machine.frontends.ptx.syntax import TYPES, Float, Instruction, Operand, Register, Sink, Vector
from gpukit.machine.program import GLOBAL_BASE, LOCAL_BASE, SHARED_BASE, Alu, Const, Special

_WINDOWS = {"shared": SHARED_BASE, "local": LOCAL_BASE}
_U64 = np.dtype(np.uint64)


@instruction("mov")
def mov(out: Emitter, inst: Instruction) -> None:
    target, source = inst.operands
    if TYPES[inst.type].kind == "V":
        out.refuse(f"`{inst.name}`", "it moves 128 bits at once")
    if isinstance(target, Vector):
        _unpack(out, inst, target, source)
    elif isinstance(source, Vector):
        _pack(out, inst, target, source)
    else:
        _copy(out, inst, target, source)


def _copy(out: Emitter, inst: Instruction, target: Operand, source: Operand) -> None:
    # A copy between registers is no instruction once the assembler has given them their places: it counts as none.
    if isinstance(target, Sink):
        return
    dtype = TYPES[inst.type]
    if isinstance(target, Register):
        declared = out.registers[out.number(target.name)].dtype
        if declared.itemsize == dtype.itemsize:
            dtype = declared
    name = specials.direct(source.name) if isinstance(source, Register) and source.name not in out.names else None
    if name is not None and isinstance(target, Register) and out.guard is None and dtype.kind in "iu":
        register = out.destination(target, dtype)
        out.emit(Special(register, name, out.line))
        out.write(target, register)
        return
    if isinstance(source, Float) and dtype.kind == "f" and source.width != dtype.itemsize:
        out.write(target, Const(dtype.type(source.value)))
        return
    out.write(target, out.read(source, dtype))


def _pack(out: Emitter, inst: Instruction, target: Operand, source: Vector) -> None:
    """The first item is the lowest part."""
    whole, parts = TYPES[inst.type], source.items
    if whole.itemsize % len(parts) or whole.itemsize > 8:
        out.refuse(f"`{inst.name}` of {len(parts)} parts")
    size = whole.itemsize // len(parts)
    part, wide = np.dtype(f"u{size}"), np.dtype(f"u{whole.itemsize}")
    values = [out.read(item, part) for item in parts]
    text = " | ".join(
        f"{{{i}}}.astype('u{wide.itemsize}')" + (f" << np.uint{8 * wide.itemsize}({8 * size * i})" if i else "")
        for i in range(len(parts))
    )
    out.alu(target, wide, f"({text})", *values)


def _unpack(out: Emitter, inst: Instruction, target: Vector, source: Operand) -> None:
    whole, parts = TYPES[inst.type], target.items
    if whole.itemsize % len(parts) or whole.itemsize > 8:
        out.refuse(f"`{inst.name}` of {len(parts)} parts")
    size = whole.itemsize // len(parts)
    wide = np.dtype(f"u{whole.itemsize}")
    value = out.read(source, wide)
    part = np.dtype(f"u{size}")
    pieces = []
    for i in range(len(parts)):
        # All parts are taken before any is written: a target may be the source itself.
        piece = out.temporary(part)
        shift = f"({{0}} >> np.uint{8 * wide.itemsize}({8 * size * i}))" if i else "{0}"
        out.emit(Alu(piece, (value,), f"{shift}.astype('u{size}')", out.line, count=int(i == 0)))
        pieces.append(piece)
    for item, piece in zip(parts, pieces, strict=True):
        out.write(item, piece)


@instruction("cvta")
def cvta(out: Emitter, inst: Instruction) -> None:
    target, source = inst.operands
    space = next(
        (m.split("::")[0] for m in inst.modifiers if m.split("::")[0] in (*_WINDOWS, "global", "const", "param")), None
    )
    if space is None:
        out.refuse(f"`{inst.name}`")
    window = _WINDOWS.get(space)
    dtype = TYPES[inst.type]
    # A 32-bit shared address is an offset without a sign.
    value = out.read(source, dtype if dtype.itemsize == 4 else I64)
    if window is None:
        out.write(target, value)
        return
    if dtype.itemsize == 4:
        value = out.viewed(value, _U64) if isinstance(value, int) else Const(np.uint64(int(value.value)))
        value = out.viewed(value, I64) if isinstance(value, int) else Const(np.int64(int(value.value)))
    sign = "-" if inst.has("to") else "+"
    out.alu(target, I64, f"{{0}} {sign} np.int64({window})", value, count=0)


@instruction("isspacep")
def isspacep(out: Emitter, inst: Instruction) -> None:
    target, source = inst.operands
    space = inst.modifiers[0].split("::")[0]
    limits = {
        "global": f"({{0}} >= np.int64({GLOBAL_BASE}))",
        "shared": f"(({{0}} >= np.int64({SHARED_BASE})) & ({{0}} < np.int64({LOCAL_BASE})))",
        "local": f"(({{0}} >= np.int64({LOCAL_BASE})) & ({{0}} < np.int64({GLOBAL_BASE})))",
    }
    if space not in limits:
        out.refuse(f"`{inst.name}`")
    out.alu(target, BOOL, limits[space], out.read(source, I64))
