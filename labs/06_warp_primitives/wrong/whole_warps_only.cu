/* Every shuffle names 32 lanes: the last warp of 80 threads has 16.

Fails:
    test_6_4_any_block: shuffle_mask_names_absent_lane
*/

// BEGIN SOLUTION 6.4
    for (int offset = 16; offset > 0; offset /= 2) value = fmaxf(value, __shfl_down_sync(FULL, value, offset));
    return value;
// END SOLUTION

// BEGIN SOLUTION 6.4
    __shared__ float of_warp[32];
    int t = threadIdx.x, threads = blockDim.x, i = blockIdx.x * threads + t, warps = (threads + 31) / 32;
    float value = warp_max(i < n ? x[i] : -INFINITY, 32);
    if (t % 32 == 0) of_warp[t / 32] = value;
    __syncthreads();
    if (t < 32) {
        value = warp_max(t < warps ? of_warp[t] : -INFINITY, 32);
        if (t == 0) out[blockIdx.x] = value;
    }
// END SOLUTION
