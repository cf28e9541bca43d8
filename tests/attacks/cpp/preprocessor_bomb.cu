/*
Macros of macros of macros: a sum of two thousand parts in seven lines.

Deserves: 0 points
Named: wrong answer
*/
#define A0 x + x
#define A1 A0 + A0
#define A2 A1 + A1
#define A3 A2 + A2
#define A4 A3 + A3
#define A5 A4 + A4 + A4 + A4 + A4 + A4 + A4 + A4
#define A6 A5 + A5 + A5 + A5 + A5 + A5 + A5 + A5
extern "C" __global__ void dot(const float* a, const float* b, float* partial, int n) {
    float x = a[0];
    partial[0] = A6;
}
