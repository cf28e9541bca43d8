"""Every element is counted in global memory: right, and a global atomic for each.

Fails:
    test_4_6_cost: global_atomics
"""

from gpukit import cuda


@cuda.jit
def histogram(x, counts):
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        cuda.atomic.add(counts, x[i], 1)
