/*
A thread adds a whole row: right, and the lanes of a warp meet where ids repeat.

Fails:
    test_8_5_cost: global_atomics
*/

    // BEGIN SOLUTION 8.5
    int lookup = blockIdx.x * blockDim.x + threadIdx.x;
    if (lookup >= samples * fields) return;
    long long row = offsets[lookup % fields] + ids[lookup];
    for (int d = 0; d < dim; d++) atomicAdd(&total[row * dim + d], grad[lookup * dim + d]);
    // END SOLUTION
