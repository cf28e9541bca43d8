// Products of a sparse matrix and a vector, and sums over segments.

extern "C" __global__ void csr_scalar(const int* starts, const int* columns, const float* values, const float* x,
                                      float* y, int rows) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float sum = 0;
    for (int k = starts[row]; k < starts[row + 1]; ++k) sum += values[k] * x[columns[k]];
    y[row] = sum;
}

extern "C" __global__ void csr_vector(const int* starts, const int* columns, const float* values, const float* x,
                                      float* y, int rows) {
    int lane = threadIdx.x % 32, row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    if (row >= rows) return;
    float sum = 0;
    for (int k = starts[row] + lane; k < starts[row + 1]; k += 32) sum += values[k] * x[columns[k]];
    for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(0xffffffffu, sum, d);
    if (lane == 0) y[row] = sum;
}

// WIDTH lanes a row: the lanes of one row add up within their part of the warp.
template <int WIDTH>
__device__ void csr_lanes(const int* starts, const int* columns, const float* values, const float* x, float* y,
                          int rows) {
    int lane = threadIdx.x % WIDTH, row = (blockIdx.x * blockDim.x + threadIdx.x) / WIDTH;
    float sum = 0;
    if (row < rows)
        for (int k = starts[row] + lane, end = starts[row + 1]; k < end; k += WIDTH)
            sum += __ldg(&values[k]) * __ldg(&x[__ldg(&columns[k])]);
#pragma unroll
    for (int d = WIDTH / 2; d > 0; d /= 2) sum += __shfl_down_sync(0xffffffffu, sum, d, WIDTH);
    if (lane == 0 && row < rows) y[row] = sum;
}

extern "C" __global__ void csr_subwarp(const int* starts, const int* columns, const float* values, const float* x,
                                       float* y, int rows) {
    csr_lanes<8>(starts, columns, values, x, y, rows);
}

// Rows of one length, column by column; -1 marks what is not there.
extern "C" __global__ void ell(const int* columns, const double* values, const double* x, double* y, int rows,
                               int width) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    double sum = 0;
    for (int k = 0; k < width; ++k) {
        int column = columns[k * rows + row];
        if (column >= 0) sum = fma(values[k * rows + row], x[column], sum);
    }
    y[row] = sum;
}

// Entries in any order: integers, so the order of the atomics does not show.
extern "C" __global__ void coo(const int* rows, const int* columns, const int* values, const int* x, int* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&y[rows[i]], values[i] * x[columns[i]]);
}

// Sums of neighbours with equal keys, one warp: the last lane of each segment adds its sum.
extern "C" __global__ void segmented_sum(const int* keys, const int* values, int* sums, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
    int key = i < n ? keys[i] : -1, value = i < n ? values[i] : 0;
    for (int d = 1; d < 32; d *= 2) {
        int other = __shfl_up_sync(0xffffffffu, key, d), below = __shfl_up_sync(0xffffffffu, value, d);
        if (lane >= d && other == key) value += below;
    }
    int next = __shfl_down_sync(0xffffffffu, key, 1);
    if (i < n && (lane == 31 || next != key)) atomicAdd(&sums[key], value);
}
