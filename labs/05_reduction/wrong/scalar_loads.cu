/* Four elements a turn by four loads of 4 bytes: right, with four times the load requests.

Fails:
    test_5_6_cost: global_load_requests
*/

// BEGIN SOLUTION 5.6
    __shared__ int sums[BLOCK];
    int t = threadIdx.x, first = blockIdx.x * blockDim.x + t, quarter = n / 4, mine = 0;
    for (int i = first; i < quarter; i += gridDim.x * blockDim.x) {
        mine ^= x[i] ^ x[i + quarter] ^ x[i + 2 * quarter] ^ x[i + 3 * quarter];
    }
    if (first < n % 4) mine ^= x[n / 4 * 4 + first];
    sums[t] = mine;
    __syncthreads();
    for (int stride = blockDim.x / 2; stride > 0; stride /= 2) {
        if (t < stride) sums[t] ^= sums[t + stride];
        __syncthreads();
    }
    if (t == 0) atomicXor(total, sums[0]);
// END SOLUTION
