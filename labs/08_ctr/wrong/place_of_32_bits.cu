/*
The row is an int, and so is its product with dim, which wraps around before it is stored.

Fails:
    test_8_3_locate: samples: 33, fields of 150,000,000, 50,000,000, 9 rows, dim 64
*/

    // BEGIN SOLUTION 8.3
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= samples * fields) return;
    int row = offsets[t % fields] + ids[t];
    place[t] = row * dim;
    // END SOLUTION
