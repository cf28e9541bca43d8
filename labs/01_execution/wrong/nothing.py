"""A kernel that does nothing.

Fails:
    test_1_3_right: it still holds what stood there before the launch
    test_1_4_grey: it still holds what stood there before the launch
    test_1_5_right: it still holds what stood there before the launch
    test_1_5_cost: it still holds what stood there before the launch
"""

from gpukit import cuda


@cuda.jit
def clip(x, low, high, y):
    pass


@cuda.jit
def grey(image, out):
    pass


@cuda.jit
def differences(x, y):
    pass
