"""The Python front end: what kernels compile to, run on the machine, and how it refuses what a GPU cannot do."""

from __future__ import annotations

import cmath
import enum
import linecache
import math
import operator
import random
import sys
import textwrap
import time
import types as python_types
from collections import namedtuple

import numpy as np
import pytest

from gpukit import cuda
from gpukit.errors import (
    GpukitError,
    KernelAssertion,
    KernelSyntaxError,
    KernelTypeError,
    LaunchError,
    UnsupportedFeature,
)
from gpukit.machine import executor
from gpukit.machine.frontends.python import bind, from_function, load
from gpukit.machine.memory import GlobalMemory
from gpukit.machine.program import Alu, Atomic, Branch, Call, Load, Store

N = 64
HALF = N // 2
FACTORS = (2, 3, 5)
TABLE = np.array([10, 20, 30, 40], np.int32)
POINT = namedtuple("POINT", "x y")
PAIR = np.dtype([("a", np.int32), ("b", np.float64)], align=True)
NESTED = np.dtype([("id", np.int32), ("at", np.float32, (2, 3))])


class Mode(enum.IntEnum):
    ADD = 0
    SUB = 1


class Colour(enum.Enum):
    RED = 1
    GREEN = 2


def shape3(value):
    value = (value,) if isinstance(value, int) else tuple(value)
    return value + (1,) * (3 - len(value))


def launch(kernel, grid, block, *args, shared_bytes=0):
    return bind(kernel, shape3(grid), shape3(block), args, shared_bytes, GlobalMemory())


def run(kernel, grid, block, *args, shared_bytes=0):
    """Run without hazard checks; arrays among the arguments are updated in place."""
    return executor.run(launch(kernel, grid, block, *args, shared_bytes=shared_bytes), hazards=False)


def results(kernel, *args, n=N, dtype=np.int64, block=N):
    """What the threads of one block store in `out`, the kernel's last parameter."""
    out = np.zeros(n, dtype)
    run(kernel, 1, block, *args, out)
    return out


def operations(kernel, *args):
    program = launch(kernel, 1, 32, *args).program
    return program, [op for block in program.blocks for op in block.ops]


# --- types -----------------------------------------------------------------------------------------------------------


def stored_dtype(kernel, *args):
    """The dtype a kernel computes for its last store, before it is converted to the array's."""
    program, ops = operations(kernel, *args)
    sources = {op.dst: op for op in ops if isinstance(op, Alu)}
    store = [op for op in ops if isinstance(op, Store)][-1]
    register = store.src[0]
    while register in sources and sources[register].count == 0:
        register = sources[register].src[0]
    return program.registers[register].dtype


def test_arithmetic_types_are_numbas():
    def product(a, b, out):
        out[0] = a[0] * b[0]

    def quotient(a, b, out):
        out[0] = a[0] / b[0]

    i32, i64, f32 = (np.ones(1, dtype) for dtype in (np.int32, np.int64, np.float32))
    out = np.zeros(1, np.complex128)
    assert stored_dtype(product, i32, i32, out) == np.int64
    assert stored_dtype(product, f32, f32, out) == np.float32
    assert stored_dtype(product, f32, i32, out) == np.float64
    assert stored_dtype(product, f32, i64, out) == np.float64
    assert stored_dtype(quotient, i32, i32, out) == np.float64


def test_a_variable_has_one_type():
    def kernel(x, out):
        s = 0
        for i in range(x.size):
            s += x[i]
        out[0] = s

    x = np.full(3, 0.1, np.float32)
    out = np.zeros(1)
    run(kernel, 1, 1, x, out)
    assert out[0] == np.float64(x[0]) + np.float64(x[1]) + np.float64(x[2])  # s is float64, as int64 meets float32


def test_a_redefinition_keeps_its_own_type():
    def kernel(x, out):
        v = x[0]
        v = v * 2.5
        out[0] = v
        v = 7
        out[1] = v // 2

    out = np.zeros(2)
    run(kernel, 1, 1, np.array([3], np.int32), out)
    assert out.tolist() == [7.5, 3.0]


def test_narrow_stores_are_checked_and_explicit_conversions_are_not():
    def implicit(x, out):
        out[0] = x[0] + 1

    def explicit(x, out):
        out[0] = np.int32(x[0] + 1)

    x, out = np.zeros(1, np.int64), np.zeros(1, np.int32)
    assert [op.check for op in operations(implicit, x, out)[1] if isinstance(op, Alu)].count("narrow") == 1
    assert all(op.check != "narrow" for op in operations(explicit, x, out)[1] if isinstance(op, Alu))


def test_a_constant_that_does_not_fit_is_left_to_the_machine():
    def kernel(out):
        out[0] = 300

    out = np.zeros(1, np.int8)
    assert any(op.check == "narrow" for op in operations(kernel, out)[1] if isinstance(op, Alu))
    run(kernel, 1, 1, out)
    assert out[0] == 300 - 256


@pytest.mark.parametrize("form", ["augmented", "written out", "element"])
def test_float_accumulation_is_marked(form):
    def augmented(x, out):
        s = np.float32(0)
        for v in x:
            s += v
        out[0] = s

    def written_out(x, out):
        s = np.float32(0)
        for v in x:
            s = v + s
        out[0] = s

    def element(x, out):
        for v in x:
            out[0] -= v

    kernel = {"augmented": augmented, "written out": written_out, "element": element}[form]
    _, ops = operations(kernel, np.ones(2, np.float32), np.zeros(1, np.float32))
    assert sum(op.check == "accumulate" for op in ops if isinstance(op, Alu)) == 1


def test_division_by_a_constant_needs_no_check():
    def kernel(x, out):
        out[0] = x[0] // 2 + x[0] // x[1]

    _, ops = operations(kernel, np.ones(2, np.int64), np.zeros(1, np.int64))
    assert sum(op.check == "int_div" for op in ops if isinstance(op, Alu)) == 1


# --- control flow ----------------------------------------------------------------------------------------------------


def test_and_or_evaluate_lazily():
    def kernel(x, out):
        i = cuda.threadIdx.x
        if i < x.size and x[i] > 3:
            out[i] = 1
        if i >= x.size or x[i] < 2:
            out[i] += 2
        out[i] += 4 if i < x.size and x[i] == 5 else 0

    x = np.arange(8)
    out = np.zeros(N, np.int64)
    result = executor.run(launch(kernel, 1, N, x, out), hazards=True)
    assert not result.hazards
    assert out[:8].tolist() == [2, 2, 0, 0, 1, 5, 1, 1]
    assert (out[8:] == 2).all()


def test_and_or_give_values():
    def kernel(x, out):
        i = cuda.threadIdx.x
        out[i] = (x[i] and 7) + (x[i] or 9)

    x = np.arange(4)
    assert results(kernel, x, n=4, block=4).tolist() == [9, 8, 9, 10]


def test_chained_comparison():
    def kernel(out):
        i = cuda.threadIdx.x
        if 3 <= i < 7 != 9:
            out[i] = 1
        out[i] += 10 * (1 < i < 3)

    expected = [int(3 <= i < 7) + 10 * (1 < i < 3) for i in range(N)]
    assert results(kernel).tolist() == expected


def test_loops_with_break_continue_else_and_return():
    def kernel(out):
        i = cuda.threadIdx.x
        for k in range(10):
            if k == i:
                continue
            if k > i + 2:
                break
            out[i] += k
        else:
            out[i] += 1000
        n = i
        while n > 0:
            n -= 3
            if n == 1:
                return
        else:
            out[i] += 5000

    def reference(i):
        total = 0
        for k in range(10):
            if k == i:
                continue
            if k > i + 2:
                break
            total += k
        else:
            total += 1000
        n = i
        while n > 0:
            n -= 3
            if n == 1:
                return total
        else:
            total += 5000
        return total

    assert results(kernel).tolist() == [reference(i) for i in range(N)]


def test_ranges():
    def kernel(out, n):
        for k in range(10, 0, -3):
            out[0] += k
        for k in range(n, -n, -1):
            out[1] += k
        step = out[9]
        for k in range(0, n, step):
            out[2] += k
        r = range(2, n)
        for k in r:
            out[3] += k
        out[4] = len(r)
        for k in range(5):
            k = k * 2
            out[5] += k
        last = -1
        for last in range(4):
            out[7] += last
        out[6] = last

    out = np.zeros(10, np.int64)
    out[9] = 3
    run(kernel, 1, 1, out, 5)
    assert out.tolist() == [22, 5, 3, 9, 3, 20, 3, 6, 0, 3]


def test_the_type_of_a_range():
    def kernel(x, out):
        for k in range(x[0], x[1]):
            out[0] = k

    for dtype, wanted in ((np.int32, np.int32), (np.int64, np.int64), (np.uint32, np.uint64)):
        program, _ = operations(kernel, np.array([0, 3], dtype), np.zeros(1, np.int64))
        assert next(r for r in program.registers if r.name == "k").dtype == wanted


def test_every_loop_has_one_latch():
    def kernel(x, out):
        for k in range(8):
            if x[k] == 1:
                continue
            if x[k] == 2:
                continue
            out[k] = 1

    program, _ = operations(kernel, np.zeros(8, np.int64), np.zeros(8, np.int64))
    header = next(
        number
        for number, block in enumerate(program.blocks)
        if isinstance(block.end, Branch) and program.lines[block.end.line].text.strip().startswith("for")
    )
    entries = [n for n, b in enumerate(program.blocks) if getattr(b.end, "target", None) == header]
    assert len(entries) == 2  # from before the loop, and from the latch


def test_loops_over_arrays_tuples_enumerate_and_zip():
    def kernel(x, out):
        for v in x:
            out[0] += v
        for k, v in enumerate(x):
            out[1] += k * v
        for k, _ in enumerate(x, 10):
            out[2] += k
        for a, b in zip(x, x[1:]):  # noqa: B905, RUF007
            out[3] += a * b
        for factor in FACTORS:
            out[4] += factor
        for k, factor in enumerate(FACTORS):
            if k == 1:
                continue
            out[5] += k * factor
        else:
            out[5] += 100
        for kind in (1, 2.5):
            out[6] += kind * 2
        for row in x.reshape((2, 2)):
            out[7] += row[0]

    out = np.zeros(8, np.int64)
    run(kernel, 1, 1, np.array([1, 2, 3, 4]), out)
    assert out.tolist() == [10, 20, 46, 20, 10, 110, 7, 4]


def test_list_displays_that_are_only_looped_over_or_searched_are_tuples():
    def kernel(out):
        i = cuda.threadIdx.x
        for step in [1, 10, i]:
            out[i] += step
        if i in [0, 2] and i not in [2]:
            out[i] += 100
        if 0 < i in [1, 3]:
            out[i] += 1000

    assert results(kernel, n=4, block=4).tolist() == [111, 1012, 13, 1014]


def test_a_tuple_of_tuples_may_be_indexed_by_a_value():
    neighbours = ((1, 0.5), (0, 0.25), (2, 2.0))

    def kernel(out):
        i = cuda.threadIdx.x
        place, weight = neighbours[i]
        out[i] = 10 * place + weight + neighbours[i - 1][0]

    assert results(kernel, n=3, block=3, dtype=np.float64).tolist() == [12.5, 1.25, 22.0]


def test_a_tuple_of_tuples_of_unlike_length_is_not_indexed_by_a_value():
    rows = ((1, 2), (3,))

    def kernel(out):
        out[0] = rows[cuda.threadIdx.x][0]

    with pytest.raises(GpukitError, match="differ in length"):
        results(kernel, n=1, block=1)


def test_a_launch_inside_a_kernel_is_refused_as_such():
    @cuda.jit
    def child(out):
        out[0] = 1

    def kernel(out):
        child[1, 32](out)

    with pytest.raises(GpukitError, match="a kernel cannot launch another: launch function `child` from the host"):
        results(kernel, n=1, block=1)


def test_values_carried_round_a_loop_do_not_clobber_each_other():
    def kernel(out):
        a, b = 0, 1
        for _ in range(10):
            a, b = b, a + b
        out[0], out[1] = a, b
        x, y = 1, 2
        for _ in range(3):
            x, y = y, x
        out[2], out[3] = x, y
        p = 0
        for i in range(5):
            q = p
            p = i
        out[4] = q

    assert results(kernel, n=5, block=1).tolist() == [55, 89, 2, 1, 3]


def test_arrays_can_be_swapped():
    def kernel(a, b, out):
        i = cuda.threadIdx.x
        source, target = a, b
        for _ in range(3):
            target[i] = source[i] + 1
            cuda.syncthreads()
            source, target = target, source
        out[i] = source[i]

    out = results(kernel, np.zeros(8, np.int64), np.zeros(8, np.int64), n=8, block=8)
    assert (out == 3).all()
    program, ops = operations(kernel, *(np.zeros(8, np.int64) for _ in range(3)))
    assert any(isinstance(op, Load) and op.root is None for op in ops)
    assert [root.written for root in program.roots] == [True, True, True]


def test_a_variable_without_a_value_on_some_path_is_zero():
    def kernel(out):
        i = cuda.threadIdx.x
        if i > 2:
            v = i
        out[i] = v

    assert results(kernel, n=5, block=5).tolist() == [0, 0, 0, 3, 4]


def test_branches_on_constants_are_not_compiled():
    def kernel(x, weights, out):
        if weights is None:
            out[0] = x[0]
        else:
            out[0] = x[0] * weights[0]

    out = np.zeros(1)
    run(kernel, 1, 1, np.array([3.0]), None, out)
    assert out[0] == 3
    run(kernel, 1, 1, np.array([3.0]), np.array([2.0]), out)
    assert out[0] == 6


def test_named_expressions_and_nested_unpacking():
    def kernel(out):
        if (n := 5) > 3:
            out[0] = n
        (a, b), c = (1, 2), 3
        out[1], (out[2], out[3]) = a, (b, c)

    assert results(kernel, n=4, block=1).tolist() == [5, 1, 2, 3]


# --- functions -------------------------------------------------------------------------------------------------------


@cuda.jit(device=True)
def clamp(x, low=0, high=10):
    if x < low:
        return low
    if x > high:
        return high
    return x


def scale(x, *factors):
    for factor in factors:
        x *= factor
    return x


def fib(n):
    if n < 2:
        return n
    return fib(n - 1) + fib(n - 2)


def collatz(n, depth):
    if n == 1:
        return depth
    if n % 2 == 0:
        return collatz(n // 2, depth + 1)
    return collatz(3 * n + 1, depth + 1)


def test_device_functions_return_in_divergent_flow():
    def kernel(out):
        i = cuda.threadIdx.x
        out[i] = clamp(i) + clamp(i, 5) + clamp(i, high=3) * 100

    expected = [min(i, 10) + min(max(i, 5), 10) + min(i, 3) * 100 for i in range(N)]
    assert results(kernel).tolist() == expected


def test_variable_arguments_and_stars():
    def kernel(out):
        out[0] = scale(2, 3, 4)
        out[1] = scale(1, *FACTORS)

    assert results(kernel, n=2, block=1).tolist() == [24, 30]


def test_recursion():
    def kernel(out):
        i = cuda.threadIdx.x
        out[i] = fib(i % 12) + 1000 * collatz(i + 1, 0)

    def steps(n):
        count = 0
        while n != 1:
            n, count = (n // 2 if n % 2 == 0 else 3 * n + 1), count + 1
        return count

    expected = [fib(i % 12) + 1000 * steps(i + 1) for i in range(N)]
    assert results(kernel).tolist() == expected
    program, _ = operations(kernel, np.zeros(1, np.int64))
    assert any(isinstance(block.end, Call) for block in program.blocks)


def test_closures_lambdas_and_functions_as_arguments():
    def apply(f, x):
        return f(x)

    double = lambda x: 2 * x  # noqa: E731
    offset = 7

    def kernel(out):
        i = cuda.threadIdx.x

        def shifted(x):
            return x + offset + i

        out[i] = apply(double, i) + apply(shifted, 1) + apply(lambda x: x * i, 3)

    assert results(kernel, n=8, block=8).tolist() == [2 * i + (8 + i) + 3 * i for i in range(8)]


def test_functions_may_return_tuples_and_arrays():
    def split(x):
        return x // 10, x % 10

    def pick(a, b, first):
        return a if first else b

    def kernel(a, b, out):
        i = cuda.threadIdx.x
        tens, ones = split(i)
        chosen = pick(a, b, i % 2 == 0)
        out[i] = 100 * tens + ones + chosen[i]

    a, b = np.zeros(N, np.int64), np.full(N, 1000)
    expected = [100 * (i // 10) + i % 10 + (1000 if i % 2 else 0) for i in range(N)]
    assert results(kernel, a, b).tolist() == expected


# --- arrays ----------------------------------------------------------------------------------------------------------


def test_views_of_rows_and_slices():
    def kernel(a, out):
        row = a[1]
        out[0] = row[2]
        out[1] = a[-1][-1]
        column = a[:, 1]
        out[2] = column[2]
        part = a[1:, 1:3]
        out[3], out[4], out[5] = part.shape[0], part.shape[1], part[0, 1]
        out[6] = a[::2].shape[0]
        backwards = a[0][::-1]
        out[7], out[8] = backwards[0], backwards.size
        out[9] = a[5:, 0].size
        out[10] = a[..., 3][1]
        out[11] = a.T[3, 0]
        out[12] = a.ravel()[5]
        out[13] = a.reshape((2, -1))[1, 0]
        out[14] = len(a[0, -2:])
        out[15] = a[0, 1:3].view(np.int32)[2]

    a = np.arange(12).reshape(3, 4)
    out = np.zeros(16, np.int64)
    run(kernel, 1, 1, a, out)
    assert out.tolist() == [6, 11, 9, 2, 2, 6, 2, 3, 4, 0, 7, 3, 5, 6, 2, 2]


def test_a_row_is_checked_against_every_axis():
    def kernel(a, out):
        row = a[2]
        out[0] = row[1]

    result = executor.run(launch(kernel, 1, 1, np.zeros((2, 4)), np.zeros(1)), hazards=True)
    assert [h.kind for h in result.hazards if h.severity == "error"] == ["oob_global_read"]


def test_views_can_be_filled():
    def kernel(a, b):
        a[1:3] = 7
        a[5:] = b[:3]
        a[0:1] = 1.9

    a = np.zeros(8, np.int64)
    run(kernel, 1, 1, a, np.array([1, 2, 3, 4]))
    assert a.tolist() == [1, 7, 7, 0, 0, 1, 2, 3]


def test_fortran_order_and_attributes():
    def kernel(a, out):
        out[0] = a[1, 2]
        out[1], out[2], out[3], out[4] = a.size, a.ndim, a.itemsize, a.strides[0]

    a = np.asfortranarray(np.arange(12.0).reshape(3, 4))
    out = np.zeros(5)
    run(kernel, 1, 1, a, out)
    assert out.tolist() == [6, 12, 2, 8, 8]


def test_shared_local_and_constant_arrays():
    def kernel(out):
        tile = cuda.shared.array((HALF, 2), np.float32)
        mine = cuda.local.array(3, dtype="int32")
        fixed = cuda.const.array_like(TABLE)
        i = cuda.threadIdx.x
        tile[i // 2, i % 2] = i
        for k in range(len(mine)):
            mine[k] = i + k
        cuda.syncthreads()
        j = N - 1 - i
        out[i] = tile[j // 2, j % 2] + mine[2] + fixed[i % 4] + TABLE[0]

    expected = [(N - 1 - i) + i + 2 + 10 * (i % 4 + 1) + 10 for i in range(N)]
    assert results(kernel).tolist() == expected
    program, _ = operations(kernel, np.zeros(N))
    names = {root.name: root.space for root in program.roots}
    assert names["tile"] == "shared" and names["mine"] == "local" and names["TABLE"] == "global"
    assert program.static_shared_bytes == N * 4


def test_dynamic_shared_memory_has_slices_and_one_start():
    def kernel(out):
        whole = cuda.shared.array(0, np.int32)
        again = cuda.shared.array(0, np.int64)
        first, second = whole[:4], whole[4:8]
        i = cuda.threadIdx.x
        first[i] = i
        second[i] = 10 * i
        cuda.syncthreads()
        out[i] = first[3 - i] + second[i] + 1000 * whole.size + 100_000 * again.size

    out = np.zeros(4, np.int64)
    run(kernel, 1, 4, out, shared_bytes=64)
    assert out.tolist() == [3 - i + 10 * i + 16_000 + 800_000 for i in range(4)]


def test_a_device_function_called_twice_has_one_shared_array():
    def stage(x):
        tile = cuda.shared.array(4, np.int64)
        tile[0] = x
        return tile

    def kernel(out):
        first = stage(1)
        second = stage(2)
        out[0], out[1] = first[0], second[0]

    assert results(kernel, n=2, block=1).tolist() == [2, 2]


def test_records():
    def kernel(r, nested, out):
        i = cuda.threadIdx.x
        r[i].a = i
        r[i]["b"] = r[i].a * 1.5
        r.a[i] += 1
        nested[i].at[1, 2] = i
        out[i] = r[i].b + nested[i]["at"][1, 2] + r["a"][i]
        if i == 0:
            r[3] = r[0]

    r, nested = np.zeros(4, PAIR), np.zeros(4, NESTED)
    out = results(kernel, r, nested, n=3, block=3, dtype=np.float64)
    assert out.tolist() == [i * 1.5 + i + i + 1 for i in range(3)]
    assert r["a"].tolist() == [1, 2, 3, 1]
    assert nested["at"][:3, 1, 2].tolist() == [0, 1, 2]


def test_complex_bool_and_half():
    def kernel(z, flags, h, out):
        z[0] = z[0] * 2 + 1j
        flags[0] = not flags[1]
        h[0] = h[1] + h[1]
        out[0] = abs(z[0]) + z.imag[0] + cmath.phase(z[1]) + complex(1, 2).real

    z, flags, h = np.array([1 + 1j, -1]), np.array([True, False]), np.array([0, 1.5], np.float16)
    out = np.zeros(1)
    run(kernel, 1, 1, z, flags, h, out)
    assert z[0] == 2 + 3j and flags[0] and h[0] == 3
    assert out[0] == pytest.approx(abs(2 + 3j) + 3 + math.pi + 1)


def test_short_vectors():
    def kernel(out):
        v = cuda.float32x2(1, 2)
        w = cuda.float4(v, 3, cuda.float32x2(v.y, 9).x)
        tile = cuda.shared.array(2, cuda.float4)
        tile[1] = w
        out[0], out[1], out[2], out[3] = tile[1].x, tile[1].y, tile[1].z, tile[1].w

    assert results(kernel, n=4, block=1).tolist() == [1, 2, 3, 2]
    _, ops = operations(kernel, np.zeros(4))
    assert max(len(op.src) for op in ops if isinstance(op, Store)) == 4


def test_zero_dimensions_and_empty_arrays():
    def kernel(s, e, out):
        s[()] = s[()] + 1
        out[0] = e.size + len(e)

    s, out = np.array(3.0), np.zeros(1)
    run(kernel, 1, 1, s, np.zeros(0), out)
    assert s == 4 and out[0] == 0


# --- arguments -------------------------------------------------------------------------------------------------------


def test_arguments_of_every_kind():
    def kernel(n, x, flag, z, half, point, mode, colour, record, out):
        out[0] = n + x
        if flag:
            out[1] = z.imag
        out[2] = half
        out[3] = point.x[0] + point.y
        if mode == Mode.SUB:
            out[4] = 1
        if colour == Colour.GREEN:
            out[5] = 1
        out[6] = record.a + record.b
        out[7] = n % 2

    out = np.zeros(8)
    record = np.array([(1, 2.5)], PAIR)[0]
    args = (3, 1.5, True, 2j, np.float16(0.5), POINT(np.array([4.0]), 1), Mode.SUB, Colour.GREEN, record)
    run(kernel, 1, 1, *args, out)
    assert out.tolist() == [4.5, 2, 0.5, 5, 1, 1, 3.5, 1]


def test_scalars_keep_their_type():
    def kernel(a, out):
        out[0] = a

    for value, dtype in ((np.float32(1), "f4"), (1, "i8"), (2**63, "u8"), (1.0, "f8"), (True, "?"), (1j, "c16")):
        made = launch(kernel, 1, 1, value, np.zeros(1, np.complex128))
        assert made.arguments[0] == {"name": "a", "kind": "scalar", "dtype": str(np.dtype(dtype)), "shape": ()}


def test_device_arrays_may_be_strided_and_share_their_owner():
    def kernel(x, whole, out):
        for i in range(x.size):
            out[i] = x[i]
        whole[0] = 5

    data = cuda.to_device(np.arange(10))
    out = np.zeros(5, np.int64)
    made = launch(kernel, 1, 1, data[1::2], data, out)
    assert made.allocations[0] is made.allocations[1]
    executor.run(made, hazards=False)
    assert out.tolist() == [1, 3, 5, 7, 9]
    assert data.copy_to_host()[0] == 5


def test_a_device_array_that_a_kernel_names_is_shared_and_not_copied():
    table = cuda.to_device(np.arange(8))
    column, count = table[1::2], cuda.to_device(np.zeros((), np.int64))

    def kernel(out):
        i = cuda.grid(1)
        out[i] = column[i]
        column[i] = -1
        cuda.atomic.add(count, (), 1)

    out = np.zeros(4, np.int64)
    run(kernel, 1, 4, out)
    assert out.tolist() == [1, 3, 5, 7]
    assert table.copy_to_host().tolist() == [0, -1, 2, -1, 4, -1, 6, -1]
    table.copy_to_device(np.arange(8) * 10)
    run(kernel, 1, 4, out)
    assert out.tolist() == [10, 30, 50, 70]
    assert count.copy_to_host() == 8


@pytest.mark.parametrize(
    ("argument", "error", "words"),
    [
        (np.arange(10)[::2], LaunchError, "np.ascontiguousarray"),
        ([1, 2], KernelTypeError, "np.array"),
        ("text", KernelTypeError, "string"),
        (np.array([None]), KernelTypeError, "Python objects"),
        (np.zeros(1, ">i4"), KernelTypeError, "byte order"),
        (2**70, KernelTypeError, "64 bits"),
        (len, KernelTypeError, "global or closure variable"),
        (object(), KernelTypeError, "NumPy arrays"),
    ],
)
def test_arguments_no_kernel_takes(argument, error, words):
    def kernel(x):
        pass

    with pytest.raises(error, match="`x`") as caught:
        launch(kernel, 1, 1, argument)
    assert words in str(caught.value)


def test_the_wrong_number_of_arguments():
    def k(x, out, n):
        pass

    with pytest.raises(LaunchError) as caught:
        launch(k, 1, 1, np.zeros(1), np.zeros(1))
    assert "kernel `k(x, out, n)` takes 3 arguments, 2 were given; missing: n" in str(caught.value)
    with pytest.raises(LaunchError, match="4 were given"):
        launch(k, 1, 1, 1, 2, 3, 4)


def test_a_read_only_array_can_be_read_and_not_written():
    def reads(x, out):
        out[0] = x[0]

    def writes(x, out):
        x[0] = 1

    x = np.arange(3)
    x.flags.writeable = False
    run(reads, 1, 1, x, np.zeros(1))
    with pytest.raises(KernelTypeError, match="`x` is read-only"):
        launch(writes, 1, 1, x, np.zeros(1))


def test_a_second_launch_is_cheap():
    def kernel(x, y, z, out, n):
        i = cuda.grid(1)
        if i < n:
            out[i] = x[i] + y[i] * z[i]

    args = (*(np.zeros(N) for _ in range(4)), N)
    launch(kernel, 1, N, *args)
    times = []
    for _ in range(20):
        started = time.perf_counter()
        launch(kernel, 1, N, *args)
        times.append(time.perf_counter() - started)
    assert min(times) < 1e-3
    assert launch(kernel, 1, N, *args).program is launch(kernel, 1, N, *args).program


# --- intrinsics ------------------------------------------------------------------------------------------------------


def test_geometry():
    def kernel(out):
        x, y = cuda.grid(2)
        nx, ny = cuda.gridsize(2)
        out[x, y] = x + 10 * y + 100 * nx + 1000 * ny + cuda.blockDim.x * cuda.gridDim.y + cuda.threadIdx.z

    out = np.zeros((4, 6), np.int64)
    run(kernel, (2, 3), (2, 2), out)
    assert out.tolist() == [[x + 10 * y + 400 + 6000 + 6 for y in range(6)] for x in range(4)]


def test_warp_operations():
    def kernel(out):
        i = cuda.threadIdx.x
        out[i, 0] = cuda.shfl_sync(0xFFFFFFFF, i, 3)
        out[i, 1] = cuda.shfl_down_sync(0xFFFFFFFF, i * 1.5, 1)
        out[i, 2] = cuda.ballot_sync(0xFFFFFFFF, True)
        out[i, 3] = cuda.any_sync(-1, i == 5)
        out[i, 4] = cuda.match_any_sync(-1, i % 2)
        mask, same = cuda.match_all_sync(-1, 7)
        out[i, 5] = mask + same
        out[i, 6] = cuda.activemask()
        out[i, 7] = cuda.popc(cuda.lanemask_lt()) + cuda.laneid + cuda.warpsize
        cuda.syncwarp()

    out = np.zeros((32, 8))
    run(kernel, 1, 32, out)
    assert out[4].tolist() == [3, 7.5, -1, 1, 0x55555555, 0, 2**32 - 1, 40]


def test_barriers_that_count():
    def kernel(out):
        i = cuda.threadIdx.x
        out[i] = (
            cuda.syncthreads_count(int(i < 5))
            + 100 * cuda.syncthreads_or(int(i == 7))
            + 1000 * cuda.syncthreads_and(int(i >= 0))
        )

    assert (results(kernel) == 1105).all()


def test_atomics_give_the_old_value():
    def kernel(x, out):
        i = cuda.threadIdx.x
        out[i] = cuda.atomic.add(x, 0, 1)
        cuda.atomic.max(x, 1, i)
        cuda.atomic.min(x, (2,), i)
        cuda.atomic.xor(x, 3, i)
        cuda.atomic.cas(x, 4, 0, 7)
        cuda.atomic.compare_and_swap(x[5:], 0, 9)
        cuda.atomic.exch(x, 6, 4)

    x = np.zeros(7, np.int32)
    assert results(kernel, x, n=4, block=4).tolist() == [0, 1, 2, 3]
    assert x.tolist() == [4, 3, 0, 0, 7, 9, 4]
    _, ops = operations(kernel, x, np.zeros(4))
    assert [op.dst is None for op in ops if isinstance(op, Atomic)] == [False] + [True] * 6


def test_math_operator_and_selection():
    def kernel(x, out):
        out[0] = math.sqrt(x[0]) + math.pi + np.pi
        out[1] = operator.add(x[0], 1) + max(x[0], 5, 2) + min(1, x[0]) + abs(-x[0]) + round(2.6)
        out[2] = int(x[0]) // 3 + pow(x[0], 2) + divmod(7, 2)[1]
        out[3] = cuda.selp(x[0] > 1, 5, 6) + cuda.fma(x[0], 2.0, 1.0) + cuda.cbrt(27.0)
        out[4] = np.float32(x[0]) + np.int8(300)
        out[5] = 2 if isinstance(x[0], float) else 3
        out[6] = x[0] in (1, 4)

    x = np.array([4.0])
    out = np.zeros(7)
    run(kernel, 1, 1, x, out)
    assert out.tolist() == pytest.approx([2 + 2 * math.pi, 5 + 5 + 1 + 4 + 3, 1 + 16 + 1, 5 + 9 + 3, 4 + 44, 2, 1])


def test_random_states():
    states = cuda.random.create_xoroshiro128p_states(4, seed=1)

    def kernel(states, out):
        i = cuda.threadIdx.x
        out[i] = cuda.random.xoroshiro128p_uniform_float32(states, i)
        out[i] += cuda.random.xoroshiro128p_uniform_float32(states, i)

    first, second = (results(kernel, states, n=4, block=4, dtype=np.float32) for _ in range(2))
    assert len({*first, *second}) == 8 and (first > 0).all() and (first < 2).all()


def test_print(capsys):
    def kernel(x):
        if cuda.threadIdx.x == 1:
            print("value", x[1], 2.5, (1, 2))

    result = run(kernel, 1, 2, np.arange(2))
    assert "".join(result.output) + capsys.readouterr().out == "value 1 2.500000 (1, 2)\n"


def test_assertions_and_raise():
    def asserts(x):
        assert x[0] > 0, "must be positive"

    def raises(x):
        if x[0] < 0:
            raise ValueError("negative", 3)

    @cuda.jit
    def quiet(x, out):
        assert x[0] > 0
        out[0] = 1

    for kernel, words in ((asserts, "must be positive"), (raises, "ValueError")):
        with pytest.raises(KernelAssertion, match=words):
            run(kernel, 1, 1, np.array([-1]))
        run(kernel, 1, 1, np.array([1]))
    out = np.zeros(1)
    run(quiet, 1, 1, np.array([-1]), out)  # without debug=True nothing is reported; the thread ends
    assert out[0] == 0


# --- refusals --------------------------------------------------------------------------------------------------------


def refused(body, *args, tmp_path):
    path = tmp_path / "kernels.py"
    text = "import math\nimport numpy as np\nfrom numba import cuda\n\ndef kernel(x):\n" + textwrap.indent(body, "    ")
    path.write_text(text)
    with pytest.raises(GpukitError) as caught:
        launch(load(path).kernel, 1, 1, *(args or (np.zeros(4),)))
    assert caught.value.file == str(path)
    return caught.value


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("try:\n    x[0] = 1\nexcept ValueError:\n    pass", "`try`"),
        ("with x:\n    pass", "`with`"),
        ("y = [i for i in range(3)]", "comprehension"),
        ("y = sum(i for i in range(3))", "generator"),
        ("yield 1", "`yield`"),
        ("y = [1, 2]", "list"),
        ("y = {1: 2}", "dict"),
        ("y = {1, 2}", "set"),
        ("y = np.zeros(3)", "allocate"),
        ("y = list(x)", "lists"),
        ("print(f'{x[0]}')", "f-string"),
        ("del x", "`del`"),
        ("import os", "import"),
        ("class A:\n    pass", "class"),
        ("global g\ng = 1", "global"),
        ("a, *b = (1, 2, 3)", "`*`"),
        ("y = x[0] @ x[0]", "`@`"),
        ("y = x + 1", "whole arrays"),
        ("if x:\n    pass", "whole array"),
        ("foo(x)", "`foo` is not defined"),
        ("cuda.nothing(x)", "`cuda.nothing`"),
        ("x.nothing", "no attribute"),
        ("x[0.5] = 1", "integer"),
        ("x[0, 0] = 1", "1 dimension"),
        ("x[0] = z\nz = 1", "`z` is used before it has a value"),
        ("y = 1\nif x[0] > 0:\n    y = (1, 2)\nx[0] = y", "`y`"),
        ("x[0] = 1j", "complex128"),
        ("t = (1, 2)\nt[0] = 3", "tuple"),
        ("return x[0]", "cannot return"),
        ("kernel(x)", "cannot call itself"),
        ("cuda.shared.array(x.size, np.float32)", "when the kernel is compiled"),
        ("cuda.shared.array(49_153, np.int8)", "a block can have 49,152"),
        ("np.random.rand()", "numba.cuda.random"),
        ("cuda.local.array(10**9, np.float32)", "larger than a thread"),
        ("cuda.shared.array(4, np.float99)", "dtype"),
        ("cuda.grid(x[0])", "constant 1, 2 or 3"),
        ("cuda.atomic.add(x, 0)", "`cuda.atomic.add`"),
        ("cuda.atomic.inc(x, 0, 1)", "uint32"),
        ("a, b = 1, 2, 3", "3 values"),
        ("math.sqrt(1, 2)", "`math.sqrt`"),
        ("for i in 5:\n    pass", "looped over"),
        ("for i in range(1.5):\n    pass", "integers"),
        ("for i in range(0, 4, 0):\n    pass", "must not be zero"),
        ("async def f():\n    pass", "`async`"),
        ("match x[0]:\n    case 1:\n        pass", "`match`"),
        ("x[0] = 1180591620717411303424", "64 bits"),
        ("raise", "bare `raise`"),
    ],
)
def test_what_a_kernel_cannot_do_is_one_sentence_with_its_line(body, words, tmp_path):
    error = refused(body, tmp_path=tmp_path)
    assert words in str(error)
    assert error.line is not None and 5 <= error.line <= 12
    assert len(str(error).splitlines()) == 1


def test_a_function_without_source():
    namespace = {}
    exec("def kernel(x):\n    x[0] = 1", namespace)
    with pytest.raises(KernelSyntaxError, match=r"put the kernel in a \.py file"):
        launch(namespace["kernel"], 1, 1, np.zeros(1))
    with pytest.raises(KernelTypeError, match="must be a Python function"):
        launch(len, 1, 1)


def test_recursion_that_never_ends_is_refused():
    def forever(n):
        return forever(n + 1)

    def growing(n, t):
        if n == 0:
            return 0
        return growing(n - 1, (t, n))

    def first(out):
        out[0] = forever(0)

    def second(out):
        out[0] = growing(3, (1,))

    for kernel in (first, second):
        with pytest.raises(UnsupportedFeature):
            launch(kernel, 1, 1, np.zeros(1))


def test_deep_nesting_is_an_error_or_runs(tmp_path):
    path = tmp_path / "deep.py"
    many = "\n".join(f"    if x[0] == {i}:\n        y = y + {i}" for i in range(600))
    path.write_text(f"def kernel(x):\n    y = 0\n{many}\n    x[0] = y\n")
    x = np.array([41])
    run(load(path).kernel, 1, 1, x)
    assert x[0] == 41
    path.write_text(f"def kernel(x):\n    x[0] = {'+'.join(['1'] * 3000)}\n")
    try:
        run(load(path).kernel, 1, 1, x)
    except KernelSyntaxError:
        assert x[0] == 41
    else:
        assert x[0] == 3000


# --- sources ---------------------------------------------------------------------------------------------------------


def test_lines_are_those_of_the_file():
    def helper(v):
        return v + 1

    def kernel(out):
        out[0] = helper(
            1,
        )

    program = launch(kernel, 1, 1, np.zeros(1)).program
    first = kernel.__code__.co_firstlineno
    assert program.kernel_name == "kernel" and program.file == __file__
    assert [line.number for line in program.source[:4]] == [first, first + 1, first + 2, first + 3]
    store = next(op for block in program.blocks for op in block.ops if isinstance(op, Store))
    assert program.lines[store.line].number == first + 1
    assert program.lines[store.line].text.strip() == "out[0] = helper("


def test_several_lambdas_on_one_line():
    functions = (lambda x: x + 1), (lambda x: x * 2)
    first, second = functions

    def kernel(out):
        out[0], out[1] = first(5), second(5)

    assert results(kernel, n=2, block=1).tolist() == [6, 10]


def test_globals_are_frozen_at_the_first_launch():
    box = [1]

    def make():
        value = box[0]

        def kernel(out):
            out[0] = value

        def change():
            nonlocal value
            value = 2

        return kernel, change

    kernel, change = make()
    assert results(kernel, n=1, block=1)[0] == 1
    change()
    assert results(kernel, n=1, block=1)[0] == 1


def test_a_notebook_cell():
    text = "def kernel(out):\n    out[0] = 4\n"
    name = "<ipython-input-1-abc>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    namespace = {}
    exec(compile(text, name, "exec"), namespace)
    assert results(namespace["kernel"], n=1, block=1)[0] == 4


def test_a_function_typed_at_a_prompt_is_found_in_the_history(monkeypatch):
    typed = ["def kernel(out):", "    out[0] = 1", "", "def kernel(out):", "    out[0] = 5", "", "x = kernel"]
    history = python_types.SimpleNamespace(
        get_current_history_length=lambda: len(typed), get_history_item=lambda i: typed[i - 1]
    )
    monkeypatch.setitem(sys.modules, "readline", history)
    namespace = {}
    exec(compile("\n".join(typed[3:5]), "<stdin>", "exec"), namespace)
    assert results(namespace["kernel"], n=1, block=1)[0] == 5
    exec(compile("def kernel(out):\n    out[0] = 6", "<stdin>", "exec"), namespace)
    with pytest.raises(KernelSyntaxError):  # not the one in the history
        launch(namespace["kernel"], 1, 1, np.zeros(1))


def test_names_of_the_real_package():
    numba = pytest.importorskip("numba")
    nbcuda = pytest.importorskip("numba.cuda")
    add, thread, kind = nbcuda.atomic.add, nbcuda.threadIdx, numba.float32

    @nbcuda.jit(device=True)
    def double(x):
        return 2 * x

    @nbcuda.jit
    def kernel(out):
        tile = nbcuda.shared.array(4, kind)
        tile[thread.x] = numba.int8(300)
        add(out, 0, double(1))
        out[1] = tile[0] + nbcuda.libdevice.sqrt(16.0)

    assert results(kernel, n=2, block=4).tolist() == [8, 48]


def test_dispatchers_and_functions_share_one_front_end():
    @cuda.jit
    def kernel(out):
        out[0] = 3

    out = np.zeros(1)
    run(kernel, 1, 1, out)
    assert out[0] == 3
    assert from_function(kernel.py_func).name == "kernel"


def test_a_declared_device_function_converts():
    @cuda.jit("float32(float32)", device=True)
    def third(x):
        return x / 3.0

    def kernel(out):
        out[0] = third(1)

    assert results(kernel, n=1, block=1, dtype=np.float64)[0] == np.float32(1 / 3)


def test_reductions_of_whole_arrays():
    def kernel(x, out):
        out[0] = x.sum() + x[1].max()
        out[1] = np.mean(x)
        out[2] = np.std(x)
        out[3] = np.count_nonzero(x)

    x = np.arange(6.0).reshape(2, 3)
    assert results(kernel, x, n=4, block=1, dtype=np.float64).tolist() == pytest.approx([20, x.mean(), x.std(), 5])
    program = launch(kernel, 1, 1, x, np.zeros(4)).program
    assert {line.file for line in program.lines} == {__file__}


def test_grid_synchronisation_and_cached_access():
    def kernel(x, out):
        i = cuda.grid(1)
        cuda.stcg(x, i, i)
        cuda.cg.this_grid().sync()
        cuda.threadfence()
        out[i] = cuda.ldca(x, x.size - 1 - i)

    x, out = np.zeros(8, np.int64), np.zeros(8, np.int64)
    run(kernel, 2, 4, x, out)
    assert out.tolist() == list(range(8))[::-1]


# --- random kernels --------------------------------------------------------------------------------------------------


class Random:
    """Random kernels over a few integer variables: branches, loops with break, continue and else, swaps, calls, early
    returns. Every loop ends, so that Python can run the same text one thread at a time."""

    VARIABLES = "abcde"

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.lines = []
        self.loops = 0

    def kernel(self):
        for _ in range(3):
            self.block(1, 0, False)
        return "\n".join(
            [
                "from numba import cuda",
                "def f(x, y):",
                "    if x > y:",
                "        return x - y",
                "    for q in range(3):",
                "        if y & 1:",
                "            return y + q",
                "        y = y >> 1",
                "    return x",
                "def kernel(t, out, n):",
                "    i = cuda.threadIdx.x",
                "    a, b, c, d, e, k = i, 1, i - 7, 3, n, 0",
                *self.lines,
                "    out[i] = a + 3 * b + 5 * c + 7 * d + 11 * e + k",
                "",
            ]
        )

    def variable(self):
        return self.rng.choice(self.VARIABLES)

    def expression(self, depth=0):
        kind = self.rng.random()
        if depth > 2 or kind < 0.35:
            return self.variable()
        if kind < 0.5:
            return str(self.rng.randint(-5, 5))
        left, right = self.expression(depth + 1), self.expression(depth + 1)
        if kind < 0.56:
            return f"({left} if {self.condition(depth + 1)} else {right})"
        return f"f({left}, {right})" if kind < 0.62 else f"({left} {self.rng.choice('+-&|^')} {right})"

    def condition(self, depth=0):
        kind = self.rng.random()
        if depth < 2 and kind < 0.25:
            return f"({self.condition(depth + 1)} {self.rng.choice(['and', 'or'])} {self.condition(depth + 1)})"
        if kind < 0.32:
            return f"(not {self.condition(depth + 1)})"
        if kind < 0.4:
            return f"({self.variable()} < {self.variable()} <= {self.variable()})"
        return f"({self.expression(2)} {self.rng.choice(['<', '>', '==', '!=', '<='])} {self.expression(2)})"

    def block(self, indent, depth, in_loop):
        for _ in range(self.rng.randint(1, 4)):
            self.statement(indent, depth, in_loop)

    def line(self, indent, text):
        self.lines.append("    " * indent + text)

    def statement(self, indent, depth, in_loop):
        kind = self.rng.random()
        if kind < 0.35:
            self.line(indent, f"{self.variable()} = {self.expression()} % 1000")
        elif kind < 0.45:
            self.line(indent, f"{self.variable()} {self.rng.choice(['+=', '-=', '^='])} {self.expression()}")
        elif kind < 0.55:
            targets = self.rng.sample(self.VARIABLES, self.rng.choice([2, 3]))
            values = self.rng.sample(targets, len(targets))
            self.line(indent, f"{', '.join(targets)} = {', '.join(values)}")
        elif kind < 0.6:
            self.line(indent, f"t[i, {self.rng.randint(0, 2)}] += {self.expression()} % 100")
        elif kind < 0.64:
            self.line(indent, f"{self.variable()} = t[i, {self.rng.randint(0, 2)}]")
        elif kind < 0.9 and depth < 3:
            self.compound(indent, depth, in_loop, kind)
        elif in_loop:
            self.line(indent, f"if {self.condition()}:")
            self.line(indent + 1, self.rng.choice(["break", "continue"]))
        elif kind > 0.97:
            self.line(indent, f"if {self.condition()}:")
            self.line(indent + 1, f"out[i] = {self.expression()}")
            self.line(indent + 1, "return")
        else:
            self.line(indent, f"{self.variable()} = {self.variable()}")

    def compound(self, indent, depth, in_loop, kind):
        if kind < 0.78:
            self.line(indent, f"if {self.condition()}:")
        elif kind < 0.86:
            bounds = self.rng.choice(["3", "(i % 5)", "4, 0, -1", "n"])
            self.line(indent, f"for {self.rng.choice(self.VARIABLES + 'k')} in range({bounds}):")
        else:
            self.loops += 1
            self.line(indent, f"w{self.loops} = 0")
            self.line(indent, f"while w{self.loops} < 4 and {self.condition()}:")
            self.line(indent + 1, f"w{self.loops} += 1")
        self.block(indent + 1, depth + 1, in_loop or kind >= 0.78)
        if self.rng.random() < 0.4:
            self.line(indent, "else:")
            self.block(indent + 1, depth + 1, in_loop)


class Cells(dict):
    """Stands for an array of any size of Python integers, which do not wrap."""


def thread_by_thread(text, cells, threads):
    """What Python gives for each thread in turn: (out, cells), or None where an integer leaves 64 bits."""
    namespace = {}
    exec(text.replace("from numba import cuda", ""), namespace)
    out = Cells()
    for i in range(threads):
        out[i] = 0
        namespace["cuda"] = python_types.SimpleNamespace(threadIdx=python_types.SimpleNamespace(x=i))
        namespace["kernel"](cells, out, 5)
    fits = all(abs(v) < 2**62 for v in (*out.values(), *cells.values()))
    return (list(out.values()), list(cells.values())) if fits else None


@pytest.mark.parametrize("start", range(0, 120, 20))
def test_random_kernels_do_what_python_does(start, tmp_path):
    threads, compared = 40, 0
    for seed in range(start, start + 20):
        text = Random(seed).kernel()
        table = np.arange(threads * 3).reshape(threads, 3) % 13
        cells = Cells({(i, j): int(table[i, j]) for i in range(threads) for j in range(3)})
        expected = thread_by_thread(text, cells, threads)
        if expected is None:
            continue
        path = tmp_path / f"kernel{seed}.py"
        path.write_text(text)
        out = np.zeros(threads, np.int64)
        run(load(path).kernel, 1, threads, table, out, 5)
        assert (out.tolist(), table.ravel().tolist()) == expected, text
        compared += 1
    assert compared >= 10


def test_a_value_that_one_side_of_a_branch_changes_is_kept_for_the_other():
    def kernel(n, out):
        i = cuda.threadIdx.x
        a = n % 1000
        d = 5
        if i > 0:
            for d in range(n):
                a -= d
                if a == 77:
                    continue
            a = d
        out[i] = a

    assert results(kernel, 5, n=4, block=4).tolist() == [5, 4, 4, 4]


@pytest.mark.parametrize(
    ("kernel", "meant"),
    [
        (lambda x: x[cuda.threadidx.x], "cuda.threadIdx"),
        (lambda x: cuda.syncthread(), "cuda.syncthreads"),
        (lambda x: cuda.atomic.ad(x, 0, 1), "cuda.atomic.add"),
    ],
)
def test_a_misspelled_name_is_told_the_right_one(kernel, meant):
    with pytest.raises(GpukitError, match=f"did you mean `{meant}`"):
        launch(kernel, 1, 1, np.zeros(4))


@pytest.mark.parametrize("kind", ["count", "and", "or"])
def test_a_reducing_barrier_takes_integers_only_as_in_numba_cuda(kind, tmp_path):
    file = tmp_path / "vote.py"
    file.write_text(
        "from numba import cuda\n\n@cuda.jit\ndef vote(x, out):\n    t = cuda.threadIdx.x\n"
        f"    out[t] = cuda.syncthreads_{kind}(x[t] > 3)\n"
    )
    with pytest.raises(KernelTypeError, match=rf"vote.py:6: .*no syncthreads_{kind} of a bool: write int"):
        bind(load(file)["vote"], (1, 1, 1), (32, 1, 1), (np.arange(32), np.zeros(32, np.int32)), 0, GlobalMemory())


@pytest.mark.parametrize(
    ("shape", "computed"),
    [("(TILE, TILE + 1)", "TILE + 1"), ("2 * TILE", "2 * TILE"), ("shape=-(-TILE // 2)", "-(-TILE // 2)")],
)
@pytest.mark.parametrize("space", ["shared", "local"])
def test_a_shape_is_not_computed_in_a_kernel_as_in_numba_cuda(space, shape, computed, tmp_path):
    """numba-cuda: "it has no version of array(int64, ...)"; literals and variables it takes."""
    file = tmp_path / "tile.py"
    body = "from numba import cuda, float32\n\nTILE = 8\nWIDE = TILE + 1\n\n@cuda.jit\ndef fill(out):\n"
    dtype = "dtype=float32" if "=" in shape else "float32"
    file.write_text(f"{body}    tile = cuda.{space}.array({shape}, {dtype})\n    out[0] = tile.size\n")
    given = (1, 1, 1), (1, 1, 1), (np.zeros(1),), 0, GlobalMemory()
    with pytest.raises(UnsupportedFeature) as caught:
        bind(load(file)["fill"], *given)
    assert "tile.py:8: numba-cuda takes literals" in str(caught.value) and f"`{computed}`" in str(caught.value)
    file.write_text(f"{body}    tile = cuda.{space}.array((TILE, WIDE, 2 * 2), float32)\n    out[0] = tile.size\n")
    bind(load(file)["fill"], *given)
