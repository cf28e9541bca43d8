/* n is divided by 4, and what is left over is forgotten.

Fails:
    test_5_6_right: wrong answer
    test_5_6_cost: wrong answer
*/

// BEGIN SOLUTION 5.6
    __shared__ int sums[BLOCK];
    const int4* fours = reinterpret_cast<const int4*>(x);
    int t = threadIdx.x, mine = 0;
    for (int i = blockIdx.x * blockDim.x + t; i < n / 4; i += gridDim.x * blockDim.x) {
        int4 v = fours[i];
        mine ^= v.x ^ v.y ^ v.z ^ v.w;
    }
    sums[t] = mine;
    __syncthreads();
    for (int stride = blockDim.x / 2; stride > 0; stride /= 2) {
        if (t < stride) sums[t] ^= sums[t + stride];
        __syncthreads();
    }
    if (t == 0) atomicXor(total, sums[0]);
// END SOLUTION
