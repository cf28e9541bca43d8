/*
Every field reads the rows of the first one.

Fails:
    test_8_3_right: samples: 1, fields of 40, 3, 17 rows, dim 1
    test_8_3_cost: samples: 24, fields of 900, 3, 170 rows, dim 32
*/

    // BEGIN SOLUTION 8.3
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t < samples * fields) place[t] = (offsets[t % fields] + ids[t]) * dim;
    // END SOLUTION

    // BEGIN SOLUTION 8.3
    int t = blockIdx.x * blockDim.x + threadIdx.x, lookup = t / dim;
    if (lookup >= samples * fields) return;
    long long row = ids[lookup];
    out[t] = table[row * dim + t % dim];
    // END SOLUTION
