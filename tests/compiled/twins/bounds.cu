// Addresses outside their array, memory that is read before it is written, addresses that do not fit the access.

extern "C" __global__ void no_guard(const float* x, float* y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = x[i];  //! oob_global_read: element 100 of x
    y[i] = 2 * v;    //! oob_global_write: element 100 of y
}

extern "C" __global__ void no_guard_cured(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2 * x[i];
}

extern "C" __global__ void one_too_far(const float* x, float* y) {
    int i = threadIdx.x;
    float next = x[i + 1];  //! oob_global_read: element 32 of x
    y[i] = next - x[i];
}

extern "C" __global__ void one_before(const float* x, float* y) {
    int i = threadIdx.x;
    float last = x[i - 1];  //! oob_global_read: element -1 of x
    y[i] = x[i] - last;
}

extern "C" __global__ void one_before_cured(const float* x, float* y) {
    int i = threadIdx.x;
    y[i] = i > 0 ? x[i] - x[i - 1] : x[i];
}

extern "C" __global__ void matmul_no_guard(const float* a, const float* b, float* c, int n) {
    __shared__ float s[16][16], t[16][16];
    int tx = threadIdx.x, ty = threadIdx.y, x = blockIdx.x * 16 + tx, y = blockIdx.y * 16 + ty;
    float sum = 0;
    for (int k = 0; k < n; k += 16) {
        s[ty][tx] = a[y * n + k + tx];    //! oob_global_read: element 400 of a
        t[ty][tx] = b[(k + ty) * n + x];  //! oob_global_read: element 400 of b
        __syncthreads();
        for (int q = 0; q < 16; ++q) sum += s[ty][q] * t[q][tx];
        __syncthreads();
    }
    c[y * n + x] = sum;  //! oob_global_write: element 400 of c
}

extern "C" __global__ void matmul_no_guard_cured(const float* a, const float* b, float* c, int n) {
    __shared__ float s[16][16], t[16][16];
    int tx = threadIdx.x, ty = threadIdx.y, x = blockIdx.x * 16 + tx, y = blockIdx.y * 16 + ty;
    float sum = 0;
    for (int k = 0; k < n; k += 16) {
        s[ty][tx] = y < n && k + tx < n ? a[y * n + k + tx] : 0;
        t[ty][tx] = x < n && k + ty < n ? b[(k + ty) * n + x] : 0;
        __syncthreads();
        for (int q = 0; q < 16; ++q) sum += s[ty][q] * t[q][tx];
        __syncthreads();
    }
    if (x < n && y < n) c[y * n + x] = sum;
}

extern "C" __global__ void halo_past_the_tile(const float* x, float* y) {
    __shared__ float s[64];
    int t = threadIdx.x;
    s[t] = x[t];
    __syncthreads();
    float next = s[t + 1];  //! oob_shared: element 64 of s
    y[t] = s[t] + next;
}

extern "C" __global__ void halo_before_the_tile(const float* x, float* y) {
    __shared__ float s[64];
    int t = threadIdx.x;
    s[t] = x[t];
    __syncthreads();
    float last = s[t - 1];  //! oob_shared: element -1 of s
    y[t] = s[t] - last;
}

extern "C" __global__ void halo_not_loaded(const float* x, float* y, int n) {
    __shared__ float s[66];
    int t = threadIdx.x, i = blockIdx.x * 64 + t;
    s[t + 1] = x[i];
    if (t == 0 && i > 0) s[0] = x[i - 1];
    if (t == 63 && i + 1 < n) s[65] = x[i + 1];
    __syncthreads();
    y[i] = s[t] + s[t + 1] + s[t + 2];  //! uninit_shared_read: s[0]
}

extern "C" __global__ void halo_not_loaded_cured(const float* x, float* y, int n) {
    __shared__ float s[66];
    int t = threadIdx.x, i = blockIdx.x * 64 + t;
    s[t + 1] = x[i];
    if (t == 0) s[0] = i > 0 ? x[i - 1] : 0;
    if (t == 63) s[65] = i + 1 < n ? x[i + 1] : 0;
    __syncthreads();
    y[i] = s[t] + s[t + 1] + s[t + 2];
}

extern __shared__ float dynamic[];

// Launched with memory for 64 or for 32 elements.
extern "C" __global__ void dynamic_too_small(const float* x, float* y) {
    int t = threadIdx.x;
    dynamic[t] = x[t];  //! oob_shared: element 32 of dynamic
    __syncthreads();
    y[t] = dynamic[63 - t];
}

extern "C" __global__ void dynamic_too_small_cured(const float* x, float* y) {
    int t = threadIdx.x;
    dynamic[t] = x[t];
    __syncthreads();
    y[t] = dynamic[63 - t];
}

extern "C" __global__ void unsigned_minus_one(const float* x, float* y) {
    unsigned t = threadIdx.x;
    y[t] = x[t - 1];  //! oob_global_read: element 4,294,967,295 of x
}

extern "C" __global__ void empty_input(const float* x, float* y) {
    if (threadIdx.x == 0) y[0] = x[0];  //! oob_global_read: x[0], but x is empty
}

struct Record { float position[3]; int id; };

extern "C" __global__ void records(const Record* r, int* out) {
    int t = threadIdx.x;
    out[t] = r[t].id;  //! oob_global_read: r
}

extern "C" __global__ void records_cured(const Record* r, int* out, int n) {
    int t = threadIdx.x;
    if (t < n) out[t] = r[t].id;
}

// Arrays of a thread; the index comes from memory, so the compiler cannot know it.
extern "C" __global__ void local_too_small(const int* at, float* out) {
    float recent[4] = {1, 2, 3, 4};
    int t = threadIdx.x;
    recent[at[t]] = 9;  //! oob_local: element 4 of a local variable
    out[t] = recent[at[t] & 3];
}

extern "C" __global__ void local_too_small_cured(const int* at, float* out) {
    float recent[8] = {1, 2, 3, 4};
    int t = threadIdx.x;
    recent[at[t]] = 9;
    out[t] = recent[at[t] & 3];
}

extern "C" __global__ void local_not_filled(const int* x, int* out) {
    int counts[8], t = threadIdx.x;
    for (int k = 0; k < 10; ++k) {
        counts[x[t * 10 + k]] += 1;  //! uninit_local_read: a local variable[
    }
    out[t] = counts[x[t]];
}

extern "C" __global__ void local_not_filled_cured(const int* x, int* out) {
    int counts[8] = {}, t = threadIdx.x;
    for (int k = 0; k < 10; ++k) counts[x[t * 10 + k]] += 1;
    out[t] = counts[x[t]];
}

extern "C" __global__ void sums_of_absent_warps(const float* x, float* out) {
    __shared__ float sums[32];
    int t = threadIdx.x;
    float v = x[t];
    for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(0xffffffffu, v, d);
    if (t % 32 == 0) sums[t / 32] = v;
    __syncthreads();
    if (t >= 32) return;
    v = sums[t];  //! uninit_shared_read: sums[4]
    for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(0xffffffffu, v, d);
    if (t == 0) *out = v;
}

extern "C" __global__ void sums_of_absent_warps_cured(const float* x, float* out) {
    __shared__ float sums[32];
    int t = threadIdx.x;
    float v = x[t];
    for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(0xffffffffu, v, d);
    if (t % 32 == 0) sums[t / 32] = v;
    __syncthreads();
    if (t >= 32) return;
    v = t < blockDim.x / 32 ? sums[t] : 0;
    for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(0xffffffffu, v, d);
    if (t == 0) *out = v;
}

extern "C" __global__ void histogram_not_zeroed(const int* x, int* bins) {
    __shared__ int s[8];
    int t = threadIdx.x;
    atomicAdd(&s[x[t]], 1);  //! uninit_shared_read: s[
    __syncthreads();
    if (t < 8) bins[t] = s[t];
}

// 16 bytes a load from an address that is no multiple of 16.
extern "C" __global__ void misaligned(const float* x, float4* out) {
    int t = threadIdx.x;
    out[t] = *(const float4*)(x + 4 * t + 1);  //! misaligned_access: x
}

extern "C" __global__ void misaligned_cured(const float* x, float4* out) {
    int t = threadIdx.x;
    const float* from = x + 4 * t + 1;
    out[t] = make_float4(from[0], from[1], from[2], from[3]);
}

// The last vector of 16 bytes reaches past the end of an array whose length is no multiple of 4.
extern "C" __global__ void vector_past_the_end(const float4* x, float* out) {
    int i = threadIdx.x;
    float4 v = x[i];  //! oob_global_read: x
    out[i] = v.x + v.y + v.z + v.w;
}
