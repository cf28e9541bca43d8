/* The block folds in every round of the loop: right, with as many barriers as there are rounds.

Fails:
    test_5_3_cost: barriers
*/

// BEGIN SOLUTION 5.3
    __shared__ float sums[BLOCK];
    int t = threadIdx.x;
    float total = 0;
    for (int start = blockIdx.x * blockDim.x; start < n; start += gridDim.x * blockDim.x) {
        sums[t] = start + t < n ? a[start + t] * b[start + t] : 0.0f;
        __syncthreads();
        for (int stride = blockDim.x / 2; stride > 0; stride /= 2) {
            if (t < stride) sums[t] += sums[t + stride];
            __syncthreads();
        }
        if (t == 0) total += sums[0];
        __syncthreads();
    }
    if (t == 0) partial[blockIdx.x] = total;
// END SOLUTION
