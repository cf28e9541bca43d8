// Mathematical functions in both precisions, 24 results a thread.

extern "C" __global__ void float_functions(const float* x, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = x[i], *to = out + 24 * i, whole;
    int exponent;
    to[0] = sinf(v);
    to[1] = cosf(v);
    to[2] = tanf(v);
    to[3] = asinf(v * 0.1f);
    to[4] = acosf(v * 0.1f);
    to[5] = atan2f(v, 0.75f);
    to[6] = expf(v);
    to[7] = exp2f(v);
    to[8] = expm1f(v * 0.1f);
    to[9] = logf(fabsf(v) + 0.5f);
    to[10] = log2f(fabsf(v) + 0.5f);
    to[11] = log1pf(fabsf(v));
    to[12] = powf(fabsf(v) + 0.1f, 1.7f);
    to[13] = sqrtf(fabsf(v));
    to[14] = cbrtf(v);
    to[15] = rsqrtf(fabsf(v) + 0.1f);
    to[16] = fmodf(v, 0.7f);
    to[17] = floorf(v) + ceilf(v) * 0.5f + truncf(v) * 0.25f;
    to[18] = rintf(v) - roundf(v);
    to[19] = frexpf(v, &exponent) + exponent;
    to[20] = modff(v, &whole) * whole;
    to[21] = hypotf(v, 2.0f);
    to[22] = erff(v * 0.3f);
    to[23] = sinhf(v * 0.5f) + copysignf(1.0f, v);
}

extern "C" __global__ void double_functions(const double* x, double* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double v = x[i], *to = out + 12 * i;
    to[0] = sin(v);
    to[1] = cos(v);
    to[2] = exp(v);
    to[3] = log(fabs(v) + 0.5);
    to[4] = pow(fabs(v) + 0.1, 1.7);
    to[5] = sqrt(fabs(v));
    to[6] = v / 0.7;
    to[7] = atan(v);
    to[8] = tanh(v);
    to[9] = fmod(v, 0.7);
    to[10] = floor(v) + rint(v);
    to[11] = erf(v * 0.3);
}

// The fast ones, straight from the hardware's special function unit.
extern "C" __global__ void fast_functions(const float* x, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = x[i], *to = out + 8 * i;
    to[0] = __sinf(v);
    to[1] = __cosf(v);
    to[2] = __expf(v);
    to[3] = __logf(fabsf(v) + 0.5f);
    to[4] = __fdividef(v, 3.0f);
    to[5] = __powf(fabsf(v) + 0.5f, 0.3f);
    to[6] = __frsqrt_rn(fabsf(v) + 0.5f);
    to[7] = __tanf(v * 0.2f);
}
