"""Syntax tree -> control-flow graph (`cfg.Body`). Knows Python's statements and expressions, nothing of types.

`and`, `or`, conditional expressions and chained comparisons become branches, so that each lane evaluates only what it
needs. Every loop has one latch block where its lanes meet again before the next round.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import partial

from gpukit.errors import UnsupportedFeature
from gpukit.machine.frontends.python.cfg import Body, Goto, Leave, SsaBuilder, Test
from gpukit.machine.frontends.python.source import Source

OPERATORS = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
    ast.UAdd: "+",
    ast.USub: "-",
    ast.Invert: "~",
    ast.MatMult: "@",
}

# What a GPU thread cannot do, and what to write instead.
REFUSED: dict[type[ast.AST], str] = {
    ast.Try: "a kernel cannot catch exceptions: test the condition with `if` instead of `try`",
    ast.With: "`with` has no meaning on the GPU: move it to the host code around the launch",
    ast.AsyncFor: "`async` has no meaning on the GPU: use a plain loop",
    ast.AsyncWith: "`async` has no meaning on the GPU: move it to the host code around the launch",
    ast.AsyncFunctionDef: "`async` has no meaning on the GPU: use a plain function",
    ast.Await: "`await` has no meaning on the GPU: use a plain call",
    ast.Yield: "a kernel cannot `yield`: write each result to an array",
    ast.YieldFrom: "a kernel cannot `yield`: write each result to an array",
    ast.ListComp: "a comprehension needs memory that a GPU thread cannot allocate: write a `for` loop over "
    "`cuda.local.array` or an array argument",
    ast.SetComp: "a set needs memory that a GPU thread cannot allocate: use an array",
    ast.DictComp: "a dict needs memory that a GPU thread cannot allocate: use arrays",
    ast.GeneratorExp: "a generator expression is not available in a kernel: write a `for` loop",
    ast.List: "a list needs memory that a GPU thread cannot allocate: use a tuple or `cuda.local.array`",
    ast.Set: "a set needs memory that a GPU thread cannot allocate: use a tuple or an array",
    ast.Dict: "a dict needs memory that a GPU thread cannot allocate: use arrays",
    ast.JoinedStr: "an f-string cannot be built on the GPU: give `print` the parts, separated by commas",
    ast.Delete: "`del` is not available in a kernel: just stop using the name",
    ast.ClassDef: "a class cannot be defined in a kernel: use a NumPy structured dtype for records",
    ast.Import: "a kernel cannot import: import the module at the top of the file",
    ast.ImportFrom: "a kernel cannot import: import the module at the top of the file",
    ast.Starred: "`*` unpacking is available in calls only",
    ast.Match: "`match` is not available in a kernel: use `if`/`elif`",
}


def lower(source: Source, unroll: dict[tuple[int, int], int] | None = None) -> Body:
    """The graph of one function. `unroll` says how many copies to make of the bodies of some `for` loops, named by
    the (line, column) of the statement: those over tuples, whose elements may differ in type.

    Raises UnsupportedFeature or KernelSyntaxError with file and line for what a kernel cannot contain.
    """
    return _Lowerer(source, unroll or {}).function()


def parameter_names(tree: ast.FunctionDef) -> list[str]:
    """Positional and keyword parameters in order, without `*args`."""
    arguments = tree.args
    return [a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]


def _assigned(node: ast.AST) -> set[str]:
    """Names a function body binds, not counting those bound inside nested functions."""
    names: set[str] = set()
    stack: list[ast.AST] = list(ast.iter_child_nodes(node))
    while stack:
        child = stack.pop()
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(child.name)
            continue
        if isinstance(child, ast.Lambda):
            continue
        if isinstance(child, ast.Name) and not isinstance(child.ctx, ast.Load):
            names.add(child.id)
        stack.extend(ast.iter_child_nodes(child))
    return names


def _frozen(node: ast.expr) -> ast.expr:
    """What Python compiles for a list display that nothing can change or keep, as in `for k in [1, 2]`: a tuple."""
    if isinstance(node, ast.List) and not any(isinstance(element, ast.Starred) for element in node.elts):
        return ast.copy_location(ast.Tuple(node.elts, node.ctx), node)
    return node


def _searched(op: ast.cmpop, node: ast.expr) -> ast.expr:
    return _frozen(node) if isinstance(op, ast.In | ast.NotIn) else node


def _mentioned(node: ast.AST) -> list[str]:
    return list(dict.fromkeys(child.id for child in ast.walk(node) if isinstance(child, ast.Name)))


def _as_function(node: ast.Lambda | ast.FunctionDef) -> ast.FunctionDef:
    if isinstance(node, ast.FunctionDef):
        return node
    body = ast.copy_location(ast.Return(node.body), node.body)
    function = ast.FunctionDef("<lambda>", node.args, [body], [], None)
    return ast.copy_location(function, node)


class _Lowerer:
    def __init__(self, source: Source, unroll: dict[tuple[int, int], int]):
        self.source = source
        self.unroll = unroll
        self.ssa = SsaBuilder()
        self.loops: list[tuple[int, int]] = []  # (where `continue` goes, where `break` goes)
        self.hidden = 0
        tree = source.tree
        self.locals = _assigned(ast.Module(tree.body, [])) | set(parameter_names(tree))
        if tree.args.vararg:
            self.locals.add(tree.args.vararg.arg)

    def function(self) -> Body:
        tree = self.source.tree
        if tree.args.kwarg:
            raise self.refuse(tree, "`**` parameters are not available in a kernel: name the parameters")
        for node in ast.walk(ast.Module(tree.body, [])):
            if isinstance(node, ast.Global | ast.Nonlocal):
                self._check_global(node)
        entry = self.ssa.new_block()
        self.ssa.seal(entry)
        self.ssa.start(entry)
        names = parameter_names(tree)
        if tree.args.vararg:
            names.append(tree.args.vararg.arg)
        parameters = []
        for name in names:
            value = self.ssa.new_value(name)
            parameters.append(value)
            self.ssa.write(name, value)
        self.statements(tree.body)
        last = tree.body[-1]
        self.ssa.end(Leave(None, getattr(last, "end_lineno", None) or last.lineno))
        return self.ssa.finish(parameters)

    def _check_global(self, node: ast.Global | ast.Nonlocal) -> None:
        stored = self.locals.intersection(node.names)
        if stored:
            kind = "global" if isinstance(node, ast.Global) else "nonlocal"
            raise self.refuse(
                node, f"a kernel cannot assign to the {kind} `{min(stored)}`: write to an array argument instead"
            )

    def refuse(self, node: ast.AST, message: str) -> UnsupportedFeature:
        return UnsupportedFeature(message, file=self.source.file, line=getattr(node, "lineno", self.source.first_line))

    # --- statements ------------------------------------------------------------------------------------------------

    def statements(self, body: list[ast.stmt]) -> None:
        for statement in body:
            if self.ssa.current is None:  # after return, break, continue
                return
            self.statement(statement)

    def statement(self, node: ast.stmt) -> None:
        handler = getattr(self, "stmt_" + type(node).__name__, None)
        if handler is None:
            raise self._unknown(node)
        handler(node)

    def _unknown(self, node: ast.AST) -> UnsupportedFeature:
        for kind, advice in REFUSED.items():
            if isinstance(node, kind):
                return self.refuse(node, advice)
        return self.refuse(node, f"`{type(node).__name__}` is not available in a kernel")

    def stmt_Pass(self, node: ast.Pass) -> None:
        pass

    stmt_Global = stmt_Nonlocal = stmt_Pass

    def stmt_Expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):  # a docstring or a bare constant does nothing
            self.expr(node.value)

    def stmt_Assign(self, node: ast.Assign) -> None:
        value = self._accumulation(node) if len(node.targets) == 1 else None
        if value is None:
            value = self.expr(node.value)
        for target in node.targets:
            self.assign(target, value)

    def _accumulation(self, node: ast.Assign) -> int | None:
        """`x = x + v`, `x[i] = x[i] - v`: the sum, marked as one that accumulates in its first operand."""
        target, value = node.targets[0], node.value
        if not (isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add | ast.Sub)):
            return None
        if not isinstance(target, ast.Name | ast.Subscript | ast.Attribute):
            return None
        wanted = ast.unparse(target)
        if ast.unparse(value.left) == wanted:
            left, right = self.expr(value.left), self.expr(value.right)
        elif isinstance(value.op, ast.Add) and ast.unparse(value.right) == wanted:
            right, left = self.expr(value.left), self.expr(value.right)
        else:
            return None
        return self.ssa.emit("accumulate", (left, right), value.lineno, OPERATORS[type(value.op)])

    def stmt_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.assign(node.target, self.expr(node.value))

    def stmt_AugAssign(self, node: ast.AugAssign) -> None:
        symbol = OPERATORS[type(node.op)]
        op = "accumulate" if symbol in "+-" else "augmented"
        target = node.target
        if isinstance(target, ast.Name):
            old = self.name(target.id, target)
            new = self.ssa.emit(op, (old, self.expr(node.value)), node.lineno, symbol)
            self.ssa.write(target.id, new)
        elif isinstance(target, ast.Subscript):
            container, index = self.expr(target.value), self.expr(target.slice)
            old = self.ssa.emit("getitem", (container, index), target.lineno)
            new = self.ssa.emit(op, (old, self.expr(node.value)), node.lineno, symbol)
            self.ssa.emit("setitem", (container, index, new), target.lineno)
        elif isinstance(target, ast.Attribute):
            container = self.expr(target.value)
            old = self.ssa.emit("getattr", (container,), target.lineno, target.attr)
            new = self.ssa.emit(op, (old, self.expr(node.value)), node.lineno, symbol)
            self.ssa.emit("setattr", (container, new), target.lineno, target.attr)

    def assign(self, target: ast.expr, value: int) -> None:
        if isinstance(target, ast.Name):
            self.ssa.write(target.id, value)
        elif isinstance(target, ast.Subscript):
            container, index = self.expr(target.value), self.expr(target.slice)
            self.ssa.emit("setitem", (container, index, value), target.lineno)
        elif isinstance(target, ast.Attribute):
            self.ssa.emit("setattr", (self.expr(target.value), value), target.lineno, target.attr)
        elif isinstance(target, ast.Tuple | ast.List):
            if any(isinstance(element, ast.Starred) for element in target.elts):
                raise self.refuse(target, "`*` in an assignment is not available in a kernel: name every element")
            parts = [
                self.ssa.emit("unpack", (value,), target.lineno, (position, len(target.elts)))
                for position in range(len(target.elts))
            ]
            for element, part in zip(target.elts, parts, strict=True):
                self.assign(element, part)
        else:
            raise self._unknown(target)

    def stmt_If(self, node: ast.If) -> None:
        then, otherwise, join = (self.ssa.new_block() for _ in range(3))
        self.condition(node.test, then, otherwise if node.orelse else join)
        self._arm(then, lambda: self.statements(node.body), join)
        if node.orelse:
            self._arm(otherwise, lambda: self.statements(node.orelse), join)
        self.ssa.seal(join)
        self.ssa.start(join)

    def _arm(self, block: int, lower: Callable[[], None], join: int) -> None:
        self.ssa.seal(block)
        self.ssa.start(block)
        lower()
        self.ssa.end(Goto(join, 0))

    def stmt_While(self, node: ast.While) -> None:
        header, body, latch, leave, after = (self.ssa.new_block() for _ in range(5))
        otherwise = leave if node.orelse else after
        self.ssa.end(Goto(header, node.lineno))
        self.ssa.start(header)
        self.condition(node.test, body, otherwise)
        self._loop_body(node, body, latch, after)
        self.ssa.end(Goto(header, node.lineno))
        self.ssa.seal(header)
        self._loop_end(node, leave, after)

    def _loop_body(self, node: ast.While | ast.For, body: int, latch: int, after: int, first: Callable | None = None):
        self.ssa.seal(body)
        self.ssa.start(body)
        if first:
            first()
        self.loops.append((latch, after))
        self.statements(node.body)
        self.loops.pop()
        self.ssa.end(Goto(latch, node.lineno))
        self.ssa.seal(latch)
        self.ssa.start(latch)

    def _loop_end(self, node: ast.While | ast.For, leave: int, after: int) -> None:
        if node.orelse:
            self._arm(leave, lambda: self.statements(node.orelse), after)
        self.ssa.seal(after)
        self.ssa.start(after)

    def stmt_For(self, node: ast.For) -> None:
        key = (node.lineno, node.col_offset)
        iterable = self.ssa.emit("iter", (self.expr(_frozen(node.iter)),), node.iter.lineno, key)
        if key in self.unroll:
            self._unrolled(node, iterable, self.unroll[key])
            return
        self.hidden += 1
        state = f".{self.hidden}"
        self.ssa.write(state, self.ssa.emit("iter_start", (iterable,), node.lineno))
        header, body, latch, leave, after = (self.ssa.new_block() for _ in range(5))
        self.ssa.end(Goto(header, node.lineno))
        self.ssa.start(header)
        more = self.ssa.emit("iter_test", (iterable, self.ssa.read(state)), node.lineno)
        self.ssa.end(Test(more, body, leave if node.orelse else after, node.lineno))

        def item() -> None:
            value = self.ssa.emit("iter_item", (iterable, self.ssa.read(state)), node.lineno)
            self.assign(node.target, value)

        self._loop_body(node, body, latch, after, item)
        following = self.ssa.emit("iter_next", (iterable, self.ssa.read(state)), node.lineno)
        self.ssa.write(state, following)
        self.ssa.end(Goto(header, node.lineno))
        self.ssa.seal(header)
        self._loop_end(node, leave, after)

    def _unrolled(self, node: ast.For, iterable: int, copies: int) -> None:
        """The body once per element; `continue` goes on to the next copy."""
        leave, after = self.ssa.new_block(), self.ssa.new_block()
        for position in range(copies):
            body, latch = self.ssa.new_block(), self.ssa.new_block()
            self.ssa.end(Goto(body, node.lineno))

            def item(position: int = position) -> None:
                value = self.ssa.emit("iter_fixed", (iterable,), node.lineno, position)
                self.assign(node.target, value)

            self._loop_body(node, body, latch, after, item)
        self.ssa.end(Goto(leave, node.lineno))
        self._arm(leave, lambda: self.statements(node.orelse), after)
        self.ssa.seal(after)
        self.ssa.start(after)

    def stmt_Break(self, node: ast.Break) -> None:
        self.ssa.end(Goto(self.loops[-1][1], node.lineno))

    def stmt_Continue(self, node: ast.Continue) -> None:
        self.ssa.end(Goto(self.loops[-1][0], node.lineno))

    def stmt_Return(self, node: ast.Return) -> None:
        value = None if node.value is None else self.expr(node.value)
        self.ssa.end(Leave(value, node.lineno))

    def stmt_Assert(self, node: ast.Assert) -> None:
        fail, after = self.ssa.new_block(), self.ssa.new_block()
        self.condition(node.test, after, fail)
        self.ssa.seal(fail)
        self.ssa.start(fail)
        failure = self.ssa.emit("constant", (), node.lineno, AssertionError)
        message = () if node.msg is None else (self.expr(node.msg),)
        self.ssa.emit("raise", (failure, *message), node.lineno, ast.unparse(node.test))
        self.ssa.end(Leave(None, node.lineno, halt=True))
        self.ssa.seal(after)
        self.ssa.start(after)

    def stmt_Raise(self, node: ast.Raise) -> None:
        if node.exc is None:
            raise self.refuse(node, "a bare `raise` has nothing to raise again in a kernel: name the exception")
        call = node.exc if isinstance(node.exc, ast.Call) else ast.Call(node.exc, [], [])
        parts = [self.expr(call.func), *(self.expr(argument) for argument in call.args)]
        self.ssa.emit("raise", tuple(parts), node.lineno)
        self.ssa.end(Leave(None, node.lineno, halt=True))

    def stmt_FunctionDef(self, node: ast.FunctionDef) -> None:
        self.ssa.write(node.name, self._closure(node))

    # --- expressions -----------------------------------------------------------------------------------------------

    def expr(self, node: ast.expr) -> int:
        handler = getattr(self, "expr_" + type(node).__name__, None)
        if handler is None:
            raise self._unknown(node)
        return handler(node)

    def constant(self, value: object, line: int) -> int:
        return self.ssa.emit("constant", (), line, value)

    def expr_Constant(self, node: ast.Constant) -> int:
        return self.constant(node.value, node.lineno)

    def expr_Name(self, node: ast.Name) -> int:
        return self.name(node.id, node)

    def name(self, name: str, node: ast.AST) -> int:
        line = node.lineno  # type: ignore[attr-defined]
        if name in self.locals:
            return self.ssa.read(name)
        return self.ssa.emit("global", (), line, name)

    def expr_NamedExpr(self, node: ast.NamedExpr) -> int:
        value = self.expr(node.value)
        self.ssa.write(node.target.id, value)
        return value

    def expr_BinOp(self, node: ast.BinOp) -> int:
        left, right = self.expr(node.left), self.expr(node.right)
        return self.ssa.emit("binary", (left, right), node.lineno, OPERATORS[type(node.op)])

    def expr_UnaryOp(self, node: ast.UnaryOp) -> int:
        operand = self.expr(node.operand)
        if isinstance(node.op, ast.Not):
            return self.ssa.emit("not", (operand,), node.lineno)
        if isinstance(node.operand, ast.Constant) and isinstance(node.op, ast.USub):
            value = node.operand.value
            if isinstance(value, int | float | complex) and not isinstance(value, bool):  # `-1` is a literal too
                return self.constant(-value, node.lineno)
        return self.ssa.emit("unary", (operand,), node.lineno, OPERATORS[type(node.op)])

    def expr_Attribute(self, node: ast.Attribute) -> int:
        return self.ssa.emit("getattr", (self.expr(node.value),), node.lineno, node.attr)

    def expr_Subscript(self, node: ast.Subscript) -> int:
        container = self.expr(node.value)
        return self.ssa.emit("getitem", (container, self.expr(node.slice)), node.lineno)

    def expr_Slice(self, node: ast.Slice) -> int:
        line = node.lineno
        parts = (self.constant(None, line) if part is None else self.expr(part) for part in self._slice_parts(node))
        return self.ssa.emit("slice", tuple(parts), line)

    @staticmethod
    def _slice_parts(node: ast.Slice) -> tuple[ast.expr | None, ...]:
        return node.lower, node.upper, node.step

    def expr_Tuple(self, node: ast.Tuple) -> int:
        return self.ssa.emit("tuple", tuple(self.expr(element) for element in node.elts), node.lineno)

    def expr_Call(self, node: ast.Call) -> int:
        computed = _computed_extent(node)
        if computed is not None:
            text = ast.unparse(computed)
            raise self.refuse(
                node,
                f"numba-cuda takes literals and global or closure variables as the shape of an array, and computes no "
                f"`{text}`: compute it outside of the kernel, and name the variable",
            )
        function = self.expr(node.func)
        starred = [isinstance(argument, ast.Starred) for argument in node.args]
        if any(keyword.arg is None for keyword in node.keywords):
            raise self.refuse(node, "`**` in a call is not available in a kernel: pass the arguments by name")
        arguments = [self.expr(a.value if isinstance(a, ast.Starred) else a) for a in node.args]
        keywords = [self.expr(keyword.value) for keyword in node.keywords]
        names = tuple(keyword.arg for keyword in node.keywords)
        detail = (tuple(starred), names, (node.lineno, node.col_offset))
        return self.ssa.emit("call", (function, *arguments, *keywords), node.lineno, detail)

    def expr_Compare(self, node: ast.Compare) -> int:
        if len(node.ops) == 1:
            left, right = self.expr(node.left), self.expr(_searched(node.ops[0], node.comparators[0]))
            return self.ssa.emit("compare", (left, right), node.lineno, OPERATORS[type(node.ops[0])])
        return self._as_value(node)

    def expr_BoolOp(self, node: ast.BoolOp) -> int:
        result, join = self._result(), self.ssa.new_block()
        for position, operand in enumerate(node.values):
            self.ssa.write(result, self.expr(operand))
            if position == len(node.values) - 1:
                self.ssa.end(Goto(join, node.lineno))
                break
            more = self.ssa.new_block()
            truth = self.ssa.emit("truth", (self.ssa.read(result),), operand.lineno)
            ways = (more, join) if isinstance(node.op, ast.And) else (join, more)
            self.ssa.end(Test(truth, *ways, operand.lineno))
            self.ssa.seal(more)
            self.ssa.start(more)
        return self._meet(result, join)

    def _result(self) -> str:
        self.hidden += 1
        return f".{self.hidden}"

    def _meet(self, result: str, join: int) -> int:
        self.ssa.seal(join)
        self.ssa.start(join)
        return self.ssa.read(result)

    def _as_value(self, node: ast.expr) -> int:
        """A condition made of branches, as True or False."""
        result, join = self._result(), self.ssa.new_block()
        ways = self.ssa.new_block(), self.ssa.new_block()
        self.condition(node, *ways)
        for block, value in zip(ways, (True, False), strict=True):
            self._arm(block, partial(self._write_constant, result, value, node.lineno), join)
        return self._meet(result, join)

    def _write_constant(self, variable: str, value: object, line: int) -> None:
        self.ssa.write(variable, self.constant(value, line))

    def expr_IfExp(self, node: ast.IfExp) -> int:
        result, join = self._result(), self.ssa.new_block()
        then, otherwise = self.ssa.new_block(), self.ssa.new_block()
        self.condition(node.test, then, otherwise)
        self._arm(then, lambda: self.ssa.write(result, self.expr(node.body)), join)
        self._arm(otherwise, lambda: self.ssa.write(result, self.expr(node.orelse)), join)
        return self._meet(result, join)

    def expr_Lambda(self, node: ast.Lambda) -> int:
        return self._closure(node)

    def _closure(self, node: ast.Lambda | ast.FunctionDef) -> int:
        function = _as_function(node)
        inner = _assigned(ast.Module(function.body, [])) | set(parameter_names(function))
        captured = [n for n in _mentioned(node) if n in self.locals and n not in inner and n != function.name]
        values = tuple(self.ssa.read(name) for name in captured)
        defaults = [self.expr(default) for default in (*function.args.defaults, *function.args.kw_defaults) if default]
        detail = (function, tuple(captured))
        return self.ssa.emit("closure", values + tuple(defaults), node.lineno, detail)

    # --- conditions ------------------------------------------------------------------------------------------------

    def condition(self, node: ast.expr, if_true: int, if_false: int) -> None:
        """Branch on an expression, one block per operand that may not be needed."""
        if isinstance(node, ast.BoolOp):
            for operand in node.values[:-1]:
                more = self.ssa.new_block()
                ways = (more, if_false) if isinstance(node.op, ast.And) else (if_true, more)
                self.condition(operand, *ways)
                self.ssa.seal(more)
                self.ssa.start(more)
            self.condition(node.values[-1], if_true, if_false)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            self.condition(node.operand, if_false, if_true)
        elif isinstance(node, ast.Compare) and len(node.ops) > 1:
            left = self.expr(node.left)
            for position, (op, comparator) in enumerate(zip(node.ops, node.comparators, strict=True)):
                right = self.expr(_searched(op, comparator))
                holds = self.ssa.emit("compare", (left, right), comparator.lineno, OPERATORS[type(op)])
                truth = self.ssa.emit("truth", (holds,), comparator.lineno)
                last = position == len(node.ops) - 1
                more = if_true if last else self.ssa.new_block()
                self.ssa.end(Test(truth, more, if_false, comparator.lineno))
                if not last:
                    self.ssa.seal(more)
                    self.ssa.start(more)
                left = right
        else:
            truth = self.ssa.emit("truth", (self.expr(node),), node.lineno)
            self.ssa.end(Test(truth, if_true, if_false, node.lineno))


def _computed_extent(node: ast.Call) -> ast.expr | None:
    """The first extent of a `shared.array` or `local.array` that is computed from variables; None if all are plain.

    Arithmetic of literals alone is Python's own, done before anyone sees it.
    """
    made = ast.unparse(node.func).split(".")[-2:]
    if made not in (["shared", "array"], ["local", "array"]):
        return None
    shape = node.args[0] if node.args else next((k.value for k in node.keywords if k.arg == "shape"), None)
    for extent in shape.elts if isinstance(shape, ast.Tuple) else [shape]:
        parts = [] if extent is None else list(ast.walk(extent))
        computes = any(isinstance(part, ast.BinOp | ast.UnaryOp | ast.Call) for part in parts)
        if computes and any(isinstance(part, ast.Name) for part in parts):
            return extent
    return None
