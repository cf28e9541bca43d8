"""A launch that covers only part of a two-dimensional output.

https://github.com/numba/numba/issues/7679
https://github.com/gpu-mode/lectures/pull/1
https://github.com/ENCCS/gpu-programming/issues/41
https://github.com/NVIDIA/cuda-samples/issues/411
"""

import numpy as np

from gpukit import cuda

ROWS, COLUMNS = 20, 50


def by_row_and_column(out):
    row, column = cuda.grid(2)
    if row < out.shape[0] and column < out.shape[1]:
        out[row, column] = row * out.shape[1] + column


def height_from_width(out):
    x = cuda.threadIdx.x + cuda.blockIdx.x * cuda.blockDim.x
    y = cuda.threadIdx.y + cuda.blockIdx.y * cuda.blockDim.x
    if x < out.shape[1] and y < out.shape[0]:
        out[y, x] = y * out.shape[1] + x


def by_column_and_row(out):
    x, y = cuda.grid(2)
    if x < out.shape[1] and y < out.shape[0]:
        out[y, x] = y * out.shape[1] + x


def args():
    return [np.full((ROWS, COLUMNS), -1, np.int32)]


CORRECT = np.arange(ROWS * COLUMNS).reshape(ROWS, COLUMNS)

CASES = {
    # Every thread has column 0, so one column is written.
    "two numbers where pairs were meant": {
        "kernel": by_row_and_column,
        "args": args,
        "grid": 2,
        "block": 16,
        "out": 0,
        "detect": ["unwritten_output"],
        "correct": CORRECT,
        "counts": {"unwritten_output": ROWS * COLUMNS - ROWS},
    },
    # Blocks of 32 x 4: rows 0 to 3 of each 32, so 4 rows of 20 are written.
    "height taken from the width": {
        "kernel": height_from_width,
        "args": args,
        "grid": (2, 5),
        "block": (32, 4),
        "out": 0,
        "detect": ["unwritten_output"],
        "correct": CORRECT,
        "counts": {"unwritten_output": 16 * COLUMNS},
    },
    # 50 // 16 = 3 and 20 // 8 = 2 blocks: 48 columns and 16 rows are covered.
    "grid rounded down": {
        "kernel": by_column_and_row,
        "args": args,
        "grid": (COLUMNS // 16, ROWS // 8),
        "block": (16, 8),
        "out": 0,
        "detect": ["unwritten_output"],
        "correct": CORRECT,
        "counts": {"unwritten_output": ROWS * COLUMNS - 48 * 16},
    },
    "grid rounded up": {
        "kernel": by_column_and_row,
        "args": args,
        "grid": (4, 3),
        "block": (16, 8),
        "out": 0,
        "detect": [],
        "result": CORRECT,
        "correct": CORRECT,
        "counts": {"unwritten_output": 0},
    },
}
