/* Every element adds 1 by itself: right, and 32 lanes queue for one address.

Fails:
    test_6_7_cost: atomic_max_contention
*/

// BEGIN SOLUTION 6.7
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&counts[key[i]], 1);
// END SOLUTION
