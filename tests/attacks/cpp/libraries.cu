/*
Headers that are not the lab's: a library's reduction.

Deserves: refused
Named: #include <cub/cub.cuh>
*/
#include <cub/cub.cuh>
extern "C" __global__ void dot(const float* a, const float* b, float* partial, int n) {}
