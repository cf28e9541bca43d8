// Embedding rows for a batch of impressions, and the row-wise Adagrad step of those rows, in CUDA C++.
//
// The tables of all fields are one, (rows, dim) float32: `rows` (impressions, fields) int32 are places in it, offsets
// added. X is the type of the network's input and of its gradient, float or Bf16. Blocks are whole warps; a row times
// dim may pass 2^31 and is counted by a long long. dim is a multiple of 4; the update has dim / 4 LANES for a row, a
// power of two from 2 to 32. Threads, impressions and ids are below 2^31, so that 32 bits, which divide faster, count them.

#define FULL 0xffffffffu
#define WARP 32
#define SPAN 8      // sorted places that the lanes of one row add up: few, so that a small batch has many warps
#define THREADS 256 // of a block of rowwise_adagrad_finish
#define SHORT 32    // spans of a run that the lanes of one row add up alone

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
__device__ __forceinline__ float4 load4(const float* from) { return *reinterpret_cast<const float4*>(from); }
__device__ __forceinline__ float4 load4(const Bf16* from) {
    ushort4 packed = *reinterpret_cast<const ushort4*>(from);
    return make_float4(__uint_as_float((unsigned int)packed.x << 16), __uint_as_float((unsigned int)packed.y << 16),
                       __uint_as_float((unsigned int)packed.z << 16), __uint_as_float((unsigned int)packed.w << 16));
}

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
// Versus: gather_lane: a lane has four numbers, where it had one, and an id is read for all four.
//
// Expect: load requests and instructions fall to a quarter, for the same sectors of rows; those of ids fall, too.
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
    unsigned quads = width / 4, of_field = dim / 4;
    unsigned place = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned sample = place / quads;
    if (sample >= n) return;
    int quad = place - sample * quads;
    long long at = first[0] + sample;
    int field = quad / of_field;
    float4 value;
    if (field < fields) {
        int part = quad - field * of_field;
        int row = rows[at * fields + field];
        value = *reinterpret_cast<const float4*>(table + (long long)row * dim + 4 * part);
        if (part == 0) keys[(long long)sample * fields + field] = row;
    } else {
        int number = 4 * (quad - fields * of_field);
        const float* from = dense + at * numbers;
        value.x = number < numbers ? from[number] : 0.0f;
        value.y = number + 1 < numbers ? from[number + 1] : 0.0f;
        value.z = number + 2 < numbers ? from[number + 2] : 0.0f;
        value.w = number + 3 < numbers ? from[number + 3] : 0.0f;
        if (quad == fields * of_field) y[sample] = labels[at];
    }
    store4(x + (long long)sample * width + 4 * quad, value);
}

// --- the update ------------------------------------------------------------------------------------------------------

__device__ __forceinline__ void add(float4& total, float4 value) {
    total.x += value.x; total.y += value.y; total.z += value.z; total.w += value.w;
}

// The lanes of a row, as a mask of their warp. Rows of one warp go their own ways.
template <int LANES> __device__ __forceinline__ unsigned own_lanes() {
    if (LANES == WARP) return FULL;
    return ((1u << (LANES % WARP)) - 1u) << (threadIdx.x % WARP / LANES * LANES);
}

// state[row] = sum + mean of g^2 ; table[row] = weight - rate * g / (sqrt(state[row]) + eps), g being a row's whole
// gradient, four numbers a lane; weight and sum are what table and state hold.
template <int LANES> __device__ __forceinline__ void adagrad(
    float* table, float* state, long long row, float4 g, float4 weight, float sum, float rate, float eps) {
    int lane = threadIdx.x % LANES;
    float squares = g.x * g.x + g.y * g.y + g.z * g.z + g.w * g.w;
    #pragma unroll
    for (int distance = LANES / 2; distance > 0; distance /= 2) {
        squares += __shfl_xor_sync(own_lanes<LANES>(), squares, distance);
    }
    sum += squares / (float)(4 * LANES);
    if (lane == 0) state[row] = sum;
    float step = rate / (sqrtf(sum) + eps);
    store4(table + (row * LANES + lane) * 4,
           make_float4(weight.x - step * g.x, weight.y - step * g.y, weight.z - step * g.z, weight.w - step * g.w));
}

// Row-wise Adagrad from sorted keys, part one: the LANES of a row add up SPAN neighbours in sorted order, and step every
// row whose run lies wholly within their span. What reaches over an edge goes to `heads` or `tails`.
//
// keys (ids,) int32 sorted, order (ids,) the place each had before; gradient (n, width) of the network's input. heads
// and tails (spans, dim): the sum of a run that began in an earlier span, and of one that goes on into the next. No
// atomics: the sums, and so the table, are the same bits in every run.
//
// All that a span needs is asked for before the first of it is used: gradients, and the weights and state of rows to
// step. One after the other, each would cost the time of a trip to memory.
//
// Source: segment reduction over sorted indices, as FBGEMM's EXACT optimizers do it; the formula is FBGEMM's
// exact_row_wise_adagrad.
template <typename X, int LANES> __global__ void rowwise_adagrad(
    const int* __restrict__ keys, const long long* __restrict__ order, const X* __restrict__ gradient,
    float* table, float* state, float* __restrict__ heads, float* __restrict__ tails,
    int ids, int fields, int width, float rate, float eps) {
    int span = (blockIdx.x * blockDim.x + threadIdx.x) / LANES, lane = threadIdx.x % LANES;
    int begin = span * SPAN;
    if (begin >= ids) return;  // all lanes of a row
    int key[SPAN + 1];         // those of the span, and the next one
    #pragma unroll
    for (int j = 0; j <= SPAN; j++) key[j] = begin + j < ids ? keys[begin + j] : -1;
    bool begins = begin == 0 || keys[begin - 1] != key[0];  // does the first run begin here?
    float4 loaded[SPAN], weight[SPAN];
    float sum[SPAN];
    bool begun = begins;
    #pragma unroll
    for (int j = 0; j < SPAN; j++) {
        bool there = begin + j < ids, ends = there && key[j] != key[j + 1];
        loaded[j] = weight[j] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        sum[j] = 0.0f;
        if (there) {
            unsigned place = (unsigned)order[begin + j], sample = place / fields;
            loaded[j] = load4(gradient + (long long)sample * width + ((place - sample * fields) * LANES + lane) * 4);
        }
        if (ends && begun) {
            weight[j] = load4(table + ((long long)key[j] * LANES + lane) * 4);
            sum[j] = state[key[j]];
        }
        begun = begun || ends;
    }
    __syncwarp(own_lanes<LANES>());  // every lane has read the state of a row before lane 0 writes it
    float4 total = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    begun = begins;
    #pragma unroll
    for (int j = 0; j < SPAN; j++) {
        if (begin + j >= ids) break;
        add(total, loaded[j]);
        if (key[j] == key[j + 1]) continue;  // the run goes on
        if (begun) adagrad<LANES>(table, state, key[j], total, weight[j], sum[j], rate, eps);
        else store4(heads + ((long long)span * LANES + lane) * 4, total);
        total = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        begun = true;
    }
    bool open = begin + SPAN < ids && key[SPAN - 1] == key[SPAN];
    if (open) store4((begun ? tails : heads) + ((long long)span * LANES + lane) * 4, total);
}

// The spans after `span` that hold a piece of the run of `key`, of which span + 1 does: every lane looks at another
// span, first farther and farther apart, then closer and closer. Keys are sorted, so the lanes that find it are the
// first ones.
template <int LANES> __device__ __forceinline__ int spans_of_run(const int* __restrict__ keys, int span, int key,
                                                                 int ids) {
    int lane = threadIdx.x % LANES;
    long long last = span + 1, stride = 1;
    for (bool farther = true;;) {
        long long place = (last + lane * stride) * SPAN;
        bool here = place < ids && keys[place] == key;
        int found = __popc(__ballot_sync(own_lanes<LANES>(), here) & own_lanes<LANES>());
        last += (found - 1) * stride;
        farther = farther && found == LANES;
        if (farther) stride *= LANES;
        else if (stride == 1) return (int)(last - span);
        else stride /= LANES;
    }
}

// What the lanes of a row add up of a run: the heads of every `step`-th span from `from` on, up to `spans`.
template <int LANES> __device__ __forceinline__ float4 sum_of_heads(const float* __restrict__ heads, int span, int from,
                                                                    int spans, int step) {
    float4 total = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    #pragma unroll 8
    for (int j = from; j <= spans; j += step) {
        add(total, load4(heads + ((long long)(span + j) * LANES + threadIdx.x % LANES) * 4));
    }
    return total;
}

// Part two: where a run begins in a span and goes on, the LANES of a row add up the heads of the spans that follow, and
// step the row. A long run is added up by the whole block. The order of the additions is always the same.
template <int LANES> __global__ void rowwise_adagrad_finish(
    const int* __restrict__ keys, const float* __restrict__ heads, const float* __restrict__ tails,
    float* table, float* state, int ids, float rate, float eps) {
    const int rows = THREADS / LANES;  // that a block works on at a time
    __shared__ float4 sums[THREADS];
    __shared__ int lengths[rows];  // of the runs that begin in this block's spans, in spans
    int lane = threadIdx.x % LANES, mine = threadIdx.x / LANES;
    int first = blockIdx.x * rows, span = first + mine;
    long long next = (long long)(span + 1) * SPAN;
    int spans = 0, key = -1;
    if (next < ids) {
        key = keys[next - 1];
        // A span that one run fills is the run's first if the run does not come from the span before.
        bool earlier = span > 0 && keys[next - SPAN] == key && keys[next - SPAN - 1] == key;
        if (keys[next] == key && !earlier) spans = spans_of_run<LANES>(keys, span, key, ids);
    }
    float4 weight = make_float4(0.0f, 0.0f, 0.0f, 0.0f), total = weight;
    float sum = 0.0f;
    if (spans > 0) {
        weight = load4(table + ((long long)key * LANES + lane) * 4);
        sum = state[key];
        total = load4(tails + ((long long)span * LANES + lane) * 4);
    }
    __syncwarp();
    if (lane == 0) lengths[mine] = spans;
    if (spans > 0 && spans <= SHORT) {
        add(total, sum_of_heads<LANES>(heads, span, 1, spans, 1));
        adagrad<LANES>(table, state, key, total, weight, sum, rate, eps);
    }
    __syncthreads();
    for (int run = 0; run < rows; run++) {
        if (lengths[run] <= SHORT) continue;  // the whole block agrees
        sums[threadIdx.x] = sum_of_heads<LANES>(heads, first + run, 1 + mine, lengths[run], rows);
        __syncthreads();
        if (mine == run) {
            for (int other = 0; other < rows; other++) add(total, sums[other * LANES + lane]);
            adagrad<LANES>(table, state, key, total, weight, sum, rate, eps);
        }
        __syncthreads();
    }
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
