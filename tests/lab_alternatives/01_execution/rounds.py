"""The grid-stride loop as a number of rounds that is the same for all threads, with a guard in each round.

The solution's range ends by itself where a thread has no further element.
"""

from gpukit import cuda


@cuda.jit
def differences(x, y):
    stride = cuda.gridsize(1)
    rounds = (y.size + stride - 1) // stride
    for r in range(rounds):
        i = r * stride + cuda.grid(1)
        if i < y.size:
            before = x[i]
            after = x[i + 1]
            y[i] = after - before
