"""The reduction ladder: every rung on whole numbers, some on floats, whose sums show the order of the additions."""

import numpy as np
from compiled.kernels.table import LADDER, Near, blocks_of, floats, halving, integers, launched, sum_bound, zeros

N = 3001
BLOCKS = -(-N // 256)
PAIRED = -(-N // 512)


def data(n: int = N) -> np.ndarray:
    """Whole numbers of both signs."""
    return integers(n, low=-1000, high=1000)


def sums(x: np.ndarray, size: int) -> np.ndarray:
    """The sum of every `size` elements."""
    return blocks_of(x, size).sum(1, dtype=x.dtype)


def neighbours_first(x: np.ndarray) -> np.ndarray:
    """What is left of the input, in rows of 512, where the stride doubles."""
    left = x.reshape(-1, 512).copy()
    for stride in (1, 2, 4, 8, 16, 32, 64, 128, 256):
        left[:, :: 2 * stride] += left[:, stride :: 2 * stride]
    return left


def halves_first(x: np.ndarray) -> np.ndarray:
    """What is left of the input, in rows of 512, where the stride halves."""
    left = x.reshape(-1, 512).copy()
    for stride in (256, 128, 64, 32, 16, 8, 4, 2, 1):
        left[:, :stride] += left[:, stride : 2 * stride]
    return left


for _rung, _left in (("naive", neighbours_first), ("compact", neighbours_first), ("sequential", halves_first)):
    launched(
        LADDER,
        _rung,
        4,
        256,
        lambda: (data(2048), zeros(4, dtype=np.int32)),
        lambda x, partial, left=_left: {0: left(x), 1: sums(x, 512)},
    )

for _rung in ("shared_interleaved", "shared_strided", "shared_sequential"):
    launched(
        LADDER,
        _rung,
        BLOCKS,
        256,
        lambda: (data(), zeros(BLOCKS, dtype=np.int32), np.uint32(N)),
        lambda x, partial, n: {1: sums(x, 256)},
        shared_bytes=4 * 256,
    )

for _rung in ("first_add", "last_warp_volatile", "last_warp_syncwarp", "last_warp_shuffle", "unrolled", "shuffle"):
    launched(
        LADDER,
        _rung,
        PAIRED,
        256,
        lambda: (data(), zeros(PAIRED, dtype=np.int32), np.uint32(N)),
        lambda x, partial, n: {1: sums(x, 512)},
        shared_bytes=4 * 256,
        hazard="race_shared" if _rung == "last_warp_volatile" else None,
    )

launched(
    LADDER,
    "unrolled",
    6,
    64,
    lambda: (data(640), zeros(6, dtype=np.int32), np.uint32(640)),
    lambda x, partial, n: {1: np.append(sums(x, 128), 0)},
    name="unrolled, 64 threads, one block without work",
    shared_bytes=4 * 64,
    options=("-DBLOCK=64",),
)


def strided(x: np.ndarray, threads: int) -> np.ndarray:
    """What each thread of a grid-stride loop adds up, in its order."""
    total = np.zeros(threads, x.dtype)
    for row in blocks_of(x, threads):
        total = total + row
    return total


def block_sum(values: np.ndarray, block: int) -> np.ndarray:
    """Shuffles within warps, then over the warps: values of all threads -> one sum a block."""
    warps = halving(values.reshape(-1, block // 32, 32))
    return halving(np.pad(warps, ((0, 0), (0, 32 - block // 32))))


def grid_stride(x: np.ndarray) -> np.ndarray:
    """Sums of 3 blocks of 128."""
    return block_sum(strided(x, 384), 128)


def vectorized(x: np.ndarray) -> np.ndarray:
    """The same with four elements at a time and a tail."""
    quads = x[: x.size // 4 * 4].reshape(-1, 4)
    fours = (quads[:, 0] + quads[:, 1]) + (quads[:, 2] + quads[:, 3])
    total = strided(fours, 384)
    tail = x[x.size // 4 * 4 :]
    total[: tail.size] += tail
    return block_sum(total, 128)


def vectorized_unrolled(x: np.ndarray) -> np.ndarray:
    """The same with four times four elements a thread and round: tiles of 512 quads a block, then quads one by one."""
    quads = x[: x.size // 4 * 4].reshape(-1, 4)
    fours = (quads[:, 0] + quads[:, 1]) + (quads[:, 2] + quads[:, 3])
    tiles = fours[: fours.size // 512 * 512].reshape(-1, 4, 128)
    total = np.zeros((3, 128), x.dtype)
    for number, tile in enumerate(tiles):
        total[number % 3] += tile[0] + tile[1]
        total[number % 3] += tile[2] + tile[3]
    total = total.ravel()
    for row in blocks_of(fours[tiles.size :], 384):
        total += row
    tail = x[x.size // 4 * 4 :]
    total[: tail.size] += tail
    return block_sum(total, 128)


for _name, _reference in (
    ("grid_stride", grid_stride),
    ("grid_stride_signed", grid_stride),
    ("vectorized", vectorized),
    ("vectorized_unrolled", vectorized_unrolled),
):
    launched(
        LADDER,
        _name,
        3,
        128,
        lambda: (data(), zeros(3, dtype=np.int32), np.uint32(N)),
        lambda x, partial, n, f=_reference: {1: f(x)},
    )
    launched(
        LADDER,
        _name,
        3,
        128,
        lambda: (floats(3003, low=-1), zeros(3), np.uint32(3003)),
        lambda x, partial, n, f=_reference: {1: f(x)},
        name=f"{_name}, float",
        options=("-DELEMENT=float",),
    )

launched(
    LADDER,
    "shared_sequential",
    5,
    128,
    lambda: (floats(600), zeros(5), np.uint32(600)),
    lambda x, partial, n: {1: halving(blocks_of(x, 128))},
    name="shared_sequential, float",
    shared_bytes=4 * 128,
    options=("-DELEMENT=float",),
)
launched(
    LADDER,
    "shuffle",
    2,
    1024,
    lambda: (floats(4096, dtype=np.float64), zeros(2, dtype=np.float64), np.uint32(4096)),
    lambda x, partial, n: {1: block_sum(x.reshape(2, 2, 1024).sum(1).ravel(), 1024)},
    name="shuffle, double",
    options=("-DELEMENT=double",),
)

launched(
    LADDER,
    "finish_second_launch",
    1,
    256,
    lambda: (data(700), zeros(1, dtype=np.int32), np.uint32(700)),
    lambda x, total, n: {1: [x.sum()]},
)
launched(
    LADDER,
    "finish_atomic",
    4,
    128,
    lambda: (data(), zeros(1, dtype=np.int32), np.uint32(N)),
    lambda x, total, n: {1: [x.sum()]},
)
launched(
    LADDER,
    "finish_atomic",
    4,
    128,
    lambda: (floats(3000), zeros(1), np.uint32(3000)),
    lambda x, total, n: {1: Near(x.sum(dtype=np.float64), sum_bound(x))},
    name="finish_atomic, float",
    options=("-DELEMENT=float",),
    exact=False,
)
launched(
    LADDER,
    "finish_last_block",
    5,
    128,
    lambda: (data(), zeros(5, dtype=np.int32), zeros(1, dtype=np.int32), zeros(1, dtype=np.uint32), np.uint32(N)),
    lambda x, partial, total, done, n: {
        1: strided(x, 640).reshape(5, 128).sum(1),
        2: [x.sum()],
        3: [0],
    },
)
launched(
    LADDER,
    "finish_grid_sync",
    5,
    128,
    lambda: (data(), zeros(5, dtype=np.int32), zeros(1, dtype=np.int32), np.uint32(N)),
    lambda x, partial, total, n: {1: strided(x, 640).reshape(5, 128).sum(1), 2: [x.sum()]},
    cooperative=True,
    polls=True,
)
