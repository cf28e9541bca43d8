// Mistakes known from public reports (tests/cases and its sources), in CUDA C++, and their cures.
//
// A comment "//! kind: words" marks the line that must be named for a hazard of that kind, and what its message must say.

// A tree that halves 96 threads to 3 forgets one of them: only the number is wrong.
extern "C" __global__ void tree_of_any_block(const long long* x, long long* out) {
    __shared__ long long s[96];
    int t = threadIdx.x;
    s[t] = x[t];
    __syncthreads();
    for (int d = blockDim.x / 2; d > 0; d /= 2) {
        if (t < d) s[t] += s[t + d];
        __syncthreads();
    }
    if (t == 0) out[0] = s[0];
}

extern "C" __global__ void tree_of_any_block_cured(const long long* x, long long* out) {
    __shared__ long long s[96];
    int t = threadIdx.x;
    s[t] = x[t];
    __syncthreads();
    for (int width = blockDim.x; width > 1; width = (width + 1) / 2) {
        int half = (width + 1) / 2;
        if (t + half < width) s[t] += s[t + half];
        __syncthreads();
    }
    if (t == 0) out[0] = s[0];
}

// The last block is not full: some slots were never written.
extern "C" __global__ void slots_left_alone(const float* x, float* out, int n) {
    __shared__ float tile[16];
    int t = threadIdx.x, i = blockIdx.x * 16 + t;
    if (i < n) tile[t] = x[i];
    __syncthreads();
    for (int d = 8; d > 0; d /= 2) {
        if (t < d) tile[t] += tile[t + d];  //! uninit_shared_read: tile[13]
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = tile[0];
}

extern "C" __global__ void slots_left_alone_cured(const float* x, float* out, int n) {
    __shared__ float tile[16];
    int t = threadIdx.x, i = blockIdx.x * 16 + t;
    tile[t] = i < n ? x[i] : 0.0f;
    __syncthreads();
    for (int d = 8; d > 0; d /= 2) {
        if (t < d) tile[t] += tile[t + d];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = tile[0];
}

// A loop over tiles with one barrier where two are needed.
extern "C" __global__ void one_barrier(const long long* x, long long* out, int rounds) {
    __shared__ long long tile[64];
    int t = threadIdx.x;
    long long sum = 0;
#pragma unroll 1
    for (int k = 0; k < rounds; ++k) {
        tile[t] = x[k * 64 + t];  //! race_shared: tile[
        __syncthreads();
        sum += tile[63 - t];
    }
    out[t] = sum;
}

extern "C" __global__ void one_barrier_cured(const long long* x, long long* out, int rounds) {
    __shared__ long long tile[64];
    int t = threadIdx.x;
    long long sum = 0;
#pragma unroll 1
    for (int k = 0; k < rounds; ++k) {
        tile[t] = x[k * 64 + t];
        __syncthreads();
        sum += tile[63 - t];
        __syncthreads();
    }
    out[t] = sum;
}

// A barrier that not every thread reaches.
extern "C" __global__ void barrier_in_if(const long long* x, long long* out, int n) {
    __shared__ long long s[64];
    int t = threadIdx.x;
    s[t] = 0;
    __syncthreads();
    if (t < n) {
        s[t] = x[t];
        __syncthreads();  //! barrier_divergence: thread
        out[t] = s[n - 1 - t];
    }
    __syncthreads();
    if (t == 63) out[t] = s[0];
}

extern "C" __global__ void barrier_in_if_cured(const long long* x, long long* out, int n) {
    __shared__ long long s[64];
    int t = threadIdx.x;
    s[t] = 0;
    __syncthreads();
    if (t < n) s[t] = x[t];
    __syncthreads();
    if (t < n) out[t] = s[n - 1 - t];
    if (t == 63) out[t] = s[0];
}

extern "C" __global__ void early_return(const long long* x, long long* out, int n) {
    __shared__ long long s[32];
    int t = threadIdx.x, i = blockIdx.x * 32 + t;
    if (i >= n) return;
    s[t] = x[i];
    __syncthreads();      //! barrier_with_exited_threads: thread
    out[i] = s[31 - t];   //! uninit_shared_read: s[
}

extern "C" __global__ void early_return_cured(const long long* x, long long* out, int n) {
    __shared__ long long s[32];
    int t = threadIdx.x, i = blockIdx.x * 32 + t, live = min(n - (int)blockIdx.x * 32, 32);
    if (i < n) s[t] = x[i];
    __syncthreads();
    if (i < n) out[i] = s[live - 1 - t];
}

// += on one place by many threads.
extern "C" __global__ void lost_update(const int* flags, int* out) {
    __shared__ int hits;
    int t = threadIdx.x;
    if (t == 0) hits = 0;
    __syncthreads();
    if (flags[t] > 0) hits += 1;  //! race_shared: hits
    __syncthreads();
    if (t == 0) out[0] = hits;
}

extern "C" __global__ void lost_update_cured(const int* flags, int* out) {
    __shared__ int hits;
    int t = threadIdx.x;
    if (t == 0) hits = 0;
    __syncthreads();
    if (flags[t] > 0) atomicAdd(&hits, 1);
    __syncthreads();
    if (t == 0) out[0] = hits;
}

// && where || is meant. What stays inside the allocation (a neighbouring row) nobody can see at this level.
extern "C" __global__ void guard_with_and(const float* a, float* out, int rows, int columns) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= rows && j >= columns) return;
    float v = a[i * columns + j];     //! oob_global_read: element 35 of a
    out[i * columns + j] = 2 * v;     //! oob_global_write: element 35 of out
}

extern "C" __global__ void guard_with_and_cured(const float* a, float* out, int rows, int columns) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= rows || j >= columns) return;
    float v = a[i * columns + j];
    out[i * columns + j] = 2 * v;
}

// Part of the output is never reached: rows from y, or, with the wrong width, not all of them.
extern "C" __global__ void cover(long long* out, int rows, int columns) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (y < rows && x < columns) out[y * columns + x] = 100 * y + x;
}

extern "C" __global__ void cover_with_wrong_height(long long* out, int rows, int columns) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.x + threadIdx.y;
    if (y < rows && x < columns) out[y * columns + x] = 100 * y + x;
}

// Numbers that are too narrow.
extern "C" __global__ void index_32(const long long* rows, const long long* columns, int width, int* offsets, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) offsets[i] = rows[i] * width + columns[i];
}

extern "C" __global__ void index_64(const long long* rows, const long long* columns, int width, long long* offsets,
                                    int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) offsets[i] = rows[i] * width + columns[i];
}

extern "C" __global__ void sum_32(const int* x, long long* out) {
    __shared__ int s[64];
    int t = threadIdx.x;
    s[t] = x[t];
    __syncthreads();
    for (int d = 32; d > 0; d /= 2) {
        if (t < d) s[t] += s[t + d];
        __syncthreads();
    }
    if (t == 0) out[0] = s[0];
}

extern "C" __global__ void sum_64(const int* x, long long* out) {
    __shared__ long long s[64];
    int t = threadIdx.x;
    s[t] = x[t];
    __syncthreads();
    for (int d = 32; d > 0; d /= 2) {
        if (t < d) s[t] += s[t + d];
        __syncthreads();
    }
    if (t == 0) out[0] = s[0];
}

extern "C" __global__ void serial_float(const float* x, double* out, int n) {
    if (blockIdx.x * blockDim.x + threadIdx.x > 0) return;
    float sum = 0;
#pragma unroll 1
    for (int k = 0; k < n; ++k) sum += x[k];  //! precision_loss:
    out[0] = sum;
}

extern "C" __global__ void serial_double(const float* x, double* out, int n) {
    if (blockIdx.x * blockDim.x + threadIdx.x > 0) return;
    double sum = 0;
#pragma unroll 1
    for (int k = 0; k < n; ++k) sum += x[k];
    out[0] = sum;
}

// Sparse products that do not own their output.
extern "C" __global__ void empty_rows_skipped(const int* starts, const int* columns, const double* values,
                                              const double* x, double* y, int rows) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    int k = starts[row], end = starts[row + 1];
    if (end <= k) return;
    double sum = 0;
    for (; k < end; ++k) sum += values[k] * x[columns[k]];
    y[row] = sum;
}

extern "C" __global__ void zero_times_old(const int* starts, const int* columns, const double* values, const double* x,
                                          double* y, int rows, double beta) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    double sum = 0;
    for (int k = starts[row]; k < starts[row + 1]; ++k) sum += values[k] * x[columns[k]];
    y[row] = beta * y[row] + sum;  //! nan_propagation:
}

extern "C" __global__ void zero_times_old_cured(const int* starts, const int* columns, const double* values,
                                                const double* x, double* y, int rows, double beta) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    double sum = 0;
    for (int k = starts[row]; k < starts[row + 1]; ++k) sum += values[k] * x[columns[k]];
    y[row] = beta == 0 ? sum : beta * y[row] + sum;
}

// A matrix without entries: the last position is -1.
extern "C" __global__ void clamped_to_last(const int* rows, const int* columns, const double* values, const double* x,
                                           double* y, int n) {
    int k = blockIdx.x * blockDim.x + threadIdx.x, last = n - 1, at = min(k, last);
    double v = values[at];   //! oob_global_read: values[-1], but values is empty
    int column = columns[at];  //! oob_global_read: columns[-1], but columns is empty
    if (k <= last) atomicAdd(&y[rows[at]], v * x[column]);
    else if (v > 1e300) y[0] = column;
}

extern "C" __global__ void clamped_to_last_cured(const int* rows, const int* columns, const double* values,
                                                 const double* x, double* y, int n) {
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k < n) atomicAdd(&y[rows[k]], values[k] * x[columns[k]]);
}

// Rows of one length, with padding: column 0 and value 0 meet an infinity, column -1 is no column.
extern "C" __global__ void padding_used(const int* columns, const double* values, const double* x, double* y, int rows,
                                        int width) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    double sum = 0;
#pragma unroll 1
    for (int k = 0; k < width; ++k) sum += values[k * rows + row] * x[columns[k * rows + row]];  //! nan_propagation:
    y[row] = sum;
}

extern "C" __global__ void padding_as_index(const int* columns, const double* values, const double* x, double* y,
                                            int rows, int width) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    double sum = 0;
#pragma unroll 1
    for (int k = 0; k < width; ++k) sum += values[k * rows + row] * x[columns[k * rows + row]];  //! oob_global_read: element -1 of x
    y[row] = sum;
}

extern "C" __global__ void padding_tested(const int* columns, const double* values, const double* x, double* y, int rows,
                                          int width) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    double sum = 0;
    for (int k = 0; k < width; ++k) {
        int column = columns[k * rows + row];
        if (column >= 0) sum += values[k * rows + row] * x[column];
    }
    y[row] = sum;
}

// Slices of 4 rows; where they start is given, rightly or wrongly.
extern "C" __global__ void sliced(const int* starts, const int* widths, const int* columns, const double* values,
                                  const double* x, double* y, int rows) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    double sum = 0;
    for (int k = 0; k < widths[row / 4]; ++k) {
        int at = starts[row / 4] + 4 * k + row % 4, column = columns[at];
        if (column >= 0) sum += values[at] * x[column];
    }
    y[row] = sum;
}
