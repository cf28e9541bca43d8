// Cooperative groups: tiles of a warp, the lanes that are there, the block, the grid.

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

namespace cg = cooperative_groups;

// Sums of 8 neighbours, and the largest of 16.
extern "C" __global__ void tiles(const int* x, int* sums, int* largest) {
    cg::thread_block block = cg::this_thread_block();
    auto eight = cg::tiled_partition<8>(block);
    auto sixteen = cg::tiled_partition<16>(block);
    int i = blockIdx.x * blockDim.x + block.thread_rank(), v = x[i];
    for (int d = eight.size() / 2; d > 0; d /= 2) v += eight.shfl_down(v, d);
    if (eight.thread_rank() == 0) sums[i / 8] = v;
    int top = cg::reduce(sixteen, x[i], cg::greater<int>());
    if (sixteen.thread_rank() == 3) largest[i / 16] = top;
}

// One atomic for all lanes that are at the same place.
extern "C" __global__ void coalesced(const int* x, int* count, int* slots, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n || x[i] % 3) return;
    cg::coalesced_group here = cg::coalesced_threads();
    int first = 0;
    if (here.thread_rank() == 0) first = atomicAdd(count, here.size());
    slots[here.shfl(first, 0) + here.thread_rank()] = 1;
}

// Rounds of smoothing over the whole grid, with a grid barrier between them.
extern "C" __global__ void grid_rounds(float* a, float* b, int n, int rounds) {
    cg::grid_group grid = cg::this_grid();
    int i = grid.thread_rank();
    for (int k = 0; k < rounds; ++k) {
        if (i < n) b[i] = 0.5f * a[i] + 0.25f * (a[(i + n - 1) % n] + a[(i + 1) % n]);
        grid.sync();
        float* other = a;
        a = b;
        b = other;
    }
}
