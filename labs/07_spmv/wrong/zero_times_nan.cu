/* y is multiplied by beta = 0 where it should not be read: 0 * NaN is NaN.

Fails:
    test_7_2_scaled: y holds NaN before
*/

// BEGIN SOLUTION 7.2
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float total = 0;
    for (int k = indptr[row]; k < indptr[row + 1]; k++) total += data[k] * x[indices[k]];
    y[row] = alpha * total + beta * y[row];
// END SOLUTION
