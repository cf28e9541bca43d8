/* Each lane takes a run of its row, as a CPU core would: right, and neighbouring lanes read far apart.

Fails:
    test_7_3_cost: global_load_sectors
*/

// BEGIN SOLUTION 7.3
    int thread = blockIdx.x * blockDim.x + threadIdx.x, row = thread / 32, lane = thread % 32;
    if (row >= rows) return;
    float total = 0;
    int start = indptr[row], end = indptr[row + 1], run = (end - start + 31) / 32;
    for (int k = start + lane * run; k < min(start + (lane + 1) * run, end); k++) total += data[k] * x[indices[k]];
    for (int offset = 16; offset > 0; offset /= 2) total += __shfl_down_sync(FULL, total, offset);
    if (lane == 0) y[row] = total;
// END SOLUTION
