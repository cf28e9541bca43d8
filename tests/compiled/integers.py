"""Tests of integer instructions: operands of every kind, and results as Python integers say they must be."""

from __future__ import annotations

from collections.abc import Callable
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
def examples(draw, case: Case) -> tuple[list[str], list[tuple[int, ...]]]:
    """How each operand is given, and rows of operands."""
    special = dict(case.special)
    kinds = [draw(st.sampled_from([LANES, LANES, UNIFORM, LITERAL])) for _ in case.operands]
    row = st.tuples(*(special.get(k, values(kind)) for k, kind in enumerate(case.operands)))
    return kinds, draw(st.lists(row, min_size=1, max_size=24))


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


def check(case: Case, kinds: list[str], rows: list[tuple[int, ...]]) -> None:
    """Runs the instruction, one thread a row, and compares every bit of its results. What is not given per lane has
    its value in the first row everywhere."""
    rows = [
        tuple(v if how == LANES else first for v, how, first in zip(row, kinds, rows[0], strict=True)) for row in rows
    ]
    inputs = {"%row": ("u32", np.arange(len(rows), dtype=np.uint32))}  # one thread a row, even if no operand needs it
    body, names = "", []
    for k, (kind, how) in enumerate(zip(case.operands, kinds, strict=True)):
        name = "%" + "abcdefg"[k]
        literal = str(rows[0][k])
        if how == LITERAL and kind != "pred":
            names.append(literal)
            continue
        names.append(name)
        if how == LANES:
            inputs[name] = (kind, np.array([row[k] for row in rows], dtype=object).astype(TYPES[kind]))
        elif kind == "pred":
            body += f".reg .pred {name}; setp.ne.u32 {name}, {literal}, 0;\n"
        else:
            body += f".reg .b{bits(kind)} {name}; mov.b{bits(kind)} {name}, {literal};\n"
    targets = {f"%r{k}": kind for k, kind in enumerate(case.results)}
    body += f"{case.name} {'|'.join(targets)}, {', '.join(names)};\n"
    got = run(body, inputs, targets)
    for k, (target, kind) in enumerate(targets.items()):
        mask = (1 << bits(kind)) - 1
        for i, row in enumerate(rows):
            expected = case.does(*row)
            expected = (expected[k] if len(targets) > 1 else expected) & mask
            found = int(np.broadcast_to(got[target], len(rows))[i]) & mask
            assert found == expected, f"{case.name} {kinds} {row}: {found:#x}, not {expected:#x}"
