// Copies to shared memory that run beside the work.

#include <cuda_pipeline.h>

// Tiles of 128 float4, two in flight: while one is added up the next is copied.
extern "C" __global__ void copy_ahead(const float4* x, float* out, int tiles) {
    __shared__ float4 buffer[2][128];
    int t = threadIdx.x;
    const float4* from = x + blockIdx.x * tiles * 128 + t;
    __pipeline_memcpy_async(&buffer[0][t], from, sizeof(float4));
    __pipeline_commit();
    float sum = 0;
    for (int k = 0; k < tiles; ++k) {
        if (k + 1 < tiles) __pipeline_memcpy_async(&buffer[(k + 1) % 2][t], from + (k + 1) * 128, sizeof(float4));
        __pipeline_commit();
        __pipeline_wait_prior(1);
        __syncthreads();
        float4 v = buffer[k % 2][127 - t];
        sum += (v.x + v.y) + (v.z + v.w);
        __syncthreads();
    }
    out[blockIdx.x * 128 + t] = sum;
}

// 4 bytes at a time, the rest of a row filled with zeros.
extern "C" __global__ void copy_rows(const int* x, int* out, int n) {
    __shared__ int row[64];
    int t = threadIdx.x, i = blockIdx.x * 64 + t;
    __pipeline_memcpy_async(&row[t], &x[i < n ? i : 0], 4, i < n ? 0 : 4);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    out[i] = row[63 - t];
}

// Values handed from block 0 to the others through memory, in order: volatile data and a flag.
extern "C" __global__ void hand_over(volatile int* data, int* flag, int* out) {
    int t = threadIdx.x;
    if (blockIdx.x == 0) {
        data[t] = 3 * t;
        __threadfence();
        __syncthreads();
        if (t == 0) atomicExch(flag, 1);
    } else {
        if (t == 0)
            while (atomicAdd(flag, 0) == 0) __nanosleep(20);
        __syncthreads();
        __threadfence();
        out[(blockIdx.x - 1) * blockDim.x + t] = data[t] + 1;
    }
}
