"""Right, with a piece of neighbouring elements for each thread: the lanes of a warp are far apart in every round.

Fails:
    test_1_5_cost: global_load_sectors
"""

from gpukit import cuda


@cuda.jit
def differences(x, y):
    threads = cuda.gridsize(1)
    piece = (y.size + threads - 1) // threads
    start = cuda.grid(1) * piece
    for i in range(start, min(start + piece, y.size)):
        y[i] = x[i + 1] - x[i]
