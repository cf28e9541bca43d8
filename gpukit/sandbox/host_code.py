"""The host code of a student's file: what of it a child process executes.

Kept are imports of math, numpy and torch, constants, and the functions asked for; kernels, and imports of the GPU's
vocabulary, are left out. Nothing is executed here.
"""

from __future__ import annotations

import ast
import symtable
from collections.abc import Collection, Iterable

from gpukit.sandbox.vocabulary import HOST_MODULES, OF_MODULE

Import = tuple[str, str, str]  # name it gets, module, name in that module ("" for the module itself)


def parts(source: str, names: Collection[str]) -> tuple[list[Import], ast.Module]:
    """(imports that the kept code uses, the kept code) of a source that parses. `names`: the functions to keep."""
    imports: dict[str, Import] = {}
    constants: list[ast.stmt] = []
    functions: list[ast.stmt] = []
    for node in ast.parse(source).body:
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name in HOST_MODULES:
                    package = alias.name if alias.asname else alias.name.split(".")[0]
                    imports[alias.asname or package] = (alias.asname or package, package, "")
        elif isinstance(node, ast.ImportFrom) and node.module in OF_MODULE and not node.level:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                found = (inner, "") if inner in OF_MODULE else (node.module, alias.name)
                imports[alias.asname or alias.name] = (alias.asname or alias.name, *found)
        elif isinstance(node, ast.FunctionDef) and node.name in names and not node.decorator_list:
            functions.append(node)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            constants.append(node)
    used = {name for function in functions for name in _loaded(function)}
    kept: list[ast.stmt] = []
    for constant in reversed(constants):  # those that the functions use, and those that these are made of
        if used & _stored(constant):
            used |= _loaded(constant)
            kept.insert(0, constant)
    return [found for name, found in imports.items() if name in used], ast.Module([*kept, *functions], [])


def reached(source: str, function: str, names: Collection[str]) -> list[str]:
    """Those of `names` that a call of `function` may reach, itself first. Raises SyntaxError."""
    known = uses(source)
    found: list[str] = []
    waiting = [function]
    while waiting:
        name = waiting.pop()
        if name in names and name in known and name not in found:
            found.append(name)
            waiting += sorted(known[name])
    return found


def uses(source: str) -> dict[str, frozenset[str]]:
    """Function of a file -> names that it takes from the file: not its parameters, nor what it gives a value itself.

    Raises SyntaxError.
    """
    tables = symtable.symtable(source, "student", "exec").get_children()
    return {table.get_name(): frozenset(_taken(table)) for table in tables if table.get_type() == "function"}


def _taken(table: symtable.SymbolTable) -> set[str]:
    own = {symbol.get_name() for symbol in table.get_symbols() if symbol.is_global()}
    return own.union(*map(_taken, table.get_children()))


def packages(imports: Iterable[Import]) -> set[str]:
    """The packages that a child must have: "numpy", "torch"."""
    return {module.split(".")[0] for _, module, _ in imports} & {"numpy", "torch"}


def _loaded(tree: ast.AST) -> set[str]:
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}


def _stored(tree: ast.AST) -> set[str]:
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
