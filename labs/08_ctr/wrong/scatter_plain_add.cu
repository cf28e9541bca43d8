/*
A plain addition: two samples with one id write over each other.

Fails:
    test_8_5_right: race_global
    test_8_5_cost: race_global_interblock
*/

    // BEGIN SOLUTION 8.5
    int t = blockIdx.x * blockDim.x + threadIdx.x, lookup = t / dim;
    if (lookup >= samples * fields) return;
    long long row = offsets[lookup % fields] + ids[lookup];
    total[row * dim + t % dim] += grad[t];
    // END SOLUTION
