/* Padding is multiplied like the rest: its column -1 is what lies before x.

Fails:
    test_7_6_right: oob_global_read
    test_7_6_cost: oob_global_read
*/

// BEGIN SOLUTION 7.6
    for (int row = 0; row < rows; row++) {
        int start = indptr[row], length = indptr[row + 1] - start;
        for (int k = 0; k < width; k++) {
            columns[k * rows + row] = k < length ? indices[start + k] : -1;
            values[k * rows + row] = k < length ? data[start + k] : 0;
        }
    }
// END SOLUTION

// BEGIN SOLUTION 7.6
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float total = 0;
    for (int k = 0; k < width; k++) total += values[k * rows + row] * x[columns[k * rows + row]];
    y[row] = total;
// END SOLUTION
