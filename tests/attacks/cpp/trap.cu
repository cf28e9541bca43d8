/*
Stop the machine.

Deserves: 0 points
Named: the kernel stopped itself (trap)
*/
extern "C" __global__ void dot(const float* a, const float* b, float* partial, int n) { __trap(); }
