/*
Wait for a word that nobody writes.

Deserves: 0 points
Named: the kernel `dot` does not end
*/
extern "C" __global__ void dot(const float* a, const float* b, float* partial, int n) {
    volatile float* word = partial;
    while (word[0] != 12345.0f) {}
}
