/* The kernel of given.py: its full mask stands in a branch that not all lanes enter.

Fails:
    test_6_3_right: shuffle_mask_names_absent_lane
    test_6_3_cost: shuffle_mask_names_absent_lane
*/

// BEGIN SOLUTION 6.3
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float largest = x[i];
        for (int offset = 16; offset > 0; offset /= 2) {
            largest = fmaxf(largest, __shfl_xor_sync(FULL, largest, offset));
        }
        y[i] = x[i] - largest;
    }
// END SOLUTION
