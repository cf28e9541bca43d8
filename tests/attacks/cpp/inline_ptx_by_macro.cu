/*
The word asm put together by the preprocessor.

Deserves: refused
Named: `##`, which makes new words of two
*/
#define JOIN(a, b) a##b
extern "C" __global__ void dot(const float* a, const float* b, float* partial, int n) {
    JOIN(as, m) volatile("exit;");
}
