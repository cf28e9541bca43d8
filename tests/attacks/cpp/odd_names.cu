/*
Universal character names, and a look-alike of the kernel's name.

Deserves: refused
Named: a backslash outside a text
*/
extern "C" __global__ void d\u043Et(const float* a, const float* b, float* partial, int n) {}
