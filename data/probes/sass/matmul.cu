// Matrix products through shared memory: square tiles, padded tiles, several results a thread, vector loads.
#include <cuda_fp16.h>

template <typename T, int TILE, int PAD>
__global__ void tiled(const T* a, const T* b, T* c, int n) {
    __shared__ T s[TILE][TILE + PAD], t[TILE][TILE + PAD];
    int row = blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x;
    T acc = 0;
    for (int k = 0; k < n; k += TILE) {
        s[threadIdx.y][threadIdx.x] = a[row * n + k + threadIdx.x];
        t[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * n + col];
        __syncthreads();
        for (int q = 0; q < TILE; q++) acc += s[threadIdx.y][q] * t[q][threadIdx.x];
        __syncthreads();
    }
    c[row * n + col] = acc;
}

template <typename T, int TILE>
__global__ void tiled_guarded(const T* a, const T* b, T* c, int m, int n, int k) {
    __shared__ T s[TILE][TILE], t[TILE][TILE];
    int row = blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x;
    T acc = 0;
    for (int q = 0; q < (k + TILE - 1) / TILE; q++) {
        int x = q * TILE + threadIdx.x, y = q * TILE + threadIdx.y;
        s[threadIdx.y][threadIdx.x] = row < m && x < k ? a[row * k + x] : T(0);
        t[threadIdx.y][threadIdx.x] = y < k && col < n ? b[y * n + col] : T(0);
        __syncthreads();
        for (int i = 0; i < TILE; i++) acc += s[threadIdx.y][i] * t[i][threadIdx.x];
        __syncthreads();
    }
    if (row < m && col < n) c[row * n + col] = acc;
}

template <typename T, int BM, int BN, int BK, int TM>
__global__ void strip(const T* a, const T* b, T* c, int m, int n, int k) {
    __shared__ T s[BM * BK], t[BK * BN];
    int x = threadIdx.x % BN, y = threadIdx.x / BN;
    a += blockIdx.y * BM * k;
    b += blockIdx.x * BN;
    c += blockIdx.y * BM * n + blockIdx.x * BN;
    int ax = threadIdx.x % BK, ay = threadIdx.x / BK, bx = threadIdx.x % BN, by = threadIdx.x / BN;
    T acc[TM] = {};
    for (int q = 0; q < k; q += BK) {
        s[ay * BK + ax] = a[ay * k + ax];
        t[by * BN + bx] = b[by * n + bx];
        __syncthreads();
        a += BK;
        b += BK * n;
        for (int i = 0; i < BK; i++) {
            T v = t[i * BN + x];
            for (int j = 0; j < TM; j++) acc[j] += s[(y * TM + j) * BK + i] * v;
        }
        __syncthreads();
    }
    for (int j = 0; j < TM; j++) c[(y * TM + j) * n + x] = acc[j];
}

template <typename T, int BM, int BN, int BK, int TM, int TN>
__global__ void patch(const T* a, const T* b, T* c, int m, int n, int k) {
    __shared__ T s[BK][BM], t[BK][BN];
    const int threads = BM * BN / (TM * TN);
    int x = threadIdx.x % (BN / TN), y = threadIdx.x / (BN / TN);
    a += blockIdx.y * BM * k;
    b += blockIdx.x * BN;
    T acc[TM][TN] = {}, u[TM], v[TN];
    for (int q = 0; q < k; q += BK) {
        for (int i = threadIdx.x; i < BM * BK; i += threads) s[i % BK][i / BK] = a[(i / BK) * k + q + i % BK];
        for (int i = threadIdx.x; i < BK * BN; i += threads) t[i / BN][i % BN] = b[(q + i / BN) * n + i % BN];
        __syncthreads();
        for (int i = 0; i < BK; i++) {
            for (int j = 0; j < TM; j++) u[j] = s[i][y * TM + j];
            for (int j = 0; j < TN; j++) v[j] = t[i][x * TN + j];
            for (int j = 0; j < TM; j++)
                for (int l = 0; l < TN; l++) acc[j][l] += u[j] * v[l];
        }
        __syncthreads();
    }
    for (int j = 0; j < TM; j++)
        for (int l = 0; l < TN; l++) c[(blockIdx.y * BM + y * TM + j) * n + blockIdx.x * BN + x * TN + l] = acc[j][l];
}

__global__ void float4_patch(const float* a, const float* b, float* c, int n, int k) {
    __shared__ float s[8][64], t[8][64];
    int x = threadIdx.x % 16, y = threadIdx.x / 16;
    float acc[4][4] = {};
    for (int q = 0; q < k; q += 8) {
        if (threadIdx.x < 128) {
            int r = threadIdx.x / 2, h = threadIdx.x % 2 * 4;
            float4 v = *(const float4*)&a[(blockIdx.y * 64 + r) * k + q + h];
            s[h][r] = v.x; s[h + 1][r] = v.y; s[h + 2][r] = v.z; s[h + 3][r] = v.w;
            int br = threadIdx.x / 16, bc = threadIdx.x % 16 * 4;
            *(float4*)&t[br][bc] = *(const float4*)&b[(q + br) * n + blockIdx.x * 64 + bc];
        }
        __syncthreads();
        for (int i = 0; i < 8; i++) {
            float4 u = *(float4*)&s[i][y * 4], v = *(float4*)&t[i][x * 4];
            float us[4] = {u.x, u.y, u.z, u.w}, vs[4] = {v.x, v.y, v.z, v.w};
            for (int j = 0; j < 4; j++)
                for (int l = 0; l < 4; l++) acc[j][l] += us[j] * vs[l];
        }
        __syncthreads();
    }
    for (int j = 0; j < 4; j++) {
        float4 v = {acc[j][0], acc[j][1], acc[j][2], acc[j][3]};
        *(float4*)&c[(blockIdx.y * 64 + y * 4 + j) * n + blockIdx.x * 64 + x * 4] = v;
    }
}

#define TILED(T, TILE, PAD) template __global__ void tiled<T, TILE, PAD>(const T*, const T*, T*, int);
TILED(float, 8, 0) TILED(float, 16, 0) TILED(float, 32, 0) TILED(float, 16, 1) TILED(float, 32, 1) TILED(float, 16, 4)
TILED(double, 8, 0) TILED(double, 16, 0) TILED(double, 32, 0) TILED(double, 16, 1)
TILED(int, 16, 0) TILED(long long, 16, 0) TILED(short, 16, 0) TILED(signed char, 16, 0) TILED(unsigned char, 32, 0)
TILED(unsigned short, 16, 0) TILED(__half, 16, 0) TILED(__half, 32, 0)
#define GUARDED(T, TILE) template __global__ void tiled_guarded<T, TILE>(const T*, const T*, T*, int, int, int);
GUARDED(float, 16) GUARDED(float, 32) GUARDED(double, 16) GUARDED(int, 32)
#define STRIP(T, BM, BN, BK, TM) template __global__ void strip<T, BM, BN, BK, TM>(const T*, const T*, T*, int, int, int);
STRIP(float, 64, 64, 8, 8) STRIP(double, 32, 32, 8, 4) STRIP(int, 32, 32, 4, 4)
#define PATCH(T, BM, BN, BK, TM, TN) \
    template __global__ void patch<T, BM, BN, BK, TM, TN>(const T*, const T*, T*, int, int, int);
PATCH(float, 64, 64, 8, 4, 4) PATCH(float, 128, 128, 8, 8, 8) PATCH(double, 32, 32, 8, 2, 2) PATCH(float, 32, 32, 8, 2, 2)
PATCH(float, 48, 48, 8, 3, 3) PATCH(__half, 64, 64, 8, 4, 4)
