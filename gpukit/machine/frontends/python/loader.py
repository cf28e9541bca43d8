"""Kernels of a .py file, without executing any of it.

The file is parsed and its top-level statements are read one after the other: imports of the kernel vocabulary,
constants that can be folded, functions, enums and named tuples. Everything else stays unknown and matters only if a
kernel uses it. That makes loading safe for files of strangers: what runs later is what the machine implements,
nothing else.
"""

from __future__ import annotations

import ast
import builtins
import collections
import tokenize
from collections.abc import Iterator
from pathlib import Path

from gpukit.errors import GpukitError, KernelSyntaxError, KernelTypeError, UnsupportedFeature
from gpukit.machine.frontends.python import symbols
from gpukit.machine.frontends.python.folding import Jit, NotConstant, fold, make_enum
from gpukit.machine.frontends.python.lowering import parameter_names
from gpukit.machine.frontends.python.source import Source
from gpukit.machine.frontends.python.symbols import Name, Namespace, Unknown

# Standard modules whose names mean something in a constant expression.
_STANDARD = ("collections", "typing", "enum", "__future__")
MAX_CALL_DEPTH = 32
MAX_STATEMENTS = 100_000


class LoadedModule(Namespace):
    """What a file defines. Functions are attributes (and items): `module.kernel` can be profiled, checked, launched."""

    def __init__(self, path: Path, names: dict[str, object]):
        self.__file__ = str(path)
        self.__name__ = path.stem
        self._names = names

    @property
    def functions(self) -> dict[str, Source]:
        """Every function of the file, by name, in the order of their definition."""
        return {name: value for name, value in self._names.items() if isinstance(value, Source)}

    @property
    def kernels(self) -> list[str]:
        """Names of the functions that are kernels: those with @cuda.jit, or all if the file has none with it."""
        return [name for name, value in self.functions.items() if value.jitted] or list(self.functions)

    def lookup(self, name: str) -> object:
        return self._names[name]

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            return self[name]
        except KernelTypeError as error:
            raise AttributeError(str(error)) from None

    def __getitem__(self, name: str) -> object:
        value = self._names.get(name)
        if name not in self._names or isinstance(value, Unknown):
            known = ", ".join(self.functions) or "none"
            message = f"this file has no `{name}` that is known without running it; its functions: {known}"
            raise KernelTypeError(message, file=self.__file__)
        return value

    def __contains__(self, name: object) -> bool:
        return name in self._names and not isinstance(self._names[str(name)], Unknown)

    def __iter__(self) -> Iterator[str]:
        return iter(self.functions)

    def __dir__(self) -> list[str]:
        return [name for name in self._names if name in self]

    def __repr__(self) -> str:
        return f"<kernels of {self.__file__}: {', '.join(self.functions)}>"


def load(path: str | Path) -> LoadedModule:
    """Read a .py file without executing it.

    Raises KernelSyntaxError if it is not there or does not parse.
    """
    return _load(Path(path), {})


def _load(path: Path, loading: dict[Path, LoadedModule]) -> LoadedModule:
    if path.suffix == ".cu":
        raise UnsupportedFeature("CUDA C++ files need the compiled level, which this front end is not", file=str(path))
    try:
        with tokenize.open(path) as stream:
            text = stream.read()
    except (OSError, SyntaxError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise KernelSyntaxError(f"this file cannot be read: {reason}", file=str(path)) from None
    tree = _parse(text, str(path))
    environment = _Environment(path, text.splitlines(), loading)
    module = LoadedModule(path, environment.names)
    loading[path.resolve()] = module
    environment.run(tree.body)
    environment.recognise_rebound_modules(tree)
    return module


def _parse(text: str, file: str) -> ast.Module:
    try:
        return ast.parse(text)
    except SyntaxError as error:
        raise KernelSyntaxError(f"this is not valid Python: {error.msg}", file=file, line=error.lineno) from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise KernelSyntaxError(f"this cannot be parsed: {error}", file=file) from None


class _Returned(Exception):
    def __init__(self, value: object):
        super().__init__()
        self.value = value


class _Environment:
    """The names of a file, or of one call of a function in it while a closure is being made."""

    def __init__(
        self,
        path: Path,
        lines: list[str],
        loading: dict[Path, LoadedModule],
        outer: _Environment | None = None,
    ):
        self.path = path
        self.lines = lines
        self.loading = loading
        self.outer = outer
        self.names: dict[str, object] = {}
        self.budget: list[int] = outer.budget if outer else [MAX_STATEMENTS]
        self.depth: int = outer.depth + 1 if outer else 0
        self.homes: dict[int, _Environment] = outer.homes if outer else {}  # function -> where it was defined

    # --- names -----------------------------------------------------------------------------------------------------

    def find(self, name: str) -> object:
        """KeyError if the file does not define the name and Python neither."""
        scope: _Environment | None = self
        while scope is not None:
            if name in scope.names:
                return scope.names[name]
            scope = scope.outer
        if hasattr(builtins, name):
            kind = getattr(builtins, name)
            if isinstance(kind, type) and issubclass(kind, BaseException):
                return kind
            return Name(f"builtins.{name}")
        raise KeyError(name)

    def lookup(self, name: str) -> object:
        try:
            return self.find(name)
        except KeyError:
            return Unknown(f"the undefined name `{name}`")

    # --- statements ------------------------------------------------------------------------------------------------

    def run(self, body: list[ast.stmt]) -> None:
        for statement in body:
            self.budget[0] -= 1
            if self.budget[0] < 0:
                raise KernelSyntaxError("this file takes too long to load", file=str(self.path), line=statement.lineno)
            self._statement(statement)

    def _statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Import():
                self._import(node)
            case ast.ImportFrom():
                self._import_from(node)
            case ast.FunctionDef():
                self.names[node.name] = self._decorated(node)
            case ast.ClassDef():
                self.names[node.name] = self._class(node)
            case ast.Assign():
                value = fold(node.value, self)
                for target in node.targets:
                    self._bind(target, value)
            case ast.AnnAssign() if node.value is not None:
                self._bind(node.target, fold(node.value, self))
            case ast.AugAssign() if isinstance(node.target, ast.Name):
                load = ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target)
                both = ast.copy_location(ast.BinOp(load, node.op, node.value), node)
                self._bind(node.target, fold(both, self))
            case ast.If():
                self._if(node)
            case ast.Try():
                self.run(node.body)
                self.run(node.orelse)
                self.run(node.finalbody)
            case ast.Return():
                raise _Returned(None if node.value is None else fold(node.value, self))
            case ast.Expr() | ast.Pass() | ast.Global() | ast.Nonlocal() | ast.Assert():
                pass
            case _:
                self._forget(node)

    def _if(self, node: ast.If) -> None:
        test = fold(node.test, self)
        if isinstance(test, Unknown | Name | Source):
            if not _is_main(node.test):
                self._forget(node)
            return
        self.run(node.body if test else node.orelse)

    def _forget(self, node: ast.AST) -> None:
        """A statement that is not followed: whatever it binds is unknown."""
        kind = type(node).__name__.lower()
        for child in ast.walk(node):
            if isinstance(child, ast.Name) and not isinstance(child.ctx, ast.Load):
                line = getattr(node, "lineno", 0)
                self.names[child.id] = Unknown(f"set by a `{kind}` statement, which is not followed (line {line})")

    def _bind(self, target: ast.expr, value: object) -> None:
        if isinstance(target, ast.Name):
            self.names[target.id] = value
        elif isinstance(target, ast.Tuple | ast.List):
            known = isinstance(value, tuple | list) and len(value) == len(target.elts)
            for position, element in enumerate(target.elts):
                part = value[position] if known else Unknown("part of a value that is not known")  # type: ignore[index]
                self._bind(element, part)

    # --- imports ---------------------------------------------------------------------------------------------------

    def _import(self, node: ast.Import) -> None:
        for alias in node.names:
            if symbols.belongs(alias.name) or alias.name.split(".")[0] in _STANDARD:
                first = alias.name.split(".")[0]
                self.names[alias.asname or first] = Name(symbols.canonical(alias.name if alias.asname else first))
                continue
            module = self._neighbour(alias.name)
            unknown = Unknown(f"the module `{alias.name}`, which kernels do not know")
            self.names[alias.asname or alias.name.split(".")[0]] = module or unknown

    def _import_from(self, node: ast.ImportFrom) -> None:
        package = node.module or ""
        if node.level == 0 and (symbols.belongs(package) or package.split(".")[0] in _STANDARD):
            for alias in node.names:
                self.names[alias.asname or alias.name] = Name(symbols.canonical(f"{package}.{alias.name}"))
            return
        module = self._neighbour(package, node.level)
        for alias in node.names:
            if module is not None and alias.name == "*":
                self.names.update(module._names)
            elif module is not None and alias.name in module._names:
                self.names[alias.asname or alias.name] = module._names[alias.name]
            else:
                what = f"`{alias.name}` of the module `{package or '.'}`, which kernels do not know"
                self.names[alias.asname or alias.name] = Unknown(what)

    def _neighbour(self, name: str, level: int = 0) -> LoadedModule | None:
        """A module in a file beside this one, loaded the same way."""
        if not name:
            return None
        folder = self.path.parent
        for _ in range(max(0, level - 1)):
            folder = folder.parent
        file = folder.joinpath(*name.split(".")).with_suffix(".py")
        known = self.loading.get(file.resolve())
        if known is not None:
            return known
        if not file.is_file() or len(self.loading) > MAX_CALL_DEPTH:
            return None
        try:
            return _load(file, self.loading)
        except GpukitError:
            return None

    # --- definitions -----------------------------------------------------------------------------------------------

    def function(self, node: ast.FunctionDef | ast.Lambda) -> Source:
        if isinstance(node, ast.Lambda):
            body = ast.copy_location(ast.Return(node.body), node.body)
            tree = ast.copy_location(ast.FunctionDef("<lambda>", node.args, [body], [], None), node)
        else:
            tree = node
        last = tree.end_lineno or tree.lineno
        text = {n: self.lines[n - 1] for n in range(tree.lineno, min(last, len(self.lines)) + 1)}
        arguments = tree.args
        keyword_only = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
        source = Source(
            tree.name,
            str(self.path),
            tree.lineno,
            tree,
            self.find,
            text,
            defaults=tuple(fold(default, self) for default in arguments.defaults),
            keyword_defaults={a.arg: fold(default, self) for a, default in keyword_only if default is not None},
        )
        self.homes[source.identity] = self
        return source

    def _decorated(self, node: ast.FunctionDef) -> Source:
        source = self.function(node)
        for decorator in node.decorator_list:
            found = fold(decorator, self)
            if isinstance(found, Name) and found.dotted == "cuda.jit":
                source.debug, source.jitted = False, True
            elif isinstance(found, Jit):
                found.apply(source)
        return source

    def _class(self, node: ast.ClassDef) -> object:
        bases = [fold(base, self) for base in node.bases]
        members: dict[str, object] = {}
        fields = []
        for statement in node.body:
            if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
                value = fold(statement.value, self)
                if _is_auto(statement.value):
                    value = max((v for v in members.values() if isinstance(v, int)), default=0) + 1
                if isinstance(value, Unknown):
                    return Unknown(f"a class whose member `{statement.targets[0].id}` is not known")
                members[statement.targets[0].id] = value
            elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                fields.append(statement.target.id)
        if Name("typing.NamedTuple") in bases:
            return collections.namedtuple(node.name, fields)
        try:
            made = make_enum(node.name, bases, members)
        except (ValueError, TypeError):
            made = None
        return made or Unknown(f"a class (line {node.lineno})")

    # --- closures --------------------------------------------------------------------------------------------------

    def call(self, function: Source, args: list[object], keywords: dict[str, object]) -> object:
        """What a function of the file returns: only so far as it makes a kernel or a constant out of constants."""
        home = self.homes.get(function.identity)
        if home is None or self.depth >= MAX_CALL_DEPTH:
            raise NotConstant("the result of a call, which is not made without running the file")
        names = parameter_names(function.tree)
        defaults = dict(zip(reversed(names), reversed(function.defaults), strict=False))
        given = dict(zip(names, args, strict=False)) | keywords
        inner = _Environment(home.path, home.lines, home.loading, home)
        inner.depth = self.depth + 1
        for name in names:
            inner.names[name] = given.get(name, defaults.get(name, Unknown(f"the parameter `{name}`")))
        try:
            inner.run(function.tree.body)
        except _Returned as returned:
            return returned.value
        return None

    def recognise_rebound_modules(self, tree: ast.Module) -> None:
        """`cuda = None` at the top, and a function that rebinds it with `global cuda`: the name is the CUDA module."""
        for node in ast.walk(tree):
            if not isinstance(node, ast.FunctionDef):
                continue
            rebound = {name for inner in ast.walk(node) if isinstance(inner, ast.Global) for name in inner.names}
            imports = any(
                alias.name.split(".")[-1] == "cuda"
                for inner in ast.walk(node)
                if isinstance(inner, ast.Import | ast.ImportFrom)
                for alias in inner.names
            )
            for name in rebound:
                if self.names.get(name, 0) is None and (imports or name == "cuda"):
                    self.names[name] = Name("cuda")


def _is_main(test: ast.expr) -> bool:
    return "__name__" in {child.id for child in ast.walk(test) if isinstance(child, ast.Name)}


def _is_auto(node: ast.expr) -> bool:
    if not isinstance(node, ast.Call):
        return False
    function = node.func
    return (function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")) == "auto"
