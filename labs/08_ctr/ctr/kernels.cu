// Embedding rows for a batch of impressions, and the row-wise Adagrad step of those rows, in CUDA C++.
//
// The tables of all fields are one, (rows, dim) float32: `rows` (impressions, fields) int32 are places in it, offsets
// added. X is the type of the network's input and of its gradient, float or Bf16. Blocks are whole warps; a row times
// dim may pass 2^31 and is counted by a long long. dim is a multiple of 4, and of the update at most 32.

#define FULL 0xffffffffu
#define WARP 32
#define SPAN 32     // sorted places that one warp adds up
#define AHEAD 8     // of them, how many are loaded before the first is added
#define FINISHERS 8 // warps of a block that add up one long run

__device__ __forceinline__ long long thread_number() { return (long long)blockIdx.x * blockDim.x + threadIdx.x; }

// bfloat16: the upper half of a float. Own conversions, which every level of the machine runs.
struct Bf16 {
    unsigned short bits;
};

__device__ __forceinline__ unsigned short rounded(float value) {  // to the nearest, ties to even; NaN stays NaN
    unsigned int bits = __float_as_uint(value);
    if (value != value) return (unsigned short)(bits >> 16 | 0x40);
    return (unsigned short)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

__device__ __forceinline__ void store4(float* to, float4 value) { *reinterpret_cast<float4*>(to) = value; }
__device__ __forceinline__ void store4(Bf16* to, float4 value) {
    ushort4 packed = make_ushort4(rounded(value.x), rounded(value.y), rounded(value.z), rounded(value.w));
    *reinterpret_cast<ushort4*>(to) = packed;
}
__device__ __forceinline__ float load(const float* from) { return *from; }
__device__ __forceinline__ float load(const Bf16* from) { return __uint_as_float((unsigned int)from->bits << 16); }

// --- the gather ------------------------------------------------------------------------------------------------------

// One thread per id copies its row, number by number: lanes read and write whole rows apart.
//
// Expect: every request of a warp touches 32 sectors, one a lane, and each sector is asked for again for every number.
extern "C" __global__ void gather_thread(const int* __restrict__ rows, const float* __restrict__ table,
                                         float* __restrict__ out, int ids, int dim) {
    long long id = thread_number();
    if (id >= ids) return;
    const float* from = table + (long long)rows[id] * dim;
    float* to = out + id * dim;
    for (int d = 0; d < dim; d++) to[d] = from[d];
}

// One thread per number: neighbours read neighbours, and a row is read once.
//
// Versus: gather_thread: the lanes of a warp share a row, where each had its own.
//
// Expect: load and store sectors fall to what rows hold: a row of 32 numbers is 4 sectors.
extern "C" __global__ void gather_lane(const int* __restrict__ rows, const float* __restrict__ table,
                                       float* __restrict__ out, int ids, int dim) {
    long long place = thread_number();
    if (place >= (long long)ids * dim) return;
    long long id = place / dim;
    int d = (int)(place - id * dim);
    out[place] = table[(long long)rows[id] * dim + d];
}

// One thread per four numbers: 16 bytes a lane, so that a warp asks for four rows of 32 numbers at once.
//
// Versus: gather_lane: a quarter of the requests and of the instructions, for the same sectors.
extern "C" __global__ void gather_vector(const int* __restrict__ rows, const float* __restrict__ table,
                                         float* __restrict__ out, int ids, int dim) {
    int quads = dim / 4;
    long long place = thread_number();
    if (place >= (long long)ids * quads) return;
    long long id = place / quads;
    int d = 4 * (int)(place - id * quads);
    float4 value = *reinterpret_cast<const float4*>(table + (long long)rows[id] * dim + d);
    *reinterpret_cast<float4*>(out + id * dim + d) = value;
}

// The network's input for one batch, in one pass: embeddings and dense numbers side by side, in X's type.
//
// rows (impressions, fields), dense (impressions, numbers) and labels (impressions,) are those of all batches; this one
// begins at impression first[0], which lies on the GPU so that a captured graph can go on to the next. x (n, width) is
// embeddings, numbers, and zeros up to width, a multiple of 4; y (n,) the labels, keys (n, fields) the rows.
template <typename X> __global__ void batch(
    const int* __restrict__ rows, const float* __restrict__ dense, const float* __restrict__ labels,
    const float* __restrict__ table, const long long* __restrict__ first, X* __restrict__ x, float* __restrict__ y,
    int* __restrict__ keys, int n, int fields, int numbers, int width, int dim) {
    int quads = width / 4, of_field = dim / 4;
    long long place = thread_number();
    if (place >= (long long)n * quads) return;
    long long sample = place / quads;
    int quad = (int)(place - sample * quads);
    long long at = first[0] + sample;
    int field = quad / of_field;
    float4 value;
    if (field < fields) {
        int part = quad - field * of_field;
        int row = rows[at * fields + field];
        value = *reinterpret_cast<const float4*>(table + (long long)row * dim + 4 * part);
        if (part == 0) keys[sample * fields + field] = row;
    } else {
        int number = 4 * (quad - fields * of_field);
        const float* from = dense + at * numbers;
        value.x = number < numbers ? from[number] : 0.0f;
        value.y = number + 1 < numbers ? from[number + 1] : 0.0f;
        value.z = number + 2 < numbers ? from[number + 2] : 0.0f;
        value.w = number + 3 < numbers ? from[number + 3] : 0.0f;
        if (quad == fields * of_field) y[sample] = labels[at];
    }
    store4(x + sample * width + 4 * quad, value);
}

// --- the update ------------------------------------------------------------------------------------------------------

// state[row] += mean of g^2 ; table[row] -= rate * g / (sqrt(state[row]) + eps), g being a row's whole gradient, with
// its number d in lane d. All lanes of the warp take part.
__device__ __forceinline__ void adagrad(float* table, float* state, long long row, float g, int lane, int dim,
                                        float rate, float eps) {
    float squares = g * g;
    #pragma unroll
    for (int distance = WARP / 2; distance > 0; distance /= 2) squares += __shfl_xor_sync(FULL, squares, distance);
    float total = state[row] + squares / (float)dim;
    __syncwarp();  // every lane has read the state before lane 0 writes it
    if (lane == 0) state[row] = total;
    if (lane < dim) table[row * dim + lane] -= rate * g / (sqrtf(total) + eps);
}

// Row-wise Adagrad from sorted keys, part one: a warp adds up SPAN neighbours in sorted order, a lane a number, and
// steps every row that lies wholly within its span. What reaches over an edge goes to `heads` or `tails`.
//
// keys (ids,) int32 sorted, order (ids,) the place each had before; gradient (n, width) of the network's input. heads
// and tails (warps, dim): the sum of a run that began in an earlier span, and of one that goes on into the next. No
// atomics: the sums, and so the table, are the same bits in every run.
//
// Source: segment reduction over sorted indices, as FBGEMM's EXACT optimizers do it; the formula is FBGEMM's
// exact_row_wise_adagrad.
template <typename X> __global__ void rowwise_adagrad(
    const int* __restrict__ keys, const long long* __restrict__ order, const X* __restrict__ gradient,
    float* __restrict__ table, float* __restrict__ state, float* __restrict__ heads, float* __restrict__ tails,
    int ids, int fields, int width, int dim, float rate, float eps) {
    long long warp = thread_number() / WARP;
    int lane = threadIdx.x % WARP;
    long long begin = warp * SPAN;
    if (begin >= ids) return;  // a whole warp
    int count = (int)min((long long)SPAN, ids - begin);
    int key = lane < count ? keys[begin + lane] : -1;
    long long place = lane < count ? order[begin + lane] : 0;
    long long sample = place / fields;
    long long offset = sample * width + (place - sample * fields) * dim;
    bool begun = begin == 0 || keys[begin - 1] != __shfl_sync(FULL, key, 0);  // does the first run begin here?
    bool open = begin + count < ids && keys[begin + count] == __shfl_sync(FULL, key, count - 1);
    float total = 0.0f;
    for (int from = 0; from < count; from += AHEAD) {
        float loaded[AHEAD];
        #pragma unroll
        for (int j = 0; j < AHEAD; j++) {
            long long at = __shfl_sync(FULL, offset, (from + j) % WARP);
            loaded[j] = from + j < count && lane < dim ? load(gradient + at + lane) : 0.0f;
        }
        #pragma unroll
        for (int j = 0; j < AHEAD; j++) {
            int here = __shfl_sync(FULL, key, (from + j) % WARP);
            int next = __shfl_sync(FULL, key, (from + j + 1) % WARP);
            if (from + j >= count) break;
            total += loaded[j];
            bool last = from + j + 1 == count;
            if (last ? open : next == here) continue;  // the run goes on
            if (begun) adagrad(table, state, here, total, lane, dim, rate, eps);
            else if (lane < dim) heads[warp * dim + lane] = total;
            total = 0.0f;
            begun = true;
        }
    }
    if (open && lane < dim) (begun ? tails : heads)[warp * dim + lane] = total;
}

// Part two: a block for each span; where a run begins there and goes on, its warps add up the heads of the spans that
// it covers, in an order that is always the same, and step the row. Most blocks have nothing to do.
extern "C" __global__ void rowwise_adagrad_finish(
    const int* __restrict__ keys, const float* __restrict__ heads, const float* __restrict__ tails,
    float* __restrict__ table, float* __restrict__ state, int ids, int dim, float rate, float eps) {
    __shared__ float sums[FINISHERS][WARP];
    long long span = blockIdx.x;
    long long last = span * SPAN + SPAN - 1;  // of this span
    if (last + 1 >= ids || keys[last] != keys[last + 1]) return;  // no run goes on; the whole block agrees
    int key = keys[last];
    if (keys[span * SPAN] == key && span > 0 && keys[span * SPAN - 1] == key) return;  // it began in an earlier span
    long long low = last + 1, high = ids;  // the first place after the run, by bisection
    while (low < high) {
        long long middle = (low + high) / 2;
        if (keys[middle] == key) low = middle + 1; else high = middle;
    }
    long long spans = (low - 1) / SPAN - span;  // that follow and hold a piece of it
    int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    float total = 0.0f;
    #pragma unroll 4
    for (long long j = warp; j < spans; j += FINISHERS) {
        if (lane < dim) total += heads[(span + 1 + j) * dim + lane];
    }
    sums[warp][lane] = total;
    __syncthreads();
    if (warp != 0) return;
    total = lane < dim ? tails[span * dim + lane] : 0.0f;
    for (int w = 0; w < FINISHERS; w++) total += sums[w][lane];
    adagrad(table, state, key, total, lane, dim, rate, eps);
}

// The gradient of every row, added up by atomics: out (rows, dim) holds zeros before. The order of the additions, and so
// the last bits, differ from run to run; rows that many impressions share are waited for.
template <typename X> __global__ void scatter_atomic(
    const int* __restrict__ keys, const X* __restrict__ gradient, float* __restrict__ out,
    int ids, int fields, int width, int dim) {
    long long place = thread_number();
    if (place >= (long long)ids * dim) return;
    long long id = place / dim;
    int d = (int)(place - id * dim);
    long long sample = id / fields;
    float value = load(gradient + sample * width + (id - sample * fields) * dim + d);
    atomicAdd(out + (long long)keys[id] * dim + d, value);
}
