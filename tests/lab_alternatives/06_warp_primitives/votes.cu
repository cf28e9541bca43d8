/* Votes in place of pairs, loops over the slots, a mask of those that are there. */

// BEGIN SOLUTION 6.2
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float value = i < n ? x[i] : -INFINITY, largest = value;
    for (int mask = 16; mask; mask >>= 1) largest = fmaxf(largest, __shfl_xor_sync(FULL, largest, mask));
    int first = __ffs(__ballot_sync(FULL, value == largest)) - 1;
    if (threadIdx.x % 32 == 0 && i < n) where[i / 32] = i + first;
// END SOLUTION

// BEGIN SOLUTION 6.3
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float mine = x[min(i, n - 1)], largest = mine;
    for (int mask = 1; mask < 32; mask *= 2) largest = fmaxf(largest, __shfl_xor_sync(FULL, largest, mask));
    if (i < n) y[i] = mine - largest;
// END SOLUTION

// BEGIN SOLUTION 6.4
    int lane = threadIdx.x % 32;
    for (int offset = 1; offset < 32; offset *= 2) {
        value = fmaxf(value, __shfl_sync((1ull << lanes) - 1, value, lane + offset < lanes ? lane + offset : lane));
    }
    return value;
// END SOLUTION

// BEGIN SOLUTION 6.4
    __shared__ float of_warp[32];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t, warps = (blockDim.x + 31) / 32;
    float value = i < n ? x[i] : -INFINITY;
    value = warp_max(value, t / 32 < warps - 1 ? 32 : blockDim.x - 32 * (warps - 1));
    if (t % 32 == 0) of_warp[t / 32] = value;
    __syncthreads();
    if (t) return;
    for (int w = 1; w < warps; w++) value = fmaxf(value, of_warp[w]);
    out[blockIdx.x] = value;
// END SOLUTION

// BEGIN SOLUTION 6.5
    __shared__ int of_warp[32], total;
    int t = threadIdx.x, lane = t % 32, warp = t / 32, i = blockIdx.x * blockDim.x + t, value = i < n ? x[i] : 0;
    bool is_zero = i < n && !(value >> bit & 1);
    unsigned votes = __ballot_sync(FULL, is_zero);
    if (lane == 31) of_warp[warp] = __popc(votes);
    __syncthreads();
    if (warp == 0) {
        int count = lane < blockDim.x / 32 ? of_warp[lane] : 0, sum = count;
        for (int offset = 1; offset < 32; offset *= 2) {
            int below = __shfl_up_sync(FULL, sum, offset);
            if (lane >= offset) sum += below;
        }
        of_warp[lane] = sum - count;
        if (lane == 31) total = sum;
    }
    __syncthreads();
    int before = of_warp[warp] + __popc(votes & (1u << lane) - 1);
    if (i < n) y[blockIdx.x * blockDim.x + (is_zero ? before : total + t - before)] = value;
// END SOLUTION

// BEGIN SOLUTION 6.6
    __shared__ float of_warp[32];
    int t = threadIdx.x, lane = t % 32, i = blockIdx.x * blockDim.x + t;
    float value = i < n ? x[i] : -INFINITY;
    for (int offset = 1; offset < 32; offset *= 2) {
        float below = __shfl_up_sync(FULL, value, offset);
        if (lane >= offset) value = fmaxf(value, below);
    }
    if (lane == 31) of_warp[t / 32] = value;
    __syncthreads();
    for (int w = 0; w < t / 32; w++) value = fmaxf(value, of_warp[w]);
    if (i < n) y[i] = value;
// END SOLUTION

// BEGIN SOLUTION 6.7
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned there = __ballot_sync(FULL, i < n);
    if (i >= n) return;
    unsigned same = __match_any_sync(there, key[i]);
    if (threadIdx.x % 32 == __ffs(same) - 1) atomicAdd(counts + key[i], __popc(same));
// END SOLUTION
