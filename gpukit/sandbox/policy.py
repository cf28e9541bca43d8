"""What a student's Python file may hold. It is read as text and as a tree, before anything else is made of it.

A lab's file is kernels, device functions, constants, and the host functions that the lab names. What else could be in
it is refused with its line, and with what to do. This is no wall: kernels are never executed by Python, and host
functions run in a child process behind walls (`host`). It is there so that what runs is what an instructor would read.
"""

from __future__ import annotations

import ast
import builtins
import io
import tokenize
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from gpukit.machine.frontends.python.symbols import canonical
from gpukit.sandbox.reading import oddity, read_source
from gpukit.sandbox.vocabulary import (
    ASSIGNED,
    ATTRIBUTES,
    AUTOGRAD,
    BUILTINS,
    FUNCTIONAL,
    HOST_MODULES,
    NUMPY,
    OF_MODULE,
    TORCH,
    words,
)

__all__ = ["Refusal", "read_source", "refusals"]

MAX_BRACKETS = 50
MAX_INDENT = 20
MAX_TOKENS = 2_000  # in one statement
MAX_DEPTH = 150  # of the tree
MAX_GROWTH = 4_096  # exponents, shifts and repetitions in constants

_MODULES = ("operator", "numba", "numba.cuda", "gpukit.warp", *HOST_MODULES)
_OF_NUMBA = words("""
bool_ boolean byte c16 c8 char complex128 complex64 cuda double f2 f4 f8 float16 float32 float64 float_ i1 i2 i4 i8
int16 int32 int64 int8 int_ intc intp long_ longlong short size_t u1 u2 u4 u8 uchar uint uint16 uint32 uint64 uint8
uintc uintp ulong ulonglong ushort void types
""")
# Options of @cuda.jit; others, such as link, name files.
_OF_JIT = ("device", "debug", "fastmath", "inline", "launch_bounds", "lineinfo", "max_registers", "opt")
_OF_GPUKIT = ("cuda", "warp")
_FROM: dict[str, Callable[[str], bool]] = {
    "__future__": lambda name: name == "annotations",
    "math": lambda name: not name.startswith("_"),
    "operator": lambda name: name not in ("attrgetter", "methodcaller") and not name.startswith("_"),
    "numpy": NUMPY.__contains__,
    "torch": TORCH.__contains__,
    "torch.autograd": AUTOGRAD.__contains__,
    "torch.nn": "functional".__eq__,
    "torch.nn.functional": FUNCTIONAL.__contains__,
    "numba": _OF_NUMBA.__contains__,
    "numba.types": _OF_NUMBA.__contains__,
    "numba.cuda": lambda name: not name.startswith("_"),
    "gpukit": _OF_GPUKIT.__contains__,
    "gpukit.cuda": lambda name: not name.startswith("_"),
    "gpukit.warp": lambda name: not name.startswith("_"),
}
# Functions that a constant may be computed with; what they make is as small as their arguments.
_FOLDED = words("int float bool complex abs min max len round")
_TABLES = ("numpy.array", "numpy.asarray", "numpy.dtype")
_GROWING = (ast.Pow, ast.LShift)


@dataclass(frozen=True, slots=True, order=True)
class Refusal:
    """What stands at `line` that may not be there, and what to do about it ('' if that is plain)."""

    line: int
    what: str
    advice: str = ""

    def __str__(self) -> str:
        return f"line {self.line}: {self.what}" + (f": {self.advice}" if self.advice else "")


def refusals(source: str, host: Sequence[str] = ()) -> list[Refusal]:
    """What a student's file holds that it may not, in the order of lines; empty for a file to go on with.

    `host`: names of the functions without decorator that the lab asks for.
    """
    odd = oddity(source)
    if odd is not None:
        return [Refusal(*odd)]
    unreadable: list[Refusal] = []
    try:
        if found := list(_tokens(source)):
            return found
    except (tokenize.TokenError, SyntaxError) as error:
        unreadable = [Refusal(1, f"this is not valid Python: {error.args[0]}")]  # the parser says it better, and where
    try:
        tree = ast.parse(source)
    except SyntaxError as error:
        return [Refusal(error.lineno or 1, f"this is not valid Python: {error.msg}")]
    except (ValueError, RecursionError, MemoryError) as error:
        return [Refusal(1, f"this cannot be read as Python: {error}")]
    if deep := _too_deep(tree):
        return [deep]
    return unreadable or sorted(set(_File(tree, tuple(host)).read()))


# --- as text -------------------------------------------------------------------------------------------------------


def _tokens(source: str) -> Iterator[Refusal]:
    """Names are looked at as they are written: Python itself takes look-alikes for ASCII."""
    brackets = indent = length = 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        line = token.start[0]
        if token.type not in (tokenize.NL, tokenize.COMMENT):
            length = 0 if token.type == tokenize.NEWLINE else length + 1
        if token.type == tokenize.OP:
            brackets += (token.string in "([{") - (token.string in ")]}")
        elif token.type in (tokenize.INDENT, tokenize.DEDENT):
            indent += 1 if token.type == tokenize.INDENT else -1
        elif token.type in (tokenize.NAME, tokenize.ERRORTOKEN) and not token.string.isascii():
            yield Refusal(line, f"the name `{token.string}` has letters that are not ASCII", "write it with a to z")
        for too_many, what in (
            (brackets > MAX_BRACKETS, f"brackets nested more than {MAX_BRACKETS} deep"),
            (indent > MAX_INDENT, f"blocks nested more than {MAX_INDENT} deep"),
            (length > MAX_TOKENS, f"a statement of more than {MAX_TOKENS:,} words and signs"),
        ):
            if too_many:
                yield Refusal(line, what, "break it up")
                return


def _too_deep(tree: ast.Module) -> Refusal | None:
    level: list[ast.AST] = [tree]
    line = 1
    for _ in range(MAX_DEPTH):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return None
        line = max((getattr(node, "lineno", 0) for node in level), default=line) or line
    return Refusal(line, f"code nested more than {MAX_DEPTH} deep", "break it up")


# --- as a tree -----------------------------------------------------------------------------------------------------

_NOT_AT_THE_TOP: tuple[tuple[type | tuple[type, ...], str, str], ...] = (
    (ast.ClassDef, "a class", "a lab needs functions only"),
    ((ast.For, ast.While, ast.AsyncFor), "a loop outside a function", "nothing of this file is executed"),
    (ast.Try, "a `try` outside a function", "import what is needed, without alternatives"),
    ((ast.With, ast.AsyncWith), "a `with` statement", "nothing of this file is executed"),
    (ast.If, "an `if` outside a function", 'put what is to run into `if __name__ == "__main__":`'),
    (ast.AsyncFunctionDef, "an `async` function", "write `def`"),
)
_RUN = 'put it into `if __name__ == "__main__":`, or delete it'


class _File:
    """One file; `bound` says what its imports call things: name -> dotted name."""

    def __init__(self, tree: ast.Module, host: tuple[str, ...]):
        self.tree, self.host = tree, host
        self.bound: dict[str, str] = {}
        self.defined = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}

    def read(self) -> Iterator[Refusal]:
        for number, node in enumerate(self.tree.body):
            if _is_main(node):
                continue  # never executed
            yield from self._anywhere(node)
            yield from self._top(node, first=number == 0)

    def _top(self, node: ast.stmt, first: bool) -> Iterator[Refusal]:
        for kinds, what, advice in _NOT_AT_THE_TOP:
            if isinstance(node, kinds):
                yield Refusal(node.lineno, what, advice)
                return
        match node:
            case ast.Import() | ast.ImportFrom():
                yield from self._import(node)
            case ast.FunctionDef():
                yield from self._function(node)
            case ast.Assign(targets=targets, value=value):
                yield from self._assignment(node, targets, value)
            case ast.AnnAssign(target=target, annotation=note, value=ast.expr() as value):
                yield from _note(note)
                yield from self._assignment(node, [target], value)
            case ast.Expr(value=ast.Constant(value=str())) if first:
                pass
            case ast.Expr(value=ast.Constant(value=value)) if value is ... or isinstance(value, str):
                pass  # a text, or `...`
            case ast.Pass():
                pass
            case ast.Expr():
                yield Refusal(node.lineno, f"a statement that is to be executed, `{_shown(node)}`", _RUN)
            case _:
                yield Refusal(node.lineno, f"a statement that a lab's file may not hold, `{_shown(node)}`", _RUN)

    # --- imports ---------------------------------------------------------------------------------------------------

    def _import(self, node: ast.Import | ast.ImportFrom) -> Iterator[Refusal]:
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name not in _MODULES:
                    yield self._no_import(node, alias.name)
                self.bound[alias.asname or alias.name.split(".")[0]] = (
                    alias.name if alias.asname else alias.name.split(".")[0]
                )
            return
        if node.level:
            yield Refusal(node.lineno, "an import from a file beside this one", "hand in one file that has it all")
            return
        module = node.module or ""
        for alias in node.names:
            self.bound[alias.asname or alias.name] = f"{module}.{alias.name}"
            if alias.name == "*" and module in _FROM:
                yield Refusal(node.lineno, f"`from {module} import *`", "name what you import")
            elif f"{module}.{alias.name}".startswith("gpukit.kernels"):
                yield self._no_import(node, "gpukit.kernels")
            elif module not in _FROM:
                yield self._no_import(node, module)
            elif not _FROM[module](alias.name):
                yield Refusal(node.lineno, f"`{alias.name}` of {module}", "a lab does not need it")

    @staticmethod
    def _no_import(node: ast.stmt, module: str) -> Refusal:
        if module.startswith("gpukit.kernels"):
            return Refusal(node.lineno, "an import of gpukit.kernels", "that is the ladder; the lab asks for your own")
        allowed = "numba.cuda (or `from gpukit import cuda`), gpukit.warp, math, numpy, operator, torch"
        return Refusal(node.lineno, f"an import of {module}", f"a lab's file may import {allowed}")

    # --- functions -------------------------------------------------------------------------------------------------

    def _function(self, node: ast.FunctionDef) -> Iterator[Refusal]:
        if node.name in self.bound:
            yield Refusal(node.lineno, f"`{node.name}` is the name of an import", "give the function another name")
        arguments = node.args
        for default in (*arguments.defaults, *(value for value in arguments.kw_defaults if value is not None)):
            if not _is_plain(default):
                yield Refusal(
                    default.lineno, f"the default argument `{_shown(default)}`", "a default is a number or name"
                )
        for note in (*(a.annotation for a in _parameters(arguments)), node.returns):
            yield from _note(note)
        if getattr(node, "type_params", ()):
            yield Refusal(node.lineno, f"type parameters of `{node.name}`", "leave them out")
        if not node.decorator_list:
            yield from self._undecorated(node)
        for decorator in node.decorator_list:
            yield from self._decorator(decorator)

    def _undecorated(self, node: ast.FunctionDef) -> Iterator[Refusal]:
        if node.name in self.host:
            yield from self._host(node)
            return
        named = f"; its host functions are {', '.join(self.host)}" if self.host else ""
        advice = f"a kernel has @cuda.jit in front of it, a device function @cuda.jit(device=True){named}"
        yield Refusal(
            node.lineno, f"the function `{node.name}` without a decorator, for which the lab does not ask", advice
        )

    def _decorator(self, node: ast.expr) -> Iterator[Refusal]:
        called = node.func if isinstance(node, ast.Call) else node
        if self._dotted(called) != "cuda.jit":
            yield Refusal(node.lineno, f"the decorator @{_shown(called)}", "the only one is @cuda.jit")
        elif isinstance(node, ast.Call):
            for keyword in node.keywords:
                if keyword.arg not in _OF_JIT:
                    what = f"the option `{keyword.arg or '**'}` of @cuda.jit"
                    yield Refusal(node.lineno, what, f"a lab needs at most {', '.join(_OF_JIT)}")
            for value in (*node.args, *(keyword.value for keyword in node.keywords)):
                yield from self._constant(value)

    def _dotted(self, node: ast.expr) -> str:
        """The canonical name of what a dotted expression means, by the file's imports; '' for anything else."""
        rest: list[str] = []
        while isinstance(node, ast.Attribute):
            rest.insert(0, node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return ""
        if node.id in self.bound:
            return canonical(".".join([self.bound[node.id], *rest]))
        known = not rest and node.id in BUILTINS and node.id not in self.defined
        return f"builtins.{node.id}" if known else ""

    # --- constants -------------------------------------------------------------------------------------------------

    def _assignment(self, node: ast.stmt, targets: list[ast.expr], value: ast.expr) -> Iterator[Refusal]:
        for target in targets:
            names = target.elts if isinstance(target, ast.Tuple) else [target]
            for name in names:
                if not isinstance(name, ast.Name):
                    yield Refusal(
                        node.lineno, f"an assignment to `{_shown(name)}` outside a function", "assign to a name"
                    )
                elif name.id in self.bound or name.id in self.defined:
                    yield Refusal(node.lineno, f"`{name.id}` already means something in this file", "take another name")
        yield from self._constant(value)

    def _constant(self, node: ast.expr) -> Iterator[Refusal]:
        """What is not a constant that can be computed by reading it."""
        match node:
            case ast.Name(id=name) if self.bound.get(name) in OF_MODULE:
                yield Refusal(node.lineno, f"the module `{name}` as a constant", "name what you need of it")
                return
            case ast.Constant() | ast.Name():
                return
            case ast.Tuple() | ast.List() | ast.Set():
                parts = node.elts
            case ast.Dict():
                parts = [part for part in (*node.keys, *node.values) if part is not None]
            case ast.UnaryOp(operand=operand):
                parts = [operand]
            case ast.BinOp(left=left, op=op, right=right):
                if isinstance(op, ast.MatMult) or not self._is_bounded(node):
                    yield Refusal(
                        node.lineno, f"the constant `{_shown(node)}`", "it may grow too large: write the value"
                    )
                parts = [left, right]
            case ast.Compare(left=left, comparators=comparators):
                parts = [left, *comparators]
            case ast.BoolOp(values=values):
                parts = values
            case ast.IfExp(test=test, body=body, orelse=orelse):
                parts = [test, body, orelse]
            case ast.Attribute():
                if not self._dotted(node):
                    yield Refusal(node.lineno, f"`{_shown(node)}` in a constant", "it is known only when the file runs")
                yield from self._of_module(node, "in a constant")
                return
            case ast.Subscript(value=value, slice=index):
                # A type, float32[:, :], or an item of a constant.
                parts = [value, *(index.elts if isinstance(index, ast.Tuple) else [index])]
                parts = [part for part in parts if not isinstance(part, ast.Slice)]
            case ast.Call():
                yield from self._call(node)
                return
            case _:
                yield Refusal(node.lineno, f"`{_shown(node)}` in a constant", "it is known only when the file runs")
                return
        for part in parts:
            yield from self._constant(part)

    @staticmethod
    def _is_bounded(node: ast.BinOp) -> bool:
        number = node.right.value if isinstance(node.right, ast.Constant) else None
        if isinstance(node.op, _GROWING):
            return isinstance(node.right, ast.Name) or (isinstance(number, int | float) and number <= MAX_GROWTH)
        if isinstance(node.op, ast.Mult):
            for side, other in ((node.left, node.right), (node.right, node.left)):
                if isinstance(side, ast.Tuple | ast.List) or isinstance(getattr(side, "value", None), str | bytes):
                    times = other.value if isinstance(other, ast.Constant) else None
                    return isinstance(times, int) and times <= MAX_GROWTH
        return True

    def _call(self, node: ast.Call) -> Iterator[Refusal]:
        name = self._dotted(node.func)
        module, _, last = name.rpartition(".")
        is_type = (module == "numpy" and last in _OF_NUMBA) or (module == "numba" and last in _OF_NUMBA)
        if not (is_type or (module == "builtins" and last in _FOLDED) or name in _TABLES or module == "math"):
            yield Refusal(
                node.lineno, f"the call `{_shown(node.func)}(...)` in a constant", "nothing is called outside functions"
            )
        for value in (*node.args, *(keyword.value for keyword in node.keywords)):
            yield from self._constant(value)

    # --- host functions --------------------------------------------------------------------------------------------

    def _host(self, function: ast.FunctionDef) -> Iterator[Refusal]:
        own = _bindings(function)
        where = f"in the host function `{function.name}`"
        for name in sorted(own & {name for name, module in self.bound.items() if module in OF_MODULE}):
            yield Refusal(function.lineno, f"`{name}`, an import, is also a variable {where}", "take another name")
        before_a_dot = {id(node.value) for node in ast.walk(function) if isinstance(node, ast.Attribute)}
        for node in ast.walk(function):
            line = getattr(node, "lineno", function.lineno)
            match node:
                case ast.Name(id=name) if name not in own and name not in self.defined:
                    if name in self.bound and self.bound[name].split(".")[0] not in HOST_MODULES:
                        yield Refusal(line, f"`{name}` {where}", "it has math, numpy and torch only")
                    elif self.bound.get(name) in OF_MODULE and id(node) not in before_a_dot:
                        yield Refusal(line, f"the module `{name}` as a value {where}", "name what you need of it")
                    elif name not in self.bound and hasattr(builtins, name) and name not in BUILTINS:
                        yield Refusal(line, f"`{name}` {where}", "a lab does not need it")
                case ast.Attribute():
                    yield from self._host_attribute(node, where, id(node) in before_a_dot)
                case ast.Constant(value=str(text)) if text.partition(":")[0] == "cuda":
                    yield Refusal(line, f"the device {text!r} {where}", "host code is graded on a CPU: name no device")
                case ast.Global() | ast.Nonlocal():
                    yield Refusal(line, "a `global` or `nonlocal` statement", "return the value")
                case ast.With(items=items) if not all(self._is_no_grad(item) for item in items):
                    yield Refusal(line, f"a `with` statement {where}", "the only one is `with torch.no_grad():`")

    def _host_attribute(self, node: ast.Attribute, where: str, before_a_dot: bool) -> Iterator[Refusal]:
        if not isinstance(node.ctx, ast.Load) and (node.attr not in ASSIGNED or self._module(node.value)):
            yield Refusal(node.lineno, f"an assignment to `{_shown(node)}` {where}", "assign to a name or an element")
        elif self._module(node.value):
            if not (before_a_dot and self._module(node)):
                yield from self._of_module(node, where)
        elif node.attr not in ATTRIBUTES:
            yield Refusal(node.lineno, f"the attribute `.{node.attr}` {where}", "it is not among those that labs use")

    def _of_module(self, node: ast.Attribute, where: str) -> Iterator[Refusal]:
        """What is taken of a module of host code that labs do not use."""
        module = self._module(node.value)
        known = OF_MODULE.get(module)
        if known is not None and node.attr not in known:
            called = {"numpy": "NumPy", "torch": "PyTorch"}[module.split(".")[0]]
            what = f"`{_shown(node)}` {where}"
            yield Refusal(node.lineno, what, f"it is not among {called}'s functions that labs use")

    def _module(self, node: ast.expr) -> str:
        """The module of host code that an expression names, by the file's imports; '' for anything else."""
        match node:
            case ast.Name(id=name):
                found = self.bound.get(name, "")
            case ast.Attribute(value=value, attr=attr):
                found = f"{self._module(value)}.{attr}"
            case _:
                found = ""
        return found if found in OF_MODULE else ""

    def _is_no_grad(self, item: ast.withitem) -> bool:
        match item:
            case ast.withitem(context_expr=ast.Call(func=called, args=[], keywords=[]), optional_vars=None):
                if isinstance(called, ast.Attribute):
                    return called.attr == "no_grad" and self._module(called.value) == "torch"
        return False

    # --- everywhere ------------------------------------------------------------------------------------------------

    def _anywhere(self, top: ast.stmt) -> Iterator[Refusal]:
        for node in ast.walk(top):
            line = getattr(node, "lineno", top.lineno)
            for name in _names(node):
                if name.startswith("__") and not (isinstance(node, ast.ImportFrom) and name == "__future__"):
                    yield Refusal(line, f"the name `{name}`", "names with two underscores in front are Python's own")
            if node is top:
                continue
            match node:
                case ast.ClassDef():
                    yield Refusal(line, "a class", "a lab needs functions only")
                case ast.Import() | ast.ImportFrom():
                    yield Refusal(line, "an import inside a function", "put it at the top of the file")
                case ast.AsyncFunctionDef() | ast.Await() | ast.AsyncFor() | ast.AsyncWith():
                    yield Refusal(line, "`async` or `await`", "a lab does not need it")
                case ast.FunctionDef(decorator_list=[first, *_]):
                    yield Refusal(
                        line, f"the decorator @{_shown(first)} inside a function", "define it at the top level"
                    )
                case ast.NamedExpr() if not isinstance(top, ast.FunctionDef):
                    yield Refusal(line, "a `:=` outside a function", "assign with `=`")


_NO_NOTE = (ast.Call, ast.Lambda, ast.NamedExpr, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Await)


def _is_main(node: ast.stmt) -> bool:
    match node:
        case ast.If(
            test=ast.Compare(
                left=ast.Name(id="__name__"), ops=[ast.Eq()], comparators=[ast.Constant(value="__main__")]
            ),
            orelse=[],
        ):
            return True
    return False


def _is_plain(node: ast.expr) -> bool:
    """A number, string, name, or tuple of these: what no call can change later."""
    match node:
        case ast.Constant() | ast.Name() | ast.Attribute(value=ast.Name()):
            return True
        case ast.UnaryOp(operand=operand):
            return _is_plain(operand)
        case ast.Tuple(elts=parts):
            return all(_is_plain(part) for part in parts)
    return False


def _note(note: ast.expr | None) -> Iterator[Refusal]:
    if note is not None and any(isinstance(part, _NO_NOTE) for part in ast.walk(note)):
        yield Refusal(note.lineno, f"the annotation `{_shown(note)}`", "an annotation is the name of a type")


def _parameters(arguments: ast.arguments) -> list[ast.arg]:
    rest = [extra for extra in (arguments.vararg, arguments.kwarg) if extra is not None]
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *rest]


def _bindings(function: ast.FunctionDef) -> set[str]:
    """Every name that a function, or one inside it, gives a value."""
    found = {
        parameter.arg
        for node in ast.walk(function)
        if isinstance(node, ast.arguments)
        for parameter in _parameters(node)
    }
    for node in ast.walk(function):
        match node:
            case ast.Name(id=name, ctx=ast.Store()):
                found.add(name)
            case ast.FunctionDef(name=name) | ast.ExceptHandler(name=str() as name):
                found.add(name)
            case ast.MatchAs(name=str() as name) | ast.MatchStar(name=str() as name):
                found.add(name)
    return found


def _names(node: ast.AST) -> Iterator[str]:
    """Every name in a node itself."""
    for field in ("id", "attr", "arg", "name", "asname", "module", "rest"):
        value = getattr(node, field, None)
        if isinstance(value, str):
            yield from value.split(".")
    for field in ("names", "kwd_attrs"):
        yield from (name for name in getattr(node, field, ()) if isinstance(name, str))


def _shown(node: ast.AST) -> str:
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= 60 else text[:57] + "..."
