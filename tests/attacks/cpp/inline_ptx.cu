/*
Instructions that the machine does not see as C++.

Deserves: refused
Named: inline assembly
*/
extern "C" __global__ void dot(const float* a, const float* b, float* partial, int n) {
    asm volatile("trap;");
}
