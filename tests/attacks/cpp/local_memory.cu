/*
Gigabytes for every thread.

Deserves: 0 points
Named: cannot be run
*/
extern "C" __global__ void dot(const float* a, const float* b, float* partial, int n) {
    volatile double mine[500000000];
    for (int i = 0; i < n; ++i) mine[i * 1000] = a[i];
    partial[0] = mine[1000 * (n - 1)];
}
