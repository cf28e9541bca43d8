/*
Two kernels of one name: an honest one, and one that is called.

Deserves: 0 points
Named: function "dot" has already been defined
*/
extern "C" __global__ void dot(const float* a, const float* b, float* partial, int n) { partial[0] = 1; }
extern "C" __global__ void dot(const float* a, const float* b, float* partial, int n) { partial[0] = 2; }
