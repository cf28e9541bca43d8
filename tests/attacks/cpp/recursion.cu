/*
A function that calls itself.

Deserves: 0 points
Named: the recursion is deeper than 512 calls
*/
__device__ __noinline__ float down(float x) { return x > 1e30f ? x : down(x + 1) + down(x + 2); }
extern "C" __global__ void dot(const float* a, const float* b, float* partial, int n) { partial[0] = down(a[0]); }
