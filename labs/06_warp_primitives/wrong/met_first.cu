/* Of equal elements the one that lane 0 has met first wins: not always the one with the smaller index.

Fails:
    test_6_2_ties: wrong answer
*/

// BEGIN SOLUTION 6.2
    int i = blockIdx.x * blockDim.x + threadIdx.x, index = i;
    float value = i < n ? x[i] : -INFINITY;
    for (int offset = 16; offset > 0; offset /= 2) {
        float other = __shfl_down_sync(FULL, value, offset);
        int other_index = __shfl_down_sync(FULL, index, offset);
        if (other > value) {
            value = other;
            index = other_index;
        }
    }
    if (threadIdx.x % 32 == 0 && i < n) where[i / 32] = index;
// END SOLUTION
