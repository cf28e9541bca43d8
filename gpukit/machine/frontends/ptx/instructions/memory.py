"""ld, st, atom, red, cp.async, fences: everything that reaches memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from gpukit.machine.frontends.ptx.emitter import BOOL, Emitter
from gpukit.machine.frontends.ptx.instructions import half
from gpukit.machine.frontends.ptx.instructions.table import instruction
from gpukit.machine.frontends.ptx.syntax import (
    TYPES,
    Float,
    Instruction,
    Integer,
    Memory,
    Operand,
    Register,
    Sink,
    Symbol,
    Vector,
)
from gpukit.machine.program import (
    CONSTANT,
    GENERIC,
    GLOBAL,
    LOCAL,
    SHARED,
    Alu,
    Atomic,
    Const,
    Fence,
    Load,
    Store,
)
from gpukit.machine.program import Operand as Value

_SPACES = {"global": GLOBAL, "shared": SHARED, "local": LOCAL, "const": CONSTANT, "param": "param"}
_SCOPES = {"cta": "block", "cluster": "device", "gpu": "device", "gl": "device", "sys": "system"}
_U32 = np.dtype(np.uint32)


def _space(inst: Instruction) -> str:
    for modifier in inst.modifiers:
        space = _SPACES.get(modifier.split("::")[0])
        if space is not None:
            return space
    return GENERIC


def _scope(inst: Instruction) -> str:
    return next((_SCOPES[m] for m in inst.modifiers if m in _SCOPES), "device")


def _strong(inst: Instruction) -> bool:
    return any(inst.has(m) for m in ("relaxed", "acquire", "release", "acq_rel", "mmio"))


def _requests(inst: Instruction) -> tuple[tuple[int, int], ...] | None:
    """What the assembler made of the access, for the counters."""
    return None if inst.requests is None else tuple((r.offset, r.nbytes) for r in inst.requests)


def _moved(out: Emitter, inst: Instruction, operand: Operand) -> tuple[tuple[Operand, ...], np.dtype]:
    """What a load or store moves: its items, one for each element of a vector, and their type."""
    kind = TYPES[inst.type]
    if kind.kind == "V":
        out.refuse(f"`{inst.name}`: 128-bit values")
    return operand.items if isinstance(operand, Vector) else (operand,), kind


def _register_dtype(out: Emitter, operand: Operand, dtype: np.dtype) -> np.dtype:
    """The dtype to move a value in: that of the register, if it has the same size, so that no view is needed."""
    if isinstance(operand, Register) and operand.name in out.names:
        own = out.registers[out.number(operand.name)].dtype
        if own.itemsize == dtype.itemsize and own.kind in "iuf":
            return own
    return dtype


# --- loads ---------------------------------------------------------------------------------------------------------


@instruction("ld", "ldu", effect=True)
def ld(out: Emitter, inst: Instruction) -> None:
    target, where = inst.operands[:2]
    items, kind = _moved(out, inst, target)
    space = _space(inst)
    if space == "param":
        if not isinstance(where, Memory) or isinstance(where.base, Symbol):
            _load_parameter(out, items, where, kind)
            return
        space = CONSTANT
    dtype = _register_dtype(out, items[0], kind)
    place, space, root = out.lowering.place(where, space)
    results = [out.destination(i, dtype) if isinstance(i, Register) else out.temporary(dtype) for i in items]
    if len(set(results)) < len(results):
        results = [out.temporary(dtype) for _ in items]
    strong = _strong(inst) or inst.text_line in out.lowering.frame.guarded_reads
    load = Load(tuple(results), place, space, dtype, out.line, root, inst.has("volatile"), strong=strong)
    load.requests = _requests(inst)
    out.emit(load)
    for item, result in zip(items, results, strict=True):
        out.write(item, result)
    if inst.has("acquire"):
        out.emit(Fence(_scope(inst), out.line, count=0))


def _load_parameter(out: Emitter, items: tuple[Operand, ...], where: Operand, kind: np.dtype) -> None:
    """Parameters of a kernel are registers that the launch fills, those of a call registers of the caller."""
    assert isinstance(where, Memory) and isinstance(where.base, Symbol)
    lowering, name = out.lowering, where.base.name
    for i, item in enumerate(items):
        if isinstance(item, Sink):
            continue
        offset = where.offset + i * kind.itemsize
        dtype = _register_dtype(out, item, kind)
        slots = lowering.frame.slots.get(name)
        if slots is None and name in lowering.positions:
            out.write(item, lowering.parameter(name, offset, dtype))
        else:
            out.write(item, lowering.slots(name).load(out, offset, dtype))


# --- stores --------------------------------------------------------------------------------------------------------


@instruction("st", effect=True)
def st(out: Emitter, inst: Instruction) -> None:
    where, source = inst.operands[:2]
    items, kind = _moved(out, inst, source)
    space = _space(inst)
    if space == "param":
        assert isinstance(where, Memory) and isinstance(where.base, Symbol)
        slots = out.lowering.slots(where.base.name)
        for i, item in enumerate(items):
            dtype = _register_dtype(out, item, kind)
            slots.store(out, where.offset + i * kind.itemsize, _value(out, item, dtype), dtype)
        return
    dtype = _register_dtype(out, items[0], kind)
    values = tuple(_value(out, item, dtype) for item in items)
    if inst.has("release"):
        out.emit(Fence(_scope(inst), out.line, count=0))
    place, space, root = out.lowering.place(where, space)
    store = Store(values, place, space, dtype, out.line, root, inst.has("volatile"), strong=_strong(inst))
    store.requests = _requests(inst)
    out.emit(store)


def _value(out: Emitter, operand: Operand, dtype: np.dtype) -> Value:
    if isinstance(operand, Float) and dtype.kind == "f" and operand.width != dtype.itemsize:
        return Const(dtype.type(operand.value))
    return out.read(operand, dtype)


# --- atomics -------------------------------------------------------------------------------------------------------


_ACTIONS = ("add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec")


@instruction("atom", "red", effect=True)
def atom(out: Emitter, inst: Instruction) -> None:
    operands = inst.operands
    target: Operand = Sink()
    if inst.opcode == "atom":
        target, *operands = operands  # type: ignore[assignment]
    where, *sources = operands
    action = next((m for m in inst.modifiers if m in _ACTIONS), None)
    kind = inst.type
    if action is None or (kind == "b128") or inst.has("async"):
        out.refuse(f"`{inst.name}`")
    dtype = TYPES[kind]
    how: str | Callable = action
    rounds = False
    if kind in ("f16x2", "bf16", "bf16x2") and action in ("add", "min", "max"):
        how = half.function(action, kind)
        rounds = action == "add"
    elif dtype.kind == "f" and action in ("min", "max"):
        how = "nan" + action  # the number wins over a NaN
    order = next((m for m in inst.modifiers if m in ("release", "acquire", "acq_rel")), "")
    if order in ("release", "acq_rel"):
        out.emit(Fence(_scope(inst), out.line, count=0))
    place, space, root = out.lowering.place(where, _space(inst))
    groups = [
        source.items if isinstance(source, Vector) else (source,) for source in sources if not _policy(inst, source)
    ]
    targets = target.items if isinstance(target, Vector) else (target,) * len(groups[0])
    for i, item in enumerate(targets):
        values = tuple(_value(out, group[i], dtype) for group in groups)
        result = None if isinstance(item, Sink) else out.temporary(dtype)
        here = replace(place, offset=place.offset + i * dtype.itemsize)
        # Compiled code does not tell signed from unsigned additions, so that a sum may wrap says nothing.
        made = Atomic(result, how, values, here, space, dtype, out.line, root, float_action=rounds, wraps=True)
        made.count = int(i == 0)
        made.together = inst.together
        out.emit(made)
        if result is not None:
            out.write(item, result)
    if order in ("acquire", "acq_rel"):
        out.emit(Fence(_scope(inst), out.line, count=0))


def _policy(inst: Instruction, operand: Operand) -> bool:
    """Whether an operand is the cache policy that comes last with .L2::cache_hint."""
    return any(m.startswith("L2::cache_hint") for m in inst.modifiers) and operand is inst.operands[-1]


# --- copies that need not wait -------------------------------------------------------------------------------------


@instruction("cp", effect=True)
def cp(out: Emitter, inst: Instruction) -> None:
    """cp.async: the copy is made at once; waiting for it is then nothing to do."""
    if inst.modifiers[:1] != ("async",) or any(m.startswith(("bulk", "mbarrier", "reduce")) for m in inst.modifiers):
        out.refuse(f"`{inst.name}`", "it belongs to asynchronous barriers and bulk copies")
    if any(m in ("commit_group", "wait_group", "wait_all") for m in inst.modifiers):
        return
    target, source, size, *more = inst.operands
    if any(m.startswith("L2::cache_hint") for m in inst.modifiers):
        more = more[:-1]
    assert isinstance(size, Integer)
    words = size.value // 4
    into, into_space, into_root = out.lowering.place(target, SHARED)
    origin, origin_space, origin_root = out.lowering.place(source, GLOBAL)
    if not more or more[0] == size:
        values = tuple(out.temporary(_U32) for _ in range(words))
        out.emit(Load(values, origin, origin_space, _U32, out.line, origin_root))
    else:
        values = _partly(out, inst, more[0], words, origin, origin_space, origin_root)
    # The bytes go to shared memory by themselves: no store instruction is counted.
    out.emit(Store(values, into, into_space, _U32, out.line, into_root, count=0, requests=()))


def _partly(out: Emitter, inst: Instruction, given: Operand, words: int, origin, space: str, root: int | None) -> tuple:
    """Words of a copy of which only so many bytes (or, by a predicate, none) are read and the rest is zero."""
    ignore = isinstance(given, Register) and out.registers[out.number(given.name)].dtype == BOOL
    values = tuple(out.temporary(_U32) for _ in range(words))
    for i, value in enumerate(values):
        out.emit(Alu(value, (Const(np.uint32(0)),), "{0}", out.line, count=0))
        wanted = out.temporary(BOOL)
        if ignore:
            out.emit(Alu(wanted, (out.read(given, BOOL),), "~{0}", out.line, count=0))
        else:
            code = f"({{0}} >= np.uint32({4 * (i + 1)}))"
            out.emit(Alu(wanted, (out.read(given, _U32),), code, out.line, count=0))
        inside, after = out.new_block(), out.new_block()
        out.branch(wanted, inside, after, count=0)
        out.start(inside)
        here = replace(origin, offset=origin.offset + 4 * i)
        out.emit(Load((value,), here, space, _U32, out.line, root, count=int(i == 0)))
        out.jump(after)
        out.start(after)
    return values


# --- order and caches ----------------------------------------------------------------------------------------------


@instruction("membar", "fence", effect=True)
def fence(out: Emitter, inst: Instruction) -> None:
    if any(m.startswith(("proxy", "mbarrier_init")) for m in inst.modifiers):
        return  # between kinds of access that are one here
    out.emit(Fence(_scope(inst), out.line))


@instruction("prefetch", "prefetchu", "discard", "applypriority", effect=True)
def hint(out: Emitter, inst: Instruction) -> None:
    """Hints to the caches, which are not modelled."""


@instruction("createpolicy")
def createpolicy(out: Emitter, inst: Instruction) -> None:
    out.write(inst.operands[0], Const(np.uint64(0)))
