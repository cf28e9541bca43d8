"""The shortest expression of each function of three bits, for lop3."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import product

# The values of a, b and c over the eight rows of a truth table, as PTX numbers them.
A, B, C = 0xF0, 0xCC, 0xAA
ALL = 0xFF


@cache
def expressions() -> dict[int, str]:
    """Truth table (1 to 254) -> expression in a, b, c with the fewest of the operators & | ^ ~.

    Found by size: each function of n operators is the opposite of one with n - 1, or joins two that have n - 1
    together.
    """
    found = {A: "a", B: "b", C: "c"}
    by_size = [list(found)]
    while len(found) < ALL - 1:
        new: dict[int, str] = {}
        for table, expression in _joined(found, by_size):
            if table not in found and 0 < table < ALL:
                new.setdefault(table, expression)
        found |= new
        by_size.append(list(new))
    return found


def _joined(found: dict[int, str], by_size: list[list[int]]) -> Iterator[tuple[int, str]]:
    """All functions one operator makes of the functions found, such that the whole has len(by_size) operators."""
    for x in by_size[-1]:
        yield x ^ ALL, f"~{found[x]}"
    for left, right in zip(by_size, reversed(by_size), strict=True):
        for x, y in product(left, right):
            yield x & y, f"({found[x]} & {found[y]})"
            yield x | y, f"({found[x]} | {found[y]})"
            yield x ^ y, f"({found[x]} ^ {found[y]})"
