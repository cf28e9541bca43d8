"""Finished kernels that the quizzes are about. Read them; `gpukit profile` shows what they do, line by line."""

from gpukit import cuda

PURCHASES = (2, 5, 20, 100, 4)


@cuda.jit
def odd_and_even(out):
    """Threads take two sides in turn. out: (n,) int32, written; as many threads as elements."""
    i = cuda.grid(1)
    if i % 2 == 0:
        out[i] = 3 * i
    else:
        out[i] = i // 2


@cuda.jit
def warps_in_turn(out):
    """Groups of 32 threads take two sides in turn. out: (n,) int32, written; as many threads as elements."""
    i = cuda.grid(1)
    if (i // 32) % 2 == 0:
        out[i] = 3 * i
    else:
        out[i] = i // 2


@cuda.jit
def first_hundred(out):
    """Threads 0 to 99 take one side. out: (n,) int32, written; as many threads as elements."""
    i = cuda.grid(1)
    if i < 100:
        out[i] = 3 * i
    else:
        out[i] = i // 2


@cuda.jit
def purchases(values, out):
    """Customers 0 to 4 have 2, 5, 20, 100 and 4 purchases, all others 10: each thread adds up as many values.

    values: (100,) int32. out: (n,) int32, written; as many threads as elements.
    """
    i = cuda.grid(1)
    rounds = PURCHASES[i] if i < 5 else 10
    total = 0
    for k in range(rounds):
        total += values[k]
    out[i] = total


@cuda.jit
def four_long_ones(distance, values, out):
    """Threads 0, distance, 2 distance and 3 distance have 100 rounds, all others 3: each adds up as many values.

    distance: int32, 1 or more. values: (100,) int32. out: (n,) int32, written; as many threads as elements.
    """
    i = cuda.grid(1)
    rounds = 100 if i % distance == 0 and i < 4 * distance else 3
    total = 0
    for k in range(rounds):
        total += values[k]
    out[i] = total
