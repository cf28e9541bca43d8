// Barriers that not every thread of the block, or not every block of the grid, reaches: mistakes and cures.

#include <cooperative_groups.h>

extern "C" __global__ void barrier_for_half(int* out) {
    int t = threadIdx.x;
    if (t < 16) {
        __syncthreads();  //! barrier_divergence: thread
    }
    out[t] = t;
}

extern "C" __global__ void barrier_for_half_cured(int* out) {
    int t = threadIdx.x;
    if (blockIdx.x % 2 == 0) __syncthreads();
    for (int k = 0; k < blockIdx.x; ++k) __syncthreads();
    out[blockIdx.x * blockDim.x + t] = t;
}

extern "C" __global__ void barrier_on_both_sides(int* out) {
    int t = threadIdx.x;
    if (t < 32) {
        out[t] = 1;
        __syncthreads();  //! barrier_divergence: thread
        out[t] += 2;
    } else {
        out[t] = 2;
        __syncthreads();
        out[t] += 5;
    }
}

extern "C" __global__ void barrier_on_both_sides_cured(int* out) {
    int t = threadIdx.x;
    out[t] = t < 32 ? 1 : 2;
    __syncthreads();
    out[t] += t < 32 ? 2 : 5;
}

extern "C" __global__ void rounds_of_its_own(const int* x, int* out) {
    int t = threadIdx.x, k = x[t];
    while (k > 0) {
        --k;
        __syncthreads();  //! barrier_divergence: thread
    }
    out[t] = k;
}

extern "C" __global__ void rounds_of_its_own_cured(const int* x, int* out, int rounds) {
    int t = threadIdx.x, k = x[t];
    for (int round = 0; round < rounds; ++round) {
        if (k > 0) --k;
        __syncthreads();
    }
    out[t] = k;
}

extern "C" __global__ void break_before_barrier(const float* x, float* out) {
    int t = threadIdx.x;
    float v = x[t];
    for (int k = 0; k < 10; ++k) {
        if (v > 0.5f) break;
        __syncthreads();  //! barrier_divergence: thread
        v += 0.1f;
    }
    out[t] = v;
}

extern "C" __global__ void break_before_barrier_cured(const float* x, float* out) {
    int t = threadIdx.x;
    float v = x[t];
    for (int k = 0; k < 10; ++k) {
        if (!__syncthreads_or(v <= 0.5f)) break;
        if (v <= 0.5f) v += 0.1f;
    }
    out[t] = v;
}

extern "C" __global__ void continue_past_barrier(const float* x, float* out) {
    int t = threadIdx.x;
    float v = x[t];
    for (int k = 0; k < 4; ++k) {
        if ((t + k) % 2) continue;
        v += 1;
        __syncthreads();  //! barrier_divergence: thread
    }
    out[t] = v;
}

extern "C" __global__ void count_in_if(const float* x, int* out) {
    int t = threadIdx.x;
    if (t % 2 == 0) {
        out[t] = __syncthreads_count(x[t] > 0.5f);  //! barrier_divergence: thread
    } else {
        out[t] = -1;
    }
}

extern "C" __global__ void count_in_if_cured(const float* x, int* out) {
    int t = threadIdx.x;
    out[t] = __syncthreads_count(x[t] > 0.5f);
}

__device__ __noinline__ float publish(float* s, int t, float v) {
    s[t] = v;
    __syncthreads();  // the line that is named
    return s[0];
}

extern "C" __global__ void barrier_in_a_function(const float* x, float* out) {
    __shared__ float s[64];
    int t = threadIdx.x;
    s[t] = 0;
    __syncthreads();
    float v = 0;
    if (x[t] > 0.5f) v = publish(s, t, x[t]);
    out[t] = v;
}

extern "C" __global__ void barrier_in_a_function_cured(const float* x, float* out) {
    __shared__ float s[64];
    int t = threadIdx.x;
    float v = publish(s, t, x[t]);
    out[t] = x[t] > 0.5f ? v : 0.0f;
}

extern "C" __global__ void inside_the_guard(const float* x, float* out, int n) {
    __shared__ float s[64];
    int t = threadIdx.x;
    if (t < n) {
        s[t] = x[t];
        __syncthreads();  //! barrier_with_exited_threads: 14 threads
        out[t] = s[n - 1 - t];
    }
}

extern "C" __global__ void return_before_barrier(const float* x, float* out, int n) {
    __shared__ float s[64];
    int t = threadIdx.x, i = blockIdx.x * 64 + t;
    if (i >= n) return;
    s[t] = x[i];
    __syncthreads();     //! barrier_with_exited_threads: thread
    out[i] = s[63 - t];  //! uninit_shared_read: s[
}

extern "C" __global__ void return_before_barrier_cured(const float* x, float* out, int n) {
    __shared__ float s[64];
    int t = threadIdx.x, i = blockIdx.x * 64 + t;
    s[t] = i < n ? x[i] : 0.0f;
    __syncthreads();
    if (i >= n) return;
    out[i] = s[t] + s[0];
}

extern "C" __global__ void grid_sync_of_some(const float* x, float* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (blockIdx.x < 2) cooperative_groups::this_grid().sync();  // waits for ever
    out[i] = x[i];
}

extern "C" __global__ void grid_sync_of_some_cured(const float* x, float* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = x[i];
    cooperative_groups::this_grid().sync();
    out[i] += x[blockDim.x * gridDim.x - 1 - i];
}
