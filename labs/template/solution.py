"""Lab 42: Reverse. README.md says what to do; `pytest labs/` says how far you are."""

from gpukit import cuda

# Task 42.1. One block of 256 threads copies 256 float32 (`copy` in given.py).
#   REQUESTS  load requests of all its warps
#   SECTORS   sectors of 32 bytes that they touch
# BEGIN SOLUTION 42.1: predict the load requests and the sectors of copy
# For authors: what stands in a region, this comment too, is not in the student's file. A region out here holds
# constants and nothing else; the student sees `REQUESTS = ...  # TODO 42.1: predict ...`.
REQUESTS = 8
SECTORS = 32
# END SOLUTION


@cuda.jit
def reverse(x, y):
    """y[n - 1 - i] = x[i]: the elements of x, last one first.

    One element per thread; there may be more threads than elements.

    Args: x: (n,) float32, not changed. y: (n,) float32, written.
    Cost: each sector of x and of y is touched once.
    """
    # BEGIN SOLUTION 42.2: write the elements of x into y, last one first
    # For authors: this region becomes `raise NotImplementedError("TODO 42.2: write ...")`. The docstring above is what
    # the student has to go by: shapes, types, what is written, and the cost in words.
    i = cuda.grid(1)
    if i < x.size:
        y[x.size - 1 - i] = x[i]
    # END SOLUTION


def bytes_moved(n):
    """How many bytes a launch of `reverse` has to move between the GPU and its memory, at least.

    Args: n: int, elements, 0 or more.
    Returns: int.
    """
    # BEGIN SOLUTION 42.3: say how many bytes have to be moved
    # For authors: a function without a decorator is host code; test_lab.py names it in HOST, and it runs in a child
    # process with limits.
    return 2 * 4 * n
    # END SOLUTION
