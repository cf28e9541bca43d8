"""Kernels that the quizzes of 8.1, 8.4 and 8.5 are about: rows far apart, numbers by id, and counts by id.

Read which addresses the lanes of a warp ask for at the same moment. Try one:

    gpukit profile labs/08_ctr/given.py:look_up --grid 1 --block 32 -a 'int32[32]:arange' -a 'float32[32]' \
        -a 'float32[32]'
"""

from gpukit import cuda


@cuda.jit
def read_rows(table, out, step):
    """out[k] = row k * step of the table, a thread for each number. table: (rows, dim) float32; out: (n, dim)."""
    t = cuda.grid(1)
    dim = table.shape[1]
    k = t // dim
    if k < out.shape[0]:
        out[k, t % dim] = table[k * step, t % dim]


@cuda.jit
def look_up(ids, weights, out):
    """out[i] = weights[ids[i]], a thread for each lookup. ids: int32 (n,); weights: float32 (rows,); out: (n,)."""
    i = cuda.grid(1)
    if i < ids.size:
        row = ids[i]
        out[i] = weights[row]


@cuda.jit
def copy_rows(ids, table, out):
    """out[i] = row ids[i] of the table, a warp for each lookup. table: float32 (rows, 32); out: (n, 32)."""
    t = cuda.grid(1)
    i = t // 32
    if i < ids.size:
        row = ids[i]
        out[i, t % 32] = table[row, t % 32]


@cuda.jit
def count_ids(ids, counts):
    """How often each id occurs, by atomics, a thread for each lookup. ids: int32 (n,); counts: int32 (rows,)."""
    i = cuda.grid(1)
    if i < ids.size:
        cuda.atomic.add(counts, ids[i], 1)
