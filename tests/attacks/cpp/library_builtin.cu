/*
A function of the compiler's own library, under a name that it may claim.

Deserves: refused
Named: a name of the compiler's own
*/
extern "C" __device__ float __nv_sqrtf(float);
extern "C" __device__ int __nvvm_reflect(const char*);
extern "C" __global__ void dot(const float* a, const float* b, float* partial, int n) {
    partial[blockIdx.x] = __nv_sqrtf(__nvvm_reflect("__CUDA_ARCH"));
}
