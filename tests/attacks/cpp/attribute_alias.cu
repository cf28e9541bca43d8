/*
One function's name on another, and a section of the attacker's choice.

Deserves: 0 points
Named: has a C++ name
*/
extern "C" __global__ void quick(const float* a, const float* b, float* partial, int n) { partial[blockIdx.x] = 0; }
extern "C" __global__ __attribute__((alias("quick"), section("/CANARY/x"))) void dot(const float*, const float*, float*, int);
