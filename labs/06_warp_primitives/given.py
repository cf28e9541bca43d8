"""The kernels that tasks 6.1 and 6.3 ask about. Read them first. What the first one stores is printed by

gpukit run given.py

and what is wrong with the second one is said, with its line, by

gpukit profile given.py:below_maximum --grid 1 --block 64 -a 'float32[50]:arange' -a 'float32[50]'

in this folder.
"""

import numpy as np
from numba import cuda

FULL = 0xFFFFFFFF


@cuda.jit
def exchanges(x, ballot, place, down, exchanged, members):
    """What votes and shuffles give each thread of one block.

    Args:
        x: int32 (threads,).
        ballot: uint32 (threads,), the mask of the lanes whose element leaves 3 when divided by 8.
        place: int32 (threads,), how many lanes below the own one are in that mask.
        down: int32 (threads,), the element of the lane 4 above.
        exchanged: int32 (threads,), the element of the lane whose number differs in the bits of 5.
        members: uint32 (threads,), the mask of the lanes that take part.
    """
    t = cuda.threadIdx.x
    mask = cuda.activemask()
    members[t] = mask
    votes = cuda.ballot_sync(mask, x[t] % 8 == 3)
    ballot[t] = votes
    place[t] = cuda.popc(votes & cuda.lanemask_lt())
    if t < 32:
        down[t] = cuda.shfl_down_sync(FULL, x[t], 4)
        exchanged[t] = cuda.shfl_xor_sync(FULL, x[t], 5)


@cuda.jit
def below_maximum(x, y):
    """How far each element is below the largest one that its warp has. It has a mistake.

    Args:
        x: float32 (n,), not changed.
        y: float32 (n,), set.
    """
    i = cuda.grid(1)
    if i < x.size:
        largest = x[i]
        for offset in (16, 8, 4, 2, 1):
            largest = max(largest, cuda.shfl_xor_sync(FULL, largest, offset))
        y[i] = x[i] - largest


if __name__ == "__main__":
    threads = 80
    x = np.arange(threads, dtype=np.int32)
    ballot, members = np.zeros((2, threads), np.uint32)
    place, down, exchanged = np.zeros((3, threads), np.int32)
    exchanges[1, threads](x, ballot, place, down, exchanged, members)
    print("BALLOT", hex(ballot[0]))
    print("PLACE", place[20])
    print("DOWN", down[30])
    print("EXCHANGED", exchanged[12])
    print("MEMBERS", hex(members[79]))
