/* Five shuffles, whatever the number of lanes: rows that share a warp get each other's sums.

Fails:
    test_7_4_right: wrong answer
    test_7_4_cost: wrong answer
*/

// BEGIN SOLUTION 7.4
    int thread = blockIdx.x * blockDim.x + threadIdx.x, row = thread / lanes, lane = thread % lanes;
    float total = 0;
    if (row < rows) {
        for (int k = indptr[row] + lane; k < indptr[row + 1]; k += lanes) total += data[k] * x[indices[k]];
    }
    for (int offset = 16; offset > 0; offset /= 2) total += __shfl_xor_sync(FULL, total, offset);
    if (row < rows && lane == 0) y[row] = total;
// END SOLUTION
