// Two threads and one element of global memory, inside a block and between blocks: mistakes and cures.

extern "C" __global__ void update(int* out) {
    out[0] += 1;  //! race_global: out[0]
}

extern "C" __global__ void update_cured(int* out) {
    atomicAdd(out, 1);
}

extern "C" __global__ void update_by_leaders(int* out) {
    if (threadIdx.x == 0) out[0] += 1;  //! race_global_interblock: out[0]
}

extern "C" __global__ void update_by_leaders_cured(int* out) {
    if (threadIdx.x == 0) atomicAdd(&out[0], 1);
}

extern "C" __global__ void smooth_in_place(float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i > 0 && i < n - 1) x[i] = (x[i - 1] + x[i + 1]) / 2;  //! race_global: x[
}

extern "C" __global__ void smooth_in_place_cured(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = i > 0 && i < n - 1 ? (x[i - 1] + x[i + 1]) / 2 : x[i];
}

extern "C" __global__ void smooth_between_barriers(float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    bool inside = i > 0 && i < n - 1;
    float v = inside ? x[i - 1] + x[i + 1] : 0.0f;
    __syncthreads();
    if (inside) x[i] = v;  //! race_global_interblock: x[
}

extern "C" __global__ void coo(const int* rows, const int* columns, const float* values, const float* x, float* y,
                               int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[rows[i]] += values[i] * x[columns[i]];  //! race_global: y[
}

extern "C" __global__ void coo_cured(const int* rows, const int* columns, const float* values, const float* x, float* y,
                                     int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&y[rows[i]], values[i] * x[columns[i]]);
}

extern "C" __global__ void swap_all_pairs(float* a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    float upper = a[i * n + j];
    a[i * n + j] = a[j * n + i];
    a[j * n + i] = upper;  //! race_global: a[
}

extern "C" __global__ void swap_all_pairs_cured(float* a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= j) return;
    float upper = a[i * n + j];
    a[i * n + j] = a[j * n + i];
    a[j * n + i] = upper;
}

extern "C" __global__ void maximum(const float* x, float* top) {
    float v = x[blockIdx.x * blockDim.x + threadIdx.x];
    if (v > *top) {
        *top = v;  //! race_global_interblock: top[0]
    }
}

extern "C" __global__ void maximum_cured(const float* x, int* top) {
    atomicMax(top, __float_as_int(x[blockIdx.x * blockDim.x + threadIdx.x]));  // x is not negative
}

extern "C" __global__ void embedding_gradient(const int* ids, const float* gradient, float* table) {
    int sample = blockIdx.x * blockDim.y + threadIdx.y, k = threadIdx.x;
    table[ids[sample] * 16 + k] -= gradient[sample * 16 + k];  //! race_global_interblock: table[
}

extern "C" __global__ void embedding_gradient_cured(const int* ids, const float* gradient, float* table) {
    int sample = blockIdx.x * blockDim.y + threadIdx.y, k = threadIdx.x;
    atomicAdd(&table[ids[sample] * 16 + k], -gradient[sample * 16 + k]);
}

extern "C" __global__ void count_read_at_once(int* count, int* out) {
    atomicAdd(count, 1);
    __syncthreads();
    if (threadIdx.x == 0) out[blockIdx.x] = *count;  //! race_global_interblock: count[0]
}

// The block that comes last adds up what the others left: with the fences, and with one in the wrong place.
template <bool FENCE>
__device__ __forceinline__ void last_block(const int* x, int* partial, int* done, int* out) {
    __shared__ bool last;
    if (threadIdx.x == 0) {
        int sum = 0;
        for (int k = 0; k < 32; ++k) sum += x[blockIdx.x * 32 + k];
        partial[blockIdx.x] = sum;
        if (FENCE) __threadfence();
        last = atomicAdd(done, 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        if (FENCE) __threadfence();
        int sum = 0;
        for (int k = 0; k < gridDim.x; ++k) sum += partial[k];
        *out = sum;
    }
}

extern "C" __global__ void last_block_without_fence(const int* x, int* partial, int* done, int* out) {
    last_block<false>(x, partial, done, out);
}

extern "C" __global__ void last_block_without_fence_cured(const int* x, int* partial, int* done, int* out) {
    last_block<true>(x, partial, done, out);
}

// Data and a flag, from block 0 to block 1.
extern "C" __global__ void flag(int* data, int* ready, int* out) {
    int t = threadIdx.x;
    if (blockIdx.x == 0) {
        data[t] = t + 1;
        __syncthreads();
        if (t == 0) atomicExch(ready, 1);
    } else {
        if (t == 0) while (atomicAdd(ready, 0) == 0);
        __syncthreads();
        out[t] = data[t];  //! race_global_interblock: data[
    }
}

extern "C" __global__ void flag_cured(int* data, int* ready, int* out) {
    int t = threadIdx.x;
    if (blockIdx.x == 0) {
        data[t] = t + 1;
        __threadfence();
        __syncthreads();
        if (t == 0) atomicExch(ready, 1);
    } else {
        if (t == 0) while (atomicAdd(ready, 0) == 0);
        __syncthreads();
        __threadfence();
        out[t] = data[t];
    }
}

extern "C" __global__ void chunks(const float* x, float* y, int n) {
    if (threadIdx.x > 0) return;
    int size = n / gridDim.x;
    for (int i = blockIdx.x * size; i < min((int)(blockIdx.x + 1) * size + 1, n); ++i) {
        y[i] = x[i] + blockIdx.x;  //! race_global_interblock: y[
    }
}

extern "C" __global__ void chunks_cured(const float* x, float* y, int n) {
    if (threadIdx.x > 0) return;
    int size = n / gridDim.x;
    for (int i = blockIdx.x * size; i < min((int)(blockIdx.x + 1) * size, n); ++i) y[i] = x[i] + blockIdx.x;
}

__device__ __forceinline__ void order(int* x, int i) {
    int a = x[i], b = x[i + 1];
    if (a > b) {
        x[i] = b;
        x[i + 1] = a;
    }
}

extern "C" __global__ void odd_even_sort(int* x, int n) {
    int i = 2 * threadIdx.x;
    for (int k = 0; k < n; ++k) {
        order(x, i);
        if (i + 2 < n) order(x, i + 1);
        __syncthreads();
    }
}

extern "C" __global__ void odd_even_sort_cured(int* x, int n) {
    int i = 2 * threadIdx.x;
    for (int k = 0; k < n; ++k) {
        order(x, i);
        __syncthreads();
        if (i + 2 < n) order(x, i + 1);
        __syncthreads();
    }
}
