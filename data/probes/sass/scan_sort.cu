// Scans, sorts and histograms.
template <typename T, int N> __global__ void hillis_steele(const T* x, T* y) {
    __shared__ T s[2][N];
    int t = threadIdx.x, from = 0;
    s[0][t] = x[blockIdx.x * N + t];
    __syncthreads();
    for (int o = 1; o < N; o *= 2) {
        s[1 - from][t] = t >= o ? s[from][t] + s[from][t - o] : s[from][t];
        from = 1 - from;
        __syncthreads();
    }
    y[blockIdx.x * N + t] = s[from][t];
}

template <typename T, int N> __global__ void blelloch(const T* x, T* y) {
    __shared__ T s[2 * N];
    int t = threadIdx.x, o = 1;
    s[2 * t] = x[2 * t];
    s[2 * t + 1] = x[2 * t + 1];
    for (int d = N; d > 0; d >>= 1) {
        __syncthreads();
        if (t < d) s[o * (2 * t + 2) - 1] += s[o * (2 * t + 1) - 1];
        o *= 2;
    }
    if (t == 0) s[2 * N - 1] = 0;
    for (int d = 1; d <= N; d *= 2) {
        o >>= 1;
        __syncthreads();
        if (t < d) {
            T v = s[o * (2 * t + 1) - 1];
            s[o * (2 * t + 1) - 1] = s[o * (2 * t + 2) - 1];
            s[o * (2 * t + 2) - 1] += v;
        }
    }
    __syncthreads();
    y[2 * t] = s[2 * t];
    y[2 * t + 1] = s[2 * t + 1];
}

template <typename T, int K> __global__ void raked(const T* x, T* y) {
    __shared__ T s[32 * K];
    int t = threadIdx.x;
    for (int i = t; i < 32 * K; i += 32) s[i] = x[i];
    __syncwarp();
    T total = 0, mine[K];
    for (int i = 0; i < K; i++) { mine[i] = s[t * K + i]; total += mine[i]; }
    T before = total;
    for (int o = 1; o < 32; o *= 2) { T v = __shfl_up_sync(~0u, before, o); if (t >= o) before += v; }
    before -= total;
    for (int i = 0; i < K; i++) { before += mine[i]; s[t * K + i] = before; }
    __syncwarp();
    for (int i = t; i < 32 * K; i += 32) y[i] = s[i];
}

template <typename T, int N> __global__ void bitonic(T* x) {
    __shared__ T s[N];
    int t = threadIdx.x;
    s[t] = x[blockIdx.x * N + t];
    __syncthreads();
    for (int k = 2; k <= N; k *= 2)
        for (int j = k / 2; j > 0; j /= 2) {
            int p = t ^ j;
            if (p > t) {
                T a = s[t], b = s[p];
                if ((a > b) == ((t & k) == 0)) { s[t] = b; s[p] = a; }
            }
            __syncthreads();
        }
    x[blockIdx.x * N + t] = s[t];
}

template <typename T, int BINS> __global__ void histogram(const T* x, unsigned* h, int n) {
    __shared__ unsigned s[BINS];
    for (int i = threadIdx.x; i < BINS; i += blockDim.x) s[i] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&s[(unsigned)x[i] % BINS], 1u);
    __syncthreads();
    for (int i = threadIdx.x; i < BINS; i += blockDim.x) if (s[i]) atomicAdd(&h[i], s[i]);
}

__global__ void weighted_histogram(const int* x, const float* w, float* h, int n) {
    __shared__ float s[64];
    if (threadIdx.x < 64) s[threadIdx.x] = 0;
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&s[x[i] & 63], w[i]);
    __syncthreads();
    if (threadIdx.x < 64) atomicAdd(&h[threadIdx.x], s[threadIdx.x]);
}

__global__ void bytes_histogram(const uchar4* x, unsigned* h, int n) {
    __shared__ unsigned s[256];
    s[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) {
        uchar4 v = x[i];
        atomicAdd(&s[v.x], 1u); atomicAdd(&s[v.y], 1u); atomicAdd(&s[v.z], 1u); atomicAdd(&s[v.w], 1u);
    }
    __syncthreads();
    atomicAdd(&h[threadIdx.x], s[threadIdx.x]);
}

__global__ void radix_flags(const unsigned* x, unsigned* y, int bit) {
    __shared__ unsigned f[256];
    int t = threadIdx.x;
    unsigned v = x[blockIdx.x * 256 + t], b = v >> bit & 1;
    f[t] = 1 - b;
    __syncthreads();
    for (int o = 1; o < 256; o *= 2) {
        unsigned a = t >= o ? f[t - o] : 0;
        __syncthreads();
        f[t] += a;
        __syncthreads();
    }
    unsigned zeros = f[255], place = b ? t - f[t] + zeros : f[t] - 1;
    y[blockIdx.x * 256 + place] = v;
}

__global__ void merge_ranks(const int* a, const int* b, int* out, int n) {
    __shared__ int s[128];
    s[threadIdx.x] = b[threadIdx.x];
    __syncthreads();
    int v = a[threadIdx.x], low = 0, high = 128;
    while (low < high) { int mid = (low + high) / 2; if (s[mid] < v) low = mid + 1; else high = mid; }
    out[threadIdx.x + low] = v;
}

#define S(T) template __global__ void hillis_steele<T, 256>(const T*, T*); template __global__ void blelloch<T, 128>(const T*, T*); \
    template __global__ void raked<T, 4>(const T*, T*); template __global__ void raked<T, 7>(const T*, T*); \
    template __global__ void raked<T, 8>(const T*, T*); template __global__ void bitonic<T, 256>(T*);
S(float) S(int) S(double)
template __global__ void hillis_steele<int, 32>(const int*, int*);
template __global__ void raked<short, 8>(const short*, short*);
template __global__ void raked<int, 16>(const int*, int*);
template __global__ void bitonic<long long, 128>(long long*);
template __global__ void histogram<int, 256>(const int*, unsigned*, int);
template __global__ void histogram<unsigned char, 64>(const unsigned char*, unsigned*, int);
template __global__ void histogram<unsigned, 1000>(const unsigned*, unsigned*, int);
