/*
A thread copies a whole row: right, and neighbouring lanes are rows apart.

Fails:
    test_8_3_cost: global_load_sectors
*/

    // BEGIN SOLUTION 8.3
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t < samples * fields) place[t] = (offsets[t % fields] + ids[t]) * dim;
    // END SOLUTION

    // BEGIN SOLUTION 8.3
    int lookup = blockIdx.x * blockDim.x + threadIdx.x;
    if (lookup >= samples * fields) return;
    long long row = offsets[lookup % fields] + ids[lookup];
    for (int d = 0; d < dim; d++) out[lookup * dim + d] = table[row * dim + d];
    // END SOLUTION
