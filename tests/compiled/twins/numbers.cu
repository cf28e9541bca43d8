// Integers divided by zero or too large, sums that stop growing, NaN and infinity.

#include <cuda_fp16.h>

extern "C" __global__ void divide_by_data(int* out, const int* x) {
    int t = threadIdx.x;
    out[t] = 100 / x[t];  //! division_by_zero:
}

extern "C" __global__ void divide_by_data_cured(int* out, const int* x) {
    int t = threadIdx.x;
    out[t] = x[t] != 0 ? 100 / x[t] : 0;
}

extern "C" __global__ void counter_full(int* count) {
    atomicAdd(count, 1);  //! int_overflow: count
}

extern "C" __global__ void counter_full_cured(unsigned long long* count) {
    atomicAdd(count, 1ull);
}

extern "C" __global__ void hash_cured(const unsigned* x, unsigned* out) {
    unsigned h = x[threadIdx.x];
    h = (h ^ h >> 16) * 0x45d9f3bu;
    h = (h ^ h >> 16) * 0x45d9f3bu;
    out[threadIdx.x] = h ^ h >> 16;
}

extern "C" __global__ void sum_in_half(const __half* x, __half* out, int n) {
    if (threadIdx.x > 0) return;
    __half sum = __float2half(0.0f);
#pragma unroll 1
    for (int k = 0; k < n; ++k) sum = __hadd(sum, x[0]);  //! precision_loss:
    out[0] = sum;
}

extern "C" __global__ void atomic_sum_stops(const float* x, float* out) {
    atomicAdd(out, x[blockIdx.x * blockDim.x + threadIdx.x]);  //! precision_loss: changed nothing
}

extern "C" __global__ void newton_cured(float* out) {
    float a = threadIdx.x + 1, x = a;
    for (int k = 0; k < 30; ++k) x = x - (x * x - a) / (2 * x);
    out[threadIdx.x] = x;
}

// logf itself chooses its infinity by a test, which makes it as little as writing it down does.
extern "C" __global__ void log_of_zero(const float* x, float* y) {
    int t = threadIdx.x;
    y[t] = __logf(x[t]);  //! nan_propagation:
}

extern "C" __global__ void log_of_zero_cured(const float* x, float* y) {
    int t = threadIdx.x;
    y[t] = __logf(x[t] + 1);
}

extern "C" __global__ void mask_by_product(const float* x, const float* mask, float* y) {
    int t = threadIdx.x;
    y[t] = x[t] * mask[t];  //! nan_propagation:
}

extern "C" __global__ void mask_by_product_cured(const float* x, const float* mask, float* y) {
    int t = threadIdx.x;
    y[t] = mask[t] != 0 ? x[t] * mask[t] : 0.0f;
}

extern "C" __global__ void sigmoid(const float* x, float* y) {
    int t = threadIdx.x;
    y[t] = expf(x[t]) / (1 + expf(x[t]));  //! nan_propagation:
}

extern "C" __global__ void sigmoid_cured(const float* x, float* y) {
    int t = threadIdx.x;
    y[t] = 1 / (1 + expf(-x[t]));
}
