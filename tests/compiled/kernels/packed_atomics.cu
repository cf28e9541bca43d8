// Atomic sums of 16-bit floats: small whole numbers, so every order gives the same.

#include <cuda_bf16.h>
#include <cuda_fp16.h>

extern "C" __global__ void half2_atomics(const __half2* x, __half2* sums, __half* single, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    atomicAdd(&sums[i % 4], x[i]);
    if (i % 2) atomicAdd(&single[i % 3], __low2half(x[i]));
}

extern "C" __global__ void bfloat2_atomics(const __nv_bfloat162* x, __nv_bfloat162* sums, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&sums[i % 4], x[i]);
}
