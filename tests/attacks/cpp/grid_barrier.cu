/*
A barrier of the whole grid that a block never reaches.

Deserves: 0 points
Named: the kernel `dot` does not end
*/
#include <cooperative_groups.h>
extern "C" __global__ void dot(const float* a, const float* b, float* partial, int n) {
    if (blockIdx.x == 0) cooperative_groups::this_grid().sync();
    partial[blockIdx.x] = 0;
}
