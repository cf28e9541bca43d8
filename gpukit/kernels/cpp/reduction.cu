// The reduction ladder in CUDA C++: a sum, from the naive kernel to the one that copies at full speed.
//
// Each rung changes one thing. Its comment says what it shows, what changed against the rung before, and which counter
// must move. Up to `shuffle` every block leaves one partial sum in partial[blockIdx.x]; the rungs named finish_ end
// with one number. The block has BLOCK threads where the comment says so, else any power of two from 64 to 1024.
//
// Compile with -DELEMENT=float, -DBLOCK=128 and so on to change these.

#include <cooperative_groups.h>

#ifndef ELEMENT
#define ELEMENT int
#endif
#ifndef BLOCK
#define BLOCK 256
#endif
#define FULL 0xffffffffu

typedef ELEMENT element;

// --- in place in global memory: a block owns 2 * blockDim.x elements of `data` and destroys them ---------------------

// Divergence: every stride-th thread adds, so warps go half empty. The start: watch divergent branches and requests.
extern "C" __global__ void naive(element* data, element* partial) {
    unsigned tid = threadIdx.x, start = 2 * blockIdx.x * blockDim.x;
    for (unsigned stride = 1; stride <= blockDim.x; stride *= 2) {
        if (tid % stride == 0) data[start + 2 * tid] += data[start + 2 * tid + stride];
        __syncthreads();
    }
    if (tid == 0) partial[blockIdx.x] = data[start];
}

// Full warps: the lowest threads do the same additions. Divergent branches and requests fall, sectors stay.
extern "C" __global__ void compact(element* data, element* partial) {
    unsigned tid = threadIdx.x, start = 2 * blockIdx.x * blockDim.x;
    for (unsigned stride = 1; stride <= blockDim.x; stride *= 2) {
        if (tid < blockDim.x / stride) data[start + 2 * tid * stride] += data[start + 2 * tid * stride + stride];
        __syncthreads();
    }
    if (tid == 0) partial[blockIdx.x] = data[start];
}

// Coalescing: the stride halves, so neighbours add neighbours. Sectors fall 3.8 times.
extern "C" __global__ void sequential(element* data, element* partial) {
    unsigned tid = threadIdx.x, start = 2 * blockIdx.x * blockDim.x;
    for (unsigned stride = blockDim.x; stride > 0; stride /= 2) {
        if (tid < stride) data[start + tid] += data[start + tid + stride];
        __syncthreads();
    }
    if (tid == 0) partial[blockIdx.x] = data[start];
}

// --- in shared memory: the input is read once and kept; launch with blockDim.x * sizeof(element) bytes ---------------

extern __shared__ element tile[];

// Shared memory: the tree moves on chip, with the modulo test back. Global stores fall to one a block.
extern "C" __global__ void shared_interleaved(const element* data, element* partial, unsigned n) {
    unsigned tid = threadIdx.x, i = blockIdx.x * blockDim.x + tid;
    tile[tid] = i < n ? data[i] : element(0);
    __syncthreads();
    for (unsigned stride = 1; stride < blockDim.x; stride *= 2) {
        if (tid % (2 * stride) == 0) tile[tid] += tile[tid + stride];
        __syncthreads();
    }
    if (tid == 0) partial[blockIdx.x] = tile[0];
}

// Bank conflicts: full warps again, but their addresses are 2 * stride apart. Wavefronts rise above requests.
extern "C" __global__ void shared_strided(const element* data, element* partial, unsigned n) {
    unsigned tid = threadIdx.x, i = blockIdx.x * blockDim.x + tid;
    tile[tid] = i < n ? data[i] : element(0);
    __syncthreads();
    for (unsigned stride = 1; stride < blockDim.x; stride *= 2) {
        unsigned k = 2 * stride * tid;
        if (k + stride < blockDim.x) tile[k] += tile[k + stride];
        __syncthreads();
    }
    if (tid == 0) partial[blockIdx.x] = tile[0];
}

// No conflicts: the stride halves. Wavefronts equal requests; half of the threads idle after the load.
extern "C" __global__ void shared_sequential(const element* data, element* partial, unsigned n) {
    unsigned tid = threadIdx.x, i = blockIdx.x * blockDim.x + tid;
    tile[tid] = i < n ? data[i] : element(0);
    __syncthreads();
    for (unsigned stride = blockDim.x / 2; stride > 0; stride /= 2) {
        if (tid < stride) tile[tid] += tile[tid + stride];
        __syncthreads();
    }
    if (tid == 0) partial[blockIdx.x] = tile[0];
}

// What a thread starts with when a block takes 2 * blockDim.x elements.
__device__ element two_elements(const element* data, unsigned n) {
    unsigned i = 2 * blockIdx.x * blockDim.x + threadIdx.x;
    element sum = i < n ? data[i] : element(0);
    if (i + blockDim.x < n) sum += data[i + blockDim.x];
    return sum;
}

// Work for the idle half: each thread adds two elements while loading. Half the blocks, barriers and shared accesses.
extern "C" __global__ void first_add(const element* data, element* partial, unsigned n) {
    unsigned tid = threadIdx.x;
    tile[tid] = two_elements(data, n);
    __syncthreads();
    for (unsigned stride = blockDim.x / 2; stride > 0; stride /= 2) {
        if (tid < stride) tile[tid] += tile[tid + stride];
        __syncthreads();
    }
    if (tid == 0) partial[blockIdx.x] = tile[0];
}

// --- the last 64 values in one warp, in three versions: barriers fall by six a block ---------------------------------

// A tree over the block that stops at 64 live values.
__device__ void down_to_64() {
    for (unsigned stride = blockDim.x / 2; stride > 32; stride /= 2) {
        if (threadIdx.x < stride) tile[threadIdx.x] += tile[threadIdx.x + stride];
        __syncthreads();
    }
}

// As in 2007: `volatile` and lockstep. A race since Volta: the check must flag it, although the sum comes out right.
extern "C" __global__ void last_warp_volatile(const element* data, element* partial, unsigned n) {
    unsigned tid = threadIdx.x;
    tile[tid] = two_elements(data, n);
    __syncthreads();
    down_to_64();
    if (tid < 32) {
        volatile element* v = tile;
        v[tid] += v[tid + 32];
        v[tid] += v[tid + 16];
        v[tid] += v[tid + 8];
        v[tid] += v[tid + 4];
        v[tid] += v[tid + 2];
        v[tid] += v[tid + 1];
    }
    if (tid == 0) partial[blockIdx.x] = tile[0];
}

// The same with the order written down: __syncwarp between every read and write. Clean; warp synchronisations appear.
extern "C" __global__ void last_warp_syncwarp(const element* data, element* partial, unsigned n) {
    unsigned tid = threadIdx.x;
    tile[tid] = two_elements(data, n);
    __syncthreads();
    down_to_64();
    if (tid < 32) {
        element sum = tile[tid];
        for (unsigned stride = 32; stride > 0; stride /= 2) {
            sum += tile[tid + stride];
            __syncwarp();
            tile[tid] = sum;
            __syncwarp();
        }
    }
    if (tid == 0) partial[blockIdx.x] = tile[0];
}

// The sum over a warp, right in lane 0.
__device__ element warp_sum(element sum) {
    for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(FULL, sum, offset);
    return sum;
}

// Registers instead of memory: lane 0 needs two shared reads and five shuffles. Shared requests fall.
extern "C" __global__ void last_warp_shuffle(const element* data, element* partial, unsigned n) {
    unsigned tid = threadIdx.x;
    tile[tid] = two_elements(data, n);
    __syncthreads();
    down_to_64();
    if (tid < 32) {
        element sum = warp_sum(tile[tid] + tile[tid + 32]);
        if (tid == 0) partial[blockIdx.x] = sum;
    }
}

// The sum over a block of `block` threads, right in thread 0.
template <unsigned block>
__device__ element block_tree(element sum) {
    unsigned tid = threadIdx.x;
    tile[tid] = sum;
    __syncthreads();
    if constexpr (block >= 1024) { if (tid < 512) tile[tid] = sum = sum + tile[tid + 512]; __syncthreads(); }
    if constexpr (block >= 512) { if (tid < 256) tile[tid] = sum = sum + tile[tid + 256]; __syncthreads(); }
    if constexpr (block >= 256) { if (tid < 128) tile[tid] = sum = sum + tile[tid + 128]; __syncthreads(); }
    if constexpr (block >= 128) { if (tid < 64) tile[tid] = sum = sum + tile[tid + 64]; __syncthreads(); }
    return tid < 32 ? warp_sum(sum + tile[tid + 32]) : sum;
}

// Block size known at compile time: no loop is left. Instructions fall, memory counters stay. BLOCK threads.
extern "C" __global__ void unrolled(const element* data, element* partial, unsigned n) {
    element sum = block_tree<BLOCK>(two_elements(data, n));
    if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

// --- warp by warp: one shared slot a warp ------------------------------------------------------------------------------

// The sum over the block, right in thread 0. Every thread of the block takes part.
__device__ element block_sum(element sum) {
    __shared__ element of_warp[32];
    unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    sum = warp_sum(sum);
    if (lane == 0) of_warp[warp] = sum;
    __syncthreads();
    if (warp == 0) sum = warp_sum(lane < blockDim.x / 32 ? of_warp[lane] : element(0));
    return sum;
}

// Two levels of shuffles: one barrier a block. Shared requests and barriers collapse.
extern "C" __global__ void shuffle(const element* data, element* partial, unsigned n) {
    element sum = block_sum(two_elements(data, n));
    if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

// What a thread adds up when a fixed grid walks over the data.
__device__ element strided_sum(const element* data, unsigned n) {
    element sum = 0;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += data[i];
    return sum;
}

// A fixed grid, and registers first: the fold is paid once for many elements. Instructions per element fall.
extern "C" __global__ void grid_stride(const element* data, element* partial, unsigned n) {
    element sum = block_sum(strided_sum(data, n));
    if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

struct alignas(4 * sizeof(element)) Four { element x, y, z, w; };  // 16 bytes for elements of 4

// Four elements a load; what n % 4 leaves is added one by one. Load requests fall to a quarter, sectors stay.
extern "C" __global__ void vectorized(const element* data, element* partial, unsigned n) {
    const Four* fours = reinterpret_cast<const Four*>(data);
    unsigned threads = gridDim.x * blockDim.x, i = blockIdx.x * blockDim.x + threadIdx.x;
    element sum = 0;
    for (unsigned k = i; k < n / 4; k += threads) {
        Four v = fours[k];
        sum += (v.x + v.y) + (v.z + v.w);
    }
    if (i < n % 4) sum += data[n / 4 * 4 + i];
    sum = block_sum(sum);
    if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

// --- one number at the end -----------------------------------------------------------------------------------------------

// A second launch, of one block, over the partial sums. One more launch.
extern "C" __global__ void finish_second_launch(const element* partial, element* total, unsigned blocks) {
    element sum = 0;
    for (unsigned i = threadIdx.x; i < blocks; i += blockDim.x) sum += partial[i];
    sum = block_sum(sum);
    if (threadIdx.x == 0) *total = sum;
}

// One atomic a block; *total is 0 before. Global atomics equal the number of blocks.
extern "C" __global__ void finish_atomic(const element* data, element* total, unsigned n) {
    element sum = block_sum(strided_sum(data, n));
    if (threadIdx.x == 0) atomicAdd(total, sum);
}

// The block that finishes last adds the partial sums; *done is 0 before and after. One launch, one atomic a block.
extern "C" __global__ void finish_last_block(const element* data, element* partial, element* total, unsigned* done,
                                             unsigned n) {
    __shared__ bool last;
    element sum = block_sum(strided_sum(data, n));
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = sum;
        __threadfence();
        last = atomicInc(done, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (!last) return;
    __threadfence();
    sum = 0;
    for (unsigned i = threadIdx.x; i < gridDim.x; i += blockDim.x) sum += partial[i];
    sum = block_sum(sum);
    if (threadIdx.x == 0) *total = sum;
}

// All blocks meet at a grid barrier, then block 0 adds. A cooperative launch: all blocks must be resident at once.
extern "C" __global__ void finish_grid_sync(const element* data, element* partial, element* total, unsigned n) {
    element sum = block_sum(strided_sum(data, n));
    if (threadIdx.x == 0) partial[blockIdx.x] = sum;
    cooperative_groups::this_grid().sync();
    if (blockIdx.x > 0) return;
    sum = 0;
    for (unsigned i = threadIdx.x; i < gridDim.x; i += blockDim.x) sum += partial[i];
    sum = block_sum(sum);
    if (threadIdx.x == 0) *total = sum;
}
