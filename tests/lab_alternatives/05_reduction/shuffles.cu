/* Warps fold by shuffles wherever that will do, and the moments are those of the distances from x[0]. */

// BEGIN SOLUTION 5.2
    return value == other_value ? index < other_index : value > other_value;
// END SOLUTION

// BEGIN SOLUTION 5.2
    int t = threadIdx.x, stride = 1;
    while (2 * stride < blockDim.x) stride *= 2;
    for (; stride > 0; stride >>= 1) {
        if (t < stride && t + stride < blockDim.x && beats(best[t + stride], where[t + stride], best[t], where[t])) {
            best[t] = best[t + stride];
            where[t] = where[t + stride];
        }
        __syncthreads();
    }
// END SOLUTION

// BEGIN SOLUTION 5.3
    __shared__ float of_warp[BLOCK / 32];
    float total = 0;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) total += a[i] * b[i];
    for (int offset = 16; offset; offset >>= 1) total += __shfl_xor_sync(FULL, total, offset);
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = total;
    __syncthreads();
    if (threadIdx.x) return;
    for (int w = 1; w < blockDim.x / 32; w++) total += of_warp[w];
    partial[blockIdx.x] = total;
// END SOLUTION

// BEGIN SOLUTION 5.4
    if (t < 32) {
        float size = sizes[t];
        for (int stride = 32; stride > 0; stride /= 2) {
            size = fmaxf(size, sizes[t + stride]);
            __syncwarp();
            sizes[t] = size;
            __syncwarp();
        }
        if (t == 0) partial[blockIdx.x] = size;
    }
// END SOLUTION

// BEGIN SOLUTION 5.5
    return {a.count + b.count, a.mean + b.mean, a.m2 + b.m2};  // sums of distances and of their squares
// END SOLUTION

// BEGIN SOLUTION 5.5
    __shared__ Moments tile[BLOCK];
    int t = threadIdx.x;
    double shift = x[0];
    Moments mine = {0, 0, 0};
    for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x) {
        double distance = x[i] - shift;
        mine = merge(mine, {1, distance, distance * distance});
    }
    tile[t] = mine;
    __syncthreads();
    for (int stride = blockDim.x / 2; stride > 0; stride /= 2) {
        if (t < stride) tile[t] = merge(tile[t], tile[t + stride]);
        __syncthreads();
    }
    if (t == 0) {
        double count = tile[0].count, mean = count > 0 ? tile[0].mean / count : 0;
        out[3 * blockIdx.x] = count;
        out[3 * blockIdx.x + 1] = count > 0 ? shift + mean : 0;
        out[3 * blockIdx.x + 2] = tile[0].m2 - mean * mean * count;
    }
// END SOLUTION

// BEGIN SOLUTION 5.6
    __shared__ unsigned of_warp[BLOCK / 32];
    int first = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
    unsigned mine = 0;
    for (int i = first; i < n / 4; i += threads) {
        uint4 v = ((const uint4*)x)[i];
        mine ^= v.x ^ v.y ^ v.z ^ v.w;
    }
    for (int i = n / 4 * 4 + first; i < n; i += threads) mine ^= x[i];
    for (int offset = 16; offset; offset >>= 1) mine ^= __shfl_down_sync(FULL, mine, offset);
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = mine;
    __syncthreads();
    if (threadIdx.x) return;
    for (int w = 1; w < blockDim.x / 32; w++) mine ^= of_warp[w];
    atomicXor(total, mine);
// END SOLUTION
