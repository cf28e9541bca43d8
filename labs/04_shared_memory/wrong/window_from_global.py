"""Every thread loads its whole window from global memory: right, and every element is loaded 11 times.

Fails:
    test_4_5_cost: global_load_requests
"""

from gpukit import cuda

RADIUS = 5


@cuda.jit
def sliding_max(x, y):
    i = cuda.grid(1)
    if i < x.size:
        largest = x[i]
        for k in range(max(0, i - RADIUS), min(x.size, i + RADIUS + 1)):
            largest = max(largest, x[k])
        y[i] = largest
