"""Lab 1: execution and measuring. README.md says what to do; `pytest labs/01_execution` says how far you are."""

import numpy as np

from gpukit import cuda

# Task 1.1. Answer with a number, before you launch anything. `mark` of given.py gives each thread one element.
#   WARPS_IN_A_BLOCK      warps in a block of 256 threads
#   THREADS_LAUNCHED      threads that the launch <<<1000, 256>>> (1000 blocks of 256 threads) starts
#   IDLE_THREADS          threads of <<<4, 256>>> that find no element when there are 900
#   IDLE_WARPS            warps of that launch in which not one thread finds an element
WARPS_IN_A_BLOCK = ...  # TODO 1.1: count warps, threads, idle threads and idle warps
THREADS_LAUNCHED = ...  # TODO 1.1: count warps, threads, idle threads and idle warps
IDLE_THREADS = ...  # TODO 1.1: count warps, threads, idle threads and idle warps
IDLE_WARPS = ...  # TODO 1.1: count warps, threads, idle threads and idle warps


def blocks_for(n, threads):
    """How many blocks of `threads` threads give each of n elements a thread of its own.

    No more blocks than needed, but at least one: a launch of 0 blocks is refused, even where there is nothing to do.

    Args: n: int, 0 or more, up to 2^60. threads: int, 1 or more.
    Returns: int.
    """
    raise NotImplementedError("TODO 1.2: round the number of blocks up")


@cuda.jit
def clip(x, low, high, y):
    """y[i] = x[i], but low where x[i] is below low, and high where it is above high.

    One element per thread. The grid covers all elements and often more: threads past the end must not read or write.

    Args: x: (n,) float32. low, high: float32, low <= high. y: (n,) float32, written.
    Launch: ceil(n / T) blocks of T threads, for any T.
    """
    raise NotImplementedError("TODO 1.3: clip one element per thread")


def blocks_for_image(rows, columns):
    """The grid (blocks along x, blocks along y) of 16 x 16 threads that covers an image; x counts columns, y rows.

    No more blocks than needed, at least one along each axis.

    Args: rows, columns: int, 0 or more.
    Returns: tuple of two int.
    """
    raise NotImplementedError("TODO 1.4: cover an image with blocks of 16 x 16 and turn it grey")


@cuda.jit
def grey(image, out):
    """out[r, c] = (77 red + 150 green + 29 blue) // 256 of pixel (r, c): one pixel per thread.

    Args: image: (rows, columns, 3) uint8: red, green, blue. out: (rows, columns) uint8, written.
    Launch: blocks of 16 x 16, as `blocks_for_image` gives them; x is the column, y the row.
    """
    raise NotImplementedError("TODO 1.4: cover an image with blocks of 16 x 16 and turn it grey")


@cuda.jit
def differences(x, y):
    """y[i] = x[i + 1] - x[i], with any grid: also one that is much smaller than n, or much larger.

    Neighbouring threads work on neighbouring elements in every round, as in a launch with a thread for each.

    Args: x: (n,) int32, n at least 2. y: (n - 1,) int32, written.
    Launch: any number of blocks of any size.
    """
    raise NotImplementedError("TODO 1.5: go on with a stride of the whole grid until all elements are done")


def median_and_spread(seconds, warmup):
    """The median of repeated timings and their spread, without the first `warmup` ones.

    The spread is the interquartile range over the median: (q3 - q1) / median, with the quartiles of np.percentile.

    Args: seconds: list of float, in the order they were measured, more than `warmup`. warmup: int, 0 or more.
    Returns: tuple of two float: seconds, and a part of the median (0.1 for 10 %).
    """
    raise NotImplementedError("TODO 1.6: turn seconds into a median, a bandwidth and the speed-up of the whole")


def bandwidth_gb_s(bytes_moved, seconds):
    """Effective bandwidth in GB/s, 1e9 bytes per second: what had to be read and written, over the time it took.

    Args: bytes_moved: int. seconds: float, above 0.
    Returns: float.
    """
    raise NotImplementedError("TODO 1.6: turn seconds into a median, a bandwidth and the speed-up of the whole")


def whole_speedup(part_seconds, rest_seconds, speedup):
    """How many times faster a program gets when one part of it is made `speedup` times faster (Amdahl's law).

    Args: part_seconds: float, what that part took before. rest_seconds: float, what all else takes, above 0.
        speedup: float, 1 or more; math.inf for a part that takes no time any more.
    Returns: float.
    """
    raise NotImplementedError("TODO 1.6: turn seconds into a median, a bandwidth and the speed-up of the whole")


def polynomial_work(n, degree):
    """What `polynomial` of given.py must do at least: bytes between GPU and memory, and float operations.

    Every element of x is read once and every element of y written once, 4 bytes each. A multiplication is one
    operation, an addition another.

    Args: n: int, elements. degree: int, 1 or more.
    Returns: tuple of two int: bytes, operations.
    """
    raise NotImplementedError("TODO 1.7: find the least time a GPU can take, and what limits it")


def least_seconds(bytes_moved, flops, gb_s, tflops):
    """The time below which a GPU cannot come, however good the kernel is.

    The bytes take a time at the memory's bandwidth, the operations another at the arithmetic's peak. Both can go on at
    the same time.

    Args: bytes_moved, flops: what is to be done. gb_s: bandwidth in 1e9 bytes per second. tflops: peak in 1e12
        operations per second.
    Returns: float, seconds.
    """
    raise NotImplementedError("TODO 1.7: find the least time a GPU can take, and what limits it")


def limit(bytes_moved, flops, gb_s, tflops):
    """What limits a kernel at best: "memory" if the bytes take as long as the operations or longer, else "arithmetic".

    Args: as for `least_seconds`.
    Returns: str.
    """
    raise NotImplementedError("TODO 1.7: find the least time a GPU can take, and what limits it")
