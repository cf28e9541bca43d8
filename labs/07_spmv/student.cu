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
// constexpr int ROW_2 = ...;  // TODO 7.1: work through a small matrix by hand, and predict what reading rows costs

// The bytes of the three arrays of A, of float and int.
// constexpr int CSR_BYTES = ...;  // TODO 7.1: work through a small matrix by hand, and predict what reading rows costs

// The bytes that an entry of a large matrix takes, its value and its column.
// constexpr int BYTES_PER_ENTRY = ...;  // TODO 7.1: work through a small matrix by hand, and predict what reading rows costs

// 32 rows of 64 values in given.py: how many sectors does one load request of a warp touch, with a thread a row ...
// constexpr int SECTORS_BY_THREAD = ...;  // TODO 7.1: work through a small matrix by hand, and predict what reading rows costs

// ... and with a warp a row?
// constexpr int SECTORS_BY_WARP = ...;  // TODO 7.1: work through a small matrix by hand, and predict what reading rows costs

// 32 rows of 3 values: how many load requests do all warps together make, with a thread a row ...
// constexpr int REQUESTS_BY_THREAD = ...;  // TODO 7.1: work through a small matrix by hand, and predict what reading rows costs

// ... and with a warp a row?
// constexpr int REQUESTS_BY_WARP = ...;  // TODO 7.1: work through a small matrix by hand, and predict what reading rows costs

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
    __trap();  // TODO 7.2: multiply, one thread per row, and scale what is there
}

// --- 7.3: a warp a row ----------------------------------------------------------------------------------------------

// y = A x, one warp per row: its 32 lanes take the entries in turn and add up their parts by shuffles.
//
// indptr, indices, data, x, y: as in csr_thread.
//
// Cost: 32 neighbours a request, as far as a row goes; no shared memory, and 5 shuffles a row.
extern "C" __global__ void csr_warp(const int* indptr, const int* indices, const float* data, const float* x, float* y,
                                    int rows) {
    __trap();  // TODO 7.3: multiply, one warp per row
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
    __trap();  // TODO 7.4: share a warp among rows, with 2 to 32 lanes each
}

// --- 7.5: answer on paper, before you write 7.6 to 7.8 --------------------------------------------------------------
//
// A matrix of 64 rows: rows 10 and 40 have 64 entries each, every other row has 4. README.md says what a slot is.

// The slots of ELL.
// constexpr int ELL_SLOTS = ...;  // TODO 7.5: predict what padding costs, and how many lanes have work

// The slots of sliced ELL: slices of 8 rows, in the order of the matrix.
// constexpr int SLICED_SLOTS = ...;  // TODO 7.5: predict what padding costs, and how many lanes have work

// The slots of sliced ELL: slices of 8 rows, after all rows are sorted by their length, longest first.
// constexpr int SORTED_SLOTS = ...;  // TODO 7.5: predict what padding costs, and how many lanes have work

// CSR, one thread per row, 2 warps: how many turns of the loop do both together make?
// A warp goes on while any of its lanes does.
// constexpr int TURNS_BY_THREAD = ...;  // TODO 7.5: predict what padding costs, and how many lanes have work

// In the tenth turn of the first of these warps: how many of its 32 lanes have an entry?
// constexpr int BUSY_LANES = ...;  // TODO 7.5: predict what padding costs, and how many lanes have work

// CSR, one warp per row, 64 warps: how many turns do all together make?
// constexpr int TURNS_BY_WARP = ...;  // TODO 7.5: predict what padding costs, and how many lanes have work

// --- 7.6: ELL -------------------------------------------------------------------------------------------------------

// A CSR matrix as ELL: every row padded to the length of the longest one, the width. One thread.
//
// Entry k of row i stands at k * rows + i, in the order of CSR; where a row has ended, the column is -1 and the value 0.
// Every slot must be set. A matrix may have no entry: then the width is 0.
//
// columns, values: (width, rows), set.
extern "C" __global__ void to_ell(const int* indptr, const int* indices, const float* data, int* columns, float* values,
                                  int rows, int width) {
    __trap();  // TODO 7.6: convert CSR to ELL, and multiply without touching the padding
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
    __trap();  // TODO 7.6: convert CSR to ELL, and multiply without touching the padding
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
    __trap();  // TODO 7.7: sort rows within windows, and cut them into slices of their own width
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
    __trap();  // TODO 7.7: sort rows within windows, and cut them into slices of their own width
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
    __trap();  // TODO 7.8: multiply slice by slice, and bring each sum to its row
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
    __trap();  // TODO 7.9: choose a format and the lanes per row from the lengths of the rows
}
