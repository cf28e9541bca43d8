/*
A kernel with an end that nobody will see.

Deserves: 0 points
Named: the kernel `dot` does not end: after
*/
extern "C" __global__ void dot(const float* a, const float* b, float* partial, int n) {
    float total = 0;
    for (unsigned long long i = 0; i < (1ull << 62); ++i) total = total * 0.5f + b[i % n];
    partial[blockIdx.x] = total;
}
