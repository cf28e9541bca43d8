// 1, 4, 8 and 16 bytes per lane, in CUDA C++: y becomes a copy of x. The vector types float2 and float4 load 8 and 16
// bytes at once, from addresses that are a multiple of as many.

// 4 bytes per lane: a warp's request is 128 bytes, 4 sectors.
//
// Expect: n / 32 load requests of 4 sectors each.
//
// Args:
//     x: n elements.
//     y: n elements, written.
extern "C" __global__ void four_bytes(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i];
}

// 1 byte per lane: a warp's request is one sector, and there are four times as many.
//
// Versus: four_bytes: the same memory as bytes.
//
// Expect: four times the load requests, 1 sector per request instead of 4. Sectors stay.
//
// Args:
//     x: n bytes.
//     y: n bytes, written.
extern "C" __global__ void one_byte(const signed char* x, signed char* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i];
}

// 8 bytes per lane: half the requests, of 8 sectors each; the last element of an odd n by itself.
//
// Versus: four_bytes: the same memory as float2, two elements at a time.
//
// Expect: half the load requests, 8 sectors per request instead of 4. Sectors stay.
//
// Args:
//     x: n elements, at a multiple of 8 bytes.
//     y: n elements, at a multiple of 8 bytes, written.
extern "C" __global__ void eight_bytes(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, wide = n / 2;
    if (i < wide) ((float2*)y)[i] = ((const float2*)x)[i];
    int k = 2 * wide + i;
    if (k < n) y[k] = x[k];
}

// 16 bytes per lane: a quarter of the requests, of 16 sectors each; the last n % 4 elements one by one.
//
// Versus: eight_bytes: the same memory as float4, four elements at a time.
//
// Expect: half the load requests once more, 16 sectors per request instead of 8: the widest load that there is before
// compute capability 10.0. Sectors stay.
//
// Args:
//     x: n elements, at a multiple of 16 bytes.
//     y: n elements, at a multiple of 16 bytes, written.
extern "C" __global__ void sixteen_bytes(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, wide = n / 4;
    if (i < wide) ((float4*)y)[i] = ((const float4*)x)[i];
    int k = 4 * wide + i;
    if (k < n) y[k] = x[k];
}
