// Structures in shared memory, particles, several variables side by side, partly used vectors.
struct Particle { float x, y, z, mass; };
struct Pair { int key; float value; };
struct Odd { float a, b, c; };
struct Mixed { double d; float f; int i; };
struct Small { short a, b, c, d; };

__global__ void nbody(const float4* p, float3* f, int n) {
    __shared__ float4 s[128];
    float4 me = p[blockIdx.x * 128 + threadIdx.x];
    float3 a = {0, 0, 0};
    for (int t = 0; t < n; t += 128) {
        s[threadIdx.x] = p[t + threadIdx.x];
        __syncthreads();
        for (int i = 0; i < 128; i++) {
            float dx = s[i].x - me.x, dy = s[i].y - me.y, dz = s[i].z - me.z, r = rsqrtf(dx * dx + dy * dy + dz * dz + 1e-6f);
            float w = s[i].w * r * r * r;
            a.x += dx * w; a.y += dy * w; a.z += dz * w;
        }
        __syncthreads();
    }
    f[blockIdx.x * 128 + threadIdx.x] = a;
}
__global__ void particles(const Particle* p, float* f, int n) {
    __shared__ Particle s[64];
    float fx = 0;
    for (int t = 0; t < n; t += 64) {
        s[threadIdx.x] = p[t + threadIdx.x];
        __syncthreads();
        for (int i = 0; i < 64; i++) fx += s[i].mass * s[i].x;
        __syncthreads();
    }
    f[threadIdx.x] = fx;
}
template <typename S> __global__ void reversed(const S* a, S* b) {
    __shared__ S s[64];
    s[threadIdx.x] = a[blockIdx.x * 64 + threadIdx.x];
    __syncthreads();
    b[blockIdx.x * 64 + threadIdx.x] = s[63 - threadIdx.x];
}
__global__ void pairs(const Pair* a, Pair* b) {
    __shared__ Pair s[128];
    int t = threadIdx.x;
    s[t] = a[t];
    __syncthreads();
    for (int k = 64; k; k >>= 1) {
        if (t < k && s[t].value < s[t + k].value) s[t] = s[t + k];
        __syncthreads();
    }
    if (t == 0) *b = s[0];
}
__global__ void scalars(const int* x, int* y) {
    __shared__ int low, high, count;
    if (threadIdx.x == 0) { low = x[0]; high = x[1]; count = 0; }
    __syncthreads();
    int v = x[threadIdx.x + 2];
    if (v >= low && v < high) atomicAdd(&count, 1);
    __syncthreads();
    y[threadIdx.x] = count + low;
}
__global__ void partly(const float4* a, float* b) { float4 v = a[threadIdx.x]; b[threadIdx.x] = v.y + v.z; }
__global__ void first_half(const float4* a, float2* b) { float4 v = a[threadIdx.x]; b[threadIdx.x] = {v.x, v.y}; }
__global__ void three(const float4* a, float* b) { float4 v = a[threadIdx.x]; b[threadIdx.x] = v.x + v.y + v.z; }
__global__ void double2_one(const double2* a, double* b) { b[threadIdx.x] = a[threadIdx.x].y; }
__global__ void int4_last(const int4* a, int* b) { __shared__ int4 s[64]; s[threadIdx.x] = a[threadIdx.x]; __syncthreads(); b[threadIdx.x] = s[63 - threadIdx.x].w + s[threadIdx.x].x; }
__global__ void matrix3(const float* m, const float3* v, float3* o) {
    __shared__ float s[9];
    if (threadIdx.x < 9) s[threadIdx.x] = m[threadIdx.x];
    __syncthreads();
    float3 p = v[threadIdx.x];
    o[threadIdx.x] = {s[0] * p.x + s[1] * p.y + s[2] * p.z, s[3] * p.x + s[4] * p.y + s[5] * p.z, s[6] * p.x + s[7] * p.y + s[8] * p.z};
}
__global__ void matrix4(const float* m, const float4* v, float4* o) {
    __shared__ float s[4][4];
    if (threadIdx.x < 16) s[threadIdx.x / 4][threadIdx.x % 4] = m[threadIdx.x];
    __syncthreads();
    float4 p = v[threadIdx.x];
    float r[4];
    for (int i = 0; i < 4; i++) r[i] = s[i][0] * p.x + s[i][1] * p.y + s[i][2] * p.z + s[i][3] * p.w;
    o[threadIdx.x] = {r[0], r[1], r[2], r[3]};
}
__global__ void conditional(const float* x, float* y, int n) {
    __shared__ float s[64][4];
    for (int i = 0; i < 4; i++) s[threadIdx.x][i] = x[threadIdx.x + 64 * i];
    __syncthreads();
    float v = s[threadIdx.x][0];
    if (n > 3) v += s[threadIdx.x][1] * 2;
    else v -= s[threadIdx.x][2];
    if (v > 0) v *= s[threadIdx.x][3];
    y[threadIdx.x] = v;
}
__global__ void early_out(const float* x, float* y, int n) {
    __shared__ float s[32 * 2];
    s[threadIdx.x] = x[threadIdx.x];
    s[threadIdx.x + 32] = x[threadIdx.x + 32];
    __syncwarp();
    float a = s[2 * threadIdx.x];
    if (a < 0) return;
    y[threadIdx.x] = a + s[2 * threadIdx.x + 1];
}
__global__ void polynomial(const float* c, const float* x, float* y, int n, int degree) {
    __shared__ float s[64];
    if (threadIdx.x <= degree) s[threadIdx.x] = c[threadIdx.x];
    __syncthreads();
    float v = 0, p = x[blockIdx.x * blockDim.x + threadIdx.x];
    for (int i = degree; i >= 0; i--) v = v * p + s[i];
    y[blockIdx.x * blockDim.x + threadIdx.x] = v;
}
__global__ void interpolate(const float* table, const float* x, float* y) {
    __shared__ float s[257];
    for (int i = threadIdx.x; i < 257; i += blockDim.x) s[i] = table[i];
    __syncthreads();
    float p = x[threadIdx.x] * 256;
    int i = (int)p;
    y[threadIdx.x] = s[i] + (p - i) * (s[i + 1] - s[i]);
}
__global__ void double_buffer(const float* x, float* y, int n) {
    __shared__ float s[2][128];
    int b = 0;
    s[0][threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    float v = 0;
    for (int t = 1; t < n; t++) {
        s[1 - b][threadIdx.x] = x[t * 128 + threadIdx.x];
        v += s[b][127 - threadIdx.x];
        b = 1 - b;
        __syncthreads();
    }
    y[threadIdx.x] = v;
}
__global__ void dynamic_two(const float* x, float* y, int n) {
    extern __shared__ float d[];
    float* e = d + n;
    d[threadIdx.x] = x[threadIdx.x];
    e[threadIdx.x] = x[threadIdx.x + n];
    __syncthreads();
    y[threadIdx.x] = d[4 * (threadIdx.x / 4)] + d[4 * (threadIdx.x / 4) + 1] + e[4 * (threadIdx.x / 4)] + e[4 * (threadIdx.x / 4) + 1];
}
__global__ void mandelbrot(unsigned char* out, int w, int limit) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float cx = (i % w) * 3.f / w - 2, cy = (i / w) * 2.f / w - 1, x = 0, y = 0;
    int k = 0;
    while (k < limit && x * x + y * y < 4) { float t = x * x - y * y + cx; y = 2 * x * y + cy; x = t; k++; }
    out[i] = k;
}
template __global__ void reversed<Particle>(const Particle*, Particle*);
template __global__ void reversed<Pair>(const Pair*, Pair*);
template __global__ void reversed<Odd>(const Odd*, Odd*);
template __global__ void reversed<Mixed>(const Mixed*, Mixed*);
template __global__ void reversed<Small>(const Small*, Small*);
template __global__ void reversed<float2>(const float2*, float2*);
template __global__ void reversed<int3>(const int3*, int3*);
template __global__ void reversed<double2>(const double2*, double2*);
template __global__ void reversed<short4>(const short4*, short4*);
template __global__ void reversed<uchar4>(const uchar4*, uchar4*);
template __global__ void reversed<char>(const char*, char*);
