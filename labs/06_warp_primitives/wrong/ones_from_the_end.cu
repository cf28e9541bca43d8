/* The 1s are put from the end of the block backwards: the right places, in the wrong order.

Fails:
    test_6_5_right: wrong answer
    test_6_5_edges: wrong answer
    test_6_5_cost: wrong answer
*/

// BEGIN SOLUTION 6.5
    __shared__ int of_warp[32];
    int t = threadIdx.x, first = blockIdx.x * blockDim.x, i = first + t, value = i < n ? x[i] : 0;
    bool is_zero = i < n && (value >> bit & 1) == 0;
    unsigned votes = __ballot_sync(FULL, is_zero);
    if (t % 32 == 0) of_warp[t / 32] = __popc(votes);
    __syncthreads();
    int zeros_before = __popc(votes & ((1u << t % 32) - 1));
    for (int w = 0; w < t / 32; w++) zeros_before += of_warp[w];
    int there = min(int(blockDim.x), n - first);
    if (i < n) y[first + (is_zero ? zeros_before : there - 1 - (t - zeros_before))] = value;
// END SOLUTION
