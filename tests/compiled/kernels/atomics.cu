// Atomic operations of all kinds. Values are such that the order in which lanes take their turn does not show.

// One of each on 32-bit integers; to[k] starts as the test says.
extern "C" __global__ void atomics_int(const int* x, int* to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int v = x[i];
    atomicAdd(&to[0], v);
    atomicSub(&to[1], v);
    atomicMin(&to[2], v);
    atomicMax(&to[3], v);
    atomicAnd(&to[4], v);
    atomicOr(&to[5], v);
    atomicXor(&to[6], v);
    atomicMin((unsigned*)&to[7], (unsigned)v);
    atomicMax((unsigned*)&to[8], (unsigned)v);
    atomicInc((unsigned*)&to[9], 99u);
    atomicDec((unsigned*)&to[10], 70u);
    if (v == n - 1) atomicExch(&to[11], v);
    atomicCAS(&to[12], 0, 4711);
}

extern "C" __global__ void atomics_wide(const long long* x, unsigned long long* to, double* sum, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    atomicAdd(&to[0], (unsigned long long)x[i]);
    atomicMin((long long*)&to[1], x[i]);
    atomicMax((long long*)&to[2], x[i]);
    atomicXor(&to[3], (unsigned long long)x[i]);
    atomicAdd(sum, (double)x[i]);
}

// In shared memory, and the old values used: each thread draws a number of its own.
extern "C" __global__ void tickets(int* owner, int* high) {
    __shared__ int next, top;
    if (threadIdx.x == 0) next = top = 0;
    __syncthreads();
    int mine = atomicAdd_block(&next, 1);
    atomicMax(&top, mine);
    __syncthreads();
    owner[blockIdx.x * blockDim.x + mine] = 1;
    if (threadIdx.x == 0) high[blockIdx.x] = top;
}

// A product by compare-and-swap: powers of two, so the order does not show.
extern "C" __global__ void product(const float* x, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned* place = (unsigned*)out;
    unsigned seen = *(volatile unsigned*)place, before;
    do {
        before = seen;
        seen = atomicCAS(place, before, __float_as_uint(__uint_as_float(before) * x[i]));
    } while (seen != before);
}

// The largest float through atomics on integers: as signed ones for positive values, as unsigned ones for negative.
extern "C" __global__ void float_max(const float* x, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    if (x[i] >= 0) atomicMax((int*)out, __float_as_int(x[i]));
    else atomicMin((unsigned*)out, __float_as_uint(x[i]));
}
