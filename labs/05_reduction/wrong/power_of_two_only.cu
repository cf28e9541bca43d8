/* The tree halves the block, so that the last slot of an odd width is lost.

Fails:
    test_5_2_any_block: wrong answer
*/

// BEGIN SOLUTION 5.2
    return value > other_value || (value == other_value && index < other_index);
// END SOLUTION

// BEGIN SOLUTION 5.2
    int t = threadIdx.x;
    for (int stride = blockDim.x / 2; stride > 0; stride /= 2) {
        if (t < stride && beats(best[t + stride], where[t + stride], best[t], where[t])) {
            best[t] = best[t + stride];
            where[t] = where[t + stride];
        }
        __syncthreads();
    }
// END SOLUTION
