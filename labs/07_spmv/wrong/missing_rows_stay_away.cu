/* Threads without a row do not come to the shuffles, whose mask names the whole warp.

Fails:
    test_7_4_right: shuffle_mask_names_absent_lane
*/

// BEGIN SOLUTION 7.4
    int thread = blockIdx.x * blockDim.x + threadIdx.x, row = thread / lanes, lane = thread % lanes;
    if (row >= rows) return;
    float total = 0;
    for (int k = indptr[row] + lane; k < indptr[row + 1]; k += lanes) total += data[k] * x[indices[k]];
    for (int offset = lanes / 2; offset > 0; offset /= 2) total += __shfl_xor_sync(FULL, total, offset);
    if (lane == 0) y[row] = total;
// END SOLUTION
