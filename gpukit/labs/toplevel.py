"""What a Python file defines at its top level, and in which of its lines."""

from __future__ import annotations

import ast


def names_in(text: str) -> dict[str, ast.stmt]:
    """The functions and constants that a Python file defines at its top level, by name."""
    found: dict[str, ast.stmt] = {}
    for statement in ast.parse(text).body:
        if isinstance(statement, ast.FunctionDef):
            found[statement.name] = statement
        elif isinstance(statement, ast.Assign):
            found |= {target.id: statement for target in statement.targets if isinstance(target, ast.Name)}
    return found


def span(node: ast.stmt) -> tuple[int, int]:
    """First and last line of a definition, from 1, its decorators included."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)]), node.end_lineno or node.lineno
