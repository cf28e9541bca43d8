// Two threads of a block and one element of shared memory: mistakes and cures.

extern "C" __global__ void reverse(int* out) {
    __shared__ int s[128];
    int t = threadIdx.x;
    s[t] = t;
    out[t] = s[127 - t];  //! race_shared: s[
}

extern "C" __global__ void reverse_cured(int* out) {
    __shared__ int s[128];
    int t = threadIdx.x;
    s[t] = t;
    __syncthreads();
    out[t] = s[127 - t];
}

extern "C" __global__ void reverse_in_a_warp(int* out) {
    __shared__ int s[32];
    int t = threadIdx.x;
    s[t] = t;
    out[t] = s[31 - t];  //! race_shared: __syncwarp()
}

extern "C" __global__ void reverse_in_a_warp_cured(int* out) {
    __shared__ int s[32];
    int t = threadIdx.x;
    s[t] = t;
    __syncwarp();
    out[t] = s[31 - t];
}

extern "C" __global__ void syncwarp_of_halves(int* out) {
    __shared__ int s[32];
    int t = threadIdx.x;
    s[t] = t;
    if (t < 16) __syncwarp(0x0000ffff);
    else __syncwarp(0xffff0000);
    out[t] = s[31 - t];  //! race_shared: s[
}

extern "C" __global__ void syncwarp_of_halves_cured(int* out) {
    __shared__ int s[32];
    int t = threadIdx.x;
    s[t] = t;
    if (t < 16) __syncwarp(0x0000ffff);
    else __syncwarp(0xffff0000);
    out[t] = s[t ^ 15];
}

// The last warp in lockstep, as in 2007.
extern "C" __global__ void warp_tail(const float* x, float* out) {
    __shared__ float s[64];
    int t = threadIdx.x;
    s[t] = x[t];
    __syncthreads();
    if (t < 32) {
        volatile float* v = s;
        v[t] += v[t + 32];
        v[t] += v[t + 16];  //! race_shared: s[
        v[t] += v[t + 8];   //! race_shared: s[
        v[t] += v[t + 4];   //! race_shared: s[
        v[t] += v[t + 2];   //! race_shared: s[
        v[t] += v[t + 1];   //! race_shared: s[
    }
    if (t == 0) out[0] = s[0];
}

extern "C" __global__ void warp_tail_cured(const float* x, float* out) {
    __shared__ float s[64];
    int t = threadIdx.x;
    s[t] = x[t];
    __syncthreads();
    if (t < 32) {
        float v = s[t] + s[t + 32];
        for (int d = 16; d > 0; d /= 2) {
            __syncwarp();
            s[t] = v;
            __syncwarp();
            v += s[(t + d) % 32];
        }
        if (t == 0) out[0] = v;
    }
}

extern "C" __global__ void warp_tail_shuffled(const float* x, float* out) {
    __shared__ float s[64];
    int t = threadIdx.x;
    s[t] = x[t];
    __syncthreads();
    if (t < 32) {
        float v = s[t] + s[t + 32];
        for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(0xffffffffu, v, d);
        if (t == 0) out[0] = v;
    }
}

// Every point from its neighbours, in the same tile.
extern "C" __global__ void stencil_in_place(const float* a, float* out) {
    __shared__ float s[18][18];
    int tx = threadIdx.x, ty = threadIdx.y;
    for (int k = ty * 16 + tx; k < 18 * 18; k += 256) s[k / 18][k % 18] = 0;
    __syncthreads();
    s[ty + 1][tx + 1] = a[ty * 16 + tx];
    __syncthreads();
    float v = s[ty][tx + 1] + s[ty + 2][tx + 1] + s[ty + 1][tx] + s[ty + 1][tx + 2];
    s[ty + 1][tx + 1] = v;  //! race_shared: s[
    out[ty * 16 + tx] = v;
}

extern "C" __global__ void stencil_in_place_cured(const float* a, float* out) {
    __shared__ float s[18][18];
    int tx = threadIdx.x, ty = threadIdx.y;
    for (int k = ty * 16 + tx; k < 18 * 18; k += 256) s[k / 18][k % 18] = 0;
    __syncthreads();
    s[ty + 1][tx + 1] = a[ty * 16 + tx];
    __syncthreads();
    float v = s[ty][tx + 1] + s[ty + 2][tx + 1] + s[ty + 1][tx] + s[ty + 1][tx + 2];
    __syncthreads();
    s[ty + 1][tx + 1] = v;
    out[ty * 16 + tx] = v;
}

template <bool BARRIER>
__device__ __forceinline__ void bitonic(float* s, int t) {
    for (int size = 2; size <= 128; size *= 2)
        for (int stride = size / 2; stride > 0; stride /= 2) {
            int other = t ^ stride;
            if (other > t) {
                float a = s[t], b = s[other];
                if ((a > b) == ((t & size) == 0)) {
                    s[t] = b;
                    s[other] = a;
                }
            }
            if (BARRIER || stride == 1) __syncthreads();
        }
}

// A sorting network with too few barriers.
extern "C" __global__ void sort_hurried(float* x) {
    __shared__ float s[128];
    int t = threadIdx.x;
    s[t] = x[t];
    __syncthreads();
    bitonic<false>(s, t);  // the lines named are those of the function
    x[t] = s[t];
}

extern "C" __global__ void sort_hurried_cured(float* x) {
    __shared__ float s[128];
    int t = threadIdx.x;
    s[t] = x[t];
    __syncthreads();
    bitonic<true>(s, t);
    x[t] = s[t];
}

extern "C" __global__ void transpose(const float* a, float* b) {
    __shared__ float tile[32][33];
    int tx = threadIdx.x, ty = threadIdx.y;
    for (int k = 0; k < 32; k += 8) tile[ty + k][tx] = a[(ty + k) * 32 + tx];
    for (int k = 0; k < 32; k += 8) b[(ty + k) * 32 + tx] = tile[tx][ty + k];  //! race_shared: tile[
}

extern "C" __global__ void transpose_cured(const float* a, float* b) {
    __shared__ float tile[32][33];
    int tx = threadIdx.x, ty = threadIdx.y;
    for (int k = 0; k < 32; k += 8) tile[ty + k][tx] = a[(ty + k) * 32 + tx];
    __syncthreads();
    for (int k = 0; k < 32; k += 8) b[(ty + k) * 32 + tx] = tile[tx][ty + k];
}

// Two arrays in dynamic shared memory, one element too close.
extern __shared__ float both[];

extern "C" __global__ void parts_that_overlap(const float* x, float* out) {
    float *a = both, *b = both + 63;
    int t = threadIdx.x;
    a[t] = x[t];
    b[t] = x[t] * 2;  //! race_shared: both[63]
    __syncthreads();
    out[t] = a[63 - t] + b[t];
}

extern "C" __global__ void parts_that_overlap_cured(const float* x, float* out) {
    float *a = both, *b = both + 64;
    int t = threadIdx.x;
    a[t] = x[t];
    b[t] = x[t] * 2;
    __syncthreads();
    out[t] = a[63 - t] + b[t];
}

struct Pair { int a, b; };

extern "C" __global__ void fields(int* out) {
    __shared__ Pair s[64];
    int t = threadIdx.x;
    s[t].a = t;
    s[t].b = 2 * t;
    out[t] = s[63 - t].b;  //! race_shared: s
}

// Two threads and one record, but different fields.
extern "C" __global__ void fields_cured(int* out) {
    __shared__ Pair s[65];
    int t = threadIdx.x;
    s[t].a = t;
    s[t + 1].b = t;
    __syncthreads();
    out[t] = s[t].a;
}

extern "C" __global__ void halves_of_a_word(short* out) {
    __shared__ short s[64];
    int t = threadIdx.x;
    s[t / 2] = t;  //! race_shared: s[
    __syncthreads();
    out[t] = s[t / 2];
}

extern "C" __global__ void halves_of_a_word_cured(unsigned char* out) {
    __shared__ unsigned char s[128];
    int t = threadIdx.x;
    s[t] = t;
    __syncthreads();
    out[t] = s[127 - t];
}

extern "C" __global__ void histogram(const int* x, int* bins, int n) {
    __shared__ int s[16];
    int t = threadIdx.x;
    if (t < 16) s[t] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x) {
        s[x[i]] += 1;  //! race_shared: s[
    }
    __syncthreads();
    if (t < 16) atomicAdd(&bins[t], s[t]);
}

extern "C" __global__ void histogram_cured(const int* x, int* bins, int n) {
    __shared__ int s[16];
    int t = threadIdx.x;
    if (t < 16) s[t] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x) atomicAdd(&s[x[i]], 1);
    __syncthreads();
    if (t < 16) atomicAdd(&bins[t], s[t]);
}

extern "C" __global__ void histogram_zeroed_too_late(const int* x, int* bins, int n) {
    __shared__ int s[50];
    int t = threadIdx.x;
    if (t < 50) s[t] = 0;
    for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x) {
        atomicAdd(&s[x[i]], 1);  //! race_shared: s[
    }
    __syncthreads();
    if (t < 50) atomicAdd(&bins[t], s[t]);
}

extern "C" __global__ void counter_too_early(const int* x, int* out, int* many) {
    __shared__ int count;
    int t = threadIdx.x;
    if (t == 0) count = 0;
    __syncthreads();
    if (x[t] < 50) out[atomicAdd(&count, 1)] = x[t];
    if (t == 0) *many = count;  //! race_shared: count
}

extern "C" __global__ void counter_too_early_cured(const int* x, int* out, int* many) {
    __shared__ int count;
    int t = threadIdx.x;
    if (t == 0) count = 0;
    __syncthreads();
    if (x[t] < 50) out[atomicAdd(&count, 1)] = x[t];
    __syncthreads();
    if (t == 0) *many = count;
}
