/* The variance from the sums of x and of x * x: two large numbers, whose difference is all rounding.

Fails:
    test_5_5_right: wrong answer
    test_5_5_empty: wrong answer
*/

// BEGIN SOLUTION 5.5
    return {a.count + b.count, a.mean + b.mean, a.m2 + b.m2};  // sums of x and of x * x, not yet mean and m2
// END SOLUTION

// BEGIN SOLUTION 5.5
    __shared__ double counts[BLOCK], means[BLOCK], m2s[BLOCK];
    int t = threadIdx.x;
    Moments mine = {0, 0, 0};
    for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x) {
        mine = merge(mine, {1, x[i], x[i] * x[i]});
    }
    counts[t] = mine.count;
    means[t] = mine.mean;
    m2s[t] = mine.m2;
    __syncthreads();
    for (int stride = blockDim.x / 2; stride > 0; stride /= 2) {
        if (t < stride) {
            int u = t + stride;
            mine = merge({counts[t], means[t], m2s[t]}, {counts[u], means[u], m2s[u]});
            counts[t] = mine.count;
            means[t] = mine.mean;
            m2s[t] = mine.m2;
        }
        __syncthreads();
    }
    if (t == 0) {
        double count = counts[0] > 0 ? counts[0] : 1;
        out[3 * blockIdx.x] = counts[0];
        out[3 * blockIdx.x + 1] = means[0] / count;
        out[3 * blockIdx.x + 2] = m2s[0] - means[0] * means[0] / count;
    }
// END SOLUTION
