"""Branches, calls and the ends of threads."""

from __future__ import annotations

from gpukit.machine.frontends.ptx.emitter import BOOL, I64, U32, Emitter
from gpukit.machine.frontends.ptx.instructions import runtime
from gpukit.machine.frontends.ptx.instructions.table import instruction
from gpukit.machine.frontends.ptx.slots import Slots
from gpukit.machine.frontends.ptx.syntax import (
    TYPES,
    Function,
    Instruction,
    Operand,
    Register,
    Symbol,
    Variable,
    Vector,
)
from gpukit.machine.program import Alu, Exit, Raise


@instruction("bra", effect=True)
def bra(out: Emitter, inst: Instruction) -> None:
    out.jump(out.lowering.label(inst.operands[0]))


@instruction("brx", effect=True)
def brx(out: Emitter, inst: Instruction) -> None:
    """A jump table: one test a target, the last one is what is left."""
    index, table = inst.operands
    assert isinstance(table, Symbol)
    labels = out.lowering.frame.function.labels_of[table.name]
    value = out.read(index, U32)
    for number, label in enumerate(labels[:-1]):
        here, following = out.temporary(BOOL), out.new_block()
        out.emit(Alu(here, (value,), f"({{0}} == np.uint32({number}))", out.line, count=int(number == 0)))
        out.branch(here, out.lowering.label(Symbol(label)), following, count=int(number == 0))
        out.start(following)
    out.jump(out.lowering.label(Symbol(labels[-1])))


@instruction("ret", effect=True)
def ret(out: Emitter, inst: Instruction) -> None:
    out.lowering.leave()


@instruction("exit", effect=True)
def exit_(out: Emitter, inst: Instruction) -> None:
    out.end(Exit(out.line))


@instruction("trap", effect=True)
def trap(out: Emitter, inst: Instruction) -> None:
    out.emit(Raise("the kernel stopped itself (trap)", out.line))
    out.end(Exit(out.line))


@instruction("nanosleep", "pmevent", "brkpt", "griddepcontrol", "setmaxnreg", effect=True)
def nothing(out: Emitter, inst: Instruction) -> None:
    """Time, events, debuggers and register budgets, which are not modelled."""


# --- calls ---------------------------------------------------------------------------------------------------------


@instruction("call", effect=True)
def call(out: Emitter, inst: Instruction) -> None:
    operands = list(inst.operands)
    results = _listed(operands)
    target = operands.pop(0)
    arguments = _listed(operands)
    if isinstance(target, Symbol):
        function = out.lowering.module.functions.get(target.name)
        if function is None:
            out.malformed(f"the kernel calls `{target.name}`, which is not declared")
        if function.body is None:
            runtime.call(out, target.name, arguments, results)
            return
        _call(out, function, arguments, results)
        return
    prototype = operands[0].name if operands and isinstance(operands[0], Symbol) else ""
    _indirect(out, target, arguments, results, prototype)


def _listed(operands: list[Operand]) -> tuple[Operand, ...]:
    """Takes a list in parentheses from the front, if there is one."""
    if operands and isinstance(operands[0], Vector):
        items = operands[0].items
        del operands[0]
        return items
    return ()


def _call(out: Emitter, function: Function, arguments: tuple[Operand, ...], results: tuple[Operand, ...]) -> None:
    lowering = out.lowering
    given = [_argument(out, a, v) for a, v in zip(arguments, function.parameters, strict=False)]
    given += [Slots("more") for _ in arguments[len(given) :]]  # too many: the call is refused
    back = [lowering.slots(r.name) if isinstance(r, Symbol) else Slots("result") for r in results]
    lowering.call(function, given, back)
    for operand, slots, variable in zip(results, back, function.results, strict=True):
        if isinstance(operand, Register):
            out.write(operand, slots.load(out, 0, TYPES[variable.type]))


def _argument(out: Emitter, operand: Operand, variable: Variable) -> Slots:
    """The slots of an argument: a `.param` variable of the caller has them, a plain value gets them."""
    if isinstance(operand, Symbol) and out.lowering.is_parameter(operand.name):
        return out.lowering.slots(operand.name)
    slots, dtype = Slots(variable.name), TYPES[variable.type]
    slots.store(out, 0, out.read(operand, dtype), dtype)
    return slots


def _indirect(
    out: Emitter, pointer: Operand, arguments: tuple[Operand, ...], results: tuple[Operand, ...], prototype: str
) -> None:
    """A call through a pointer: a test for each function it can be, those of the same shape whose address is taken."""
    lowering = out.lowering
    address = out.read(pointer, I64)
    after = out.new_block()
    listed = lowering.frame.function.labels_of.get(prototype)
    for function in lowering.functions_with_addresses():
        fits = [v.nbytes for v in function.parameters] == lowering.shape_of(arguments) and (
            len(function.results) == len(results)
        )
        if not fits or (listed is not None and function.name not in listed):
            continue
        same, inside, following = out.temporary(BOOL), out.new_block(), out.new_block()
        number = lowering.address_of(Symbol(function.name))
        out.emit(Alu(same, (address, number), "({0} == {1})", out.line, count=0))
        out.branch(same, inside, following, count=0)
        out.start(inside)
        _call(out, function, arguments, results)
        out.jump(after)
        out.start(following)
    out.emit(Raise("a call through a pointer that points to no function of this kind", out.line))
    out.end(Exit(out.line))
    out.start(after)
