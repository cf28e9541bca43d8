// Prefix sums.

// Inclusive scan of a block's 256 values: doubling distances, two buffers in shared memory.
extern "C" __global__ void scan_doubling(const int* in, int* out, int n) {
    __shared__ int buffer[2][256];
    int t = threadIdx.x, i = blockIdx.x * 256 + t, now = 0;
    buffer[0][t] = i < n ? in[i] : 0;
    __syncthreads();
    for (int d = 1; d < 256; d *= 2) {
        buffer[1 - now][t] = buffer[now][t] + (t >= d ? buffer[now][t - d] : 0);
        now = 1 - now;
        __syncthreads();
    }
    if (i < n) out[i] = buffer[now][t];
}

#define SKEW(k) ((k) + (k) / 32)  // one unused word after every 32, against bank conflicts

// Exclusive scan of 512 values by 256 threads: up and down a tree, in place; the block's total beside it.
extern "C" __global__ void scan_tree(const int* in, int* out, int* totals, int n) {
    __shared__ int s[SKEW(512)];
    int t = threadIdx.x, start = blockIdx.x * 512;
    s[SKEW(t)] = start + t < n ? in[start + t] : 0;
    s[SKEW(t + 256)] = start + t + 256 < n ? in[start + t + 256] : 0;
    int stride = 1;
    for (int d = 256; d > 0; d /= 2, stride *= 2) {
        __syncthreads();
        if (t < d) s[SKEW(stride * (2 * t + 2) - 1)] += s[SKEW(stride * (2 * t + 1) - 1)];
    }
    __syncthreads();
    if (t == 0) {
        totals[blockIdx.x] = s[SKEW(511)];
        s[SKEW(511)] = 0;
    }
    for (int d = 1; d < 512; d *= 2) {
        stride /= 2;
        __syncthreads();
        if (t < d) {
            int left = SKEW(stride * (2 * t + 1) - 1), right = SKEW(stride * (2 * t + 2) - 1);
            int below = s[left];
            s[left] = s[right];
            s[right] += below;
        }
    }
    __syncthreads();
    if (start + t < n) out[start + t] = s[SKEW(t)];
    if (start + t + 256 < n) out[start + t + 256] = s[SKEW(t + 256)];
}

__device__ float warp_scan(float v) {
    for (int d = 1; d < 32; d *= 2) {
        float below = __shfl_up_sync(0xffffffffu, v, d);
        if (threadIdx.x % 32 >= d) v += below;
    }
    return v;
}

// Inclusive scan of a block of any number of whole warps: within warps, then over the warps' totals.
extern "C" __global__ void scan_warps(const float* in, float* out) {
    __shared__ float totals[32];
    int t = threadIdx.x, lane = t % 32, warp = t / 32, i = blockIdx.x * blockDim.x + t;
    float v = warp_scan(in[i]);
    if (lane == 31) totals[warp] = v;
    __syncthreads();
    if (warp == 0) {
        float total = lane < blockDim.x / 32 ? totals[lane] : 0.0f;
        totals[lane] = warp_scan(total);
    }
    __syncthreads();
    out[i] = warp > 0 ? v + totals[warp - 1] : v;
}

// Second step of a scan over many blocks: what stands before each block is added to it.
extern "C" __global__ void scan_add(int* data, const int* before, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) data[i] += before[i / 512];
}
