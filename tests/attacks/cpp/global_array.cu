/*
Gigabytes of the device's memory, and answers kept in it from launch to launch.

Deserves: 0 points
Named: cannot be run
*/
__device__ double cache[4000000000ull];
extern "C" __global__ void dot(const float* a, const float* b, float* partial, int n) {
    partial[0] = cache[n];
    cache[n] = a[0] * b[0];
}
