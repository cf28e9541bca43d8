"""Tests of integer instructions: operands of every kind, and results as Python integers say they must be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from compiled.snippet import run
from hypothesis import strategies as st

from gpukit.machine.frontends.ptx.syntax import SIZES, TYPES

# How an operand reaches the instruction: a value for each lane, one for all lanes, or a literal.
LANES, UNIFORM, LITERAL = "lanes", "uniform", "literal"


@dataclass(frozen=True)
class Case:
    """An instruction ("add.s32"), the types of its results and operands, and what it does to Python integers in the
    range of the operands' types. With two results the instruction writes "a|b" and `does` gives a pair."""

    name: str
    results: tuple[str, ...]
    operands: tuple[str, ...]
    does: Callable
    # Strategies for operands that must not be arbitrary, by position.
    special: tuple[tuple[int, st.SearchStrategy[int]], ...] = ()

    def __str__(self) -> str:
        return self.name


def case(name: str, results: str, operands: str, does: Callable, **special: st.SearchStrategy[int]) -> Case:
    """Types are separated by blanks; special=... names an operand by its letter."""
    chosen = tuple((ord(letter) - ord("a"), strategy) for letter, strategy in special.items())
    return Case(name, tuple(results.split()), tuple(operands.split()), does, chosen)


def bits(kind: str) -> int:
    return 1 if kind == "pred" else 8 * SIZES[kind]


def limits(kind: str) -> tuple[int, int]:
    """Least and greatest value of a type."""
    if kind.startswith("s") and not kind.endswith("x2"):
        return -(1 << bits(kind) - 1), (1 << bits(kind) - 1) - 1
    return 0, (1 << bits(kind)) - 1


def signed(value: int, width: int) -> int:
    """The low bits of a value as a signed number."""
    value &= (1 << width) - 1
    return value - (value >> width - 1 << width)


def values(kind: str) -> st.SearchStrategy[int]:
    """Values of a type: edges, few bits, anything."""
    low, high = limits(kind)
    few = st.integers(0, bits(kind) - 1).map(lambda n: low + (1 << n) if low + (1 << n) <= high else high)
    return st.sampled_from(edges(kind)) | st.integers(low, high) | few


@st.composite
def examples(draw, case: Case) -> tuple[list[tuple[str, ...]], list[tuple[int, ...]]]:
    """Several ways to give each operand, and rows of operands."""
    special = dict(case.special)
    way = st.tuples(*(st.sampled_from([LANES, LANES, UNIFORM, LITERAL]) for _ in case.operands))
    row = st.tuples(*(special.get(k, values(kind)) for k, kind in enumerate(case.operands)))
    ways = draw(st.lists(way, min_size=1, max_size=6, unique=True))
    return ways, draw(st.lists(row, min_size=1, max_size=40))


def edges(kind: str) -> list[int]:
    """Values of a type where something begins or ends."""
    low, high = limits(kind)
    near = {low, low + 1, -2, -1, 0, 1, 2, 7, 31, 32, 33, 63, 64, high // 2, high // 2 + 1, high - 1, high}
    return sorted(v for v in near if low <= v <= high)


def corners(case: Case, most: int = 250) -> list[tuple[int, ...]]:
    """Edges of all operands against each other, evenly thinned to `most` rows."""
    chosen = dict(case.special)
    sides = [edges("u8" if k in chosen and kind[0] != "s" else kind) for k, kind in enumerate(case.operands)]
    rows = list(product(*sides))
    return rows if len(rows) <= most else rows[:: -(-len(rows) // most)]


def check(case: Case, ways: Sequence[tuple[str, ...]], rows: list[tuple[int, ...]]) -> None:
    """Runs the instruction with its operands given in each of these ways, one thread a row, and compares every bit of
    its results. What is not given per lane has its value in the first row everywhere."""
    inputs = {"%row": ("u32", np.arange(len(rows), dtype=np.uint32))}  # one thread a row, even if no operand needs it
    body, outputs = "", {}
    for k, kind in enumerate(case.operands):
        lanes, uniform, first = f"%lanes{k}", f"%uniform{k}", rows[0][k]
        inputs[lanes] = (kind, np.array([row[k] for row in rows], dtype=object).astype(TYPES[kind]))
        if kind == "pred":
            body += f".reg .pred {uniform}; setp.ne.u32 {uniform}, {first}, 0;\n"
        else:
            body += f".reg .b{bits(kind)} {uniform}; mov.b{bits(kind)} {uniform}, {first};\n"
    targets = [[f"%r{w}_{k}" for k in range(len(case.results))] for w in range(len(ways))]
    for way, results in zip(ways, targets, strict=True):
        operands = [_operand(k, how, case.operands[k], rows[0][k]) for k, how in enumerate(way)]
        body += f"{case.name} {'|'.join(results)}, {', '.join(operands)};\n"
        outputs |= dict(zip(results, case.results, strict=True))
    got = run(body, inputs, outputs)
    for way, results in zip(ways, targets, strict=True):
        for i, row in enumerate(rows):
            row = tuple(v if how == LANES else first for v, how, first in zip(row, way, rows[0], strict=True))
            expected = case.does(*row)
            for name, wanted in zip(results, expected if len(results) > 1 else (expected,), strict=True):
                mask = (1 << bits(outputs[name])) - 1
                found = int(got[name][i]) & mask
                assert found == wanted & mask, f"{case.name} {way} {row}: {found:#x}, not {wanted & mask:#x}"


def _operand(position: int, how: str, kind: str, first: int) -> str:
    """How an operand is written; there are no literal predicates."""
    if how == LITERAL and kind != "pred":
        return str(first)
    return f"%lanes{position}" if how == LANES else f"%uniform{position}"
