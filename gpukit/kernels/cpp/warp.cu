// The warp toolbox in CUDA C++: reduction, scan and compaction by shuffles and ballots.
//
// Whole warps take part in every exchange: lanes past the end of the data bring an identity instead of leaving.

#define FULL 0xffffffffu

// Five shuffles hand values from register to register.
// Versus: shared_tree: the tree lives in registers, and the compiler sees 5 fixed offsets.
// Expect: no shared memory at all; loads stay.
extern "C" __global__ void shuffle_down(const float* x, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = i < n ? x[i] : 0.0f;
    for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(FULL, sum, offset);
    if (i % 32 == 0 && i < n) out[i / 32] = sum;
}

// One instruction sums the integers of a warp, since compute capability 8.0.
// Versus: shuffle_down: __reduce_add_sync in place of five shuffles and adds; there is none for floats.
// Expect: warp synchronisations fall from 5 to 1 a warp; loads stay.
extern "C" __global__ void one_instruction(const float* x, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int sum = __reduce_add_sync(FULL, i < n ? int(x[i]) : 0);
    if (i % 32 == 0 && i < n) out[i / 32] = float(sum);
}

__device__ int warp_scan(int value) {
    for (int offset = 1; offset < 32; offset *= 2) {
        int below = __shfl_up_sync(FULL, value, offset);
        if (threadIdx.x % 32 >= offset) value += below;
    }
    return value;
}

// A scan per warp by shuffles, then one of the warps' sums: two levels.
// Versus: shared_steps: every step but one moves from shared memory to registers.
// Expect: shared requests and barriers collapse; global loads stay.
extern "C" __global__ void two_levels(const int* x, int* y, int* sums, int n) {
    __shared__ int of_warp[32];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t, warp = t / 32;
    int value = warp_scan(i < n ? x[i] : 0);
    if (t % 32 == 31) of_warp[warp] = value;
    __syncthreads();
    if (warp == 0) of_warp[t] = warp_scan(t < blockDim.x / 32 ? of_warp[t] : 0);
    __syncthreads();
    if (warp > 0) value += of_warp[warp - 1];
    if (i < n) y[i] = value;
    if (t == blockDim.x - 1) sums[blockIdx.x] = value;
}

// One atomic per warp: its lanes share out the places among themselves.
// Versus: atomic_each: a ballot says who keeps, a population count where; lane 0 asks for all of them at once.
// Expect: atomics fall to one per warp; loads stay.
extern "C" __global__ void ballot(const int* x, int* kept, int* count, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
    int value = i < n ? x[i] : 0;
    unsigned takers = __ballot_sync(FULL, value > 0);
    int first = 0;
    if (lane == 0 && takers) first = atomicAdd(count, __popc(takers));
    first = __shfl_sync(FULL, first, 0);
    if (value > 0) kept[first + __popc(takers & ((1u << lane) - 1))] = value;
}
