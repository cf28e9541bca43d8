"""Scalar typing against numba's own typing context; values against exact integers and compiled code."""

from __future__ import annotations

import math
import operator
import random

import numpy as np
import pytest

from gpukit.machine.frontends.python import types
from gpukit.machine.frontends.python.types import Rule

OPERATORS = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv,
    "%": operator.mod, "**": operator.pow, "<<": operator.lshift, ">>": operator.rshift, "&": operator.and_,
    "|": operator.or_, "^": operator.xor, "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le,
    ">": operator.gt, ">=": operator.ge, "divmod": divmod,
}  # fmt: skip
UNARY = {"-": operator.neg, "+": operator.pos, "~": operator.invert, "not": operator.not_}
INTEGERS = types.SIGNED + types.UNSIGNED


@pytest.fixture(scope="module")
def numba_cuda():
    """(typing context, numba type of a dtype, dtype of a numba type) of numba-cuda; it types without a GPU."""
    pytest.importorskip("numba.cuda", reason="compares with numba-cuda's typing")
    from numba.cuda import types as numba_types
    from numba.cuda.descriptor import cuda_target

    context = cuda_target.typing_context
    context.refresh()

    def of_dtype(dtype: np.dtype):
        return numba_types.boolean if dtype == types.BOOL else getattr(numba_types, dtype.name)

    return context, of_dtype, {of_dtype(t): t for t in types.TYPES}


def resolve(context, function, args):
    """numba's (argument types, return type) of a call, or None where it refuses."""
    from numba.core.errors import TypingError

    try:
        found = context.resolve_function_type(function, args, {})
    except TypingError:
        return None
    return None if found is None else (found.args, found.return_type)


@pytest.mark.parametrize("op", OPERATORS)
def test_every_pair_of_types_is_typed_as_numba_types_it(op, numba_cuda):
    context, of_dtype, to_dtype = numba_cuda
    for a in types.TYPES:
        for b in types.TYPES:
            expected = resolve(context, OPERATORS[op], (of_dtype(a), of_dtype(b)))
            chosen, rule = types.signature(op, a, b), types.binary(op, a, b)
            if expected is None:
                assert chosen is None and rule is None, (op, a, b)
                continue
            args, result = expected
            result = getattr(result, "dtype", result)  # divmod gives a pair of one type
            assert chosen.operands == tuple(to_dtype[t] for t in args), (op, a, b)
            assert set(rule.results) == set(chosen.results) == {to_dtype[result]}, (op, a, b)


@pytest.mark.parametrize("op", UNARY)
def test_every_unary_operator_is_typed_as_numba_types_it(op, numba_cuda):
    context, of_dtype, to_dtype = numba_cuda
    for a in types.TYPES:
        expected = resolve(context, UNARY[op], (of_dtype(a),))
        rule = types.unary(op, a)
        assert (rule and rule.result) == (expected and to_dtype[expected[1]]), (op, a)


def test_types_of_one_variable_unify_as_in_numba(numba_cuda):
    context, of_dtype, to_dtype = numba_cuda
    for a in types.TYPES:
        for b in types.TYPES:
            expected = context.unify_types(of_dtype(a), of_dtype(b))
            assert types.unify(a, b) == (expected and to_dtype[expected]), (a, b)


def test_conversions_are_allowed_where_numba_allows_them(numba_cuda):
    context, of_dtype, _ = numba_cuda
    for a in types.TYPES:
        for b in types.TYPES:
            allowed = context.can_convert(of_dtype(a), of_dtype(b)) is not None or b == types.BOOL
            assert types.can_cast(a, b) == allowed, (a, b)


# --- values ----------------------------------------------------------------------------------------------------------


def evaluate(code, *args):
    with np.errstate(all="ignore"):
        if isinstance(code, str):
            names = [f"x{i}" for i in range(len(args))]
            return eval(code.format(*names), dict(zip(names, args, strict=True)))
        return code(*args)


def cast(value, dtype: np.dtype):
    how = types.cast(value.dtype, dtype)
    return value if how is None else evaluate(how, value)


def apply(rule: Rule, *args):
    return evaluate(rule.code, *(cast(a, dtype) for a, dtype in zip(args, rule.operands, strict=True)))


def samples(dtype: np.dtype, count: int = 40, seed: int = 1) -> np.ndarray:
    """Random values of a type, its extremes among them."""
    draw = random.Random(f"{dtype} {seed}")
    if dtype.kind == "b":
        return np.array([draw.random() < 0.5 for _ in range(count)])
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        edges = [0, 1, 2, 3, 8, info.max, info.max - 1, info.min, info.min + 1] + [-1, -2, -7] * (dtype.kind == "i")
        spread = [draw.randint(info.min, info.max) >> draw.randrange(8 * dtype.itemsize) for _ in range(count)]
        return np.array((edges + spread)[:count], dtype)
    edges = [0.0, -0.0, 1.0, -1.0, 0.5, math.inf, -math.inf, math.nan, 3.0, -2.5]
    with np.errstate(over="ignore"):
        reals = np.array((edges + [draw.gauss(0, 10) for _ in range(count)])[:count]).astype(
            np.empty(0, dtype).real.dtype
        )
    if dtype.kind == "f":
        return reals
    values = np.empty(count, dtype)
    values.real, values.imag = reals, np.roll(reals, 3)
    return values


def wrapped(value: int, dtype: np.dtype) -> int:
    bits = 8 * dtype.itemsize
    value &= (1 << bits) - 1
    return value - (1 << bits) if dtype.kind == "i" and value >> (bits - 1) else value


def exact_integer(op: str, x: int, y: int, dtype: np.dtype) -> int:
    """The operator on two values already of the result type, wrapped to it; a division that cannot be done is 0."""
    if op in ("//", "%"):
        if y == 0 or (y == -1 and x == np.iinfo(dtype).min):
            return 0
        return wrapped(OPERATORS[op](x, y), dtype)
    if op in ("<<", ">>"):
        bits = 8 * dtype.itemsize
        count = y if 0 <= y < bits else bits  # PTX clamps the shift count, read as unsigned, to the width
        return wrapped(OPERATORS[op](x, count), dtype)
    return wrapped(OPERATORS[op](x, y), dtype)


@pytest.mark.parametrize("op", ["+", "-", "*", "//", "%", "<<", ">>", "&", "|", "^"])
@pytest.mark.filterwarnings("error")
def test_integer_operators_are_exact_integers_wrapped(op):
    for a in (types.BOOL, *INTEGERS):
        for b in (types.BOOL, *INTEGERS):
            rule = types.binary(op, a, b)
            if rule.result == types.BOOL:
                continue
            x, y = np.repeat(samples(a), 40), np.tile(samples(b, seed=2), 40)
            found = apply(rule, x, y)
            assert found.dtype == rule.result
            expected = [
                exact_integer(op, wrapped(int(p), rule.result), wrapped(int(q), rule.result), rule.result)
                for p, q in zip(x, y, strict=True)
            ]
            assert found.tolist() == expected, (op, a, b)
            lane = np.resize(samples(a, 20), 2000)
            for q in samples(b, 14, seed=2):  # one divisor for all lanes takes other paths, a long vector yet others
                want = [
                    exact_integer(op, wrapped(int(p), rule.result), wrapped(int(q), rule.result), rule.result)
                    for p in lane[:20]
                ]
                assert apply(rule, lane, q)[:20].tolist() == want, (op, a, b, q)
                one = apply(rule, lane[6], q)
                assert isinstance(one, np.generic) and one.dtype == rule.result and int(one) == want[6]


@pytest.mark.parametrize("op", ["==", "!=", "<", "<=", ">", ">="])
def test_comparisons_of_integers(op):
    """Exact, except that signed and unsigned 64-bit integers meet as float64, as they do in numba."""
    for a in (types.BOOL, *INTEGERS):
        for b in (types.BOOL, *INTEGERS):
            rule = types.binary(op, a, b)
            x, y = np.repeat(samples(a), 40), np.tile(samples(b, seed=2), 40)
            kind = float if types.signature(op, a, b).operands[0] == types.FLOAT64 else int
            expected = [OPERATORS[op](kind(int(p)), kind(int(q))) for p, q in zip(x, y, strict=True)]
            assert apply(rule, x, y).tolist() == expected, (op, a, b)


def test_bool_operators_stay_bool():
    x, y = np.array([False, False, True, True]), np.array([False, True, False, True])
    for op in ("&", "|", "^"):
        found = apply(types.binary(op, types.BOOL, types.BOOL), x, y)
        assert found.dtype == bool and found.tolist() == [
            OPERATORS[op](bool(p), bool(q)) for p, q in zip(x, y, strict=True)
        ]
    assert apply(types.unary("~", types.BOOL), x).tolist() == [True, True, False, False]
    assert apply(types.unary("not", types.BOOL), np.bool_(True)).dtype == bool
    assert apply(types.binary("+", types.BOOL, types.BOOL), y, y).tolist() == [0, 2, 0, 2]


@pytest.mark.parametrize("op", ["-", "~", "+"])
def test_unary_operators_work_in_the_argument_type_and_then_widen(op):
    for a in INTEGERS:
        rule, x = types.unary(op, a), samples(a)
        expected = [wrapped(wrapped(UNARY[op](int(v)), a), rule.result) for v in x]
        assert apply(rule, x).tolist() == expected, (op, a)


@pytest.mark.parametrize("op", ["+", "-", "*", "/", "//", "%", "<", "==", "**", "divmod"])
def test_mixed_operators_agree_with_compiled_code(op):
    """Values of the same expression compiled by numba for the CPU, where its types are those of CUDA (no float16)."""
    numba = pytest.importorskip("numba")
    source = {"divmod": "lambda x, y: divmod(x, y)"}.get(op, f"lambda x, y: x {op} y")
    compiled = numba.njit(error_model="numpy")(eval(source))
    pairs = [(types.FLOAT32, types.INT32), (types.FLOAT32, types.FLOAT32), (types.FLOAT64, types.FLOAT64),
             (types.INT32, types.INT64), (types.INT64, types.FLOAT32)]  # fmt: skip
    for a, b in pairs:
        rule, x, y = types.binary(op, a, b), samples(a, 20), samples(b, 20, seed=2)
        if op == "**" and b.kind in "iu":
            y = y % b.type(7) if a.kind in "iu" else np.clip(y, -9, 9)
            x = x[x != 0]  # compiled for the CPU, 0 ** -1 raises
        for p in x:
            found = apply(rule, np.full(20, p), y)
            expected = [compiled(p, q) for q in y]
            if op == "divmod":
                found, expected = np.column_stack(found), np.array(expected)
            tolerance = 4 * np.finfo(rule.results[0]).eps if op == "**" and rule.results[0].kind == "f" else 0
            np.testing.assert_allclose(found, expected, rtol=tolerance, err_msg=f"{a} {op} {b}, x = {p}")
            zeros = np.asarray(found) == 0
            if op != "divmod" and rule.result.kind == "f":
                assert (np.signbit(found) == np.signbit(np.array(expected)))[zeros].all(), (op, a, b, p)


def test_power_with_integer_exponents():
    cases = [(3, 4, 81), (2, 63, -(1 << 63)), (2, 64, 0), (-1, 3, -1), (7, 0, 1), (0, 0, 1),
             (5, -1, 0), (1, -5, 1), (-1, -3, -1), (-1, -4, 1), (0, -1, -(1 << 63))]  # fmt: skip
    for base, exponent, expected in cases:
        dynamic = apply(types.power(types.INT64, types.INT64, None), np.int64(base), np.int64(exponent))
        constant = apply(types.power(types.INT64, types.INT64, exponent), np.int64(base), np.int64(exponent))
        assert int(dynamic) == int(constant) == expected, (base, exponent)
        lanes = apply(types.power(types.INT64, types.INT64, None), np.full(3, base), np.array([1, exponent, 2]))
        assert lanes.tolist() == [base, expected, base * base]


def test_power_of_a_float_by_a_constant_multiplies_in_its_own_type():
    x = np.array([1.1, -3.7, 1e20, 0.0, math.inf], np.float32)
    square, cube = (apply(types.power(types.FLOAT32, types.INT64, n), x, np.int64(n)) for n in (2, 3))
    assert square.dtype == cube.dtype == np.float32
    with np.errstate(all="ignore"):
        assert square.tolist() == (x * x).tolist() and cube.tolist() == (x * (x * x)).tolist()
        inverse = apply(types.power(types.FLOAT32, types.INT64, -2), x, np.int64(-2))
        assert inverse.dtype == np.float32 and inverse.tolist() == (np.float32(1) / (x * x)).tolist()
    half = apply(types.power(types.FLOAT64, types.FLOAT64, 0.5), np.array([2.0]), np.float64(0.5))
    assert half[0] == math.sqrt(2)


def test_large_exponents_go_through_pow():
    rule = types.power(types.INT64, types.INT64, None)
    base, exponent = np.array([1, -1, -1, 0, 2, -1]), np.array([1 << 40, 70001, 70002, 70000, -70000, -70001])
    assert apply(rule, base, exponent).tolist() == [1, -1, 1, 0, 0, -1]
    assert (
        apply(types.power(types.FLOAT64, types.INT64, None), np.float64(1.00001), np.int64(100_000)) == 1.00001**100_000
    )


# --- casts -----------------------------------------------------------------------------------------------------------


def exact_float_to_int(value: float, dst: np.dtype, half: bool) -> int:
    """What an H200 gives for a number (not NaN): clamped; from float16 rounded, from others 8 bits by way of 16."""
    work = np.iinfo(dst if half else np.dtype(f"{dst.kind}{max(dst.itemsize, 2)}"))
    if math.isinf(value):
        whole = work.max if value > 0 else work.min
    else:
        whole = min(max(round(value) if half else int(value), work.min), work.max)
    return wrapped(whole, dst)


@pytest.mark.parametrize("src", types.FLOATS, ids=str)
@pytest.mark.parametrize("dst", INTEGERS, ids=str)
@pytest.mark.filterwarnings("error")
def test_float_to_integer_truncates_and_saturates(src, dst):
    info = np.iinfo(dst)
    near = [float(edge) + delta for edge in (info.min, info.max) for delta in (-300.5, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0)]
    with np.errstate(over="ignore"):
        values = np.array([*near, 0.0, -0.0, 0.5, -0.5, 1.5, 2.5, -1.9, 1e30, -1e30, math.inf, -math.inf]).astype(src)
    expected = [exact_float_to_int(float(v), dst, half=src == types.FLOAT16) for v in values]
    found = cast(values, dst)
    assert found.dtype == dst and found.tolist() == expected
    assert [int(cast(v, dst)) for v in values] == expected
    assert cast(values[-1], dst).dtype == dst
    undefined = cast(np.array([math.nan], src), dst)[0]
    top_bit = wrapped(1 << (8 * dst.itemsize - 1), dst)
    if dst.itemsize == 1:
        top_bit = 0  # it was the highest of 16
    assert int(undefined) == (top_bit if dst.itemsize == 8 or src == types.FLOAT64 else 0)


def test_integer_casts_wrap_and_bool_is_not_zero():
    for src in INTEGERS:
        values = samples(src)
        for dst in INTEGERS:
            assert cast(values, dst).tolist() == [wrapped(int(v), dst) for v in values], (src, dst)
            assert types.narrows(src, dst) == any(
                wrapped(edge, dst) != edge for edge in (np.iinfo(src).min, np.iinfo(src).max)
            ), (src, dst)
        assert cast(values, types.BOOL).tolist() == [bool(v) for v in values]
        assert not types.narrows(src, types.BOOL) and not types.narrows(src, types.FLOAT32)
    assert cast(np.array([0.0, -0.0, 0.1, math.nan]), types.BOOL).tolist() == [False, False, True, True]
    assert cast(np.array([0j, 1j]), types.BOOL).tolist() == [False, True]


def test_casts_between_float_widths_round_to_nearest():
    assert cast(np.float64(16777217.0), types.FLOAT32) == 16777216.0
    assert cast(np.float64(1 + 2**-11 + 2**-40), types.FLOAT16) == np.float16(1 + 2**-10)  # one rounding, not two
    assert cast(np.uint64((1 << 64) - 1), types.FLOAT32) == 2.0**64
    assert cast(np.int64(-(1 << 63)), types.FLOAT64) == -(2.0**63)


def test_every_cast_gives_its_type():
    for src in types.TYPES:
        for dst in types.TYPES:
            if not types.can_cast(src, dst):
                assert src.kind == "c" and dst.kind in "iuf"
                with pytest.raises(ValueError, match="no cast"):
                    types.cast(src, dst)
                continue
            array = cast(samples(src), dst)
            one = cast(samples(src)[9], dst)
            assert array.dtype == one.dtype == dst and array.shape == (40,) and isinstance(one, np.generic), (src, dst)
    assert types.cast(types.INT32, types.INT32) is None


def test_truth_is_not_zero():
    assert evaluate(types.truth(types.FLOAT32).code, np.float32(math.nan))
    assert evaluate(types.truth(types.INT8).code, np.array([0, 1, -1], np.int8)).tolist() == [False, True, True]
    assert evaluate(types.truth(types.BOOL).code, np.bool_(False)) == np.bool_(False)


# --- names and constants ---------------------------------------------------------------------------------------------


def test_literals_have_the_types_numba_gives_them():
    assert types.literal(True) == types.BOOL
    assert types.literal(-(1 << 63)) == types.literal(5) == types.INT64
    assert types.literal(1 << 63) == types.literal((1 << 64) - 1) == types.UINT64
    assert types.literal(1 << 64) is None and types.literal(-(1 << 63) - 1) is None
    assert types.literal(1.0) == types.FLOAT64 and types.literal(1j) == types.COMPLEX128
    assert types.literal("1") is None


def test_names_mean_what_numba_means_by_them(numba_cuda):
    from numba.cuda import types as numba_types

    _, _, to_dtype = numba_cuda
    checked = 0
    for name in dir(numba_types):
        value = getattr(numba_types, name)
        try:
            dtype = to_dtype.get(value)
        except TypeError:  # unhashable: not a type
            continue
        if dtype is not None and not name.startswith(("np_", "c_", "py_", "_")):
            assert types.from_name(name) == dtype, name
            checked += 1
    assert checked > 40


def test_names_of_numpy():
    for name in ("float32", "f4", "<f4", "i8", "complex64", "half", "single", "double", "intc", "ubyte", "d"):
        expected = np.dtype(name)
        assert types.from_name(name) == expected, name
    assert types.from_name("byte", numpy=True) == np.dtype(np.byte) != types.from_name("byte")
    assert types.from_name("size_t") == types.UINT64 and types.from_name("longlong") == types.INT64
    for name in ("float128", "U8", "M8[s]", "i4,i4", ">f4", "object", "nonsense", ""):
        assert types.from_name(name) is None, name
