/*
Take the device's heap, again and again.

Deserves: 0 points
Named: the compiled kernel uses malloc()
*/
extern "C" __global__ void dot(const float* a, const float* b, float* partial, int n) {
    for (int i = 0; i < 1000000; ++i) partial[0] += *(float*)malloc(1 << 30);
}
