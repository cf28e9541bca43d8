"""Barriers, shuffles, votes and other warp-wide exchanges."""

from __future__ import annotations

from gpukit.machine.frontends.ptx.emitter import BOOL, I32, U32, Emitter
from gpukit.machine.frontends.ptx.instructions.table import instruction
from gpukit.machine.frontends.ptx.syntax import TYPES, Instruction, Integer, Operand, Register, Sink
from gpukit.machine.program import Barrier, WarpSync
from gpukit.machine.program import Operand as Value

# --- block barriers -------------------------------------------------------------------------------------------------


@instruction("bar", "barrier", effect=True)
def bar(out: Emitter, inst: Instruction) -> None:
    if inst.has("warp"):
        _warp(out, "sync", (out.read(inst.operands[0], U32),), ())
        return
    if inst.has("cluster"):
        out.refuse(f"`{inst.name}`", "it belongs to thread block clusters")
    if inst.has("red"):
        _reduce(out, inst)
        return
    number, threads = _which(out, inst.operands)
    arrive = inst.has("arrive")
    out.then(lambda after: Barrier(after, out.line, number=number, threads=threads, arrive=arrive))


def _which(out: Emitter, operands: tuple[Operand, ...]) -> tuple[Value | None, Value | None]:
    """(number, threads) of a barrier; number 0 of the whole block is the plain one."""
    threads = out.read(operands[1], I32) if len(operands) > 1 else None
    if threads is None and (not operands or operands[0] == Integer(0)):
        return None, None
    return out.read(operands[0], I32), threads


def _reduce(out: Emitter, inst: Instruction) -> None:
    how = next((word for word in ("popc", "and", "or") if inst.has(word)), None)
    if how is None:
        out.refuse(f"`{inst.name}`")
    target, number_operand, *rest = inst.operands
    number, threads = _which(out, (number_operand, *rest[:-1]))
    source = out.read(rest[-1], BOOL)
    result = out.temporary(I32)
    reduce = "count" if how == "popc" else how
    out.then(lambda after: Barrier(after, out.line, reduce, source, result, number, threads))
    if how == "popc":
        out.write(target, result)
    else:
        out.alu(target, BOOL, "({0} != 0)", result, count=0)


# --- warps ---------------------------------------------------------------------------------------------------------


def _warp(out: Emitter, kind: str, sources: tuple[Value, ...], results: tuple[int, ...]) -> None:
    out.then(lambda after: WarpSync(kind, after, sources, results, out.line))


def _mask(out: Emitter, inst: Instruction, operand: Operand | None) -> Value:
    """The member mask; the forms without one (before PTX 6.0) name the lanes that are there."""
    return out.special("activemask", U32) if operand is None else out.read(operand, U32)


@instruction("shfl", effect=True)
def shfl(out: Emitter, inst: Instruction) -> None:
    way = next((w for w in ("up", "down", "bfly", "idx") if inst.has(w)), None)
    if way is None:
        out.refuse(f"`{inst.name}`")
    target, value, lane, control, *mask = inst.operands
    first, second = out.two(target)
    dtype = TYPES[inst.type]
    if isinstance(value, Register):
        dtype = out.registers[out.number(value.name)].dtype
    result, inside = out.temporary(dtype), out.temporary(BOOL)
    sources = (
        _mask(out, inst, mask[0] if mask else None),
        out.read(value, dtype),
        out.read(lane, I32),
        out.read(control, I32),
    )
    kind = "shfl_xor" if way == "bfly" else f"shfl_{way}"
    _warp(out, kind, sources, (result,) if isinstance(second, Sink) else (result, inside))
    out.write(first, result)
    out.write(second, inside)


@instruction("vote", effect=True)
def vote(out: Emitter, inst: Instruction) -> None:
    how = next((w for w in ("all", "any", "uni", "ballot") if inst.has(w)), None)
    if how is None:
        out.refuse(f"`{inst.name}`")
    target, predicate, *mask = inst.operands
    result = out.temporary(U32 if how == "ballot" else BOOL)
    sources = (_mask(out, inst, mask[0] if mask else None), out.read(predicate, BOOL))
    _warp(out, "eq" if how == "uni" else how, sources, (result,))
    out.write(target, result)


@instruction("match", effect=True)
def match(out: Emitter, inst: Instruction) -> None:
    target, value, mask = inst.operands
    first, second = out.two(target)
    result, agreed = out.temporary(U32), out.temporary(BOOL)
    sources = (out.read(mask, U32), out.read(value, TYPES[inst.type]))
    if inst.has("any"):
        _warp(out, "match_any", sources, (result,))
    else:
        _warp(out, "match_all", sources, (result, agreed))
        out.write(second, agreed)
    out.write(first, result)


@instruction("redux", effect=True)
def redux(out: Emitter, inst: Instruction) -> None:
    how = next((w for w in ("add", "min", "max", "and", "or", "xor") if inst.has(w)), None)
    dtype = TYPES[inst.type]
    if how is None or dtype.kind == "f":
        out.refuse(f"`{inst.name}`")
    target, value, mask = inst.operands
    result = out.temporary(dtype)
    _warp(out, f"redux_{how}", (out.read(mask, U32), out.read(value, dtype)), (result,))
    out.write(target, result)


@instruction("activemask", effect=True)
def activemask(out: Emitter, inst: Instruction) -> None:
    out.write(inst.operands[0], out.special("activemask", U32))


@instruction("elect", effect=True)
def elect(out: Emitter, inst: Instruction) -> None:
    """The lowest lane of the mask is elected; hardware may choose another."""
    first, second = out.two(inst.operands[0])
    mask = out.read(inst.operands[1], U32)
    _warp(out, "sync", (mask,), ())
    lowest = "({0} & (~{0} + np.uint32(1)))"
    below = out.special("lanemask_lt", U32)
    out.alu(second, BOOL, f"({lowest} == {{1}} + np.uint32(1))", mask, below, count=0)
    if not isinstance(first, Sink):
        # log2 of a power of two is exact in float64
        out.alu(first, U32, f"np.log2({lowest}.astype('f8')).astype('u4')", mask, count=0)
