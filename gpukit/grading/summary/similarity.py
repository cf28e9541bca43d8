"""Submissions that are the same, byte for byte or but for names, comments and blanks.

Short answers may be the same by honest work: this is a reason to look at two files, never a verdict.
"""

from __future__ import annotations

import ast
import hashlib
import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

from gpukit.cpp.tokens import WORD, tokens
from gpukit.grading import wording
from gpukit.grading.record import GRADED, NOT_STARTED, Record

# What a kernel calls by name and cannot rename.
_KEPT_WORDS = (
    "abs all any bool complex divmod enumerate float int len max min pow print range round sum tuple zip blockIdx "
    "blockDim gridDim threadIdx warpSize"
)
_KEPT = frozenset(_KEPT_WORDS.split())


@dataclass(frozen=True, slots=True)
class Group:
    """Students whose files have one shape; `identical` says that they are the same byte for byte."""

    students: tuple[str, ...]
    identical: bool


def groups(records: Sequence[Record]) -> list[Group]:
    """Groups of two and more, in the order of their first student. Skeletons as handed out (nothing begun), and what
    could not be graded, are no news."""
    shapes: dict[str, list[Record]] = {}
    for record in sorted(records, key=wording.student_order):
        begun = any(item.status != NOT_STARTED for item in record.items)
        if record.status == GRADED and begun and record.source:
            shapes.setdefault(shape(record), []).append(record)
    return [
        Group(tuple(r.student for r in same), len({r.submission.sha256 for r in same}) == 1)
        for same in shapes.values()
        if len(same) > 1
    ]


def shape(record: Record) -> str:
    """A digest of the source that renaming, comments, docstrings and blanks do not change."""
    source = record.source
    text = _cpp_shape(source) if record.submission.language == "CUDA C++" else _python_shape(source)
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def _python_shape(source: str) -> str:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an odd escape in a student's string is not our concern here
            tree = ast.parse(source)
        return ast.dump(_Renamed().visit(tree))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return re.sub(r"\s+", " ", source)


class _Renamed(ast.NodeTransformer):
    """Names become numbers in the order in which they first occur; docstrings and annotations go."""

    def __init__(self) -> None:
        self.numbers: dict[str, str] = {}

    def number(self, name: str) -> str:
        return name if name in _KEPT else self.numbers.setdefault(name, f"name{len(self.numbers)}")

    def visit_Name(self, node: ast.Name) -> ast.AST:
        node.id = self.number(node.id)
        return node

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.arg, node.annotation = self.number(node.arg), None
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.name, node.returns = self.number(node.name), None
        return self._without_docstring(node)

    def visit_Module(self, node: ast.Module) -> ast.AST:
        return self._without_docstring(node)

    def _without_docstring(self, node: ast.FunctionDef | ast.Module) -> ast.AST:
        first = node.body[0] if node.body else None
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
            node.body = node.body[1:]
        return self.generic_visit(node)


def _cpp_shape(source: str) -> str:
    numbers: dict[str, str] = {}
    words = []
    before = ""
    for token in tokens(source):
        member = before in (".", "->")  # threadIdx.x
        renamed = token.kind == WORD and not member and token.text not in _CPP_KEPT and token.text not in _KEPT
        before = token.text
        words.append(numbers.setdefault(token.text, f"name{len(numbers)}") if renamed else token.text)
    return " ".join(words)


_CPP_WORDS = (
    "__global__ __device__ __shared__ __restrict__ __syncthreads __syncwarp __shfl_down_sync __shfl_up_sync "
    "__shfl_xor_sync __shfl_sync __ballot_sync __activemask atomicAdd atomicMax atomicMin auto bool break case "
    "char const constexpr continue default do double else extern false float for if int long namespace return "
    "short signed sizeof static struct switch template true typename unsigned using void while"
)
_CPP_KEPT = frozenset(_CPP_WORDS.split())
