/* log2 T steps in shared memory, two barriers each: right, and the warps do nothing by themselves.

Fails:
    test_6_6_cost: barriers
*/

// BEGIN SOLUTION 6.6
    __shared__ float tile[1024];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    tile[t] = i < n ? x[i] : -INFINITY;
    __syncthreads();
    for (int offset = 1; offset < blockDim.x; offset *= 2) {
        float before = t >= offset ? tile[t - offset] : -INFINITY;
        __syncthreads();
        tile[t] = fmaxf(tile[t], before);
        __syncthreads();
    }
    if (i < n) y[i] = tile[t];
// END SOLUTION
