// Lab 7: Sparse matrix times vector. Most of a matrix is zero, and only the rest is stored.
//
// CSR, compressed sparse rows: row i has the entries indptr[i] up to, not including, indptr[i + 1]; indptr is the row
// pointer. Entry k is the number data[k] in column indices[k]. A row may have no entry. The columns of a row need no
// order, one may occur twice (its entries add up), and an entry may be 0.
//
// Blocks are whole warps. A grid has enough threads for all rows, and more. The conversions of 7.6, 7.7 and 7.9 are
// launched with one thread: nothing of this file runs on the host.

constexpr unsigned FULL = 0xffffffffu;  // the mask of a whole warp

// --- 7.1: answer on paper -------------------------------------------------------------------------------------------
//
// A has 4 rows and 4 columns: data = 10 2 3 4 5 7, indices = 0 3 1 0 2 3, indptr = 0 2 3 5 6; x = 1 2 3 4.
// Row 0 of y = A x is 10 * 1 + 2 * 4 = 18.

// Row 2 of y.
// BEGIN SOLUTION 7.1: work through a small matrix by hand, and predict what reading rows costs
constexpr int ROW_2 = 19;
// END SOLUTION

// The bytes of the three arrays of A, of float and int.
// BEGIN SOLUTION 7.1: work through a small matrix by hand, and predict what reading rows costs
constexpr int CSR_BYTES = 68;
// END SOLUTION

// The bytes that an entry of a large matrix takes, its value and its column.
// BEGIN SOLUTION 7.1: work through a small matrix by hand, and predict what reading rows costs
constexpr int BYTES_PER_ENTRY = 8;
// END SOLUTION

// 32 rows of 64 values in given.py: how many sectors does one load request of a warp touch, with a thread a row ...
// BEGIN SOLUTION 7.1: work through a small matrix by hand, and predict what reading rows costs
constexpr int SECTORS_BY_THREAD = 32;
// END SOLUTION

// ... and with a warp a row?
// BEGIN SOLUTION 7.1: work through a small matrix by hand, and predict what reading rows costs
constexpr int SECTORS_BY_WARP = 4;
// END SOLUTION

// 32 rows of 3 values: how many load requests do all warps together make, with a thread a row ...
// BEGIN SOLUTION 7.1: work through a small matrix by hand, and predict what reading rows costs
constexpr int REQUESTS_BY_THREAD = 3;
// END SOLUTION

// ... and with a warp a row?
// BEGIN SOLUTION 7.1: work through a small matrix by hand, and predict what reading rows costs
constexpr int REQUESTS_BY_WARP = 32;
// END SOLUTION

// --- 7.2: a thread a row --------------------------------------------------------------------------------------------

// y = alpha A x + beta y, one thread per row.
//
// With beta = 0, y is written and not read: what stands there may be NaN.
//
// indptr: (rows + 1,). indices: (entries,). data: (entries,). All as above, not changed.
// x: (columns,), not changed.
// y: (rows,), set.
//
// Cost: a row is added up in a variable; y is written once, and the row pointer is read before the
// loop, not in it.
extern "C" __global__ void csr_thread(const int* indptr, const int* indices, const float* data, const float* x, float* y,
                                      float alpha, float beta, int rows) {
    // BEGIN SOLUTION 7.2: multiply, one thread per row, and scale what is there
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float total = 0;
    int end = indptr[row + 1];
    for (int k = indptr[row]; k < end; k++) total += data[k] * x[indices[k]];
    total *= alpha;
    y[row] = beta == 0 ? total : total + beta * y[row];
    // END SOLUTION
}

// --- 7.3: a warp a row ----------------------------------------------------------------------------------------------

// y = A x, one warp per row: its 32 lanes take the entries in turn and add up their parts by shuffles.
//
// indptr, indices, data, x, y: as in csr_thread.
//
// Cost: 32 neighbours a request, as far as a row goes; no shared memory, and 5 shuffles a row.
extern "C" __global__ void csr_warp(const int* indptr, const int* indices, const float* data, const float* x, float* y,
                                    int rows) {
    // BEGIN SOLUTION 7.3: multiply, one warp per row
    int thread = blockIdx.x * blockDim.x + threadIdx.x, row = thread / 32, lane = thread % 32;
    if (row >= rows) return;  // the whole warp goes
    float total = 0;
    int end = indptr[row + 1];
    for (int k = indptr[row] + lane; k < end; k += 32) total += data[k] * x[indices[k]];
    for (int offset = 16; offset > 0; offset /= 2) total += __shfl_down_sync(FULL, total, offset);
    if (lane == 0) y[row] = total;
    // END SOLUTION
}

// --- 7.4: a part of a warp ------------------------------------------------------------------------------------------

// y = A x, with `lanes` threads per row: a warp has 32 / lanes rows, which may be of different length.
//
// indptr, indices, data, x, y: as in csr_thread.
// lanes: 2, 4, 8, 16 or 32.
//
// Cost: no shared memory, and log2(lanes) shuffles.
extern "C" __global__ void csr_subwarp(const int* indptr, const int* indices, const float* data, const float* x,
                                       float* y, int lanes, int rows) {
    // BEGIN SOLUTION 7.4: share a warp among rows, with 2 to 32 lanes each
    int thread = blockIdx.x * blockDim.x + threadIdx.x, row = thread / lanes, lane = thread % lanes;
    float total = 0;
    if (row < rows) {
        int end = indptr[row + 1];
        for (int k = indptr[row] + lane; k < end; k += lanes) total += data[k] * x[indices[k]];
    }
    for (int offset = lanes / 2; offset > 0; offset /= 2) total += __shfl_xor_sync(FULL, total, offset);
    if (row < rows && lane == 0) y[row] = total;
    // END SOLUTION
}

// --- 7.5: answer on paper, before you write 7.6 to 7.8 --------------------------------------------------------------
//
// A matrix of 64 rows: rows 10 and 40 have 64 entries each, every other row has 4. README.md says what a slot is.

// The slots of ELL.
// BEGIN SOLUTION 7.5: predict what padding costs, and how many lanes have work
constexpr int ELL_SLOTS = 4096;
// END SOLUTION

// The slots of sliced ELL: slices of 8 rows, in the order of the matrix.
// BEGIN SOLUTION 7.5: predict what padding costs, and how many lanes have work
constexpr int SLICED_SLOTS = 1216;
// END SOLUTION

// The slots of sliced ELL: slices of 8 rows, after all rows are sorted by their length, longest first.
// BEGIN SOLUTION 7.5: predict what padding costs, and how many lanes have work
constexpr int SORTED_SLOTS = 736;
// END SOLUTION

// CSR, one thread per row, 2 warps: how many turns of the loop do both together make?
// A warp goes on while any of its lanes does.
// BEGIN SOLUTION 7.5: predict what padding costs, and how many lanes have work
constexpr int TURNS_BY_THREAD = 128;
// END SOLUTION

// In the tenth turn of the first of these warps: how many of its 32 lanes have an entry?
// BEGIN SOLUTION 7.5: predict what padding costs, and how many lanes have work
constexpr int BUSY_LANES = 1;
// END SOLUTION

// CSR, one warp per row, 64 warps: how many turns do all together make?
// BEGIN SOLUTION 7.5: predict what padding costs, and how many lanes have work
constexpr int TURNS_BY_WARP = 66;
// END SOLUTION

// --- 7.6: ELL -------------------------------------------------------------------------------------------------------

// A CSR matrix as ELL: every row padded to the length of the longest one, the width. One thread.
//
// Entry k of row i stands at k * rows + i, in the order of CSR; where a row has ended, the column is -1 and the value 0.
// Every slot must be set. A matrix may have no entry: then the width is 0.
//
// columns, values: (width, rows), set.
extern "C" __global__ void to_ell(const int* indptr, const int* indices, const float* data, int* columns, float* values,
                                  int rows, int width) {
    // BEGIN SOLUTION 7.6: convert CSR to ELL, and multiply without touching the padding
    for (int row = 0; row < rows; row++) {
        int start = indptr[row], length = indptr[row + 1] - start;
        for (int k = 0; k < width; k++) {
            columns[k * rows + row] = k < length ? indices[start + k] : -1;
            values[k * rows + row] = k < length ? data[start + k] : 0;
        }
    }
    // END SOLUTION
}

// y = A x, one thread per row; A in ELL, as `to_ell` makes it.
//
// x may hold inf, and 0 * inf is NaN: padding must not be multiplied by anything.
//
// columns, values: (width, rows), not changed.
// x: (columns,), not changed.
// y: (rows,), set.
//
// Cost: a row is added up in a variable; neighbouring lanes read neighbouring slots.
extern "C" __global__ void ell(const int* columns, const float* values, const float* x, float* y, int rows, int width) {
    // BEGIN SOLUTION 7.6: convert CSR to ELL, and multiply without touching the padding
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float total = 0;
    for (int k = 0; k < width; k++) {
        int column = columns[k * rows + row];
        if (column >= 0) total += values[k * rows + row] * x[column];
    }
    y[row] = total;
    // END SOLUTION
}

// --- 7.7: sliced ELL ------------------------------------------------------------------------------------------------

// The order in which rows go into the slices: sorted by length, longest first, within windows of sigma rows. One thread.
//
// The first sigma rows are a window, the next sigma rows are the next one, and the last one may have fewer. Rows of equal
// length may go in any order.
//
// lengths: (rows,), the entries of each row, not changed. sigma: 1 or more; it need not divide the rows.
// permutation: (rows,), set: permutation[p] is the row that stands at place p.
extern "C" __global__ void order_rows(const int* lengths, int sigma, int* permutation, int rows) {
    // BEGIN SOLUTION 7.7: sort rows within windows, and cut them into slices of their own width
    for (int row = 0; row < rows; row++) {
        int place = row, first = row / sigma * sigma;
        for (; place > first && lengths[permutation[place - 1]] < lengths[row]; place--) {
            permutation[place] = permutation[place - 1];
        }
        permutation[place] = row;
    }
    // END SOLUTION
}

// A CSR matrix as sliced ELL: every `height` places in a row of the permutation are a slice of its own width. One thread.
//
// The width of a slice is the length of its longest row. Slot k of place p of slice s stands at
// offsets[s] + k * height + p: as in ELL, but for each slice alone. The last slice has as many places as the others, also
// where there are no rows left for them. Padding as in ELL; every slot must be set.
//
// permutation: (rows,), place -> row, not changed. height: 1 or more.
// offsets: (slices + 1,), set; it begins with 0 and ends with the number of slots. columns, values: (slots,), set.
extern "C" __global__ void to_sliced_ell(const int* indptr, const int* indices, const float* data,
                                         const int* permutation, int height, int* offsets, int* columns, float* values,
                                         int rows) {
    // BEGIN SOLUTION 7.7: sort rows within windows, and cut them into slices of their own width
    int slot = 0, slice = 0;
    for (int first = 0; first < rows; first += height) {
        int width = 0;
        for (int place = first; place < min(first + height, rows); place++) {
            width = max(width, indptr[permutation[place] + 1] - indptr[permutation[place]]);
        }
        offsets[slice++] = slot;
        for (int k = 0; k < width; k++) {
            for (int place = first; place < first + height; place++, slot++) {
                int row = place < rows ? permutation[place] : 0;
                bool there = place < rows && k < indptr[row + 1] - indptr[row];
                columns[slot] = there ? indices[indptr[row] + k] : -1;
                values[slot] = there ? data[indptr[row] + k] : 0;
            }
        }
    }
    offsets[slice] = slot;
    // END SOLUTION
}

// --- 7.8: sliced ELL, the kernel ------------------------------------------------------------------------------------

// y = A x, one thread per place; A in sliced ELL, as `to_sliced_ell` makes it. y is in the order of the matrix.
//
// offsets: (slices + 1,), columns: (slots,), values: (slots,). Not changed.
// permutation: (rows,), place -> row, not changed.
// x: (columns,), not changed; it may hold inf.
// y: (rows,), set.
// height: the places of a slice.
//
// Cost: a thread reads the slots of its own slice and no others.
extern "C" __global__ void sliced_ell(const int* offsets, const int* columns, const float* values,
                                      const int* permutation, const float* x, float* y, int height, int rows) {
    // BEGIN SOLUTION 7.8: multiply slice by slice, and bring each sum to its row
    int place = blockIdx.x * blockDim.x + threadIdx.x;
    if (place >= rows) return;
    float total = 0;
    int slice = place / height, end = offsets[slice + 1];
    for (int slot = offsets[slice] + place % height; slot < end; slot += height) {
        int column = columns[slot];
        if (column >= 0) total += values[slot] * x[column];
    }
    y[permutation[place]] = total;
    // END SOLUTION
}

// --- 7.9: which one -------------------------------------------------------------------------------------------------

// How to multiply with a matrix, from the lengths of its rows alone. One thread.
//
// There are two offers: CSR with 1, 2, 4, 8, 16 or 32 lanes per row; or sliced ELL with slices of 32 rows, sorted within
// windows of sigma rows. The price of an offer is what reading the columns takes: the load requests, and the sectors that
// they touch. In CSR a request reads `lanes` entries of each of its rows, and a warp is done with its longest row; in
// sliced ELL padding is read like the rest. Yours may cost 2.5 times the cheapest offer.
//
// lengths: (rows,). There may be no row, and rows without entries.
// choice: (2,), set to lanes and sigma: (1, 2, 4, 8, 16 or 32, any) for CSR, (0, 1 or more) for sliced ELL.
extern "C" __global__ void choose(const int* lengths, int* choice, int rows) {
    // BEGIN SOLUTION 7.9: choose a format and the lanes per row from the lengths of the rows
    int entries = 0, longest = 0, lanes = 1;
    for (int row = 0; row < rows; row++) {
        entries += lengths[row];
        longest = max(longest, lengths[row]);
    }
    // All rows sorted, a slice pads its rows to at most the length of the slice before: to 32 * longest in all.
    if (64 * longest <= entries) lanes = 0;
    while (lanes > 0 && lanes < 32 && lanes * rows < entries) lanes *= 2;
    choice[0] = lanes;
    choice[1] = max(1, rows);
    // END SOLUTION
}
