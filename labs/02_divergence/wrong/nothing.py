"""Kernels that do nothing.

Fails:
    test_2_2_right: no thread wrote it
    test_2_2_cost: no thread wrote it
    test_2_3_right: no thread wrote it
    test_2_3_cost: no thread wrote it
    test_2_4_right: no thread wrote it
    test_2_4_cost: no thread wrote it
    test_2_5_right: no thread wrote it
    test_2_5_cost: no thread wrote it
    test_2_6_right: no thread wrote it
    test_2_6_cost: no thread wrote it
"""

from gpukit import cuda


@cuda.jit
def curves(values, out):
    pass


@cuda.jit
def shrink(x, t, y):
    pass


@cuda.jit
def ranges(first, count, cents, order, out):
    pass


@cuda.jit
def dear_purchases(first, count, cents, limit, out):
    pass


@cuda.jit
def years_until(deposit, percent, target, limit, years):
    pass
