"""No loop: right only where the grid covers all elements.

Fails:
    test_1_5_right: wrong answer
    test_1_5_cost: wrong answer
"""

from gpukit import cuda


@cuda.jit
def differences(x, y):
    i = cuda.grid(1)
    if i < y.size:
        y[i] = x[i + 1] - x[i]
