/* The threads at work are every second, every fourth ...: right, and every warp diverges.

Fails:
    test_5_2_cost: divergent_branches
*/

// BEGIN SOLUTION 5.2
    return value > other_value || (value == other_value && index < other_index);
// END SOLUTION

// BEGIN SOLUTION 5.2
    int t = threadIdx.x;
    for (int stride = 1; stride < blockDim.x; stride *= 2) {
        if (t % (2 * stride) == 0 && t + stride < blockDim.x) {
            if (beats(best[t + stride], where[t + stride], best[t], where[t])) {
                best[t] = best[t + stride];
                where[t] = where[t + stride];
            }
        }
        __syncthreads();
    }
// END SOLUTION
