"""y = alpha A x + beta y in numba: one thread per row, one warp, a few lanes, ELL, sliced ELL, a hybrid, merge path.

kernels.cu has the same kernels in CUDA C++ under the same names; products.py says how each is launched.

All kernels read the matrix in one of the formats of `formats`, x of (columns,) and y of (rows,), both contiguous and
of the values' type T, float32 or float64; alpha and beta are of T too, so that a sum of float32 stays float32. With
beta = 0, y is written and never read: it may hold NaN. Rows are counted in 64 bits, since a warp per row makes 32
threads of each. Blocks are whole warps.
"""

from __future__ import annotations

import numpy as np

from gpukit import cuda
from gpukit.warp import segmented_scan, warp_sum

from .formats.hybrid import COLUMN, COUNT, FAR, FIRST, LINE, LINES, PART, PARTS, ROW, SHIFT, WIDE

FULL = 0xFFFFFFFF  # the mask of a whole warp
WARP = 32


@cuda.jit(device=True)
def result(total, y, row, alpha, beta):
    """alpha * total + beta * y[row], where beta = 0 means that y[row] is not read."""
    if beta == np.float32(0):  # a float32 zero: an int would take the comparison to float64
        return alpha * total
    return alpha * total + beta * y[row]


# --- CSR -------------------------------------------------------------------------------------------------------------


@cuda.jit
def csr_thread(indptr, indices, data, x, y, alpha, beta):
    """One thread per row: a warp works as long as its longest row, and its lanes read far apart.

    Expect: where rows have 24 entries, the 32 lanes of a request are 24 entries apart and touch 31 sectors; where one
        row is long, its lane goes on alone.

    Args:
        indptr: (rows + 1,) int32 or int64, the row pointer.
        indices: (nnz,) int32, columns.
        data: (nnz,) T, values.
        x, y: (columns,) and (rows,) T. y is set.
        alpha, beta: T.

    Source: Bell and Garland, "Implementing sparse matrix-vector multiplication on throughput-oriented processors"
        (SC 2009), the scalar kernel.
    """
    row = cuda.grid(1)
    if row < y.size:
        total = data.dtype.type(0)
        for k in range(indptr[row], indptr[row + 1]):
            total += data[k] * x[indices[k]]
        y[row] = result(total, y, row, alpha, beta)


@cuda.jit
def csr_warp(indptr, indices, data, x, y, alpha, beta):
    """One warp per row: its lanes read neighbouring entries, and a short row leaves most of them idle.

    Versus: csr_thread: 32 lanes share a row and add up by shuffles, where one thread walked it alone.

    Expect: load requests and sectors fall: the entries of a row are neighbours, and a long row takes a 32nd of the
        rounds. Store requests rise to one a row, and instructions where rows have fewer than 32 entries.

    Args:
        indptr, indices, data, x, y, alpha, beta: as in csr_thread.

    Source: Bell and Garland (SC 2009), the vector kernel.
    """
    row, lane = cuda.grid(1) // WARP, cuda.threadIdx.x % WARP
    if row < y.size:  # the same for all lanes of a warp
        total = data.dtype.type(0)
        for k in range(indptr[row] + lane, indptr[row + 1], WARP):
            total += data[k] * x[indices[k]]
        total = warp_sum(total)
        if lane == 0:
            y[row] = result(total, y, row, alpha, beta)


@cuda.jit
def csr_subwarp(indptr, indices, data, x, y, alpha, beta, lanes):
    """A few lanes per row, so that rows of a few entries keep a whole warp busy: 32 / lanes rows a warp.

    Versus: csr_warp: as many lanes as the mean length of a row is worth, where every row had 32.

    Expect: instructions and store requests fall, since a warp does several rows at once. Load requests and sectors
        rise where rows differ in length: the warp goes on for the longest of its rows.

    Args:
        indptr, indices, data, x, y, alpha, beta: as in csr_thread.
        lanes: int32, 2, 4, 8, 16 or 32 per row.

    Source: the vector kernel of CUSP, which picks the lanes by the mean length of a row.
    """
    row, lane = cuda.grid(1) >> (cuda.ffs(lanes) - 1), cuda.threadIdx.x & (lanes - 1)  # lanes is a power of two
    total = data.dtype.type(0)
    if row < y.size:
        k, end = indptr[row] + lane, indptr[row + 1]
        while k < end:
            total += data[k] * x[indices[k]]
            k += lanes
    distance = lanes >> 1
    while distance > 0:  # rows past the end take part as well: a shuffle is for the whole warp
        total += cuda.shfl_xor_sync(FULL, total, distance)
        distance >>= 1
    if lane == 0 and row < y.size:
        y[row] = result(total, y, row, alpha, beta)


# --- ELL and sliced ELL ----------------------------------------------------------------------------------------------


@cuda.jit
def ell(columns, values, x, y, alpha, beta):
    """One thread per row of slots that lie row beside row: lanes read side by side, padding too.

    Versus: csr_thread: the k-th entries of all rows are neighbours, where those of a row were; no row pointer is read.

    Expect: load requests and sectors rise where one row is long and most are short, since every row has as many rounds
        as the longest. More of every sector is used: rows of 24 entries each need 2.4 times fewer sectors.

    Args:
        columns: (width, rows) int32, -1 in a slot that is padding.
        values: (width, rows) T.
        x, y: (columns,) and (rows,) T. y is set.
        alpha, beta: T.

    Source: Bell and Garland (SC 2009).
    """
    row = cuda.grid(1)
    if row < y.size:
        total = values.dtype.type(0)
        for k in range(columns.shape[0]):
            column = columns[k, row]
            if column >= 0:  # before x and the value are read: 0 * inf would be NaN
                total += values[k, row] * x[column]
        y[row] = result(total, y, row, alpha, beta)


@cuda.jit
def sliced_ell(offsets, columns, values, permutation, x, y, alpha, beta, height):
    """One thread per place of a slice, and each slice as wide as its own longest row.

    Versus: ell: a slice of rows is as wide as the longest of these rows, where all were as wide as the longest of all.

    Expect: load requests and sectors fall with the padding, though the offsets of slices and the row of each place
        are read besides. A slice with one long row is still padded to it.

    Args:
        offsets: (slices + 1,) int64, where slices begin.
        columns: (slots,) int32, -1 in a slot that is padding; slot k of place p at offsets[slice] + k * height + p.
        values: (slots,) T.
        permutation: (rows,) int32, the row of each place.
        x, y: (columns,) and (rows,) T. y is set.
        alpha, beta: T.
        height: int32, places of a slice.

    Source: Kreutzer et al., "A unified sparse matrix data format for efficient general sparse matrix-vector
        multiplication on modern processors with wide SIMD units" (SIAM J. Sci. Comput. 36, 2014).
    """
    place = cuda.grid(1)
    if place < y.size:
        which = place // height
        slot, end = offsets[which] + place - which * height, offsets[which + 1]
        total = values.dtype.type(0)
        while slot < end:
            column = columns[slot]
            if column >= 0:
                total += values[slot] * x[column]
            slot += height
        row = permutation[place]
        y[row] = result(total, y, row, alpha, beta)


# --- hybrid ----------------------------------------------------------------------------------------------------------


@cuda.jit(device=True)
def part_of_slice(slices, at, bases, columns, far, values, x, first, step):
    """What the lane adds up of every `step`-th line of its slice, from line `first` on."""
    line, start, lane = slices[at, LINE], slices[at, COLUMN] * WARP, cuda.threadIdx.x % WARP
    total = values.dtype.type(0)
    if slices[at, WIDE]:
        for k in range(first, slices[at, LINES], step):
            column = far[start // 2 + k * WARP + lane]
            if column >= 0:
                total += values[(line + k) * WARP + lane] * x[column]
    else:
        for k in range(first, slices[at, LINES], step):
            column = columns[start + k * WARP + lane]
            if column != FAR:
                total += values[(line + k) * WARP + lane] * x[bases[line + k] + column]
    return total


@cuda.jit
def hybrid(slices, bases, columns, far, values, rows, split, owners, sums, arrived, x, y, alpha, beta):
    """A warp per slice, whose rows get a quarter of a lane to 32 lanes; the last warp of a row that was cut adds up.

    Versus: sliced_ell: a row gets lanes by its length, where each had one, and columns take 2 bytes, where they took 4.

    Expect: load requests and sectors fall: a slice has no long row to wait for, and columns take half of the sectors.

    Args:
        slices, bases, columns, far, values, rows, split, owners: the arrays of `Hybrid`.
        sums, arrived: its scratch memory; arrived is 0 before and after.
        x, y: (columns,) and (rows,) T. y is set.
        alpha, beta: T.

    Source: formats/hybrid.py; the last warp is found as in the sample threadFenceReduction of the CUDA toolkit.
    """
    at, lane = cuda.grid(1) // WARP, cuda.threadIdx.x % WARP
    if at < slices.shape[0]:  # the same for all lanes of a warp
        shift = slices[at, SHIFT]
        lanes_shift, rows_of_lane = max(shift, 0), 1 << max(-shift, 0)
        for turn in range(rows_of_lane):
            total = part_of_slice(slices, at, bases, columns, far, values, x, turn, rows_of_lane)
            distance = (1 << lanes_shift) >> 1
            while distance > 0:
                total += cuda.shfl_xor_sync(FULL, total, distance)
                distance >>= 1

            place = (lane >> lanes_shift) + turn * WARP
            row = np.int32(slices[at, FIRST] + place)
            if rows.size > 0 and place < slices[at, COUNT]:
                row = rows[row]
            piece = ~cuda.shfl_sync(FULL, row, 0)
            if piece < 0:
                if place < slices[at, COUNT] and lane & ((1 << lanes_shift) - 1) == 0:
                    y[row] = result(total, y, row, alpha, beta)
            else:
                finish(total, piece, split, owners, sums, arrived, y, alpha, beta)


@cuda.jit(device=True)
def finish(total, piece, split, owners, sums, arrived, y, alpha, beta):
    """Keep the sum of a piece of a row; the warp that comes last adds them up, always in the same order."""
    lane, owner = cuda.threadIdx.x % WARP, owners[piece]
    part, parts = split[owner, PART], split[owner, PARTS]
    last = np.int32(0)
    if lane == 0:
        sums[piece] = total
        cuda.threadfence()  # the sum is there before it is counted
        if cuda.atomic.add(arrived, owner, 1) == parts - 1:
            last = np.int32(1)
        cuda.threadfence()  # all sums are there before they are read
    cuda.syncwarp()
    if cuda.shfl_sync(FULL, last, 0):
        total = sums.dtype.type(0)
        for i in range(lane, parts, WARP):
            total += sums[part + i]
        total = warp_sum(total)
        if lane == 0:
            arrived[owner] = 0  # for the next product
            y[split[owner, ROW]] = result(total, y, split[owner, ROW], alpha, beta)


# --- merge path ------------------------------------------------------------------------------------------------------


@cuda.jit(device=True)
def rows_before(indptr, low, high, step):
    """How many of the first `step` steps of the merge are row ends, known to be `low` to `high`: a binary search on a
    diagonal."""
    while low < high:
        middle = (low + high) >> 1
        if indptr[middle + 1] < step - middle:  # the end of this row comes before the entry on the diagonal
            low = middle + 1
        else:
            high = middle
    return low


@cuda.jit
def merge_path(indptr, indices, data, x, y, carry_rows, carry_values, alpha, beta, items):
    """Row ends and entries merged to one list, cut into equal parts: each thread has as much to do as the others.

    A step of the merge takes an entry or ends a row. A block first multiplies its entries, side by side, into shared
    memory; then each thread walks its own steps. The thread that ends a row writes it, with beta; what earlier threads
    have of it is added later: by the warp when the row ends in it, by `merge_fix` when it goes on.

    Launch with room for a T per step of a block in dynamic shared memory.

    Versus: csr_thread: a thread takes as many steps as any other, wherever rows begin and end, where it took a row.

    Expect: load requests and sectors fall and more lanes are at work: no warp goes on for one long row, and a block
        reads its entries side by side. Store requests rise: the lanes of a warp end rows at different steps, and
        carries are stored and added.

    Args:
        indptr, indices, data, x, y, alpha, beta: as in csr_thread.
        carry_rows: (warps,) int32, the row in which each warp stops, or the number of rows; set.
        carry_values: (warps,) T, what the warp has of it; set.
        items: int32, steps of a thread. All threads together have rows + nnz steps or more.

    Source: Merrill and Garland, "Merge-based parallel sparse matrix-vector multiplication" (SC 2016).
    """
    rows, nnz = y.size, indices.size
    thread, tid, steps = cuda.grid(1), cuda.threadIdx.x, rows + nnz
    tile = cuda.shared.array(0, data.dtype)  # the products of the block's entries
    borders = cuda.shared.array(2, np.int32)  # how many rows end before the block's first step, and by its last
    first_step = min((thread - tid) * items, steps)
    last_step = min(first_step + cuda.blockDim.x * items, steps)
    if tid < 2:
        step = first_step if tid == 0 else last_step
        borders[tid] = rows_before(indptr, max(step - nnz, 0), min(step, rows), step)
    cuda.syncthreads()
    first, last = first_step - borders[0], last_step - borders[1]
    for k in range(first + tid, last, cuda.blockDim.x):
        tile[k - first] = data[k] * x[indices[k]]
    cuda.syncthreads()

    step = min(thread * items, steps)
    row = rows_before(indptr, max(step - last, borders[0]), min(step - first, borders[1]), step)
    k = step - row
    total = data.dtype.type(0)
    for _ in range(step, min(step + items, steps)):
        if k < indptr[row + 1]:
            total += tile[k - first]
            k += 1
        else:
            y[row] = result(total, y, row, alpha, beta)
            total = data.dtype.type(0)
            row += 1

    # `total` is carried into `row`. Lanes that stop in the same row add up what they carry.
    lane = cuda.laneid
    before = cuda.shfl_up_sync(FULL, row, 1)
    after = cuda.shfl_down_sync(FULL, row, 1)
    total = segmented_scan(total, lane == 0 or before != row)
    cuda.syncwarp()  # what lanes wrote to y is there before others add to it
    if lane == WARP - 1:
        carry_rows[thread // WARP] = row
        carry_values[thread // WARP] = total
    elif after != row and total != np.float32(0):
        y[row] += alpha * total  # the next lane ended this row


@cuda.jit
def merge_fix(carry_rows, carry_values, y, alpha):
    """Adds what the warps of `merge_path` carry, always in the same order: one warp for the carries into one row.

    Args:
        carry_rows: (warps,) int32, ascending; the number of rows where nothing is carried.
        carry_values: (warps,) T.
        y: (rows,) T, added to.
        alpha: T.
    """
    warp, lane = cuda.grid(1) // WARP, cuda.threadIdx.x % WARP
    if warp < carry_rows.size:
        row = carry_rows[warp]
        if row < y.size and (warp == 0 or carry_rows[warp - 1] != row):  # the first of them adds them all
            total = carry_values.dtype.type(0)
            k = warp + lane
            while k < carry_rows.size and carry_rows[k] == row:
                total += carry_values[k]
                k += WARP
            total = warp_sum(total)
            if lane == 0 and total != np.float32(0):
                y[row] += alpha * total
