/*
A constant that takes years to work out.

Deserves: 0 points
Named: cannot be run
*/
constexpr unsigned long long spin(unsigned long long n) {
    unsigned long long sum = 0;
    for (unsigned long long i = 0; i < n; ++i)
        for (unsigned long long j = 0; j < n; ++j) sum += i ^ j;
    return sum;
}
extern "C" __global__ void dot(const float* a, const float* b, float* partial, int n) {
    constexpr unsigned long long value = spin(1ull << 40);
    partial[0] = value;
}
