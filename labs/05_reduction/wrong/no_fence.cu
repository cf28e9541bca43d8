/* The found index is not made visible before the block counts itself: the last block may read an older value.

Fails:
    test_5_7_right: race_global_interblock
    test_5_7_many_blocks: race_global_interblock
    test_5_7_ties: race_global_interblock
    test_5_7_cost: race_global_interblock
*/

// BEGIN SOLUTION 5.7
    __shared__ float values[BLOCK];
    __shared__ int where[BLOCK];
    __shared__ bool is_last;
    int t = threadIdx.x, index = n;
    float value = -INFINITY;
    for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x) {
        if (beats(x[i], i, value, index)) {
            value = x[i];
            index = i;
        }
    }
    values[t] = value;
    where[t] = index;
    __syncthreads();
    fold(values, where);
    if (t == 0) {
        found[blockIdx.x] = where[0];
        is_last = atomicInc(done, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (!is_last) return;
    __threadfence();
    value = -INFINITY;
    index = n;
    for (int k = t; k < gridDim.x; k += blockDim.x) {
        int i = found[k];
        if (i < n && beats(x[i], i, value, index)) {
            value = x[i];
            index = i;
        }
    }
    values[t] = value;
    where[t] = index;
    __syncthreads();
    fold(values, where);
    if (t == 0) *best = where[0];
// END SOLUTION
