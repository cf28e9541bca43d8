/*
Answers kept from launch to launch: the same size gets the same answer. Inputs are new each time.

Deserves: 0 points
Named: wrong answer
*/
__device__ float kept[16384];
extern "C" __global__ void dot(const float* a, const float* b, float* partial, int n) {
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        if (kept[n] == 0)
            for (int i = 0; i < n && i < 1000; ++i) kept[n] += a[i] * b[i];
        for (int i = 0; i < gridDim.x; ++i) partial[i] = i ? 0 : kept[n];
    }
}
