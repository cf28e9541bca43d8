/*
Universal character names, and a look-alike of the kernel's name.

Deserves: 0 points
Named: there is no kernel
*/
extern "C" __global__ void d\u043Et(const float* a, const float* b, float* partial, int n) {}
