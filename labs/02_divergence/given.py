"""Finished kernels that the quizzes are about. Read them; `gpukit profile` shows what they do, line by line."""

from gpukit import cuda


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
def own_rounds(rounds, values, out):
    """Each thread adds up as many values as it has rounds.

    rounds: (n,) int32, n as many as threads. values: (m,) int32, m at least the largest of rounds.
    out: (n,) int32, written.
    """
    i = cuda.grid(1)
    total = 0
    for k in range(rounds[i]):
        total += values[k]
    out[i] = total
