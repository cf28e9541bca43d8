/*
A kernel without an end.

Deserves: 0 points
Named: does not end
*/
extern "C" __global__ void dot(const float* a, const float* b, float* partial, int n) {
    while (true) partial[0] = partial[0] + 1;
}
