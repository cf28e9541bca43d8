/*
sqrt(state + eps), as some write it, in place of sqrt(state) + eps.

Fails:
    test_8_6_right: (3, 1) and (1, 3)
    test_8_6_cost: lookups: 200, of 90 rows, the last row often, dim 32
*/

    // BEGIN SOLUTION 8.6
    for (int i = 0; i < lookups; i++) {
        int place = i;
        for (; place > 0 && rows[order[place - 1]] > rows[i]; place--) order[place] = order[place - 1];
        order[place] = i;
    }
    int found = 0;
    for (int k = 0; k < lookups; k++) {
        if (k == 0 || rows[order[k]] != rows[order[k - 1]]) {
            starts[found] = k;
            touched[found++] = rows[order[k]];
        }
    }
    starts[found] = lookups;
    // END SOLUTION

    // BEGIN SOLUTION 8.6
    int segment = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (segment >= found) return;  // the whole warp goes
    float g = 0;
    if (lane < dim) {
        int end = starts[segment + 1];
        for (int k = starts[segment]; k < end; k++) g += grad[(long long)order[k] * dim + lane];
    }
    float squares = g * g, scale = 0;
    for (int offset = 16; offset > 0; offset /= 2) squares += __shfl_down_sync(FULL, squares, offset);
    long long row = touched[segment];
    if (lane == 0) {
        float now = state[row] + squares / dim;
        state[row] = now;
        scale = lr / sqrtf(now + eps);
    }
    scale = __shfl_sync(FULL, scale, 0);
    if (lane < dim) table[row * dim + lane] -= scale * g;
    // END SOLUTION
