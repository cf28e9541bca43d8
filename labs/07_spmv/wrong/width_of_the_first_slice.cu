/* Every slice is read as if it were as wide as the first one.

Fails:
    test_7_8_right: oob_global_read
    test_7_8_cost: oob_global_read
*/

// BEGIN SOLUTION 7.8
    int place = blockIdx.x * blockDim.x + threadIdx.x;
    if (place >= rows) return;
    float total = 0;
    for (int k = 0; k < offsets[1] / height; k++) {
        int slot = offsets[place / height] + k * height + place % height;
        if (columns[slot] >= 0) total += values[slot] * x[columns[slot]];
    }
    y[permutation[place]] = total;
// END SOLUTION
