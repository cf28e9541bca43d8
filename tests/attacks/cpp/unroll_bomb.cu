/*
A loop that the compiler unrolls a million times.

Deserves: 0 points
Named: dot
*/
extern "C" __global__ void dot(const float* a, const float* b, float* partial, int n) {
    float x = a[0];
#pragma unroll 1000000
    for (int i = 0; i < 1000000; ++i) x = x * b[i % n] + i;
    partial[0] = x;
}
