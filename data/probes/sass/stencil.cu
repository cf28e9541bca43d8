// Stencils, convolutions and transposes.
template <typename T, int R, int N> __global__ void stencil1d(const T* x, T* y, int n) {
    __shared__ T s[N + 2 * R];
    int g = blockIdx.x * N + threadIdx.x, l = threadIdx.x + R;
    s[l] = g < n ? x[g] : T(0);
    if (threadIdx.x < R) {
        s[l - R] = g >= R ? x[g - R] : T(0);
        s[l + N] = g + N < n ? x[g + N] : T(0);
    }
    __syncthreads();
    T v = 0;
    for (int o = -R; o <= R; o++) v += s[l + o];
    if (g < n) y[g] = v;
}

template <typename T, int N, int PER> __global__ void stencil_many(const T* x, T* y, int n) {
    __shared__ T s[N * PER + 8];
    for (int i = threadIdx.x; i < N * PER + 8; i += N) s[i] = x[blockIdx.x * N * PER + i];
    __syncthreads();
    T a[PER];
    for (int k = 0; k < PER; k++) {
        int i = threadIdx.x * PER + k;
        a[k] = s[i] + 2 * s[i + 1] + 4 * s[i + 2] + 2 * s[i + 3] + s[i + 4];
    }
    for (int k = 0; k < PER; k++) y[(blockIdx.x * N + threadIdx.x) * PER + k] = a[k];
}

template <typename T, int BX, int BY> __global__ void laplace(const T* x, T* y, int w, int h) {
    __shared__ T s[BY + 2][BX + 2];
    int gx = blockIdx.x * BX + threadIdx.x, gy = blockIdx.y * BY + threadIdx.y, lx = threadIdx.x + 1, ly = threadIdx.y + 1;
    if (gx < w && gy < h) {
        s[ly][lx] = x[gy * w + gx];
        if (threadIdx.x == 0 && gx > 0) s[ly][0] = x[gy * w + gx - 1];
        if (threadIdx.x == BX - 1 && gx + 1 < w) s[ly][BX + 1] = x[gy * w + gx + 1];
        if (threadIdx.y == 0 && gy > 0) s[0][lx] = x[(gy - 1) * w + gx];
        if (threadIdx.y == BY - 1 && gy + 1 < h) s[BY + 1][lx] = x[(gy + 1) * w + gx];
    }
    __syncthreads();
    if (gx > 0 && gx < w - 1 && gy > 0 && gy < h - 1)
        y[gy * w + gx] = s[ly - 1][lx] + s[ly + 1][lx] + s[ly][lx - 1] + s[ly][lx + 1] - 4 * s[ly][lx];
}

__constant__ float weights[25];
template <int K> __global__ void convolution(const float* x, float* y, int w, int h) {
    const int R = K / 2;
    __shared__ float s[16 + K - 1][16 + K - 1];
    for (int j = threadIdx.y; j < 16 + K - 1; j += 16)
        for (int i = threadIdx.x; i < 16 + K - 1; i += 16) {
            int gx = blockIdx.x * 16 + i - R, gy = blockIdx.y * 16 + j - R;
            s[j][i] = gx >= 0 && gx < w && gy >= 0 && gy < h ? x[gy * w + gx] : 0.f;
        }
    __syncthreads();
    float v = 0;
    for (int j = 0; j < K; j++)
        for (int i = 0; i < K; i++) v += weights[j * K + i] * s[threadIdx.y + j][threadIdx.x + i];
    int gx = blockIdx.x * 16 + threadIdx.x, gy = blockIdx.y * 16 + threadIdx.y;
    if (gx < w && gy < h) y[gy * w + gx] = v;
}

template <typename T, int PAD> __global__ void transpose(const T* a, T* b, int n) {
    __shared__ T s[32][32 + PAD];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) s[threadIdx.y + j][threadIdx.x] = a[(y + j) * n + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x; y = blockIdx.x * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) b[(y + j) * n + x] = s[threadIdx.x][threadIdx.y + j];
}

__global__ void transpose_float4(const float4* a, float4* b, int n4) {
    __shared__ float s[32][33];
    int r = threadIdx.x / 8, c = threadIdx.x % 8;
    float4 v = a[(blockIdx.y * 32 + r) * n4 + blockIdx.x * 8 + c];
    s[r][4 * c] = v.x; s[r][4 * c + 1] = v.y; s[r][4 * c + 2] = v.z; s[r][4 * c + 3] = v.w;
    __syncthreads();
    b[(blockIdx.x * 32 + r) * n4 + blockIdx.y * 8 + c] = {s[4 * c][r], s[4 * c + 1][r], s[4 * c + 2][r], s[4 * c + 3][r]};
}

__global__ void swizzled(const float* a, float* b, int n) {
    __shared__ float s[32 * 32];
    for (int j = threadIdx.y; j < 32; j += 8) s[j * 32 + (threadIdx.x ^ j)] = a[(blockIdx.y * 32 + j) * n + blockIdx.x * 32 + threadIdx.x];
    __syncthreads();
    for (int j = threadIdx.y; j < 32; j += 8) b[(blockIdx.x * 32 + j) * n + blockIdx.y * 32 + threadIdx.x] = s[threadIdx.x * 32 + (j ^ threadIdx.x)];
}

__global__ void life(const unsigned char* x, unsigned char* y, int w) {
    __shared__ unsigned char s[18][34];
    int gx = blockIdx.x * 32 + threadIdx.x, gy = blockIdx.y * 16 + threadIdx.y;
    for (int j = threadIdx.y; j < 18; j += 16)
        for (int i = threadIdx.x; i < 34; i += 32) s[j][i] = x[(gy + j - threadIdx.y) * w + gx + i - threadIdx.x];
    __syncthreads();
    int n = 0;
    for (int j = 0; j < 3; j++) for (int i = 0; i < 3; i++) n += s[threadIdx.y + j][threadIdx.x + i];
    n -= s[threadIdx.y + 1][threadIdx.x + 1];
    y[gy * w + gx] = n == 3 || (n == 2 && s[threadIdx.y + 1][threadIdx.x + 1]);
}

#define S(T, R, N) template __global__ void stencil1d<T, R, N>(const T*, T*, int);
S(float, 1, 128) S(float, 3, 128) S(float, 4, 256) S(double, 2, 128) S(int, 8, 64) S(short, 3, 128)
#define M(T, N, PER) template __global__ void stencil_many<T, N, PER>(const T*, T*, int);
M(float, 64, 4) M(float, 64, 2) M(float, 64, 3) M(double, 64, 4) M(int, 32, 8) M(short, 64, 4)
template __global__ void laplace<float, 16, 16>(const float*, float*, int, int);
template __global__ void laplace<double, 32, 8>(const double*, double*, int, int);
template __global__ void laplace<float, 30, 6>(const float*, float*, int, int);
template __global__ void convolution<3>(const float*, float*, int, int);
template __global__ void convolution<5>(const float*, float*, int, int);
#define T(X, PAD) template __global__ void transpose<X, PAD>(const X*, X*, int);
T(float, 0) T(float, 1) T(double, 0) T(double, 1) T(short, 2) T(char, 4) T(float2, 0) T(float4, 1)
