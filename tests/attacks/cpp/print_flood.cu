/*
More text than a disk holds.

Deserves: 0 points
Named: the kernel `dot` does not end: after
*/
extern "C" __global__ void dot(const float* a, const float* b, float* partial, int n) {
    for (int i = 0; i < 1000000000; ++i) printf("flood %d %d ........................................\n", i, threadIdx.x);
}
