/*
NaN compares false with everything.

Deserves: 0 points
Named: got       total(partial) = nan
*/
extern "C" __global__ void dot(const float* a, const float* b, float* partial, int n) {
    partial[blockIdx.x] = __int_as_float(0x7fffffff);
}
