// 16-bit floats: half and bfloat16, alone and in pairs, and conversions between all widths.

#include <cuda_bf16.h>
#include <cuda_fp16.h>

extern "C" __global__ void half_axpy(const __half* x, __half* y, __half a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = __hfma(a, x[i], y[i]);
}

extern "C" __global__ void half2_axpy(const __half2* x, __half2* y, __half2 a, int pairs) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < pairs) y[i] = __hfma2(a, x[i], y[i]);
}

// A dot product that adds pairs of halves in each lane, then floats among lanes. One warp.
extern "C" __global__ void half2_dot(const __half2* x, const __half2* y, float* out, int pairs) {
    __half2 sum = __float2half2_rn(0.0f);
    for (int k = threadIdx.x; k < pairs; k += 32) sum = __hadd2(sum, __hmul2(x[k], y[k]));
    float total = __low2float(sum) + __high2float(sum);
    for (int d = 16; d > 0; d /= 2) total += __shfl_down_sync(0xffffffffu, total, d);
    if (threadIdx.x == 0) *out = total;
}

// A reduction in halves: every step rounds.
extern "C" __global__ void half_reduce(const __half* x, __half* out) {
    __shared__ __half s[128];
    int t = threadIdx.x;
    s[t] = x[blockIdx.x * 128 + t];
    __syncthreads();
    for (int stride = 64; stride > 0; stride /= 2) {
        if (t < stride) s[t] = __hadd(s[t], s[t + stride]);
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = s[0];
}

// Comparisons, extremes and functions of halves: 8 results a thread.
extern "C" __global__ void half_functions(const __half* x, const __half* y, __half* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    __half a = x[i], b = y[i], *to = out + 8 * i;
    to[0] = __hmax(a, b);
    to[1] = __hmin(a, b);
    to[2] = __hsub(a, b);
    to[3] = __hdiv(a, b);
    to[4] = hsqrt(__habs(a));
    to[5] = __hlt(a, b) ? a : __hneg(b);
    to[6] = __int2half_rn(__half2int_rz(a));
    to[7] = hfloor(a);
}

extern "C" __global__ void bfloat_axpy(const __nv_bfloat16* x, __nv_bfloat16* y, __nv_bfloat16 a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = __hfma(a, x[i], y[i]);
}

extern "C" __global__ void bfloat2_dot(const __nv_bfloat162* x, const __nv_bfloat162* y, float* out, int pairs) {
    float total = 0;
    for (int k = threadIdx.x; k < pairs; k += 32) {
        float2 a = __bfloat1622float2(x[k]), b = __bfloat1622float2(y[k]);
        total = fmaf(a.x, b.x, fmaf(a.y, b.y, total));
    }
    for (int d = 16; d > 0; d /= 2) total += __shfl_down_sync(0xffffffffu, total, d);
    if (threadIdx.x == 0) *out = total;
}

// float to 16 bits and back, in several rounding modes: 6 results a thread.
extern "C" __global__ void roundings(const float* x, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = x[i], *to = out + 6 * i;
    to[0] = __half2float(__float2half_rn(v));
    to[1] = __half2float(__float2half_rz(v));
    to[2] = __half2float(__float2half_ru(v));
    to[3] = __half2float(__float2half_rd(v));
    to[4] = __bfloat162float(__float2bfloat16_rn(v));
    to[5] = __bfloat162float(__float2bfloat16_rz(v));
}

// Floats to integers and back; what does not fit saturates, NaN becomes 0 or the smallest.
extern "C" __global__ void conversions(const float* x, const double* wide, long long* out, double* back, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    long long* to = out + 8 * i;
    to[0] = __float2int_rn(x[i]);
    to[1] = __float2int_rz(x[i]);
    to[2] = __float2int_ru(x[i]);
    to[3] = __float2int_rd(x[i]);
    to[4] = __float2uint_rz(x[i]);
    to[5] = __double2ll_rn(wide[i]);
    to[6] = __double2int_rz(wide[i]);
    to[7] = (long long)__float2ull_rz(x[i]);
    back[4 * i] = __ll2double_rn(to[5]);
    back[4 * i + 1] = __int2float_rz(to[6] * 3 + 1);
    back[4 * i + 2] = __double2float_ru(wide[i]);
    back[4 * i + 3] = __ull2float_rd((unsigned long long)to[5]);
}

// Arithmetic in the four rounding modes.
extern "C" __global__ void directed(const float* x, const float* y, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float a = x[i], b = y[i], *to = out + 12 * i;
    to[0] = __fadd_rz(a, b);
    to[1] = __fadd_ru(a, b);
    to[2] = __fadd_rd(a, b);
    to[3] = __fmul_rz(a, b);
    to[4] = __fmul_ru(a, b);
    to[5] = __fmul_rd(a, b);
    to[6] = __fmaf_rz(a, b, a);
    to[7] = __fmaf_ru(a, b, a);
    to[8] = __fdiv_rd(a, b);
    to[9] = __fsqrt_ru(fabsf(a));
    to[10] = __frcp_rz(b);
    to[11] = __saturatef(a);
}
