"""Lab 7: Sparse matrix times vector. Most of a matrix is zero, and only the rest is stored.

CSR, compressed sparse rows: row i has the entries indptr[i] up to, not including, indptr[i + 1]; indptr is the row
pointer. Entry k is the number data[k] in column indices[k]. A row may have no entry. The columns of a row need no
order, one may occur twice (its entries add up), and an entry may be 0. Indices are int32, numbers float32.

Blocks are whole warps. A grid has enough threads for all rows, and more.
"""

import numpy as np
from numba import cuda

from gpukit.warp import warp_sum

FULL = 0xFFFFFFFF  # the mask of a whole warp

# --- 7.1: answer on paper --------------------------------------------------------------------------------------------
#
# A has 4 rows and 4 columns: data = 10 2 3 4 5 7, indices = 0 3 1 0 2 3, indptr = 0 2 3 5 6; x = 1 2 3 4.
# Row 0 of y = A x is 10 * 1 + 2 * 4 = 18.

# Row 2 of y.
ROW_2 = ...  # TODO 7.1: work through a small matrix by hand, and predict what reading rows costs

# The bytes of the three arrays of A.
CSR_BYTES = ...  # TODO 7.1: work through a small matrix by hand, and predict what reading rows costs

# The bytes that an entry of a large matrix takes, its value and its column.
BYTES_PER_ENTRY = ...  # TODO 7.1: work through a small matrix by hand, and predict what reading rows costs

# 32 rows of 64 values in given.py: how many sectors does one load request of a warp touch, with a thread a row ...
SECTORS_BY_THREAD = ...  # TODO 7.1: work through a small matrix by hand, and predict what reading rows costs

# ... and with a warp a row?
SECTORS_BY_WARP = ...  # TODO 7.1: work through a small matrix by hand, and predict what reading rows costs

# 32 rows of 3 values: how many load requests do all warps together make, with a thread a row ...
REQUESTS_BY_THREAD = ...  # TODO 7.1: work through a small matrix by hand, and predict what reading rows costs

# ... and with a warp a row?
REQUESTS_BY_WARP = ...  # TODO 7.1: work through a small matrix by hand, and predict what reading rows costs


# --- 7.2: a thread a row ---------------------------------------------------------------------------------------------


@cuda.jit
def csr_thread(indptr, indices, data, x, y, alpha, beta):
    """y = alpha A x + beta y, one thread per row.

    With beta = 0, y is written and not read: what stands there may be NaN.

    Args:
        indptr: int32 (rows + 1,). indices: int32 (entries,). data: float32 (entries,). All as above, not changed.
        x: float32 (columns,), not changed.
        y: float32 (rows,), set.
        alpha, beta: float32.

    Cost: a row is added up in a variable; y is written once, and the row pointer is read before
        the loop, not in it.
    """
    raise NotImplementedError("TODO 7.2: multiply, one thread per row, and scale what is there")


# --- 7.3: a warp a row -----------------------------------------------------------------------------------------------


@cuda.jit
def csr_warp(indptr, indices, data, x, y):
    """y = A x, one warp per row: its 32 lanes take the entries in turn and add up their parts by shuffles.

    gpukit.warp.warp_sum gives the sum to lane 0, if all 32 lanes call it; or write it, as in lab 6.

    Args: as in csr_thread.
    Cost: 32 neighbours a request, as far as a row goes; no shared memory, and 5 shuffles a row.
    """
    raise NotImplementedError("TODO 7.3: multiply, one warp per row")


# --- 7.4: a part of a warp -------------------------------------------------------------------------------------------


@cuda.jit
def csr_subwarp(indptr, indices, data, x, y, lanes):
    """y = A x, with `lanes` threads per row: a warp has 32 / lanes rows, which may be of different length.

    Args:
        indptr, indices, data, x, y: as in csr_thread.
        lanes: int32, 2, 4, 8, 16 or 32.

    Cost: no shared memory, and log2(lanes) shuffles.
    """
    raise NotImplementedError("TODO 7.4: share a warp among rows, with 2 to 32 lanes each")


# --- 7.5: answer on paper, before you write 7.6 to 7.8 ---------------------------------------------------------------
#
# A matrix of 64 rows: rows 10 and 40 have 64 entries each, every other row has 4. README.md says what a slot is.

# The slots of ELL.
ELL_SLOTS = ...  # TODO 7.5: predict what padding costs, and how many lanes have work

# The slots of sliced ELL: slices of 8 rows, in the order of the matrix.
SLICED_SLOTS = ...  # TODO 7.5: predict what padding costs, and how many lanes have work

# The slots of sliced ELL: slices of 8 rows, after all rows are sorted by their length, longest first.
SORTED_SLOTS = ...  # TODO 7.5: predict what padding costs, and how many lanes have work

# CSR, one thread per row, 2 warps: how many turns of the loop do both together make?
# A warp goes on while any of its lanes does.
TURNS_BY_THREAD = ...  # TODO 7.5: predict what padding costs, and how many lanes have work

# In the tenth turn of the first of these warps: how many of its 32 lanes have an entry?
BUSY_LANES = ...  # TODO 7.5: predict what padding costs, and how many lanes have work

# CSR, one warp per row, 64 warps: how many turns do all together make?
TURNS_BY_WARP = ...  # TODO 7.5: predict what padding costs, and how many lanes have work


# --- 7.6: ELL --------------------------------------------------------------------------------------------------------


def to_ell(indptr, indices, data):
    """A CSR matrix as ELL: every row padded to the length of the longest one, the width.

    Entry k of row i stands at [k, i], in the order of CSR; where a row has ended, the column is -1 and the value 0. A
    matrix may have no entry, or no row: then the width is 0.

    Args: the three arrays of CSR.
    Returns: (columns, values), int32 and float32, both (width, rows).
    """
    raise NotImplementedError("TODO 7.6: convert CSR to ELL, and multiply without touching the padding")


@cuda.jit
def ell(columns, values, x, y):
    """y = A x, one thread per row; A in ELL, as `to_ell` makes it.

    x may hold inf, and 0 * inf is NaN: padding must not be multiplied by anything.

    Args:
        columns: int32 (width, rows), not changed. values: float32 (width, rows), not changed.
        x: float32 (columns,), not changed.
        y: float32 (rows,), set.

    Cost: a row is added up in a variable; neighbouring lanes read neighbouring slots.
    """
    raise NotImplementedError("TODO 7.6: convert CSR to ELL, and multiply without touching the padding")


# --- 7.7: sliced ELL -------------------------------------------------------------------------------------------------


def order_rows(lengths, sigma):
    """The order in which rows go into the slices: sorted by length, longest first, within windows of sigma rows.

    The first sigma rows are a window, the next sigma rows are the next one, and the last one may have fewer. Rows of
    equal length may go in any order.

    Args: lengths: int32 (rows,), the entries of each row. sigma: int, 1 or more; it need not divide the rows.
    Returns: permutation, int32 (rows,): permutation[p] is the row that stands at place p.
    """
    raise NotImplementedError("TODO 7.7: sort rows within windows, and cut them into slices of their own width")


def to_sliced_ell(indptr, indices, data, permutation, height):
    """A CSR matrix as sliced ELL: every `height` places in a row of the permutation are a slice of its own width.

    The width of a slice is the length of its longest row. Slot k of place p of slice s stands at
    offsets[s] + k * height + p: as in ELL, but for each slice alone. The last slice has as many places as the others,
    also where there are no rows left for them. Padding as in ELL.

    Args: the three arrays of CSR; permutation: int32 (rows,), place -> row; height: int, 1 or more.
    Returns: (offsets, columns, values), int32 (slices + 1,), int32 and float32 (slots,). offsets begins with 0 and ends
        with the number of slots.
    """
    raise NotImplementedError("TODO 7.7: sort rows within windows, and cut them into slices of their own width")


# --- 7.8: sliced ELL, the kernel -------------------------------------------------------------------------------------


@cuda.jit
def sliced_ell(offsets, columns, values, permutation, x, y, height):
    """y = A x, one thread per place; A in sliced ELL, as `to_sliced_ell` makes it. y is in the order of the matrix.

    Args:
        offsets: int32 (slices + 1,), columns: int32 (slots,), values: float32 (slots,). Not changed.
        permutation: int32 (rows,), place -> row, not changed.
        x: float32 (columns,), not changed; it may hold inf.
        y: float32 (rows,), set.
        height: int32, the places of a slice.

    Cost: a thread reads the slots of its own slice and no others.
    """
    raise NotImplementedError("TODO 7.8: multiply slice by slice, and bring each sum to its row")


# --- 7.9: which one --------------------------------------------------------------------------------------------------


def choose(lengths):
    """How to multiply with a matrix, from the lengths of its rows alone.

    There are two offers: CSR with 1, 2, 4, 8, 16 or 32 lanes per row; or sliced ELL with slices of 32 rows, sorted
    within windows of sigma rows. The price of an offer is what reading the columns takes: the load requests, and the
    sectors that they touch. In CSR a request reads `lanes` entries of each of its rows, and a warp is done with its
    longest row; in sliced ELL padding is read like the rest. Yours may cost 2.5 times the cheapest offer.

    Args: lengths: int32 (rows,). There may be no row, and rows without entries.
    Returns: (lanes, sigma): (1, 2, 4, 8, 16 or 32, any) for CSR, (0, 1 or more) for sliced ELL.
    """
    raise NotImplementedError("TODO 7.9: choose a format and the lanes per row from the lengths of the rows")
