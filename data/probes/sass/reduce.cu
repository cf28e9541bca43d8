// Sums and other reductions: trees in shared memory, shuffles, volatile tails, several values a thread.
template <typename T> __device__ T shuffled(T v) {
    for (int o = 16; o > 0; o >>= 1) v += __shfl_down_sync(0xffffffffu, v, o);
    return v;
}

template <typename T> __global__ void interleaved(const T* x, T* out) {
    __shared__ T s[256];
    int t = threadIdx.x;
    s[t] = x[blockIdx.x * 256 + t];
    __syncthreads();
    for (int stride = 1; stride < 256; stride *= 2) {
        if (t % (2 * stride) == 0) s[t] += s[t + stride];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = s[0];
}

template <typename T> __global__ void compact(const T* x, T* out) {
    __shared__ T s[256];
    int t = threadIdx.x;
    s[t] = x[blockIdx.x * 256 + t];
    __syncthreads();
    for (int stride = 1; stride < 256; stride *= 2) {
        int i = 2 * stride * t;
        if (i < 256) s[i] += s[i + stride];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = s[0];
}

template <typename T> __global__ void sequential(const T* x, T* out) {
    extern __shared__ char raw[];
    T* s = (T*)raw;
    int t = threadIdx.x;
    s[t] = x[blockIdx.x * blockDim.x + t];
    __syncthreads();
    for (int stride = blockDim.x / 2; stride > 0; stride >>= 1) {
        if (t < stride) s[t] += s[t + stride];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = s[0];
}

template <typename T, int N> __global__ void unrolled(const T* x, T* out, int n) {
    __shared__ T s[N];
    int t = threadIdx.x;
    T v = 0;
    for (int i = blockIdx.x * N * 2 + t; i < n; i += N * 2 * gridDim.x) v += x[i] + (i + N < n ? x[i + N] : T(0));
    s[t] = v;
    __syncthreads();
    if (N >= 512) { if (t < 256) s[t] += s[t + 256]; __syncthreads(); }
    if (N >= 256) { if (t < 128) s[t] += s[t + 128]; __syncthreads(); }
    if (N >= 128) { if (t < 64) s[t] += s[t + 64]; __syncthreads(); }
    if (t < 32) {
        volatile T* w = s;
        if (N >= 64) w[t] += w[t + 32];
        w[t] += w[t + 16]; w[t] += w[t + 8]; w[t] += w[t + 4]; w[t] += w[t + 2]; w[t] += w[t + 1];
    }
    if (t == 0) out[blockIdx.x] = s[0];
}

template <typename T> __global__ void by_warp(const T* x, T* out, int n) {
    __shared__ T w[32];
    T v = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) v += x[i];
    v = shuffled(v);
    if (threadIdx.x % 32 == 0) w[threadIdx.x / 32] = v;
    __syncthreads();
    if (threadIdx.x < 32) {
        v = threadIdx.x < blockDim.x / 32 ? w[threadIdx.x] : T(0);
        v = shuffled(v);
        if (threadIdx.x == 0) out[blockIdx.x] = v;
    }
}

template <typename T, int N> __global__ void last_by_one(const T* x, T* out, int n) {
    __shared__ T w[N];
    T v = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) v += x[blockIdx.x * n + i];
    v = shuffled(v);
    if (threadIdx.x % 32 == 0) w[threadIdx.x / 32] = v;
    __syncthreads();
    if (threadIdx.x == 0) {
        T total = 0;
        for (int i = 0; i < N; i++) total += w[i];
        out[blockIdx.x] = total;
    }
}

__global__ void float4_sum(const float4* x, float* out, int n) {
    float v = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float4 p = x[i];
        v += p.x + p.y + p.z + p.w;
    }
    v = shuffled(v);
    if (threadIdx.x % 32 == 0) atomicAdd(out, v);
}

__global__ void argmax(const float* x, int* out, int n) {
    __shared__ float best[256];
    __shared__ int where[256];
    int t = threadIdx.x;
    float b = -1e30f;
    int w = -1;
    for (int i = t; i < n; i += 256)
        if (x[i] > b) { b = x[i]; w = i; }
    best[t] = b; where[t] = w;
    __syncthreads();
    for (int s = 128; s > 0; s >>= 1) {
        if (t < s && best[t + s] > best[t]) { best[t] = best[t + s]; where[t] = where[t + s]; }
        __syncthreads();
    }
    if (t == 0) *out = where[0];
}

__global__ void min_max_mean(const float* x, float* out, int n) {
    __shared__ float low[8], high[8], total[8];
    float a = 1e30f, b = -1e30f, c = 0;
    for (int i = threadIdx.x; i < n; i += 256) { float v = x[i]; a = fminf(a, v); b = fmaxf(b, v); c += v; }
    for (int o = 16; o; o >>= 1) {
        a = fminf(a, __shfl_xor_sync(~0u, a, o)); b = fmaxf(b, __shfl_xor_sync(~0u, b, o)); c += __shfl_xor_sync(~0u, c, o);
    }
    int w = threadIdx.x >> 5;
    if ((threadIdx.x & 31) == 0) { low[w] = a; high[w] = b; total[w] = c; }
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int i = 1; i < 8; i++) { a = fminf(a, low[i]); b = fmaxf(b, high[i]); c += total[i]; }
        out[0] = a; out[1] = b; out[2] = c / n;
    }
}

__global__ void dot3(const float3* a, const float3* b, float* out, int n) {
    __shared__ float3 s[128];
    int t = threadIdx.x, i = blockIdx.x * 128 + t;
    float3 p = i < n ? a[i] : float3{0, 0, 0}, q = i < n ? b[i] : float3{0, 0, 0};
    s[t] = {p.x * q.x, p.y * q.y, p.z * q.z};
    __syncthreads();
    for (int k = 64; k > 0; k >>= 1) {
        if (t < k) { s[t].x += s[t + k].x; s[t].y += s[t + k].y; s[t].z += s[t + k].z; }
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = s[0].x + s[0].y + s[0].z;
}

#define ALL(F) F(float) F(double) F(int) F(long long) F(unsigned)
#define A(T) template __global__ void interleaved<T>(const T*, T*); template __global__ void compact<T>(const T*, T*); \
    template __global__ void sequential<T>(const T*, T*); template __global__ void by_warp<T>(const T*, T*, int);
ALL(A)
#define B(T) template __global__ void unrolled<T, 128>(const T*, T*, int); template __global__ void unrolled<T, 512>(const T*, T*, int); \
    template __global__ void last_by_one<T, 8>(const T*, T*, int); template __global__ void last_by_one<T, 32>(const T*, T*, int); \
    template __global__ void last_by_one<T, 3>(const T*, T*, int); template __global__ void last_by_one<T, 6>(const T*, T*, int);
B(float) B(double) B(int)
