// Layers of neural networks and of click prediction.

#define FULL 0xffffffffu
#define LOWEST __int_as_float(0xff800000)  // minus infinity

// Softmax of each row, a warp a row; three passes.
extern "C" __global__ void softmax(const float* x, float* y, int rows, int columns) {
    int lane = threadIdx.x, row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= rows) return;
    x += row * columns;
    y += row * columns;
    float top = LOWEST;
    for (int k = lane; k < columns; k += 32) top = fmaxf(top, x[k]);
    for (int d = 16; d > 0; d /= 2) top = fmaxf(top, __shfl_xor_sync(FULL, top, d));
    float sum = 0;
    for (int k = lane; k < columns; k += 32) sum += expf(x[k] - top);
    for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(FULL, sum, d);
    for (int k = lane; k < columns; k += 32) y[k] = expf(x[k] - top) / sum;
}

// The same in two passes: maximum and sum grow together.
extern "C" __global__ void softmax_online(const float* x, float* y, int rows, int columns) {
    int lane = threadIdx.x, row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= rows) return;
    float top = LOWEST, sum = 0;
    for (int k = lane; k < columns; k += 32) {
        float v = x[row * columns + k], larger = fmaxf(top, v);
        sum = sum * __expf(top - larger) + __expf(v - larger);
        top = larger;
    }
    for (int d = 16; d > 0; d /= 2) {
        float other = __shfl_xor_sync(FULL, top, d), other_sum = __shfl_xor_sync(FULL, sum, d);
        float larger = fmaxf(top, other);
        if (larger > LOWEST) sum = sum * __expf(top - larger) + other_sum * __expf(other - larger);
        top = larger;
    }
    for (int k = lane; k < columns; k += 32) y[row * columns + k] = __fdividef(__expf(x[row * columns + k] - top), sum);
}

// Each row minus its mean, over its deviation; a block a row.
extern "C" __global__ void layer_norm(const float* x, const float* scale, const float* shift, float* y, int columns) {
    __shared__ float sums[2][8];
    int t = threadIdx.x;
    const float* row = x + blockIdx.x * columns;
    float sum = 0, squares = 0;
    for (int k = t; k < columns; k += 256) {
        sum += row[k];
        squares += row[k] * row[k];
    }
    for (int d = 16; d > 0; d /= 2) {
        sum += __shfl_down_sync(FULL, sum, d);
        squares += __shfl_down_sync(FULL, squares, d);
    }
    if (t % 32 == 0) {
        sums[0][t / 32] = sum;
        sums[1][t / 32] = squares;
    }
    __syncthreads();
    sum = squares = 0;
    for (int k = 0; k < 8; ++k) {
        sum += sums[0][k];
        squares += sums[1][k];
    }
    float mean = sum / columns, factor = rsqrtf(squares / columns - mean * mean + 1e-5f);
    for (int k = t; k < columns; k += 256) y[blockIdx.x * columns + k] = (row[k] - mean) * factor * scale[k] + shift[k];
}

// Rows of a table by number, 16 bytes a lane; a warp looks up 4 rows of 32 floats.
extern "C" __global__ void embedding_gather(const float4* __restrict__ table, const int* __restrict__ ids,
                                            float4* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, sample = i / 8, part = i % 8;
    if (sample < n) out[i] = table[ids[sample] * 8 + part];
}

// The gradient goes back to the rows it came from; several samples may name one row.
extern "C" __global__ void embedding_scatter(const float* gradient, const int* ids, float* table, int n, float rate) {
    int sample = blockIdx.x * blockDim.y + threadIdx.y;
    if (sample < n) atomicAdd(&table[ids[sample] * 32 + threadIdx.x], -rate * gradient[sample * 32 + threadIdx.x]);
}

// Binary cross-entropy of logits, and its gradient.
extern "C" __global__ void cross_entropy(const float* logits, const unsigned char* clicked, float* loss,
                                         float* gradient, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float z = logits[i], label = clicked[i];
    loss[i] = fmaxf(z, 0.0f) - z * label + log1pf(expf(-fabsf(z)));
    gradient[i] = 1.0f / (1.0f + expf(-z)) - label;
}

// Four activations, one a row of blocks.
extern "C" __global__ void activations(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = x[i];
    switch (blockIdx.y) {
        case 0: v = fmaxf(v, 0.0f); break;
        case 1: v = v > 0 ? v : 0.01f * v; break;
        case 2: v = 0.5f * v * (1.0f + erff(v * 0.70710678f)); break;
        default: v = tanhf(v);
    }
    y[blockIdx.y * n + i] = v;
}
