"""Types of everything in a kernel, to a fixpoint, and the functions it calls.

An `Instance` is one function compiled for one list of argument types (and constants among them). Inference runs the
rules of the language over its graph with a `Typist`: only along edges that constants leave open, joining the types
that meet at a phi, until nothing changes.
"""

from __future__ import annotations

import ast
import importlib
import types as python_types
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from gpukit.errors import GpukitError, KernelTypeError, UnsupportedFeature
from gpukit.machine.frontends.python import arrays, library
from gpukit.machine.frontends.python.builder import Memory, Typist
from gpukit.machine.frontends.python.cfg import Body, Goto, Leave, Test
from gpukit.machine.frontends.python.iteration import Unroll
from gpukit.machine.frontends.python.lowering import lower, parameter_names
from gpukit.machine.frontends.python.operations import Evaluator
from gpukit.machine.frontends.python.source import Source, from_function
from gpukit.machine.frontends.python.types import can_cast
from gpukit.machine.frontends.python.values import (
    MAX_PARTS,
    FunctionValue,
    NoneValue,
    Scalar,
    Tuple,
    Value,
    anonymous,
    join,
    same_type,
    type_key,
    without_constants,
)

if TYPE_CHECKING:
    from gpukit.machine.frontends.python.emit import Emitter

MAX_DEPTH = 64  # functions that call each other, inlined
MAX_ROUNDS = 200


@dataclass(eq=False)
class Instance:
    """A function for given argument types. `types[v]` is the type of value v of `body`, None where it is never
    reached; `returns` the type of the result, None while (or if) no return is reached."""

    source: Source
    args: tuple[Value, ...]
    captured: dict[str, Value]
    key: tuple
    scope: tuple
    body: Body = field(init=False)
    types: list[Value | None] = field(default_factory=list)
    executed: set[int] = field(default_factory=set)
    returns: Value | None = None
    recursive: bool = False
    waits_for: set[tuple] = field(default_factory=set)  # instances whose result was not final when it was used

    def evaluator(self, out: Typist, compiler: Compiler, captured: dict[str, Value]) -> Evaluator:
        ev = Evaluator(out, compiler, self.source, captured, self.scope)
        ev.unrolled = frozenset(self.unroll)
        ev.recursive = self.recursive
        return ev

    unroll: dict[tuple[int, int], int] = field(default_factory=dict)


class Compiler:
    """Compiles one kernel: its instances, the memory they name, and (later) the emitter."""

    def __init__(self, kernel: Source, memory: Memory):
        self.kernel = kernel
        self.memory = memory
        self.emitter: Emitter | None = None
        self.instances: dict[tuple, Instance] = {}
        self.active: list[Instance] = []
        self.inlined: list[int] = []
        self.sources: dict[int, Source] = {kernel.identity: kernel}
        self._nested: dict[int, Source] = {}

    # --- calls -----------------------------------------------------------------------------------------------------

    def call(self, ev: Evaluator, function: FunctionValue, args: list[Value], keywords: dict[str, Value]) -> Value:
        """The result of calling a Python function: inferred, or emitted where the call stands.

        During inference the result may be None: not known yet, because the function is being inferred.
        """
        source = function.source
        if source is self.kernel:
            ev.refuse(f"the kernel `{source.name}` cannot call itself: put the shared code in a device function")
        bound = self.bind(ev, function, args, keywords)
        declared = source.declared
        if declared is not None:
            bound = [self._as_declared(ev, v, kind) for v, kind in zip(bound, declared.args, strict=True)]
        result = self._result(ev, function, bound)
        return (
            self._as_declared(ev, result, declared.returns) if declared is not None and result is not None else result
        )

    @staticmethod
    def _as_declared(ev: Evaluator, value: Value, kind: np.dtype | None) -> Value:
        """A number converted to the type of the function's signature."""
        if kind is None or not isinstance(value, Scalar) or not can_cast(value.dtype, kind):
            return value
        return ev.out.cast(value, kind)

    def _result(self, ev: Evaluator, function: FunctionValue, bound: list[Value]) -> Value:
        source = function.source
        recording = ev.out.recording
        stack = [instance.source.identity for instance in self.active] if not recording else self.inlined
        if source.identity in stack:
            bound = [without_constants(value) for value in bound] if not recording else bound
            wanted = tuple(without_constants(anonymous(value)) for value in bound)
        else:
            wanted = tuple(anonymous(value) for value in bound)
        captured = dict(zip(function.names, function.captured, strict=True))
        try:
            instance = self.instance(ev, source, wanted, captured)
        except GpukitError as error:
            if source.hidden:  # say it of the user's line
                raise type(error)(error.message, file=ev.source.file, line=ev.line) from None
            raise
        if not recording:
            if self.active and instance.waits_for:
                self.active[-1].waits_for |= instance.waits_for
            return None if instance.returns is None else anonymous(instance.returns)  # type: ignore[return-value]
        assert self.emitter is not None
        return self.emitter.call(ev, instance, bound, captured)

    def bind(
        self, ev: Evaluator, function: FunctionValue, args: list[Value], keywords: dict[str, Value]
    ) -> list[Value]:
        """The arguments in the order of the parameters, defaults filled in."""
        source, tree = function.source, function.source.tree
        names = parameter_names(tree)
        positional = [a.arg for a in (*tree.args.posonlyargs, *tree.args.args)]
        values = dict(zip(positional, args, strict=False))
        rest = args[len(positional) :]
        if rest and tree.args.vararg is None:
            ev.fail(f"`{source.name}` takes {len(positional)} arguments, {len(args)} were given")
        for name, value in keywords.items():
            if name not in names:
                ev.fail(f"`{source.name}` has no parameter `{name}`")
            if name in values:
                ev.fail(f"`{source.name}` was given `{name}` twice")
            values[name] = value
        defaults = dict(zip(reversed(positional), reversed(function.defaults), strict=False))
        missing = []
        for name in names:
            if name not in values:
                if name in defaults:
                    values[name] = defaults[name]
                elif name in source.keyword_defaults:
                    values[name] = ev.lift(source.keyword_defaults[name], name)
                else:
                    missing.append(name)
        if missing:
            ev.fail(f"`{source.name}` needs a value for {', '.join(missing)}")
        out = [values[name] for name in names]
        if tree.args.vararg is not None:
            out.append(Tuple(tuple(rest)))
        return out

    def nested(self, outer: Source, tree: ast.FunctionDef) -> Source:
        """The source of a function defined inside a kernel."""
        if id(tree) not in self._nested:
            self._nested[id(tree)] = Source(
                tree.name, outer.file, tree.lineno, tree, outer.resolve, outer.text, debug=outer.debug
            )
        return self._nested[id(tree)]

    def device_function(self, name: str) -> FunctionValue | None:
        """A function of `library`, or one of gpukit's own device functions, by its dotted name."""
        package, _, last = name.rpartition(".")
        if name in library.FUNCTIONS:
            return FunctionValue(from_function(library.FUNCTIONS[name]))
        if not package.startswith("gpukit."):
            return None
        try:
            function = getattr(importlib.import_module(package), last, None)
        except ImportError:
            return None
        function = getattr(function, "py_func", function)
        return FunctionValue(from_function(function)) if isinstance(function, python_types.FunctionType) else None

    # --- inference -------------------------------------------------------------------------------------------------

    def instance(
        self, ev: Evaluator | None, source: Source, args: tuple[Value, ...], captured: dict[str, Value]
    ) -> Instance:
        """The inferred instance for these argument types; still in progress if the call is recursive."""
        captured = {name: anonymous(value) for name, value in captured.items()}
        kinds = tuple(type_key(value) for value in (*args, *captured.values()))
        key = (source.identity, kinds)
        known = self.instances.get(key)
        if known is not None:
            if known in self.active:
                known.recursive = True
                for between in self.active[self.active.index(known) + 1 :]:
                    between.waits_for.add(key)
            return known
        if len(self.active) >= MAX_DEPTH and ev is not None:
            ev.refuse(
                f"`{source.name}` is called through more than {MAX_DEPTH} other functions, or calls itself with ever "
                "new types: a recursive device function must call itself with the same types"
            )
        self.sources.setdefault(source.identity, source)
        scope = (source.identity, tuple(type_key(without_constants(v)) for v in (*args, *captured.values())))
        found = Instance(source, args, captured, key, scope)
        found.body = lower(source)
        self.instances[key] = found
        self.active.append(found)
        try:
            self._infer(found)
        finally:
            self.active.pop()
            if found.waits_for - {key}:
                del self.instances[key]
        return found

    def _infer(self, instance: Instance) -> None:
        while True:
            before = instance.returns
            try:
                self._run(instance)
            except Unroll as unroll:
                instance.unroll[unroll.key] = unroll.copies
                instance.body = lower(instance.source, instance.unroll)
                continue
            if not instance.recursive or same_type(before, instance.returns):
                break
        if instance.recursive and instance.returns is None:
            raise UnsupportedFeature(
                f"`{instance.source.name}` calls itself on every path and never returns: add a case that ends it",
                file=instance.source.file,
                line=instance.source.first_line,
            )
        self._check_defined(instance)

    def _run(self, instance: Instance) -> None:
        """One fixpoint over the graph."""
        body = instance.body
        ev = instance.evaluator(Typist(self.memory), self, instance.captured)
        types: list[Value | None] = [None] * len(body.names)
        for parameter, value in zip(body.parameters, instance.args, strict=True):
            types[parameter] = value
        stamps = [0] * len(types)
        evaluated = [[-1] * len(block.instructions) for block in body.blocks]
        executed: set[int] = {0}
        edges: set[tuple[int, int]] = set()
        changed, tick = True, 0
        while changed:
            changed = False
            tick += 1
            if tick > MAX_ROUNDS:
                ev.fail("the types of the variables do not settle: give each variable one type")
            for number in body.order:
                if number not in executed:
                    continue
                block = body.blocks[number]
                for phi in block.phis:
                    merged = self._meet(instance, ev, number, phi, types, edges)
                    if merged is not None and not same_type(types[phi.result], merged):
                        types[phi.result] = merged
                        stamps[phi.result] = tick
                        changed = True
                done = evaluated[number]
                for position, instruction in enumerate(block.instructions):
                    args = [types[a] for a in instruction.args]
                    if None in args:
                        continue
                    if done[position] >= 0 and all(stamps[a] <= done[position] for a in instruction.args):
                        continue
                    done[position] = tick
                    value = ev.evaluate(instruction, args)  # type: ignore[arg-type]
                    if value is None:
                        done[position] = -1
                        continue
                    if isinstance(value, Tuple) and value.is_too_large:
                        ev.fail(f"a tuple of more than {MAX_PARTS:,} values: use an array")
                    value = arrays.christen(value, body.names[instruction.result], self.memory)
                    if value.leaves:
                        value = anonymous(value)
                    if not same_type(types[instruction.result], value):
                        types[instruction.result] = value
                        stamps[instruction.result] = tick
                        changed = True
                for successor in self._open(block.end, types):
                    if (number, successor) not in edges:
                        edges.add((number, successor))
                        executed.add(successor)
                        changed = True
        instance.types, instance.executed = types, executed
        self._set_returns(instance, ev)

    def _meet(self, instance: Instance, ev: Evaluator, number: int, phi, types, edges) -> Value | None:
        merged = types[phi.result]
        for origin, source in phi.sources.items():
            value = types[source]
            if value is None or (origin, number) not in edges:
                continue
            if merged is None:
                merged = value
                continue
            joined = join(merged, value, lambda array: arrays.collapse(ev, array))
            if joined is None:
                raise KernelTypeError(
                    f"`{phi.variable}` is {merged.describe()} on one path and {value.describe()} on another: "
                    "a variable has one type over the whole function, so use two names"
                    if not phi.variable.startswith(".")
                    else f"this is {merged.describe()} on one path and {value.describe()} on another: "
                    "convert one of them",
                    file=instance.source.file,
                    line=self._line_of(instance, number),
                )
            merged = joined
        return merged

    @staticmethod
    def _line_of(instance: Instance, number: int) -> int:
        block = instance.body.blocks[number]
        if block.instructions:
            return block.instructions[0].line
        return (block.end.line if block.end else 0) or instance.source.first_line

    @staticmethod
    def _open(end: Goto | Test | Leave | None, types: list[Value | None]) -> tuple[int, ...]:
        """Successors that constants leave open."""
        if isinstance(end, Goto):
            return (end.target,)
        if isinstance(end, Test):
            condition = types[end.condition]
            if condition is None:
                return ()
            assert isinstance(condition, Scalar)
            if condition.constant is None:
                return (end.if_true, end.if_false)
            return (end.if_true if condition.constant else end.if_false,)
        return ()

    def _set_returns(self, instance: Instance, ev: Evaluator) -> None:
        result: Value | None = None
        for number in instance.body.order:
            end = instance.body.blocks[number].end
            if number not in instance.executed or not isinstance(end, Leave) or end.halt:
                continue
            value = NoneValue() if end.value is None else instance.types[end.value]
            if value is None:
                continue
            joined = value if result is None else join(result, value, lambda array: arrays.collapse(ev, array))
            if joined is None:
                raise KernelTypeError(
                    f"`{instance.source.name}` returns {result.describe() if result else ''} on one path and "
                    f"{value.describe()} on another: return one type",
                    file=instance.source.file,
                    line=end.line,
                )
            result = joined
        instance.returns = result

    def _check_defined(self, instance: Instance) -> None:
        """Every variable that is read must have a value on some path to the reading."""
        body = instance.body
        empty = set(body.undefined)
        grown = True
        while grown:
            grown = False
            for number in instance.executed:
                for phi in body.blocks[number].phis:
                    sources = [s for s in phi.sources.values() if instance.types[s] is not None]
                    if phi.result not in empty and not sources and empty.issuperset(phi.sources.values()):
                        empty.add(phi.result)
                        grown = True
        for number in body.order:
            if number not in instance.executed:
                continue
            for instruction in body.blocks[number].instructions:
                for argument in instruction.args:
                    if argument in empty and instance.types[argument] is None:
                        raise KernelTypeError(
                            f"`{body.names[argument]}` is used before it has a value: assign it first, on every path",
                            file=instance.source.file,
                            line=instruction.line,
                        )
            end = body.blocks[number].end
            if isinstance(end, Leave) and end.value in empty:
                raise KernelTypeError(
                    f"`{body.names[end.value]}` is returned before it has a value: assign it first, on every path",
                    file=instance.source.file,
                    line=end.line,
                )
