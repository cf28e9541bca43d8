// Features of the language: calls, tables, structures, templates, arrays of a thread, output.

// A switch that becomes a table of jumps.
extern "C" __global__ void switch_table(const int* codes, const int* x, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int v = x[i];
    switch (codes[i]) {
        case 0: v += 17; break;
        case 1: v = v * v - 3; break;
        case 2: v ^= v << 5; break;
        case 3: v = v % 19 + (v >> 2); break;
        case 4: v = -v;  // and on
        case 5: v = max(v, 12) * 7; break;
        case 6: v = __popc(v) * 1001; break;
        case 7: v = v & 0xf0f0 | 5; break;
        case 9: out[i] = -1; return;
        default: v = 0;
    }
    out[i] = v;
}

__device__ __noinline__ int steps_of_collatz(int n) {
    return n == 1 ? 0 : 1 + steps_of_collatz(n % 2 ? 3 * n + 1 : n / 2);
}

// A function that calls itself, as deep as its argument says.
extern "C" __global__ void recursion(const int* x, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = steps_of_collatz(x[i]);
}

__device__ int twice(int v) { return 2 * v; }
__device__ int square(int v) { return v * v; }
__device__ int minus(int v) { return -v; }
using operation = int (*)(int);
__device__ operation operations[3] = {twice, square, minus};

// Functions by address, from a table in memory.
extern "C" __global__ void function_pointers(const int* which, const int* x, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = operations[which[i]](x[i]);
}

// Arrays of a thread, with indices that only the data know: the five smallest of 20 numbers, in order.
extern "C" __global__ void local_arrays(const int* x, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int best[5], used = 0, counts[8] = {};
    for (int k = 0; k < 20; ++k) {
        int v = x[i * 20 + k];
        ++counts[v & 7];
        int at = used < 5 ? used : 4;
        if (used == 5 && v >= best[4]) continue;
        if (used < 5) ++used;
        while (at > 0 && best[at - 1] > v) {
            best[at] = best[at - 1];
            --at;
        }
        best[at] = v;
    }
    for (int k = 0; k < 5; ++k) out[i * 6 + k] = best[k];
    out[i * 6 + 5] = counts[out[i * 6] & 7];
}

struct Line {
    float slope, shift;
    int power, offset;
};

// A structure passed by value.
extern "C" __global__ void structure(const float* x, float* y, Line line, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = x[i];
    for (int k = 1; k < line.power; ++k) v *= x[i];
    y[i] = fmaf(line.slope, v, line.shift) + line.offset;
}

// Output of some threads, and a condition that holds.
extern "C" __global__ void talk(const int* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    assert(n > 0);
    if (i < n && x[i] < 0) printf("x[%d] = %d, half of it %5.2f, %s\n", i, x[i], 0.5 * x[i], "negative");
}

// A condition that does not hold for 13.
extern "C" __global__ void insist(const int* x, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    assert(x[i] != 13);
    out[i] = x[i];
}

__device__ unsigned calls;

// A variable of the module, which keeps its value from launch to launch.
extern "C" __global__ void count_calls(unsigned* out) {
    __shared__ unsigned mine;
    if (threadIdx.x == 0) mine = atomicAdd(&calls, 1u);
    __syncthreads();
    out[blockIdx.x * blockDim.x + threadIdx.x] = mine < gridDim.x;
}

template <typename T, int N>
struct Polynomial {
    T coefficients[N];
    __device__ T operator()(T x) const {
        T v = coefficients[N - 1];
#pragma unroll
        for (int k = N - 2; k >= 0; --k) v = v * x + coefficients[k];
        return v;
    }
};

template <typename F, typename T>
__device__ void each(F f, const T* x, T* y, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = f(x[i]);
}

// A structure with an operator, given to a template.
extern "C" __global__ void templates(const long long* x, long long* y, int n) {
    each(Polynomial<long long, 4>{{7, -5, 3, 2}}, x, y, n);
}

// goto, do, continue and break out of two loops: the first pair i < k <= 40 with i * k = x.
extern "C" __global__ void jumps(const int* x, int* out, int n) {
    int t = blockIdx.x * blockDim.x + threadIdx.x, i = 1, k = 0;
    if (t >= n) return;
    do {
        if (x[t] % i) continue;
        for (k = i + 1; k <= 40; ++k)
            if (i * k == x[t]) goto found;
    } while (++i < 40);
    out[t] = -1;
    return;
found:
    out[t] = 100 * i + k;
}

// Bytes, words and floats in one place, and fields of a few bits.
extern "C" __global__ void layouts(const unsigned* x, unsigned* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    union {
        unsigned word;
        unsigned char byte[4];
        float number;
    } u;
    struct {
        unsigned low : 5;
        int middle : 11;
        unsigned high : 16;
    } fields;
    u.word = x[i];
    fields.low = u.byte[x[i] & 3];
    fields.middle = u.byte[2] * 9;
    fields.high = u.word >> 3;
    out[i] = fields.low + fields.middle * 32 + (fields.high << 16);
}
