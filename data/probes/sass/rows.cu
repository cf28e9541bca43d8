// Row-wise kernels: softmax, norms, sparse products, gathers, attention scores.
#include <cuda_fp16.h>
#include <cuda_bf16.h>

__device__ float warp_sum(float v) { for (int o = 16; o; o >>= 1) v += __shfl_xor_sync(~0u, v, o); return v; }
__device__ float warp_max(float v) { for (int o = 16; o; o >>= 1) v = fmaxf(v, __shfl_xor_sync(~0u, v, o)); return v; }

template <int WARPS> __device__ float block_sum(float v) {
    __shared__ float s[WARPS];
    v = warp_sum(v);
    __syncthreads();
    if ((threadIdx.x & 31) == 0) s[threadIdx.x >> 5] = v;
    __syncthreads();
    v = 0;
    for (int i = 0; i < WARPS; i++) v += s[i];
    return v;
}
template <int WARPS> __device__ float block_max(float v) {
    __shared__ float s[WARPS];
    v = warp_max(v);
    if ((threadIdx.x & 31) == 0) s[threadIdx.x >> 5] = v;
    __syncthreads();
    v = s[0];
    for (int i = 1; i < WARPS; i++) v = fmaxf(v, s[i]);
    return v;
}

template <int WARPS> __global__ void softmax(const float* x, float* y, int n) {
    x += blockIdx.x * n; y += blockIdx.x * n;
    float m = -1e30f;
    for (int i = threadIdx.x; i < n; i += WARPS * 32) m = fmaxf(m, x[i]);
    m = block_max<WARPS>(m);
    float t = 0;
    for (int i = threadIdx.x; i < n; i += WARPS * 32) t += __expf(x[i] - m);
    t = block_sum<WARPS>(t);
    for (int i = threadIdx.x; i < n; i += WARPS * 32) y[i] = __expf(x[i] - m) / t;
}

__global__ void softmax_tree(const float* x, float* y, int n) {
    __shared__ float s[256];
    int t = threadIdx.x;
    x += blockIdx.x * n; y += blockIdx.x * n;
    float m = -1e30f;
    for (int i = t; i < n; i += 256) m = fmaxf(m, x[i]);
    s[t] = m;
    __syncthreads();
    for (int k = 128; k; k >>= 1) { if (t < k) s[t] = fmaxf(s[t], s[t + k]); __syncthreads(); }
    m = s[0];
    __syncthreads();
    float v = 0;
    for (int i = t; i < n; i += 256) v += expf(x[i] - m);
    s[t] = v;
    __syncthreads();
    for (int k = 128; k; k >>= 1) { if (t < k) s[t] += s[t + k]; __syncthreads(); }
    for (int i = t; i < n; i += 256) y[i] = expf(x[i] - m) / s[0];
}

__global__ void layernorm(const float* x, const float* g, const float* b, float* y, int n) {
    __shared__ float mean, inv;
    x += blockIdx.x * n; y += blockIdx.x * n;
    float s = 0, q = 0;
    for (int i = threadIdx.x; i < n; i += 256) { s += x[i]; q += x[i] * x[i]; }
    s = block_sum<8>(s); q = block_sum<8>(q);
    if (threadIdx.x == 0) { mean = s / n; inv = rsqrtf(q / n - mean * mean + 1e-5f); }
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += 256) y[i] = (x[i] - mean) * inv * g[i] + b[i];
}

__global__ void rmsnorm_half2(const __half2* x, const __half2* g, __half2* y, int n) {
    float s = 0;
    for (int i = threadIdx.x; i < n; i += 128) { float2 v = __half22float2(x[blockIdx.x * n + i]); s += v.x * v.x + v.y * v.y; }
    s = block_sum<4>(s);
    __half2 r = __float2half2_rn(rsqrtf(s / (2 * n) + 1e-6f));
    for (int i = threadIdx.x; i < n; i += 128) y[blockIdx.x * n + i] = __hmul2(__hmul2(x[blockIdx.x * n + i], r), g[i]);
}

__global__ void csr_scalar(const int* ptr, const int* idx, const float* val, const float* x, float* y, int rows) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < rows) { float s = 0; for (int k = ptr[r]; k < ptr[r + 1]; k++) s += val[k] * x[idx[k]]; y[r] = s; }
}
__global__ void csr_vector(const int* ptr, const int* idx, const float* val, const float* x, float* y, int rows) {
    int r = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x & 31;
    if (r < rows) {
        float s = 0;
        for (int k = ptr[r] + lane; k < ptr[r + 1]; k += 32) s += val[k] * x[idx[k]];
        s = warp_sum(s);
        if (lane == 0) y[r] = s;
    }
}
__global__ void ell(const int* idx, const float* val, const float* x, float* y, int rows, int width) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < rows) { float s = 0; for (int k = 0; k < width; k++) { int c = idx[k * rows + r]; if (c >= 0) s += val[k * rows + r] * x[c]; } y[r] = s; }
}
__global__ void coo(const int* row, const int* col, const float* val, const float* x, float* y, int nnz) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < nnz) atomicAdd(&y[row[i]], val[i] * x[col[i]]);
}
__global__ void csr_shared(const int* ptr, const int* idx, const float* val, const float* x, float* y, int rows) {
    __shared__ float part[8][33];
    int r = blockIdx.x * 8 + threadIdx.y;
    float s = 0;
    if (r < rows) for (int k = ptr[r] + threadIdx.x; k < ptr[r + 1]; k += 32) s += val[k] * x[idx[k]];
    part[threadIdx.y][threadIdx.x] = s;
    __syncwarp();
    if (threadIdx.x == 0 && r < rows) { float t = 0; for (int i = 0; i < 32; i++) t += part[threadIdx.y][i]; y[r] = t; }
}
__global__ void gather(const float* table, const int* id, float* out, int dim) { out[blockIdx.x * dim + threadIdx.x] = table[(size_t)id[blockIdx.x] * dim + threadIdx.x]; }
__global__ void gather_float4(const float4* table, const int* id, float4* out, int dim4) {
    for (int i = threadIdx.x; i < dim4; i += blockDim.x) out[blockIdx.x * dim4 + i] = table[(size_t)id[blockIdx.x] * dim4 + i];
}
__global__ void bag(const float* table, const int* offsets, const int* id, float* out) {
    float s = 0;
    for (int k = offsets[blockIdx.x]; k < offsets[blockIdx.x + 1]; k++) s += table[id[k] * 64 + threadIdx.x];
    out[blockIdx.x * 64 + threadIdx.x] = s;
}
__global__ void interaction(const float* e, float* out) {
    __shared__ float s[7][16];
    for (int i = threadIdx.x; i < 7 * 16; i += 32) s[i / 16][i % 16] = e[blockIdx.x * 7 * 16 + i];
    __syncwarp();
    if (threadIdx.x < 21) {
        int i = 1, k = threadIdx.x;
        while (k >= i) { k -= i; i++; }
        float d = 0;
        for (int q = 0; q < 16; q++) d += s[i][q] * s[k][q];
        out[blockIdx.x * 21 + threadIdx.x] = d;
    }
}
__global__ void attention(const float* q, const float* k, const float* v, float* o, int n) {
    __shared__ float ks[32][32], vs[32][32];
    float acc[32] = {}, mine[32], m = -1e30f, l = 0;
    for (int d = 0; d < 32; d++) mine[d] = q[(blockIdx.x * 32 + threadIdx.x) * 32 + d];
    for (int t = 0; t < n; t += 32) {
        for (int d = 0; d < 32; d++) { ks[d][threadIdx.x] = k[(t + d) * 32 + threadIdx.x]; vs[d][threadIdx.x] = v[(t + d) * 32 + threadIdx.x]; }
        __syncthreads();
        for (int j = 0; j < 32; j++) {
            float s = 0;
            for (int d = 0; d < 32; d++) s += mine[d] * ks[j][d];
            float next = fmaxf(m, s), scale = __expf(m - next), p = __expf(s - next);
            l = l * scale + p;
            for (int d = 0; d < 32; d++) acc[d] = acc[d] * scale + p * vs[j][d];
            m = next;
        }
        __syncthreads();
    }
    for (int d = 0; d < 32; d++) o[(blockIdx.x * 32 + threadIdx.x) * 32 + d] = acc[d] / l;
}
__global__ void half_dot(const __half* a, const __half* b, float* out, int n) {
    __shared__ __half s[64][8], t[64][8];
    int r = threadIdx.x;
    for (int i = 0; i < 8; i++) { s[r][i] = a[r * n + i]; t[r][i] = b[r * n + i]; }
    __syncthreads();
    float v = 0;
    for (int i = 0; i < 8; i++) v += __half2float(s[r][i]) * __half2float(t[63 - r][i]);
    out[r] = v;
}
__global__ void half2_dot(const __half2* a, const __half2* b, float* out) {
    __shared__ __half2 s[64][4];
    for (int i = 0; i < 4; i++) s[threadIdx.x][i] = __hmul2(a[threadIdx.x * 4 + i], b[threadIdx.x * 4 + i]);
    __syncthreads();
    __half2 v = s[63 - threadIdx.x][0];
    for (int i = 1; i < 4; i++) v = __hadd2(v, s[63 - threadIdx.x][i]);
    out[threadIdx.x] = __low2float(v) + __high2float(v);
}
__global__ void bfloat_sum(const __nv_bfloat16* x, float* out) {
    __shared__ __nv_bfloat16 s[128];
    s[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    if (threadIdx.x < 16) { float v = 0; for (int i = 0; i < 8; i++) v += __bfloat162float(s[threadIdx.x * 8 + i]); out[threadIdx.x] = v; }
}
__global__ void int8_dot(const char4* a, const char4* b, int* out, int n) {
    __shared__ int s[128];
    int v = 0;
    for (int i = threadIdx.x; i < n; i += 128) { char4 p = a[i], q = b[i]; v += p.x * q.x + p.y * q.y + p.z * q.z + p.w * q.w; }
    s[threadIdx.x] = v;
    __syncthreads();
    if (threadIdx.x < 32) {
        v = s[threadIdx.x] + s[threadIdx.x + 32] + s[threadIdx.x + 64] + s[threadIdx.x + 96];
        for (int o = 16; o; o >>= 1) v += __shfl_down_sync(~0u, v, o);
        if (threadIdx.x == 0) *out = v;
    }
}
template __global__ void softmax<4>(const float*, float*, int);
template __global__ void softmax<8>(const float*, float*, int);
template __global__ void softmax<32>(const float*, float*, int);
