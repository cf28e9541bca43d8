"""Lab 2: divergence. README.md says what to do; `pytest labs/02_divergence` says how far you are."""

from gpukit import cuda
from gpukit.warp import warp_sum

# Task 2.1. Answer with a number, before you run anything. The kernels are those of given.py, one block of 256 threads.
#   DIVERGENT_ODD_AND_EVEN    warps of `odd_and_even` that divide at the `if`
#   DIVERGENT_WARPS_IN_TURN   warps of `warps_in_turn` that divide at the `if`
#   DIVERGENT_FIRST_HUNDRED   warps of `first_hundred` that divide at the `if`
#   ROUNDS_OF_THE_WARP        rounds that the first warp of `purchases` runs; its lanes have 2, 5, 20, 100, 4 and 27
#                             times 10
DIVERGENT_ODD_AND_EVEN = ...  # TODO 2.1: predict which warps divide, and how long a warp runs
DIVERGENT_WARPS_IN_TURN = ...  # TODO 2.1: predict which warps divide, and how long a warp runs
DIVERGENT_FIRST_HUNDRED = ...  # TODO 2.1: predict which warps divide, and how long a warp runs
ROUNDS_OF_THE_WARP = ...  # TODO 2.1: predict which warps divide, and how long a warp runs


@cuda.jit(device=True)
def red(v):
    """The curve for red, darker shadows and lighter lights. int in, int out, both 0 to 255."""
    v = v * v * (765 - 2 * v) // 65025
    return v * v * (765 - 2 * v) // 65025


@cuda.jit(device=True)
def green(v):
    """The curve for green, lighter: nearly the square root of 255 v. int in, int out, both 0 to 255."""
    root = (v + 255) // 2
    root = (root + 255 * v // root) // 2
    root = (root + 255 * v // root) // 2
    return (root + 255 * v // root) // 2


@cuda.jit(device=True)
def blue(v):
    """The curve for blue, much lighter. int in, int out, both 0 to 255."""
    v = 255 - (255 - v) * (255 - v) // 255
    return 255 - (255 - v) * (255 - v) // 255


@cuda.jit
def curves(values, out):
    """Each colour of an image goes through its own curve: `red`, `green` or `blue` of this file.

    Red, green and blue take turns in memory: values[0] is red, values[1] green, values[2] blue, values[3] red, ... A
    thread works on one value, but not on the one at its own number: the 32 lanes of a warp must have the same colour,
    so that no warp divides, and each lane evaluates one curve only.

    Args: values: (n,) int32, 0 to 255. out: (n,) int32, written: out[i] is the curve of values[i].
    Launch: blocks of 96 or 192 threads, as few as cover n; so the threads are full groups of 96 = 3 warps.
    """
    raise NotImplementedError("TODO 2.2: give each colour to whole warps")


@cuda.jit
def shrink(x, t, y):
    """y[i] = x[i] - t above t, x[i] + t below -t, and 0 in between; without a branch besides the guard.

    A conditional expression (a if c else b) is a branch too. `min`, `max` and `cuda.selp(c, a, b)` are none.

    Args: x: (n,) float32. t: float32, 0 or more. y: (n,) float32, written.
    Launch: ceil(n / T) blocks of T threads.
    """
    raise NotImplementedError("TODO 2.3: choose without a branch")


@cuda.jit
def ranges(first, count, cents, order, out):
    """out[c] = largest minus smallest purchase of customer c; 0 for a customer who has none.

    The purchases of customer c are cents[first[c]], cents[first[c] + 1], ... count[c] of them. One customer per thread,
    in the order given: it names customers with few purchases first, so that the lanes of a warp end together. The
    result is stored at the customer's place.

    Args: first, count: (customers,) int32. cents: (purchases,) int32, 0 to 10,000.
        order: (customers,) int32, a permutation of the customers. out: (customers,) int32, written.
    Launch: ceil(customers / T) blocks of T threads.
    """
    raise NotImplementedError("TODO 2.4: take the customers in the given order")


@cuda.jit
def dear_purchases(first, count, cents, limit, out):
    """out[c] = how many purchases of customer c cost at least `limit`. A whole warp works on one customer.

    Every customer has many purchases, so that one thread alone would take long. Lane l reads purchases l, l + 32, ...:
    in each round a warp reads 32 neighbours. `warp_sum` adds one number of each of the 32 lanes and gives the sum to
    lane 0. It takes five exchanges between the lanes, so once is enough; and all 32 lanes must call it, also those that
    counted nothing.

    Args: first, count: (customers,) int32, as in `ranges`. cents: (purchases,) int32. limit: int32.
        out: (customers,) int32, holds 0 before the launch, written.
    Launch: 32 threads per customer, in blocks that are a multiple of 32; the last block may have warps without one.
    """
    raise NotImplementedError("TODO 2.5: give each customer a whole warp")


@cuda.jit
def years_until(deposit, percent, target, limit, years):
    """years[i] = after how many years account i holds at least `target`; `limit` if it takes as long or longer.

    Every year an account grows by percent[i] per cent, rounded down: amount + amount * percent // 100. How many rounds
    that takes is known only when it is over. A lane stops when it has its answer, and the warp with its last lane.

    Args: deposit, percent: (n,) int32: cents at the start, 0 to 1,000,000, and per cent, 0 to 50.
        target: int32, cents, up to 10,000,000. limit: int32, years. years: (n,) int32, written.
    Launch: ceil(n / T) blocks of T threads.
    """
    raise NotImplementedError("TODO 2.6: stop as soon as possible, and say how long the warps run")


# Task 2.6 too. Four warps run `four_long_ones` of given.py. Of the 128 lanes 124 have 3 rounds, four have 100. Add up
# the rounds that the four warps run:
#   ROUNDS_APART      distance = 32: each warp has one of the four long lanes
#   ROUNDS_TOGETHER   distance = 1: the first warp has all four
ROUNDS_APART = ...  # TODO 2.6: stop as soon as possible, and say how long the warps run
ROUNDS_TOGETHER = ...  # TODO 2.6: stop as soon as possible, and say how long the warps run
