/*
More shared memory than any GPU has.

Deserves: 0 points
Named: cannot be run
*/
extern "C" __global__ void dot(const float* a, const float* b, float* partial, int n) {
    __shared__ double sums[1000000000];
    sums[threadIdx.x] = 0;
    __syncthreads();
    partial[0] = sums[0];
}
