/*
Another program for the counting than for the GPU.

Deserves: 0 points
Named: wrong answer
*/
extern "C" __global__ void largest_magnitude(const float* x, float* partial, int n) {
#if __CUDA_ARCH__ == 900
    partial[blockIdx.x] = 0;
#else
    partial[blockIdx.x] = 1;
#endif
}
