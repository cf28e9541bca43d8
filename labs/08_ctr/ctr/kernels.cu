// Embedding rows for a batch of impressions, and the row-wise Adagrad step of those rows, in CUDA C++.
//
// The tables of all fields are one, (rows, dim) float32: `rows` (impressions, fields) int32 are places in it, offsets
// added. X is the type of the network's input and of its gradient, float or Bf16. Blocks are whole warps; a row times
// dim may pass 2^31 and is counted by a long long. dim is a multiple of 4, and of the update at most 32.

#define FULL 0xffffffffu
#define WARP 32
#define SPAN 16     // sorted places that one warp adds up: few, so that a small batch has many warps
#define AHEAD 8     // of them, how many are loaded before the first is added
#define FINISHERS 8 // warps of a block that finish runs of rows
#define SHORT 8     // spans of a run that one warp adds up alone

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

__device__ __forceinline__ float warp_sum(float value) {
    #pragma unroll
    for (int distance = WARP / 2; distance > 0; distance /= 2) value += __shfl_xor_sync(FULL, value, distance);
    return value;
}

// state[row] = sum + mean of g^2 ; table[row] = weight - rate * g / (sqrt(state[row]) + eps), g being a row's whole
// gradient, with its number d in lane d; weight and sum are what table and state hold. All lanes take part.
__device__ __forceinline__ void adagrad(float* table, float* state, long long row, float g, float weight, float sum,
                                        int lane, int dim, float rate, float eps) {
    sum += warp_sum(g * g) / (float)dim;
    if (lane == 0) state[row] = sum;
    if (lane < dim) table[row * dim + lane] = weight - rate * g / (sqrtf(sum) + eps);
}

// Row-wise Adagrad from sorted keys, part one: a warp adds up SPAN neighbours in sorted order, a lane a number, and
// steps every row whose run lies wholly within its span. What reaches over an edge goes to `heads` or `tails`.
//
// keys (ids,) int32 sorted, order (ids,) the place each had before; gradient (n, width) of the network's input. heads
// and tails (spans, dim): the sum of a run that began in an earlier span, and of one that goes on into the next. No
// atomics: the sums, and so the table, are the same bits in every run.
//
// Everything that a group of places needs is asked for before the first of it is used: a row's weights and state as
// well as the gradients, since one after the other each would cost the time of a trip to memory.
//
// Source: segment reduction over sorted indices, as FBGEMM's EXACT optimizers do it; the formula is FBGEMM's
// exact_row_wise_adagrad.
template <typename X> __global__ void rowwise_adagrad(
    const int* __restrict__ keys, const long long* __restrict__ order, const X* __restrict__ gradient,
    float* table, float* state, float* __restrict__ heads, float* __restrict__ tails,
    int ids, int fields, int width, int dim, float rate, float eps) {
    long long span = thread_number() / WARP;
    int lane = threadIdx.x % WARP;
    long long begin = span * SPAN;
    if (begin >= ids) return;  // a whole warp
    int count = (int)min((long long)SPAN, ids - begin);
    int key = lane < count ? keys[begin + lane] : -1;
    int before = begin > 0 ? keys[begin - 1] : -1;
    int after = begin + count < ids ? keys[begin + count] : -1;
    int place = lane < count ? (int)order[begin + lane] : 0;  // below ids: 32 bits divide several times as fast
    int sample = place / fields;
    long long offset = (long long)sample * width + (place - sample * fields) * dim;
    int next = __shfl_down_sync(FULL, key, 1);
    unsigned ends = __ballot_sync(FULL, lane < count && (lane + 1 < count ? next : after) != key);
    bool begun = __shfl_sync(FULL, key, 0) != before;          // does the first run begin here?
    unsigned whole = begun ? ends : ends & (ends - 1);         // ends of runs that lie in this span alone
    float total = 0.0f;
    for (int from = 0; from < count; from += AHEAD) {
        float loaded[AHEAD], weight[AHEAD], sum[AHEAD];
        #pragma unroll
        for (int j = 0; j < AHEAD; j++) {
            long long at = __shfl_sync(FULL, offset, from + j);
            long long row = __shfl_sync(FULL, key, from + j);
            bool steps = whole >> (from + j) & 1u;
            loaded[j] = from + j < count && lane < dim ? load(gradient + at + lane) : 0.0f;
            weight[j] = steps && lane < dim ? table[row * dim + lane] : 0.0f;
            sum[j] = steps ? state[row] : 0.0f;
        }
        __syncwarp();  // every lane has read the state of a row before lane 0 writes it
        #pragma unroll
        for (int j = 0; j < AHEAD; j++) {
            long long row = __shfl_sync(FULL, key, from + j);
            total += loaded[j];
            if (!(ends >> (from + j) & 1u)) continue;  // the run goes on
            if (whole >> (from + j) & 1u) adagrad(table, state, row, total, weight[j], sum[j], lane, dim, rate, eps);
            else if (lane < dim) heads[span * dim + lane] = total;
            total = 0.0f;
        }
    }
    bool open = !(ends >> (count - 1) & 1u);
    if (open && lane < dim) (begun || ends ? tails : heads)[span * dim + lane] = total;
}

// The spans after `span` that hold a piece of the run of `key`, of which span + 1 does: every lane looks at another
// span, first farther and farther apart, then closer and closer. Keys are sorted, so the lanes that find it are the
// first ones.
__device__ __forceinline__ long long spans_of_run(const int* __restrict__ keys, long long span, int key, int ids,
                                                  int lane) {
    long long last = span + 1, stride = 1;
    for (bool farther = true;;) {
        long long place = (last + lane * stride) * SPAN;
        int found = __popc(__ballot_sync(FULL, place < ids && keys[place] == key));
        last += (found - 1) * stride;
        farther = farther && found == WARP;
        if (farther) stride *= WARP;
        else if (stride == 1) return last - span;
        else stride /= WARP;
    }
}

// What a warp adds up of a run: the heads of every `step`-th span from `from` on, up to `spans`.
__device__ __forceinline__ float sum_of_heads(const float* __restrict__ heads, long long span, long long from,
                                              long long spans, int step, int lane, int dim) {
    float total = 0.0f;
    #pragma unroll 8
    for (long long j = from; j <= spans; j += step) total += lane < dim ? heads[(span + j) * dim + lane] : 0.0f;
    return total;
}

// Part two: a warp for each span; where a run begins there and goes on, it adds up the heads of the spans that follow,
// and steps the row. A long run is added up by the whole block. The order of the additions is always the same.
extern "C" __global__ void rowwise_adagrad_finish(
    const int* __restrict__ keys, const float* __restrict__ heads, const float* __restrict__ tails,
    float* table, float* state, int ids, int dim, float rate, float eps) {
    __shared__ float sums[FINISHERS][WARP];
    __shared__ int lengths[FINISHERS];  // of the runs that begin in this block's spans, in spans
    int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    long long first = (long long)blockIdx.x * FINISHERS, span = first + warp;
    long long next = (span + 1) * SPAN;
    long long spans = 0;
    int key = -1;
    if (next < ids) {
        key = keys[next - 1];
        bool earlier = span > 0 && keys[span * SPAN - 1] == key;
        if (keys[next] == key && !earlier) spans = spans_of_run(keys, span, key, ids, lane);
    }
    float weight = 0.0f, sum = 0.0f, total = 0.0f;
    if (spans > 0) {
        weight = lane < dim ? table[(long long)key * dim + lane] : 0.0f;
        sum = state[key];
        total = lane < dim ? tails[span * dim + lane] : 0.0f;
    }
    __syncwarp();
    if (lane == 0) lengths[warp] = (int)spans;
    if (spans > 0 && spans <= SHORT) {
        total += sum_of_heads(heads, span, 1, spans, 1, lane, dim);
        adagrad(table, state, key, total, weight, sum, lane, dim, rate, eps);
    }
    __syncthreads();
    for (int w = 0; w < FINISHERS; w++) {
        if (lengths[w] <= SHORT) continue;  // the whole block agrees
        sums[warp][lane] = sum_of_heads(heads, first + w, 1 + warp, lengths[w], FINISHERS, lane, dim);
        __syncthreads();
        if (warp == w) {
            for (int other = 0; other < FINISHERS; other++) total += sums[other][lane];
            adagrad(table, state, key, total, weight, sum, lane, dim, rate, eps);
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
