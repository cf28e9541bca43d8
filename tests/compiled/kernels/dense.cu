// Transposes and matrix products. Matrices are row by row.

// Rows are read along, columns written along: the stores are not coalesced.
extern "C" __global__ void transpose_naive(const float* a, float* b, int rows, int columns) {
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8)
        if (x < columns && y + j < rows) b[x * rows + y + j] = a[(y + j) * columns + x];
}

// Through a tile of shared memory. PAD columns more, and a column's words lie in different banks.
template <int PAD>
__device__ void transpose_through_tile(const float* a, float* b, int rows, int columns) {
    __shared__ float tile[32][32 + PAD];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8)
        if (x < columns && y + j < rows) tile[threadIdx.y + j][threadIdx.x] = a[(y + j) * columns + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x;
    y = blockIdx.x * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8)
        if (x < rows && y + j < columns) b[(y + j) * rows + x] = tile[threadIdx.x][threadIdx.y + j];
}

extern "C" __global__ void transpose_tile(const float* a, float* b, int rows, int columns) {
    transpose_through_tile<0>(a, b, rows, columns);
}

extern "C" __global__ void transpose_padded(const float* a, float* b, int rows, int columns) {
    transpose_through_tile<1>(a, b, rows, columns);
}

// No padding: the column is mixed with the row instead.
extern "C" __global__ void transpose_swizzled(const double* a, double* b, int n) {
    __shared__ double tile[16][16];
    int tx = threadIdx.x, ty = threadIdx.y, x = blockIdx.x * 16 + tx, y = blockIdx.y * 16 + ty;
    tile[ty][tx ^ ty] = a[y * n + x];
    __syncthreads();
    b[(blockIdx.x * 16 + ty) * n + blockIdx.y * 16 + tx] = tile[tx][ty ^ tx];
}

// c = a b, one element a thread: a is m x k, b is k x n.
extern "C" __global__ void matmul_naive(const float* a, const float* b, float* c, int m, int n, int k) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= n || y >= m) return;
    float sum = 0;
    for (int q = 0; q < k; ++q) sum += a[y * k + q] * b[q * n + x];
    c[y * n + x] = sum;
}

// Tiles of 16 x 16 in shared memory, for matrices of any size: what lies outside is 0.
extern "C" __global__ void matmul_tiled(const float* __restrict__ a, const float* __restrict__ b,
                                        float* __restrict__ c, int m, int n, int k) {
    __shared__ float s[16][16], t[16][16];
    int tx = threadIdx.x, ty = threadIdx.y, x = blockIdx.x * 16 + tx, y = blockIdx.y * 16 + ty;
    float sum = 0;
    for (int start = 0; start < k; start += 16) {
        s[ty][tx] = y < m && start + tx < k ? a[y * k + start + tx] : 0.0f;
        t[ty][tx] = x < n && start + ty < k ? b[(start + ty) * n + x] : 0.0f;
        __syncthreads();
#pragma unroll
        for (int q = 0; q < 16; ++q) sum += s[ty][q] * t[q][tx];
        __syncthreads();
    }
    if (x < n && y < m) c[y * n + x] = sum;
}

// 32 x 32 elements a block of 8 x 8 threads, 4 x 4 of them a thread, kept in registers. n is a multiple of 32.
extern "C" __global__ void matmul_registers(const float* a, const float* b, float* c, int n) {
    __shared__ float s[8][33], t[8][32];
    int tx = threadIdx.x, ty = threadIdx.y, id = ty * 8 + tx;
    int row = blockIdx.y * 32, column = blockIdx.x * 32;
    float sum[4][4] = {};
    for (int start = 0; start < n; start += 8) {
        for (int k = id; k < 256; k += 64) {
            s[k % 8][k / 8] = a[(row + k / 8) * n + start + k % 8];
            t[k / 32][k % 32] = b[(start + k / 32) * n + column + k % 32];
        }
        __syncthreads();
#pragma unroll
        for (int q = 0; q < 8; ++q) {
            float left[4], right[4];
#pragma unroll
            for (int k = 0; k < 4; ++k) {
                left[k] = s[q][ty * 4 + k];
                right[k] = t[q][tx + 8 * k];
            }
#pragma unroll
            for (int i = 0; i < 4; ++i)
#pragma unroll
                for (int j = 0; j < 4; ++j) sum[i][j] += left[i] * right[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j) c[(row + ty * 4 + i) * n + column + tx + 8 * j] = sum[i][j];
}

// y = a x, a row a warp, 16 bytes a load; columns is a multiple of 4.
extern "C" __global__ void matvec(const float4* a, const float4* x, float* y, int rows, int columns) {
    int lane = threadIdx.x % 32, row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    if (row >= rows) return;
    float sum = 0;
    for (int k = lane; k < columns / 4; k += 32) {
        float4 p = a[row * (columns / 4) + k], q = x[k];
        sum += p.x * q.x + p.y * q.y + p.z * q.z + p.w * q.w;
    }
    for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, d);
    if (lane == 0) y[row] = sum;
}

extern "C" __global__ void daxpy(double a, const double* x, double* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += a * x[i];
}

// A sum of doubles by one block that carries the rounding errors along.
extern "C" __global__ void compensated_sum(const double* x, double* out, int n) {
    __shared__ double sums[64], errors[64];
    int t = threadIdx.x;
    double sum = 0, error = 0;
    for (int i = t; i < n; i += 64) {
        double v = __dsub_rn(x[i], error), next = __dadd_rn(sum, v);
        error = __dsub_rn(__dsub_rn(next, sum), v);
        sum = next;
    }
    sums[t] = sum;
    errors[t] = error;
    __syncthreads();
    if (t == 0) {
        for (int k = 1; k < 64; ++k) {
            double v = sums[k] - errors[k] - error, next = sum + v;
            error = next - sum - v;
            sum = next;
        }
        *out = sum;
    }
}

// Every element times a complex number, two floats at once.
extern "C" __global__ void complex_scale(const float2* x, float2* y, float2 factor, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float2 v = x[i];
    y[i] = make_float2(v.x * factor.x - v.y * factor.y, v.x * factor.y + v.y * factor.x);
}
