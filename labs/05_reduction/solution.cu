// Lab 5: Reduction. n elements become one answer, by a tree, and by other operators than the sum.
//
// A block has T = blockDim.x threads, at most BLOCK. The answer does not depend on the number of blocks.

constexpr int BLOCK = 256;  // the largest block there is here: what shared memory must have room for
constexpr unsigned FULL = 0xffffffffu;  // the mask of a whole warp

// --- 5.1: answer on paper, for one block of 128 threads and 256 elements in `naive_maximum` of given.py -------------

// The steps of the tree.
// BEGIN SOLUTION 5.1: predict what a tree of 256 elements costs
constexpr int STEPS = 8;
// END SOLUTION

// The comparisons of two elements, all steps together.
// BEGIN SOLUTION 5.1: predict what a tree of 256 elements costs
constexpr int COMPARISONS = 255;
// END SOLUTION

// How many of the 128 threads have nothing to compare in the fourth step.
// BEGIN SOLUTION 5.1: predict what a tree of 256 elements costs
constexpr int IDLE_THREADS = 112;
// END SOLUTION

// How often a warp meets an `if` that some of its lanes enter and others do not, the last `if` of the kernel included.
// BEGIN SOLUTION 5.1: predict what a tree of 256 elements costs
constexpr int DIVERGENT_BRANCHES = 24;
// END SOLUTION

// The load requests: each time a warp, with one active lane or 32, loads an element each from global memory.
// BEGIN SOLUTION 5.1: predict what a tree of 256 elements costs
constexpr int LOAD_REQUESTS = 55;
// END SOLUTION

// --- 5.2: the largest element of each block, and where it is --------------------------------------------------------

// Whether (value, index) is a better answer than the other pair.
//
// The larger value is; of equal values the one with the smaller index.
__device__ bool beats(float value, int index, float other_value, int other_index) {
    // BEGIN SOLUTION 5.2: find the first of the largest elements by a tree, for any number of threads
    return value > other_value || (value == other_value && index < other_index);
    // END SOLUTION
}

// The tree: leaves the best of the block's T pairs (best[t], where[t]) in slot 0, for every thread to read.
//
// All threads of the block call it, when all slots are filled (after a barrier). T need not be a power of two: 100
// pairs become 50, 25, 13, 7, 4, 2, 1. Neighbouring threads use neighbouring slots.
//
// best, where: in shared memory, changed.
__device__ void fold(float* best, int* where) {
    // BEGIN SOLUTION 5.2: find the first of the largest elements by a tree, for any number of threads
    int t = threadIdx.x;
    for (int width = blockDim.x; width > 1;) {
        int half = (width + 1) / 2;
        if (t + half < width && beats(best[t + half], where[t + half], best[t], where[t])) {
            best[t] = best[t + half];
            where[t] = where[t + half];
        }
        __syncthreads();
        width = half;
    }
    // END SOLUTION
}

// The largest of each block's T elements and its index; of equal ones the first.
//
// One element a thread: block b has x[b * T] and the T - 1 behind it; the last block may have fewer, and at least one.
// Elements may be negative, even -INFINITY.
//
// x: (n,), not changed.
// value: (blocks,), set to the largest element of each block.
// index: (blocks,), set to its index in x.
//
// Cost: x is read once. No bank conflicts, and a barrier a step: use `fold`.
extern "C" __global__ void block_argmax(const float* x, float* value, int* index, int n) {
    // BEGIN SOLUTION 5.2: find the first of the largest elements by a tree, for any number of threads
    __shared__ float best[BLOCK];
    __shared__ int where[BLOCK];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    best[t] = i < n ? x[i] : -INFINITY;
    where[t] = i;
    __syncthreads();
    fold(best, where);
    if (t == 0) {
        value[blockIdx.x] = best[0];
        index[blockIdx.x] = where[0];
    }
    // END SOLUTION
}

// --- 5.3: a fixed grid ----------------------------------------------------------------------------------------------

// The dot product of a and b, a part of it from each block: partial adds up to the sum of all a[i] * b[i].
//
// The grid has as many blocks as it likes, not as many as the data: each thread first adds up its own products, every
// (gridDim.x * blockDim.x)-th, in a variable. Then the block folds T sums, once. T is a power of two.
//
// a, b: (n,), not changed.
// partial: (blocks,), set.
//
// Cost: a and b are read once, 32 neighbours a request; the barriers do not grow with n.
extern "C" __global__ void dot(const float* a, const float* b, float* partial, int n) {
    // BEGIN SOLUTION 5.3: add up products thread by thread, then fold once a block
    __shared__ float sums[BLOCK];
    int t = threadIdx.x;
    float total = 0;
    for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x) total += a[i] * b[i];
    sums[t] = total;
    __syncthreads();
    for (int stride = blockDim.x / 2; stride > 0; stride /= 2) {
        if (t < stride) sums[t] += sums[t + stride];
        __syncthreads();
    }
    if (t == 0) partial[blockIdx.x] = sums[0];
    // END SOLUTION
}

// --- 5.4: the last warp ---------------------------------------------------------------------------------------------

// The largest |x[i]| of each block's T elements; T is a power of two, 64 or more.
//
// The tree is there, down to 64 values in sizes[0] to sizes[63]. What is missing is the end: warp 0 alone makes one of
// them and stores it. One warp needs no barrier of the block for that, but its lanes do not move in step either: say
// who waits for whom (__syncwarp), or hand values over by shuffles.
//
// x: (n,), not changed.
// partial: (blocks,), set.
//
// Cost: no barrier beyond those that are there.
extern "C" __global__ void largest_magnitude(const float* x, float* partial, int n) {
    __shared__ float sizes[BLOCK];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    sizes[t] = i < n ? fabsf(x[i]) : 0.0f;
    __syncthreads();
    for (int stride = blockDim.x / 2; stride > 32; stride /= 2) {
        if (t < stride) sizes[t] = fmaxf(sizes[t], sizes[t + stride]);
        __syncthreads();
    }
    // BEGIN SOLUTION 5.4: finish the last 64 values inside one warp
    if (t < 32) {
        float size = fmaxf(sizes[t], sizes[t + 32]);
        for (int offset = 16; offset > 0; offset /= 2) size = fmaxf(size, __shfl_down_sync(FULL, size, offset));
        if (t == 0) partial[blockIdx.x] = size;
    }
    // END SOLUTION
}

// --- 5.5: mean and variance in one pass -----------------------------------------------------------------------------

struct Moments {
    double count, mean, m2;
};

// Count, mean and m2 of two sets of numbers together, from those of each; either set may be empty (0, 0, 0).
//
// m2 is the sum of the squared distances from the mean; m2 / count is the variance. A single number v is {1, v, 0}.
// With d the distance of the two means, the mean moves towards the other by its share of the count, and m2 is the sum
// of both and of d * d * count * other.count / (count + other.count).
__device__ Moments merge(Moments a, Moments b) {
    // BEGIN SOLUTION 5.5: merge counts, means and squared distances, number by number and then pair by pair
    double both = a.count + b.count;
    if (both == 0) return {0, 0, 0};
    double d = b.mean - a.mean;
    return {both, a.mean + d * b.count / both, a.m2 + b.m2 + d * d * a.count * b.count / both};
    // END SOLUTION
}

// The count, mean and m2 (see `merge`) of what each block has seen of x; the triples of all blocks cover x.
//
// A fixed grid, as in 5.3. T is a power of two. x may be time stamps: 1.7e9 seconds, and what matters is the
// microseconds. Sums of squares are then about 3e18 each, where a double has steps of 512.
//
// x: (n,), not changed.
// out: (blocks, 3), set: block b has out[3 * b] to out[3 * b + 2]. A block without elements sets (0, 0, 0).
//
// Cost: x is read once (what is needed twice is kept in a variable); the barriers do not grow with n.
extern "C" __global__ void moments(const double* x, double* out, int n) {
    // BEGIN SOLUTION 5.5: merge counts, means and squared distances, number by number and then pair by pair
    __shared__ double counts[BLOCK], means[BLOCK], m2s[BLOCK];
    int t = threadIdx.x;
    Moments mine = {0, 0, 0};
    for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x) mine = merge(mine, {1, x[i], 0});
    counts[t] = mine.count;
    means[t] = mine.mean;
    m2s[t] = mine.m2;
    __syncthreads();
    for (int stride = blockDim.x / 2; stride > 0; stride /= 2) {
        if (t < stride) {
            int u = t + stride;
            mine = merge({counts[t], means[t], m2s[t]}, {counts[u], means[u], m2s[u]});
            counts[t] = mine.count;
            means[t] = mine.mean;
            m2s[t] = mine.m2;
        }
        __syncthreads();
    }
    if (t == 0) {
        out[3 * blockIdx.x] = counts[0];
        out[3 * blockIdx.x + 1] = means[0];
        out[3 * blockIdx.x + 2] = m2s[0];
    }
    // END SOLUTION
}

// --- 5.6: four elements a turn, and one number at the end -----------------------------------------------------------

// *total ^= x[0] ^ x[1] ^ ... ^ x[n - 1]: exclusive or, bit by bit, of what was there and all elements.
//
// A fixed grid, as in 5.3, but each turn of a thread's loop takes four elements with one test of the loop's end; what
// n % 4 leaves is taken one by one. In CUDA C++ the four are one load of 16 bytes (int4): x begins at a multiple of 16
// bytes. (In Python they are four loads.) T is a power of two.
//
// x: (n,), not changed.
// total: (1,), 0 before the launch. Blocks add to it with atomicXor.
//
// Cost: a quarter of the load requests; one atomic a block.
extern "C" __global__ void checksum(const int* x, int* total, int n) {
    // BEGIN SOLUTION 5.6: take four elements a turn, fold, and finish with one atomic a block
    __shared__ int sums[BLOCK];
    const int4* fours = reinterpret_cast<const int4*>(x);
    int t = threadIdx.x, first = blockIdx.x * blockDim.x + t, mine = 0;
    for (int i = first; i < n / 4; i += gridDim.x * blockDim.x) {
        int4 v = fours[i];
        mine ^= v.x ^ v.y ^ v.z ^ v.w;
    }
    if (first < n % 4) mine ^= x[n / 4 * 4 + first];
    sums[t] = mine;
    __syncthreads();
    for (int stride = blockDim.x / 2; stride > 0; stride /= 2) {
        if (t < stride) sums[t] ^= sums[t + stride];
        __syncthreads();
    }
    if (t == 0) atomicXor(total, sums[0]);
    // END SOLUTION
}

// --- 5.7: one launch for everything ---------------------------------------------------------------------------------

// *best is the index of the largest element of x, of equal ones the first. One launch, any number of blocks.
//
// No atomic knows pairs. So each block stores the index of its own best element in found, makes that visible to all
// blocks (__threadfence) and counts itself in *done. The block that counts last compares what all have found.
// A fixed grid, as in 5.3; a block may have no element at all: it stores n.
//
// x: (n,), n at least 1, not changed.
// found: (blocks,), set.
// best: (1,), set.
// done: (1,), 0 before the launch and 0 again after it, for the next one.
//
// Cost: one atomic a block; use `fold` twice.
extern "C" __global__ void argmax(const float* x, int* found, int* best, unsigned* done, int n) {
    // BEGIN SOLUTION 5.7: let the block that is done last compare what all blocks have found
    __shared__ float values[BLOCK];
    __shared__ int where[BLOCK];
    __shared__ bool is_last;
    int t = threadIdx.x, index = n;
    float value = -INFINITY;
    for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x) {
        if (beats(x[i], i, value, index)) {
            value = x[i];
            index = i;
        }
    }
    values[t] = value;
    where[t] = index;
    __syncthreads();
    fold(values, where);
    if (t == 0) {
        found[blockIdx.x] = where[0];
        __threadfence();
        is_last = atomicInc(done, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (!is_last) return;
    __threadfence();
    value = -INFINITY;
    index = n;
    for (int k = t; k < gridDim.x; k += blockDim.x) {
        int i = found[k];
        if (i < n && beats(x[i], i, value, index)) {
            value = x[i];
            index = i;
        }
    }
    values[t] = value;
    where[t] = index;
    __syncthreads();
    fold(values, where);
    if (t == 0) *best = where[0];
    // END SOLUTION
}
