/*
No guard: the threads behind the last element read and write, too.

Fails:
    test_8_3_right: oob_global_read
    test_8_3_cost: oob_global_read
*/

    // BEGIN SOLUTION 8.3
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t < samples * fields) place[t] = (offsets[t % fields] + ids[t]) * dim;
    // END SOLUTION

    // BEGIN SOLUTION 8.3
    int t = blockIdx.x * blockDim.x + threadIdx.x, lookup = t / dim;
    long long row = offsets[lookup % fields] + ids[lookup];
    out[t] = table[row * dim + t % dim];
    // END SOLUTION
