/* The tail of 2007: lanes of one warp in step, which nothing promises any more. Right, by luck.

Fails:
    test_5_4_right: race_shared
    test_5_4_cost: race_shared
*/

// BEGIN SOLUTION 5.4
    if (t < 32) {
        volatile float* v = sizes;
        v[t] = fmaxf(v[t], v[t + 32]);
        v[t] = fmaxf(v[t], v[t + 16]);
        v[t] = fmaxf(v[t], v[t + 8]);
        v[t] = fmaxf(v[t], v[t + 4]);
        v[t] = fmaxf(v[t], v[t + 2]);
        v[t] = fmaxf(v[t], v[t + 1]);
    }
    if (t == 0) partial[blockIdx.x] = sizes[0];
// END SOLUTION
