"""More text than a disk holds, from a loop that gets on all the time. The quiz is answered honestly.

Deserves: 4 points
Named: the kernel `dot` does not end: after
"""

from numba import cuda

STEPS = 8
COMPARISONS = 255
IDLE_THREADS = 112
DIVERGENT_BRANCHES = 24
LOAD_REQUESTS = 55


@cuda.jit
def dot(a, b, partial):
    for i in range(1 << 60):
        print("flood", i, cuda.threadIdx.x, "................................................................")
