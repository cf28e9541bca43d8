"""Scalar types: what an operator on two NumPy dtypes does, as numba types and computes it on CUDA.

Everything here is a table: dtypes in, a `Rule` out. The dtypes are `TYPES`, numba's scalar types.

Numba types an operator in two steps, and so does this module. Every operator has a list of signatures (int64 + int64,
float32 + float32, ...). The arguments are rated against each of them, and the one that needs the fewest unsafe, then
the fewest safe, then the fewest promoting conversions is taken (the first on a tie). That is why int32 * int32 is
int64, float32 + int32 is float64, int64 + uint64 is int64 but int64 < uint64 compares as float64.

Integer overflow wraps, integer division by zero gives 0, and nothing here raises or warns under
`np.errstate(all="ignore")`. Values were compared with numba-cuda kernels on an H200; what is known to differ there:

* float // and %: the GPU computes x - y * trunc(x / y), which is inexact once the quotient needs more bits than the
  type has, and NaN for an infinite y. Here they are exact, as in Python.
* A shift by 2**32 or more: the GPU sees the low 32 bits of the count. Here, as on the GPU for any smaller count beyond
  the width, and for a negative one, all bits are shifted out.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, partial
from itertools import pairwise

import numpy as np

from gpukit.machine.arithmetic import casts
from gpukit.machine.frontends.python import arithmetic

BOOL = np.dtype(np.bool_)
INT8, INT16, INT32, INT64 = (np.dtype(f"i{n}") for n in (1, 2, 4, 8))
UINT8, UINT16, UINT32, UINT64 = (np.dtype(f"u{n}") for n in (1, 2, 4, 8))
FLOAT16, FLOAT32, FLOAT64 = (np.dtype(f"f{n}") for n in (2, 4, 8))
COMPLEX64, COMPLEX128 = np.dtype("c8"), np.dtype("c16")

SIGNED = (INT8, INT16, INT32, INT64)
UNSIGNED = (UINT8, UINT16, UINT32, UINT64)
FLOATS = (FLOAT16, FLOAT32, FLOAT64)
REALS = (FLOAT32, FLOAT64)  # numba's own operators start at float32; float16 has operators of its own
COMPLEX = (COMPLEX64, COMPLEX128)
TYPES = (BOOL, *SIGNED, *UNSIGNED, *FLOATS, *COMPLEX)


@dataclass(frozen=True, slots=True)
class Rule:
    """One operation on scalars.

    Each argument is first cast to the dtype in `operands` (with `cast`; no cast where they are equal); `code` then
    gives exactly `results`. An operand can be narrower than the result where NumPy's own promotion does the
    conversion. `code` is an expression template or a callable, as in `program.Alu`, for any mix of NumPy scalars and
    arrays of one shape; with several results it is a callable that returns a tuple. `check` is `program.Alu.check`.
    """

    operands: tuple[np.dtype, ...]
    results: tuple[np.dtype, ...]
    code: str | Callable
    check: str | None = None

    @property
    def result(self) -> np.dtype:
        """The dtype of the only result."""
        (only,) = self.results
        return only


# --- conversions between types and the choice among signatures -------------------------------------------------------

EXACT, PROMOTE, SAFE, UNSAFE = range(4)


def _conversion_ranks() -> dict[tuple[np.dtype, np.dtype], int]:
    """How good a conversion is, for every pair that has one: the worst step of the best path through numba's rules."""
    edges: dict[tuple[np.dtype, np.dtype], int] = {}

    def rule(rank: int, pairs: Iterable[tuple[np.dtype, np.dtype]], back: bool = True) -> None:
        for src, dst in pairs:
            edges[src, dst] = rank
            if back:
                edges.setdefault((dst, src), UNSAFE)

    for family in (SIGNED, UNSIGNED, FLOATS, COMPLEX):
        rule(PROMOTE, pairwise(family))
    rule(SAFE, [(BOOL, INT8), (BOOL, UINT8)])
    rule(SAFE, zip(UNSIGNED, SIGNED[1:], strict=False))
    rule(SAFE, zip(SIGNED, FLOATS, strict=False))
    rule(SAFE, [(INT64, FLOAT64), (UINT64, FLOAT64)])
    rule(UNSAFE, [(INT16, FLOAT16), (INT32, FLOAT32)])
    rule(SAFE, zip(REALS, COMPLEX, strict=True), back=False)  # a complex number never becomes a real one
    ranks = {(t, t): EXACT for t in TYPES} | edges
    for middle in TYPES:
        for src in TYPES:
            for dst in TYPES:
                if (src, middle) in ranks and (middle, dst) in ranks:
                    through = max(ranks[src, middle], ranks[middle, dst])
                    ranks[src, dst] = min(ranks.get((src, dst), through), through)
    return ranks


_RANKS = _conversion_ranks()


def can_cast(src: np.dtype, dst: np.dtype) -> bool:
    """Whether a value of `src` may be stored in or passed as a `dst` at all: everything but complex to real."""
    return (src, dst) in _RANKS or (dst == BOOL and src in TYPES)


def choose(rules: Iterable[Rule], args: tuple[np.dtype, ...], *, unsafe: bool = True) -> Rule | None:
    """The rule whose operands the arguments fit best, as numba resolves an overload; None when none fits.

    With `unsafe` false, conversions that can lose information are not considered.
    """
    best, best_cost = None, (len(args) + 1, 0, 0)
    for rule in rules:
        if len(rule.operands) != len(args):
            continue
        ranks = [_RANKS.get(pair) for pair in zip(args, rule.operands, strict=True)]
        if None in ranks or (UNSAFE in ranks and not unsafe):
            continue
        cost = (ranks.count(UNSAFE), ranks.count(SAFE), ranks.count(PROMOTE))
        if cost < best_cost:
            best, best_cost = rule, cost
    return best


@cache
def unify(a: np.dtype, b: np.dtype) -> np.dtype | None:
    """The type of a variable that is given values of both types; None when there is none."""
    if a not in TYPES or b not in TYPES:
        return None
    both = np.promote_types(a, b)
    return both if both in TYPES else None


def literal(value: bool | int | float | complex) -> np.dtype | None:
    """The type of a Python constant; None for an integer beyond 64 bits and for what is no number."""
    if isinstance(value, bool):
        return BOOL
    if isinstance(value, int):
        if -(1 << 63) <= value < 1 << 63:
            return INT64
        return UINT64 if 0 <= value < 1 << 64 else None
    if isinstance(value, float):
        return FLOAT64
    return COMPLEX128 if isinstance(value, complex) else None


_NAMES = {
    "bool": BOOL, "bool_": BOOL, "boolean": BOOL, "b1": BOOL,
    "char": INT8, "uchar": UINT8, "byte": UINT8, "ubyte": UINT8, "short": INT16, "ushort": UINT16,
    "intc": INT32, "uintc": UINT32, "int_": INT64, "uint": UINT64, "long_": INT64, "ulong": UINT64,
    "longlong": INT64, "ulonglong": UINT64, "intp": INT64, "uintp": UINT64, "ssize_t": INT64, "size_t": UINT64,
    "half": FLOAT16, "single": FLOAT32, "float_": FLOAT32, "double": FLOAT64,
    "csingle": COMPLEX64, "cdouble": COMPLEX128,
}  # fmt: skip


@cache
def from_name(text: str, *, numpy: bool = False) -> np.dtype | None:
    """The dtype that numba or NumPy calls `text` ("float32", "f4", "intp", "boolean"); None for any other word.

    The two differ on one name: `byte` is unsigned to numba and signed to NumPy, whose meaning `numpy` selects. Widths
    are those of the GPU's 64-bit ABI, whatever machine this runs on.
    """
    if numpy and text == "byte":
        return INT8
    if text in _NAMES:
        return _NAMES[text]
    try:
        dtype = np.dtype(text)
    except (TypeError, ValueError, SyntaxError):
        return None
    return dtype if dtype in TYPES and dtype.isnative else None


# --- casts -----------------------------------------------------------------------------------------------------------


@cache
def cast(src: np.dtype, dst: np.dtype) -> str | Callable | None:
    """How a value of `src` becomes one of `dst`: a template or callable of one operand; None when they are equal.

    Integers wrap, float64 to float32 rounds to nearest, anything to bool is `!= 0`. Float to integer truncates toward
    zero and saturates, as the cvt instruction does (see `casts.float_to_int`); float16 to integer
    rounds to nearest even first, because numba-cuda emits cvt.rni for it.
    """
    if src == dst:
        return None
    if not can_cast(src, dst):
        raise ValueError(f"no cast from {src} to {dst}")
    if dst == BOOL:
        return "({0} != 0)"
    if src.kind == "f" and dst.kind in "iu":
        return casts.float_to_int(src, dst)
    return operator.methodcaller("astype", dst)


def narrows(src: np.dtype, dst: np.dtype) -> bool:
    """Whether storing an integer of type `src` in a `dst` can change its value."""
    return src.kind in "iu" and dst.kind in "iu" and not np.can_cast(src, dst, "safe")


# --- operators -------------------------------------------------------------------------------------------------------

_MACHINE = (INT64, UINT64)
_FLOAT16_OPERATORS = frozenset(["+", "-", "*", "/", "==", "!=", "<", "<=", ">", ">="])
_COMPARISONS = frozenset(["==", "!=", "<", "<=", ">", ">="])


def _integer_result(a: np.dtype, b: np.dtype) -> np.dtype:
    return INT64 if INT64 in (a, b) else UINT64


def _sign(operands: tuple[np.dtype, ...], *results: np.dtype) -> Rule:
    """A signature: a rule of which only the types are used."""
    return Rule(operands, results, "")


_INTEGER = [_sign((a, b), _integer_result(a, b)) for a in _MACHINE for b in _MACHINE]
_REAL = [_sign((t, t), t) for t in REALS]
_COMPLEX = [_sign((t, t), t) for t in COMPLEX]
_ORDER = [_sign((t, t), BOOL) for t in (BOOL, *SIGNED, *UNSIGNED, *REALS)]
_EQUALITY = _ORDER + [_sign((t, t), BOOL) for t in COMPLEX]
_BITWISE = [_sign((BOOL, BOOL), BOOL), *_INTEGER]
_ARITHMETIC = _INTEGER + _REAL + _COMPLEX
_SHIFT = [_sign((t, amount), max_) for family, max_ in ((SIGNED, INT64), (UNSIGNED, UINT64))
          for t in family for amount in (UINT64, INT64)]  # fmt: skip
_POWER = _INTEGER + [_sign((t, n), t) for t in REALS for n in (INT32, INT64, UINT64)] + _REAL + _COMPLEX

_SIGNATURES: dict[str, list[Rule]] = {
    **dict.fromkeys(("+", "-", "*"), _ARITHMETIC),
    "/": [_sign((a, b), FLOAT64) for a in _MACHINE for b in _MACHINE] + _REAL + _COMPLEX,
    **dict.fromkeys(("//", "%"), _INTEGER + _REAL),
    "**": _POWER,
    **dict.fromkeys(("<<", ">>"), _SHIFT),
    **dict.fromkeys(("&", "|", "^"), _BITWISE),
    **dict.fromkeys(("<", "<=", ">", ">="), _ORDER),
    **dict.fromkeys(("==", "!="), _EQUALITY),
    "divmod": [_sign((t, t), t, t) for t in (*_MACHINE, *REALS)],
}
_SAFE_ONLY = frozenset(["<<", ">>", "&", "|", "^"])


def signature(op: str, a: np.dtype, b: np.dtype) -> Rule | None:
    """Which of numba's signatures an operator takes for two argument types (its `code` is empty), or None."""
    if op in _FLOAT16_OPERATORS and FLOAT16 in (a, b):
        other = b if a == FLOAT16 else a
        if _RANKS.get((other, FLOAT16), UNSAFE) <= SAFE:
            return _sign((FLOAT16, FLOAT16), BOOL if op in _COMPARISONS else FLOAT16)
    return choose(_SIGNATURES[op], (a, b), unsafe=op not in _SAFE_ONLY)


def _lightest(a: np.dtype, b: np.dtype, common: np.dtype) -> tuple[np.dtype, np.dtype]:
    """Operand types that NumPy itself promotes to `common`, with as few casts beforehand as possible."""
    for operands in ((a, b), (common, b), (a, common)):
        if np.result_type(*operands) == common:
            return operands
    return (common, common)


@cache
def binary(op: str, a: np.dtype, b: np.dtype) -> Rule | None:
    """The rule of `x op y` for the argument types; None when numba has no such operator for them.

    `op` is a Python operator as written, or "divmod" (two results). In-place operators have the same rules. For `**`
    with a constant exponent use `power`.
    """
    if op == "**":
        return power(a, b, None)
    found = signature(op, a, b)
    if found is None:
        return None
    result = found.results[0]
    if op in _COMPARISONS:
        # numba compares int64 with uint64 as float64; NumPy would compare the exact integers.
        common = found.operands[0]
        mixed = common == FLOAT64 and a.kind != "f" and b.kind != "f"
        return Rule((common, common) if mixed else _lightest(a, b, common), (BOOL,), f"({{0}} {op} {{1}})")
    if op == "/":
        whole = found.operands[0].kind in "iu"  # then NumPy's own division gives float64 too
        return Rule((a, b) if whole else _lightest(a, b, result), (result,), "({0} / {1})", "float")
    if op == "divmod":
        if result.kind == "f":
            return Rule(_lightest(a, b, result), (result, result), np.divmod, "float")
        return Rule(_lightest(a, b, result), (result, result), arithmetic.int_divmod, "int_div")
    operands = _lightest(a, b, result)
    if op in ("//", "%") and result.kind in "iu":
        return Rule(operands, (result,), arithmetic.floor_divide if op == "//" else arithmetic.modulo, "int_div")
    return Rule(operands, (result,), f"({{0}} {op} {{1}})", "float" if result.kind in "fc" else None)


@cache
def power(a: np.dtype, b: np.dtype, exponent: int | float | None) -> Rule | None:
    """The rule of `x ** y`; `exponent` is the value of y where the source has a constant there, else None.

    An integer exponent multiplies (squares and multiplies, in the result's type, so float32 ** 2 is float32), a float
    exponent calls pow. Integer ** negative integer is 0 except for bases 1 and -1, and the smallest integer for base 0.
    """
    found = choose(_POWER, (a, b))
    if found is None:
        return None
    result, to = found.result, found.operands[1]
    check = "float" if result.kind in "fc" else None
    if to.kind not in "iu":
        code = arithmetic.complex_power if result.kind == "c" else np.power
        return Rule((result, result), (result,), code, check)
    if type(exponent) is int and abs(exponent) <= arithmetic.POWER_LOOP_LIMIT:
        templates = {1: "(+{0})", 2: "({0} * {0})", 3: "({0} * ({0} * {0}))"}
        constant = templates.get(exponent) or partial(arithmetic.constant_power, exponent=exponent)
        return Rule((result, to), (result,), constant, check)
    return Rule((result, to), (result,), arithmetic.integer_power, check)


@cache
def unary(op: str, a: np.dtype) -> Rule | None:
    """The rule of `-x`, `+x`, `~x` or `not x` for the argument type; None when numba has none.

    Integers widen to 64 bits after the operation, so `~np.uint8(0)` is 255 and `-np.int8(-128)` is -128, as in numba.
    """
    if a not in TYPES:
        return None
    if op == "not":
        return Rule((a,), (BOOL,), "(~{0})" if a == BOOL else "({0} == 0)")
    if op == "~" and a.kind not in "biu":
        return None
    if op not in ("-", "+", "~"):
        return None
    if a == BOOL:
        return Rule((BOOL,), (BOOL,), "(~{0})") if op == "~" else Rule((INT64,), (INT64,), f"({op}{{0}})")
    if a.kind in "fc" or a in _MACHINE:
        return Rule((a,), (a,), f"({op}{{0}})")
    wide = INT64 if a.kind == "i" else UINT64
    if op == "+":
        return Rule((wide,), (wide,), "(+{0})")
    return Rule((a,), (wide,), arithmetic.widened(np.negative if op == "-" else np.invert, wide))


def truth(a: np.dtype) -> Rule:
    """The rule that turns a value into a condition: not zero. NaN is true, as in Python."""
    return Rule((a,), (BOOL,), "{0}" if a == BOOL else "({0} != 0)")
