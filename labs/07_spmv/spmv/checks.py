"""Whether y = alpha A x + beta y is right. Every row is judged by the strictest gate that applies to it:

EMPTY    a row without entries is beta * y0, to the bit, and 0 for beta = 0.
MASK     what must be NaN, Inf or finite is that. A slot that holds no entry multiplies nothing, so that an Inf in a
         column which a row does not use leaves that row finite; a stored zero does multiply: 0 * inf is NaN.
EXACT    whole numbers whose sums stay below 2^24 (float32) or 2^53 (float64) come out to the bit, in any order.
BOUND    |y - expected| <= gamma_(n + 2) (|alpha| |A| |x| + |beta| |y0|) with gamma_k = k u / (1 - k u), n the entries
         of the row and u the unit roundoff: what no order of summation exceeds. It grows with n, and is blind to one
         lost entry in a row of 50,000; EXACT is not.

`faults` judges one answer. `faults_of` lets a product answer three trials, which no wrong product known to us passes:
y is NaN before it for beta = 0, x lies between NaN, y between guard bands, and the inputs must come back unchanged.

Source: the bound is Higham's, "Accuracy and Stability of Numerical Algorithms", 2nd ed. (SIAM 2002), section 3.1; with
alpha and beta two more roundings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

from .errors import MatrixError
from .formats import Csr
from .formats.arrays import Array, to_host

EMPTY, MASK, EXACT, BOUND = "empty row", "NaN and Inf mask", "exact integers", "rounding bound"
GUARDS, INPUTS = "guard bands", "inputs"
GUARD = 33  # elements on either side of a vector: an odd number, so that the vector is aligned to its elements alone
GUARD_VALUE = 12345.0
SCALES = 1, 2, 4, 8  # one of them makes whole numbers of alpha and beta, or no sum counts as exact

Multiply = Callable[[Csr, Array, Array, Any, Any], Any]  # (csr, x, y, alpha, beta) -> writes y


# --- what is right ---------------------------------------------------------------------------------------------------


def reference(csr: Csr, x: Array, alpha: float = 1, beta: float = 0, y0: Array | None = None) -> np.ndarray:
    """(rows,) alpha A x + beta y0 from the stored entries: in float64 for float32, in longdouble for float64.

    For beta = 0, `y0` counts for nothing, whatever it holds. Raises MatrixError for an x or y0 of another length.
    """
    return _Product(csr, x, alpha, beta, y0).expected


def bound(csr: Csr, x: Array, alpha: float = 1, beta: float = 0, y0: Array | None = None) -> np.ndarray:
    """(rows,) the largest |y - reference| that roundings explain, in any order of summation.

    It covers the roundings of the reference too, and underflow: as much as the smallest normal number for each
    operation. It is inf where it says nothing: where sums may overflow, and in rows of 1/u entries.
    """
    return _Product(csr, x, alpha, beta, y0).bound


class _Product:
    """One product in higher precision, and how well a row of it can be known."""

    def __init__(self, csr: Csr, x: Array, alpha: float, beta: float, y0: Array | None) -> None:
        wide: Any
        csr, x = csr.on(np), to_host(x)
        _same_length("x", x, csr.columns, "columns")
        kind = csr.dtype
        self.kind, self.lengths = kind, csr.lengths
        wide = np.float64 if kind == np.float32 else np.longdouble
        with np.errstate(all="ignore"):
            self.alpha, self.beta = kind.type(alpha), kind.type(beta)  # as the kernel is given them
            if self.beta == 0:
                old = np.zeros(csr.rows, kind)
            else:
                if y0 is None:
                    raise MatrixError(f"beta is {beta:g}, and there is no y0 for it to multiply: pass y0")
                old = to_host(y0)
                _same_length("y0", old, csr.rows, "rows")
            self.empty_row = self.beta * old  # in the kernel's precision
            terms = csr.data.astype(wide) * x.astype(wide)[csr.indices]
            a, b, old_wide = wide(self.alpha), wide(self.beta), old.astype(wide)
            self.expected = a * _row_sums(csr, terms)
            self.total = abs(a) * _row_sums(csr, abs(terms))
            if self.beta != 0:
                self.expected = self.expected + b * old_wide
                self.total = self.total + abs(b * old_wide)
            self.whole = all(bool((part == np.rint(part)).all()) for part in (csr.data, x[csr.indices], old))

    @property
    def bound(self) -> np.ndarray:
        with np.errstate(all="ignore"):
            operations = self.lengths.astype(np.float64) + 2
            rounding = _gamma(operations, self.kind) + _gamma(operations, self.total.dtype)
            underflow = operations * max(1.0, abs(float(self.alpha))) * np.finfo(self.kind).tiny
            largest = rounding * self.total + underflow
            overflows = ~(self.total + largest < np.finfo(self.kind).max)
            return np.where(overflows, np.inf, largest)

    @property
    def exact(self) -> np.ndarray:
        """(rows,) whether every partial sum, in any order, is a number of the kernel's type."""
        scale = _scale(self.alpha, self.beta)
        if scale is None or not self.whole:
            return np.zeros(self.lengths.size, bool)
        return self.total * scale < exact_limit(self.kind)


def _scale(alpha: float, beta: float) -> int | None:
    """What makes whole numbers of both; None where no scale does."""
    return next((scale for scale in SCALES if all(float(x) * scale % 1 == 0 for x in (alpha, beta))), None)


def exact_limit(kind: np.dtype) -> int:
    """The whole numbers up to it are all numbers of this type: 2^24 or 2^53."""
    return 2 ** (np.finfo(kind).nmant + 1)


def _row_sums(csr: Csr, terms: np.ndarray) -> np.ndarray:
    """(rows,) sums of one number for each entry; 0 for a row without entries."""
    total = np.zeros(csr.rows, terms.dtype)
    filled = csr.lengths > 0
    if filled.any():
        total[filled] = np.add.reduceat(terms, csr.indptr[:-1][filled])
    return total


def _gamma(k: np.ndarray, kind: np.dtype) -> np.ndarray:
    """k u / (1 - k u), inf from k u = 1 on."""
    ku = k * (np.finfo(kind).eps / 2)
    return np.where(ku < 1, ku / (1 - ku), np.inf)


def _same_length(name: str, vector: np.ndarray, wanted: int, of: str) -> None:
    if vector.shape != (wanted,):
        raise MatrixError(f"{name} has the shape {vector.shape}, and the matrix has {wanted:,} {of}: pass ({wanted},)")


# --- one answer ------------------------------------------------------------------------------------------------------


def faults(
    csr: Csr, x: Array, got: Array, alpha: float = 1, beta: float = 0, y0: Array | None = None, most: int = 5
) -> list[str]:
    """What is wrong with `got` as alpha A x + beta y0, row by row: at most `most` sentences and how many rows more;
    empty where all is right. Each names the row, what it is, what it must be, and the gate.

    x, got and y0, the y before, may lie on a GPU. Raises MatrixError for an x or y0 of another length.
    """
    got = to_host(got)
    if got.shape != (csr.rows,) or got.dtype != csr.dtype:
        return [f"y is {got.dtype} of the shape {got.shape}; it must be {csr.dtype} of the shape ({csr.rows},)"]
    product = _Product(csr, x, alpha, beta, y0)
    expected, largest = product.expected, product.bound
    with np.errstate(all="ignore"):
        off = abs(got - expected)
        gates = {  # gate -> (rows it judges, rows that it finds right), the strictest first
            EMPTY: ((product.lengths == 0) & np.isfinite(product.alpha), _same(got, product.empty_row)),
            MASK: ((_sort(got) != _sort(expected)) & ~np.isinf(largest) | ~np.isfinite(expected), _same(got, expected)),
            EXACT: (product.exact, got == expected),
            BOUND: (np.ones(csr.rows, bool), (off <= largest) | np.isinf(largest)),
        }
    gate_of = np.select([judges for judges, _ in gates.values()], list(gates), "")
    right = np.select([judges for judges, _ in gates.values()], [passes for _, passes in gates.values()], False)
    wrong = np.flatnonzero(~right)
    found = []
    for row in wrong[:most].tolist():
        gate = str(gate_of[row])
        must = product.empty_row[row] if gate == EMPTY else expected[row]
        found.append(_sentence(row, int(product.lengths[row]), got[row], must, gate, off[row], largest[row]))
    if wrong.size > most:
        found.append(f"{wrong.size - most:,} other rows of {csr.rows:,} are wrong")
    return found


def _same(got: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    return (got == wanted) | (np.isnan(got) & np.isnan(wanted))


def _sort(numbers: np.ndarray) -> np.ndarray:
    """Each number as one of four: finite, inf, -inf or NaN."""
    return np.select([np.isnan(numbers), np.isposinf(numbers), np.isneginf(numbers)], [3, 1, 2], 0)


def _sentence(row: int, length: int, got: Any, must: Any, gate: str, off: Any, largest: Any) -> str:
    digits = 9 if got.dtype == np.float32 else 17
    is_, be = f"{got:.{digits}g}", f"{float(must):.{digits}g}"
    entries = "no entries" if length == 0 else "1 entry" if length == 1 else f"{length:,} entries"
    said = f"row {row:,} ({entries}) is {is_} and must be {be}"
    if gate == BOUND:
        said += f" to within {float(largest):.3g}: it is off by {float(off):.3g}"
    elif gate in (EXACT, EMPTY):
        said += ", to the bit"
    if np.isnan(got) and np.isfinite(must):
        said += "; it was not written, or NaN was read: the old y, padding, or past the end of x"
    return f"{said} [{gate}]"


# --- trials ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Trial:
    """One product for somebody to compute: alpha A x + beta y, on the host.

    x: (columns,), y: (rows,) as it is before; all NaN for beta = 0.
    """

    csr: Csr
    x: np.ndarray
    y: np.ndarray
    alpha: float
    beta: float


def trials(csr: Csr, alpha: float = 1, beta: float = 0, seed: int = 0) -> Iterator[Trial]:
    """The trials of a matrix: whole numbers, its own values, and Inf and NaN. The last is left out for alpha = 0, where
    0 * inf is the product's own affair. Raises MatrixError where no whole numbers are exact."""
    yield integers(csr, alpha, beta, seed)
    yield as_stored(csr, alpha, beta, seed)
    if alpha != 0:
        yield not_finite(csr, alpha, beta, seed)


def integers(csr: Csr, alpha: float = 1, beta: float = 0, seed: int = 0) -> Trial:
    """The pattern of the matrix with the values 1, 2 and 3, or 1 and -1 where rows are so long that threes might not be
    exact; stored zeros stay. Every row without Inf is then judged by EXACT. Raises MatrixError where not even ones are
    exact."""
    csr, rng = csr.on(np), np.random.default_rng(seed)
    longest = int(csr.lengths.max(initial=0))
    scale, limit = _scale(alpha, beta), exact_limit(csr.dtype)
    for values in ([1, 2, 3], [-1, 1]):
        top = values[-1]
        if scale is not None and (abs(alpha) * longest * top * top + abs(beta) * top) * scale < limit:
            numbers = csr.dtype.type(values)
            data = np.where(csr.data == 0, csr.dtype.type(0), rng.choice(numbers, csr.nnz))
            x, y = rng.choice(numbers, csr.columns), rng.choice(numbers, csr.rows)
            return Trial(Csr(csr.shape, csr.indptr, csr.indices, data), x, _before(y, beta), alpha, beta)
    raise MatrixError(
        f"rows of up to {longest:,} entries with alpha = {alpha:g} and beta = {beta:g} have no sums that are exact in "
        f"{csr.dtype}, which is so below {limit:,}: take factors that are whole or small, or float64"
    )


def as_stored(csr: Csr, alpha: float = 1, beta: float = 0, seed: int = 0) -> Trial:
    """The matrix as it is, and vectors of both signs between -1 and 1."""
    csr, rng = csr.on(np), np.random.default_rng(seed)
    x, y = (rng.uniform(-1, 1, size).astype(csr.dtype) for size in (csr.columns, csr.rows))
    return Trial(csr, x, _before(y, beta), alpha, beta)


def not_finite(csr: Csr, alpha: float = 1, beta: float = 0, seed: int = 0) -> Trial:
    """The matrix as it is, and an x that is Inf in the first column, NaN in the last, and one or the other in all that
    no row uses: what reads them for a slot without an entry is found out. For beta other than 0, y has both as well."""
    trial = as_stored(csr, alpha, beta, seed)
    unused = np.ones(csr.columns, bool)
    unused[trial.csr.indices] = False
    for place, value in ((unused, np.inf), (np.flatnonzero(unused)[::2], np.nan), (slice(1), np.inf)):
        trial.x[place] = value
    trial.x[max(csr.columns - 1, 0) :] = np.nan
    if beta != 0:
        trial.y[csr.rows // 3 : csr.rows // 3 + 1] = -np.inf
        trial.y[csr.rows // 2 : csr.rows // 2 + 1] = np.nan
    return trial


def _before(y: np.ndarray, beta: float) -> np.ndarray:
    return np.full_like(y, np.nan) if beta == 0 else y


class Guarded:
    """A vector of a device between two bands of a value: `values` is the vector, `whole` all of it."""

    def __init__(self, values: np.ndarray, band: float, xp: ModuleType = np) -> None:
        self.band = values.dtype.type(band)
        edge = np.full(GUARD, self.band)
        self.whole = xp.asarray(np.concatenate((edge, values, edge)))
        self.values = self.whole[GUARD : GUARD + values.size]

    def faults(self, name: str) -> list[str]:
        """What is wrong around the vector: a sentence that names the nearest place before or after it."""
        whole = to_host(self.whole)
        size = whole.size - 2 * GUARD
        broken = np.flatnonzero(~_same(whole, np.full_like(whole, self.band))) - GUARD
        around = broken[(broken < 0) | (broken >= size)]
        if not around.size:
            return []
        at = int(around[np.argmin(np.where(around < 0, -around, around - size + 1))])
        where = f"{-at} before the first" if at < 0 else f"{at - size + 1} past the last"
        return [f"{name} has {size:,} places, and {where} is written {whole[at + GUARD]:g} [{GUARDS}]"]


def faults_in(trial: Trial, multiply: Multiply, xp: ModuleType = np) -> list[str]:
    """What is wrong with how `multiply` does one trial, on arrays of `xp`: its y by `faults`, what it wrote beside y,
    and what it changed of its inputs."""
    given = Csr(trial.csr.shape, *(xp.array(part) for part in _parts(trial.csr).values()))
    x, y = Guarded(trial.x, np.nan, xp), Guarded(trial.y, GUARD_VALUE, xp)
    multiply(given, x.values, y.values, trial.alpha, trial.beta)
    found = faults(trial.csr, trial.x, y.values, trial.alpha, trial.beta, trial.y) + y.faults("y")
    before = _parts(trial.csr) | {"x": trial.x}
    for name, after in (_parts(given) | {"x": x.values}).items():
        changed = np.flatnonzero(_bits(before[name]) != _bits(to_host(after)))
        if changed.size:
            found.append(
                f"{name} is an input, and place {int(changed[0]):,} of it was {before[name][changed[0]]} and is "
                f"{to_host(after)[changed[0]]} [{INPUTS}]"
            )
    return found


def faults_of(
    multiply: Multiply, csr: Csr, alpha: float = 1, beta: float = 0, xp: ModuleType = np, seed: int = 0
) -> list[str]:
    """What is wrong with how `multiply` does all trials of a matrix; empty where all is right."""
    return [fault for trial in trials(csr, alpha, beta, seed) for fault in faults_in(trial, multiply, xp)]


def _parts(csr: Csr) -> dict[str, Array]:
    return {"indptr": csr.indptr, "indices": csr.indices, "data": csr.data}


def _bits(numbers: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(numbers).view(np.dtype(f"u{numbers.dtype.itemsize}"))
