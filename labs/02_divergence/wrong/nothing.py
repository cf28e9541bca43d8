"""Kernels that do nothing.

Fails:
    test_2_2_right: it still holds what stood there before the launch
    test_2_2_cost: it still holds what stood there before the launch
    test_2_3_right: it still holds what stood there before the launch
    test_2_3_cost: it still holds what stood there before the launch
    test_2_4_right: it still holds what stood there before the launch
    test_2_4_cost: it still holds what stood there before the launch
    test_2_5_right: it still holds what stood there before the launch
    test_2_5_cost: it still holds what stood there before the launch
    test_2_6_right: it still holds what stood there before the launch
    test_2_6_cost: it still holds what stood there before the launch
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
