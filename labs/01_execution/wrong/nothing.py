"""A kernel that does nothing.

Fails:
    test_1_3_right: no thread wrote it
    test_1_4_grey: no thread wrote it
    test_1_5_right: no thread wrote it
    test_1_5_cost: no thread wrote it
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
