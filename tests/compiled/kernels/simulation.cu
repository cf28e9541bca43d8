// Simulations.

// Rounds until a point of the plane escapes; complex numbers as two doubles.
extern "C" __global__ void mandelbrot(int* rounds, int width, int height, int most) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    double re = -2.0 + 0.0625 * x, im = -1.0 + 0.0625 * y, a = 0, b = 0;
    int k = 0;
    while (k < most && a * a + b * b <= 4.0) {
        double next = __dadd_rn(__dsub_rn(__dmul_rn(a, a), __dmul_rn(b, b)), re);
        b = __dadd_rn(__dmul_rn(2.0 * a, b), im);
        a = next;
        ++k;
    }
    rounds[y * width + x] = k;
}

// Acceleration of each body by all others, a tile of bodies at a time; w is the mass.
extern "C" __global__ void nbody(const float4* bodies, float4* acceleration, int n) {
    __shared__ float4 tile[64];
    int t = threadIdx.x, i = blockIdx.x * 64 + t;
    float4 me = i < n ? bodies[i] : make_float4(0, 0, 0, 0);
    float ax = 0, ay = 0, az = 0;
    for (int start = 0; start < n; start += 64) {
        tile[t] = start + t < n ? bodies[start + t] : make_float4(0, 0, 0, 0);
        __syncthreads();
        for (int k = 0; k < 64; ++k) {
            float4 other = tile[k];
            float dx = other.x - me.x, dy = other.y - me.y, dz = other.z - me.z;
            float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
            float strength = other.w * inverse * inverse * inverse;
            ax += dx * strength;
            ay += dy * strength;
            az += dz * strength;
        }
        __syncthreads();
    }
    if (i < n) acceleration[i] = make_float4(ax, ay, az, 0);
}

// pi by chance: how many of `rounds` points of each thread fall into the quarter circle.
extern "C" __global__ void monte_carlo(unsigned* hits, unsigned seed, int rounds) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, state = seed ^ (i + 1) * 2654435761u, inside = 0;
    for (int k = 0; k < rounds; ++k) {
        float point[2];
        for (int axis = 0; axis < 2; ++axis) {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            point[axis] = (state >> 8) * 0x1p-24f;
        }
        inside += __fadd_rn(__fmul_rn(point[0], point[0]), __fmul_rn(point[1], point[1])) < 1.0f;
    }
    hits[i] = inside;
}

struct Particle { float x, y, z, vx, vy, vz; };

// Particles as records: a lane's fields are neighbours, one field of neighbouring lanes is not.
extern "C" __global__ void move_records(Particle* particles, int n, float dt) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Particle p = particles[i];
    p.x += p.vx * dt;
    p.y += p.vy * dt;
    p.z += p.vz * dt;
    particles[i] = p;
}

// The same with an array for each field.
extern "C" __global__ void move_arrays(float* x, float* y, float* z, const float* vx, const float* vy, const float* vz,
                                       int n, float dt) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    x[i] += vx[i] * dt;
    y[i] += vy[i] * dt;
    z[i] += vz[i] * dt;
}

// A pendulum, many steps in registers: sines and cosines in both precisions.
extern "C" __global__ void pendulum(const float* angles, float* out, double* energy, int n, int steps) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float angle = angles[i], speed = 0;
    for (int k = 0; k < steps; ++k) {
        speed -= 0.01f * sinf(angle);
        angle += 0.01f * speed;
    }
    out[i] = angle;
    energy[i] = 0.5 * speed * speed - cos((double)angle);
}

// One wave step, complex numbers as float2: a radix-2 stage of a Fourier transform in shared memory, all stages.
extern "C" __global__ void fourier(const float2* in, const float2* turns, float2* out) {
    __shared__ float2 s[128];
    int t = threadIdx.x;
    for (int k = t; k < 128; k += 64) s[__brev(k) >> 25] = in[blockIdx.x * 128 + k];
    for (int half = 1; half < 128; half *= 2) {
        __syncthreads();
        int low = t / half * 2 * half + t % half;
        float2 w = turns[t % half * (64 / half)], a = s[low], b = s[low + half];
        float re = b.x * w.x - b.y * w.y, im = b.x * w.y + b.y * w.x;
        s[low] = make_float2(a.x + re, a.y + im);
        s[low + half] = make_float2(a.x - re, a.y - im);
    }
    __syncthreads();
    for (int k = t; k < 128; k += 64) out[blockIdx.x * 128 + k] = s[k];
}
