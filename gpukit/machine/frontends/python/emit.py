"""Instances -> machine operations. Functions are inlined where they are called; a recursive one is a subroutine."""

from __future__ import annotations

from collections.abc import Sequence

from gpukit.machine.frontends.python import arrays
from gpukit.machine.frontends.python.builder import Builder
from gpukit.machine.frontends.python.cfg import Goto, Leave, Test
from gpukit.machine.frontends.python.inference import MAX_DEPTH, Compiler, Instance
from gpukit.machine.frontends.python.operations import Evaluator
from gpukit.machine.frontends.python.values import NoneValue, Scalar, Value, without_constants
from gpukit.machine.program import Call, Const, Operand

MAX_BLOCKS = 10_000  # of a kernel with its device functions in place


class Emitter:
    """Writes one kernel with a `Builder`."""

    def __init__(self, out: Builder, compiler: Compiler):
        self.out = out
        self.compiler = compiler
        compiler.emitter = self
        self.subroutines: dict[tuple, tuple[int, list[Value], Value]] = {}

    # --- functions -------------------------------------------------------------------------------------------------

    def kernel(self, instance: Instance, args: Sequence[Value]) -> None:
        self._body(instance, args, {}, lambda ev, value: self.out.exit())

    def call(self, ev: Evaluator, instance: Instance, args: list[Value], captured: dict[str, Value]) -> Value:
        if instance.recursive:
            return self._call_subroutine(instance, args, captured)
        if len(self.out.blocks) > MAX_BLOCKS:
            ev.refuse("this kernel is too large once its device functions are put in place: call fewer of them")
        return self._inline(ev, instance, args, captured)

    def _inline(self, ev: Evaluator, instance: Instance, args: list[Value], captured: dict[str, Value]) -> Value:
        if len(self.compiler.inlined) > MAX_DEPTH:
            ev.refuse(f"device functions call each other more than {MAX_DEPTH} deep")
        returns = [
            instance.body.blocks[number].end
            for number in instance.body.order
            if number in instance.executed and isinstance(instance.body.blocks[number].end, Leave)
        ]
        ways = [end for end in returns if isinstance(end, Leave) and not end.halt]
        after = self.out.new_block()
        line = self.out.line
        result: list[Value] = []
        meeting = self.out.fresh(instance.returns) if len(ways) > 1 and instance.returns is not None else None

        def leave(inner: Evaluator, value: Value | None) -> None:
            if meeting is not None and value is not None:
                self._move(meeting, arrays.conform(inner, value, meeting))
            elif value is not None:
                result.append(value)
            self.out.jump(after)

        self._body(instance, args, captured, leave)
        self.out.start(after)
        self.out.line = line
        if meeting is not None:
            return meeting
        return result[0] if result else NoneValue()

    def _call_subroutine(self, instance: Instance, args: list[Value], captured: dict[str, Value]) -> Value:
        out, line = self.out, self.out.line
        if captured and any(value.leaves for value in captured.values()):
            ev = instance.evaluator(out, self.compiler, captured)
            ev.refuse(f"`{instance.source.name}` calls itself and uses variables of the kernel: pass them as arguments")
        if instance.key not in self.subroutines:
            entry = out.new_block()
            parameters = [out.fresh(value) for value in instance.args]
            assert instance.returns is not None
            result = out.fresh(without_constants(instance.returns))
            self.subroutines[instance.key] = (entry, parameters, result)
            resume = out.current
            out.start(entry)
            own = [out.fresh(value) for value in parameters]
            for mine, given in zip(own, parameters, strict=True):
                self._move(mine, given.leaves)

            def leave(inner: Evaluator, value: Value | None) -> None:
                if value is not None:
                    self._move(result, arrays.conform(inner, value, result))
                out.give_back()

            self._body(instance, own, captured, leave)
            out.start(resume)
            out.line = line
        entry, parameters, result = self.subroutines[instance.key]
        ev = instance.evaluator(out, self.compiler, captured)
        for parameter, value in zip(parameters, args, strict=True):
            self._move(parameter, arrays.conform(ev, value, parameter))
        after = out.new_block()
        out.calls[out.current] = tuple(leaf.operand for leaf in result.leaves if isinstance(leaf.operand, int))
        out.end(Call(entry, after, (), out.line))
        out.start(after)
        mine = out.fresh(result)
        self._move(mine, result.leaves)
        return mine

    # --- bodies ----------------------------------------------------------------------------------------------------

    def _body(self, instance: Instance, args: Sequence[Value], captured: dict[str, Value], leave) -> None:
        out, body, source = self.out, instance.body, instance.source
        ev = instance.evaluator(out, self.compiler, captured)
        values: list[Value | None] = [None] * len(body.names)
        for parameter, value in zip(body.parameters, args, strict=True):
            values[parameter] = value
        order = [number for number in body.order if number in instance.executed]
        starts = {number: out.new_block() for number in order}
        for number in order:
            for phi in body.blocks[number].phis:
                kind = instance.types[phi.result]
                if kind is not None:
                    values[phi.result] = out.fresh(kind, body.names[phi.result])
        self.compiler.inlined.append(source.identity)
        out.jump(starts[order[0]])
        for number in order:
            out.start(starts[number])
            block = body.blocks[number]
            for instruction in block.instructions:
                operands = [values[argument] for argument in instruction.args]
                if None in operands:
                    continue
                if not source.hidden:
                    out.line = out.at(source.file, instruction.line, source.text.get(instruction.line, ""))
                name = body.names[instruction.result]
                value = arrays.christen(ev.evaluate(instruction, operands), name, out.memory)  # type: ignore[arg-type]
                values[instruction.result] = value
                self._name(value, name)
            self._end(ev, instance, number, values, starts, leave)
        self.compiler.inlined.pop()

    def _name(self, value: Value | None, name: str) -> None:
        """Registers of a value that is assigned to a variable are called so in reports."""
        if not name or value is None:
            return
        for leaf in value.leaves:
            if isinstance(leaf.operand, int) and not self.out.registers[leaf.operand].name:
                self.out.registers[leaf.operand].name = name

    def _end(self, ev: Evaluator, instance: Instance, number: int, values, starts, leave) -> None:
        out, end, source = self.out, instance.body.blocks[number].end, instance.source
        if end is not None and end.line and not source.hidden:
            out.line = out.at(source.file, end.line, source.text.get(end.line, ""))
        if isinstance(end, Goto):
            self._edge(ev, instance, number, end.target, values)
            out.jump(starts[end.target])
        elif isinstance(end, Test):
            condition = values[end.condition]
            if condition is None:  # behind a call that never returns
                out.exit()
                return
            assert isinstance(condition, Scalar)
            if condition.constant is not None:
                target = end.if_true if condition.constant else end.if_false
                self._edge(ev, instance, number, target, values)
                out.jump(starts[target])
                return
            ways = []
            origin = out.current
            for target in (end.if_true, end.if_false):
                if instance.body.blocks[target].phis:
                    between = out.new_block()
                    out.start(between)
                    self._edge(ev, instance, number, target, values)
                    out.jump(starts[target])
                    ways.append(between)
                else:
                    ways.append(starts[target])
            out.start(origin)
            out.branch(condition.operand, ways[0], ways[1], int(end.counted))
        elif isinstance(end, Leave):
            if end.halt:
                out.exit()
                return
            ev.line = end.line
            value = NoneValue() if end.value is None else values[end.value]
            leave(ev, value)

    def _edge(self, ev: Evaluator, instance: Instance, number: int, target: int, values: list[Value | None]) -> None:
        """The copies that an edge of the graph makes: the values that the phis at its end take."""
        destinations: list[Scalar] = []
        sources: list[Scalar] = []
        for phi in instance.body.blocks[target].phis:
            wanted = values[phi.result]
            if wanted is None:
                continue
            given = values[phi.sources[number]]
            if given is None:  # no value on this path: numba gives an undefined one, the machine gives zero
                given = wanted.with_leaves([Scalar(x.dtype, Const(x.dtype.type(0))) for x in wanted.leaves])
            destinations += wanted.leaves
            sources += arrays.conform(ev, given, wanted)
        self._copy(destinations, sources)

    def _move(self, target: Value, leaves: Sequence[Scalar]) -> None:
        self._copy(target.leaves, leaves)

    def _copy(self, destinations: Sequence[Scalar], sources: Sequence[Scalar]) -> None:
        """Parallel assignment: every source is read before any destination is written."""
        pending: dict[int, Operand] = {}
        for destination, source in zip(destinations, sources, strict=True):
            if isinstance(destination.operand, int) and destination.operand != source.operand:
                pending[destination.operand] = source.operand
        while pending:
            read = {operand for operand in pending.values() if isinstance(operand, int)}
            free = [register for register in pending if register not in read]
            if free:
                for register in free:
                    self.out.copy_to(register, pending.pop(register))
                continue
            register, operand = next(iter(pending.items()))  # a cycle: keep one value aside
            assert isinstance(operand, int)
            aside = self.out.register(self.out.registers[operand].dtype)
            self.out.copy_to(aside, operand)
            for other, source_operand in pending.items():
                if source_operand == operand:
                    pending[other] = aside
