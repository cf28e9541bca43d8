/*
The warp tail of 2007, whose volatile says nothing about who waits.

Deserves: 0 points
Named: race_shared
*/
extern "C" __global__ void largest_magnitude(const float* x, float* partial, int n) {
    __shared__ volatile float sizes[256];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    sizes[t] = i < n ? fabsf(x[i]) : 0.0f;
    __syncthreads();
    for (int stride = blockDim.x / 2; stride > 0; stride /= 2)
        if (t < stride) sizes[t] = fmaxf(sizes[t], sizes[t + stride]);
    if (t == 0) partial[blockIdx.x] = sizes[0];
}
