// y = alpha A x + beta y in CUDA C++: the kernels of kernels.py, which has their documentation, under the same names.
//
// T is the type of values, x, y, alpha and beta (float or double), I that of the row pointer (int or long long).
// With beta = 0, y is written and never read. Blocks are whole warps. Rows are counted by an int, threads by a long
// long: 32 a row are more than an int counts. Slots and entries may be more than 2^31 as well.

#define FULL 0xffffffffu
#define WARP 32

__device__ __forceinline__ long long thread_number() { return (long long)blockIdx.x * blockDim.x + threadIdx.x; }

// y[row] = alpha * total + beta * y[row]
template <typename T> __device__ __forceinline__ void write(T* y, int row, T total, T alpha, T beta) {
    y[row] = beta == T(0) ? alpha * total : alpha * total + beta * y[row];
}

// The sum over LANES neighbouring lanes, right in the first of them. All lanes of the warp take part.
template <int LANES, typename T> __device__ __forceinline__ T sum_of_lanes(T total) {
    #pragma unroll
    for (int distance = LANES / 2; distance > 0; distance /= 2) total += __shfl_down_sync(FULL, total, distance, LANES);
    return total;
}

// --- CSR -------------------------------------------------------------------------------------------------------------

// What one of LANES lanes adds up of a row: every LANES-th entry.
template <int LANES, typename T, typename I>
__device__ __forceinline__ T part_of_row(const I* __restrict__ indptr, const int* __restrict__ indices,
                                         const T* __restrict__ data, const T* __restrict__ x, int row, int lane) {
    T total = 0;
    long long end = indptr[row + 1];  // k passes the end by up to LANES, which an int may not hold
    #pragma unroll 4
    for (long long k = (long long)indptr[row] + lane; k < end; k += LANES) total += data[k] * x[indices[k]];
    return total;
}

// One thread per row: a warp works as long as its longest row, and its lanes read far apart.
//
// Expect: where rows have 24 entries, the 32 lanes of a request are 24 entries apart and touch 31 sectors; where one
//     row is long, its lane goes on alone.
template <typename T, typename I> __global__ void csr_thread(
    const I* __restrict__ indptr, const int* __restrict__ indices, const T* __restrict__ data,
    const T* __restrict__ x, T* __restrict__ y, T alpha, T beta, int rows) {
    long long row = thread_number();
    if (row < rows) write(y, row, part_of_row<1>(indptr, indices, data, x, row, 0), alpha, beta);
}

// A few lanes per row, so that rows of a few entries keep a whole warp busy: 32 / LANES rows a warp.
//
// Versus: csr_warp: as many lanes as the mean length of a row is worth, where every row had 32.
//
// Expect: instructions and store requests fall; load requests and sectors rise where rows differ in length.
template <typename T, typename I, int LANES> __global__ void csr_subwarp(
    const I* __restrict__ indptr, const int* __restrict__ indices, const T* __restrict__ data,
    const T* __restrict__ x, T* __restrict__ y, T alpha, T beta, int rows) {
    long long row = thread_number() / LANES;
    int lane = threadIdx.x % LANES;
    T total = row < rows ? part_of_row<LANES>(indptr, indices, data, x, row, lane) : T(0);
    total = sum_of_lanes<LANES>(total);  // rows past the end take part as well: a shuffle is for the whole warp
    if (lane == 0 && row < rows) write(y, row, total, alpha, beta);
}

// One warp per row: its lanes read neighbouring entries, and a short row leaves most of them idle.
//
// Versus: csr_thread: 32 lanes share a row and add up by shuffles, where one thread walked it alone.
//
// Expect: load requests and sectors fall, store requests rise to one a row, and instructions where rows are short.
template <typename T, typename I> __global__ void csr_warp(
    const I* __restrict__ indptr, const int* __restrict__ indices, const T* __restrict__ data,
    const T* __restrict__ x, T* __restrict__ y, T alpha, T beta, int rows) {
    long long row = thread_number() / WARP;
    int lane = threadIdx.x % WARP;
    if (row >= rows) return;  // a whole warp at once
    T total = sum_of_lanes<WARP>(part_of_row<WARP>(indptr, indices, data, x, row, lane));
    if (lane == 0) write(y, row, total, alpha, beta);
}

// --- ELL and sliced ELL ----------------------------------------------------------------------------------------------

// One thread per row of slots that lie row beside row: lanes read side by side, padding too.
//
// Versus: csr_thread: the k-th entries of all rows are neighbours, where those of a row were; no row pointer is read.
//
// Expect: load requests and sectors rise where one row is long and most are short; more of every sector is used.
template <typename T> __global__ void ell(
    const int* __restrict__ columns, const T* __restrict__ values, const T* __restrict__ x, T* __restrict__ y,
    T alpha, T beta, int width, int rows) {
    long long row = thread_number();
    if (row >= rows) return;
    T total = 0;
    #pragma unroll 4
    for (int k = 0; k < width; k++) {
        long long slot = (long long)k * rows + row;
        int column = columns[slot];
        if (column >= 0) total += values[slot] * x[column];  // tested before x and the value are read: 0 * inf is NaN
    }
    write(y, row, total, alpha, beta);
}

// One thread per place of a slice, and each slice as wide as its own longest row.
//
// Versus: ell: a slice of rows is as wide as the longest of these rows, where all were as wide as the longest of all.
//
// Expect: load requests and sectors fall with the padding. A slice with one long row is still padded to it.
template <typename T> __global__ void sliced_ell(
    const long long* __restrict__ offsets, const int* __restrict__ columns, const T* __restrict__ values,
    const int* __restrict__ permutation, const T* __restrict__ x, T* __restrict__ y, T alpha, T beta, int height,
    int rows) {
    unsigned place = blockIdx.x * blockDim.x + threadIdx.x;  // up to 2^31 rows and a block
    if (place >= rows) return;
    unsigned slice = place / height;
    long long end = offsets[slice + 1];
    T total = 0;
    #pragma unroll 4
    for (long long slot = offsets[slice] + (place - slice * height); slot < end; slot += height) {
        int column = columns[slot];
        if (column >= 0) total += values[slot] * x[column];
    }
    write(y, permutation[place], total, alpha, beta);
}

// --- hybrid ----------------------------------------------------------------------------------------------------------

// The most rows that a lane of the hybrid has. Its lines go to them by turns, and where it has fewer, each of so many
// sums is a part of a row's.
#define ROWS 4

// What a lane adds up of the slots of its slice. Columns are 16-bit distances from the base of their line, or WIDE.
// A batch of loads is under way before the first of them is used; what is read once makes no room in the caches that x
// could have.
template <bool WIDE, typename T, typename C>
__device__ __forceinline__ void add_slice(T (&sums)[ROWS], const C* __restrict__ columns, const int* __restrict__ bases,
                                          const T* __restrict__ values, const T* __restrict__ x, int lines) {
    constexpr int BATCH = 32 / sizeof(T);
    const C padding = C(-1);
    for (int k = 0; k < lines; k += BATCH) {
        C column[BATCH];
        int base[BATCH];
        T value[BATCH], factor[BATCH];
        #pragma unroll
        for (int i = 0; i < BATCH; i++) {
            bool inside = k + i < lines;
            base[i] = !WIDE && inside ? bases[k + i] : 0;
            column[i] = inside ? __ldcs(columns + WARP * (k + i)) : padding;
            value[i] = inside ? __ldcs(values + WARP * (k + i)) : T(0);
        }
        #pragma unroll
        for (int i = 0; i < BATCH; i++) factor[i] = column[i] != padding ? x[base[i] + column[i]] : T(0);
        #pragma unroll
        for (int i = 0; i < BATCH; i++) sums[i % ROWS] += value[i] * factor[i];
    }
}

// A warp per slice, whose rows get a quarter of a lane to 32 lanes; the last of the warps of a row that was cut adds up.
//
// Versus: sliced_ell: a row gets lanes by its length, where each had one, and columns take 2 bytes, where they took 4.
//
// Expect: load requests and sectors fall: a slice has no long row to wait for, and columns take half of the sectors.
template <typename T, int THREADS> __global__ void __launch_bounds__(THREADS, THREADS < 64 ? 20 : 1280 / THREADS) hybrid(
    const int4* __restrict__ slices, const int* __restrict__ bases, const unsigned short* __restrict__ columns,
    const int* __restrict__ far, const T* __restrict__ values, const int* __restrict__ rows,
    const int* __restrict__ split, const int* __restrict__ owners, T* sums, int* arrived, const T* __restrict__ x,
    T* __restrict__ y, T alpha, T beta, int count, int places) {
    long long slice = thread_number() / WARP;
    int lane = threadIdx.x % WARP;
    if (slice >= count) return;  // a whole warp at once
    int4 head = slices[2 * slice], tail = slices[2 * slice + 1];
    int line = head.x, lines = head.y, wide = head.w, first = tail.x, members = tail.y, shift = tail.z;
    const T* value = values + (long long)WARP * line + lane;
    long long start = (long long)WARP * head.z;  // of its columns, in 16-bit units
    T sums_of_lane[ROWS] = {};
    if (wide) add_slice<true>(sums_of_lane, far + start / 2 + lane, bases, value, x, lines);
    else add_slice<false>(sums_of_lane, columns + start + lane, bases + line, value, x, lines);
    if (shift < 0) {
        if (shift == -1) {
            sums_of_lane[0] += sums_of_lane[2];
            sums_of_lane[1] += sums_of_lane[3];
        }
        #pragma unroll
        for (int i = 0; i < ROWS; i++) {
            int place = WARP * i + lane, row = first + place;
            if (i < 1 << -shift && place < members) write(y, places > 0 ? rows[row] : row, sums_of_lane[i], alpha, beta);
        }
        return;
    }
    T total = (sums_of_lane[0] + sums_of_lane[1]) + (sums_of_lane[2] + sums_of_lane[3]);
    for (int distance = (1 << shift) / 2; distance > 0; distance /= 2) total += __shfl_xor_sync(FULL, total, distance);

    int place = lane >> shift, row = first + place;
    if (places > 0 && place < members) row = rows[row];
    int piece = ~__shfl_sync(FULL, row, 0);
    if (piece < 0) {
        if (place < members && lane == place << shift) write(y, row, total, alpha, beta);
        return;
    }
    int owner = owners[piece], part = split[3 * owner + 1], parts = split[3 * owner + 2], last = 0;
    if (lane == 0) {
        sums[piece] = total;
        __threadfence();  // the sum is there before it is counted
        last = atomicAdd(&arrived[owner], 1) == parts - 1;
        __threadfence();  // all sums are there before they are read
    }
    __syncwarp();
    if (!__shfl_sync(FULL, last, 0)) return;
    total = 0;
    for (int i = lane; i < parts; i += WARP) total += __ldcg(sums + part + i);
    total = sum_of_lanes<WARP>(total);
    if (lane == 0) {
        arrived[owner] = 0;  // for the next product
        write(y, split[3 * owner], total, alpha, beta);
    }
}

// --- merge path ------------------------------------------------------------------------------------------------------

// How many of the first `step` steps of the merge are row ends, known to be `low` to `high`: a binary search on a
// diagonal.
template <typename I> __device__ __forceinline__ int rows_before(
    const I* __restrict__ indptr, long long low, long long high, long long step) {
    while (low < high) {
        long long middle = (low + high) / 2;
        if (indptr[middle + 1] < step - middle) low = middle + 1;  // this row's end comes before the entry
        else high = middle;
    }
    return low;
}

// Row ends and entries merged to one list, cut into equal parts: each thread has as much to do as the others.
//
// Launch with room for a T per step of a block in dynamic shared memory.
//
// Versus: csr_thread: a thread takes as many steps as any other, wherever rows begin and end, where it took a row.
//
// Expect: load requests and sectors fall and more lanes are at work; store requests rise.
template <typename T, typename I> __global__ void merge_path(
    const I* __restrict__ indptr, const int* __restrict__ indices, const T* __restrict__ data,
    const T* __restrict__ x, T* y, int* __restrict__ carry_rows, T* __restrict__ carry_values, T alpha, T beta,
    int items, int rows) {
    extern __shared__ double shared[];  // of a type that is as wide as any T
    T* tile = (T*)shared;               // the products of the block's entries
    __shared__ int borders[2];          // how many rows end before the block's first step, and by its last
    long long thread = thread_number(), nnz = indptr[rows], steps = rows + nnz;
    int tid = threadIdx.x;
    long long first_step = min((thread - tid) * items, steps);
    long long last_step = min(first_step + (long long)blockDim.x * items, steps);
    if (tid < 2) {
        long long step = tid == 0 ? first_step : last_step;
        borders[tid] = rows_before(indptr, max(step - nnz, 0LL), min(step, (long long)rows), step);
    }
    __syncthreads();
    long long first = first_step - borders[0], last = last_step - borders[1];
    int entries = last - first;
    #pragma unroll 4
    for (int k = tid; k < entries; k += blockDim.x) tile[k] = data[first + k] * x[indices[first + k]];
    __syncthreads();

    long long step = min(thread * items, steps);
    long long low = max(step - last, (long long)borders[0]), high = min(step - first, (long long)borders[1]);
    int row = rows_before(indptr, low, high, step);
    int k = step - row - first, count = min((long long)items, steps - step);
    T total = 0;
    for (int i = 0; i < count; i++) {
        if (k < indptr[row + 1] - first) {
            total += tile[k];
            k++;
        } else {
            write(y, row, total, alpha, beta);
            total = 0;
            row++;
        }
    }

    // `total` is carried into `row`. Lanes that stop in the same row add up what they carry.
    int lane = threadIdx.x % WARP;
    #pragma unroll
    for (int distance = 1; distance < WARP; distance *= 2) {
        T below = __shfl_up_sync(FULL, total, distance);
        int row_below = __shfl_up_sync(FULL, row, distance);
        if (lane >= distance && row_below == row) total += below;  // rows ascend, so all between are the same
    }
    int after = __shfl_down_sync(FULL, row, 1);
    __syncwarp();  // what lanes wrote to y is there before others add to it
    if (lane == WARP - 1) {
        carry_rows[thread / WARP] = row;
        carry_values[thread / WARP] = total;
    } else if (after != row && total != T(0)) {
        y[row] += alpha * total;  // the next lane ended this row
    }
}

// Adds what the warps of `merge_path` carry, always in the same order: one warp for the carries into one row.
template <typename T> __global__ void merge_fix(
    const int* __restrict__ carry_rows, const T* __restrict__ carry_values, T* __restrict__ y, T alpha, int rows,
    int carries) {
    long long warp = thread_number() / WARP;
    if (warp >= carries) return;
    int row = carry_rows[warp], lane = threadIdx.x % WARP;
    if (row >= rows || (warp > 0 && carry_rows[warp - 1] == row)) return;  // the first of them adds them all
    T total = 0;
    for (long long k = warp + lane; k < carries && carry_rows[k] == row; k += WARP) total += carry_values[k];
    total = sum_of_lanes<WARP>(total);
    if (lane == 0 && total != T(0)) y[row] += alpha * total;
}
