// The reduction ladder in CUDA C++: a sum, from the naive kernel to the one that reads at full speed.
//
// Each rung changes one thing. Its comment says what it shows, what changed against another rung (Versus), and which
// counter must move (Expect; figures are for 2^20 elements and blocks of 256). The rungs named finish_ end with one
// number, all others leave one partial sum per block in partial[blockIdx.x]. The block has BLOCK threads where the
// comment says so, else any power of two from 64 to 1024.
//
// `data` has n elements of type ELEMENT (int, float or double), `partial` one per block, `total` one; n is below
// 2^32 minus the threads of the grid, so that an unsigned index never wraps round. Compile with -DELEMENT=float,
// -DBLOCK=128 and so on to change these. -DWITHOUT_GRID_SYNC leaves out the last kernel and the header that it needs,
// which takes nine tenths of the compiler's time.

#ifndef WITHOUT_GRID_SYNC
#include <cooperative_groups.h>
#endif

#ifndef ELEMENT
#define ELEMENT int
#endif
#ifndef BLOCK
#define BLOCK 256
#endif
#define FULL 0xffffffffu

typedef ELEMENT element;

// --- in place in global memory: a block owns 2 * blockDim.x elements of `data` and destroys them ---------------------

// Threads whose number is a multiple of the stride add: warps go half empty.
//
// The start: watch divergent branches and requests.
extern "C" __global__ void naive(element* data, element* partial) {
    unsigned tid = threadIdx.x, start = 2 * blockIdx.x * blockDim.x;
    for (unsigned stride = 1; stride <= blockDim.x; stride *= 2) {
        if (tid % stride == 0) data[start + 2 * tid] += data[start + 2 * tid + stride];
        __syncthreads();
    }
    if (tid == 0) partial[blockIdx.x] = data[start];
}

// The lowest-numbered threads do the same additions: full warps, addresses as far apart as before.
// Versus: naive: thread t takes the t-th pair of the step, where it was every stride-th thread.
// Expect: load requests fall from 227,328 to 83,968, and divergent branches; sectors stay at 1,046,528.
extern "C" __global__ void compact(element* data, element* partial) {
    unsigned tid = threadIdx.x, start = 2 * blockIdx.x * blockDim.x;
    for (unsigned stride = 1; stride <= blockDim.x; stride *= 2) {
        if (tid < blockDim.x / stride) data[start + 2 * tid * stride] += data[start + 2 * tid * stride + stride];
        __syncthreads();
    }
    if (tid == 0) partial[blockIdx.x] = data[start];
}

// The stride halves: full warps touch neighbouring addresses.
// Versus: compact: the stride starts at the block size and halves, where it started at 1 and doubled.
// Expect: load sectors fall 3.8 times, from 1,046,528 to 272,384; requests stay.
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

// The tree in shared memory: the data is read once and left as it is.
// Versus: naive: the tree with its modulo test stands in shared memory, one element a thread.
// Expect: global load requests fall to one a warp and global stores to one a block; shared loads come in their place.
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

// Full warps, but their addresses are 2 * stride apart: bank conflicts.
// Versus: shared_interleaved: thread t adds to element 2 * stride * t, where every (2 * stride)-th thread added.
// Expect: divergent branches fall; shared wavefronts rise above requests.
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

// The stride halves: no bank conflicts; half of the threads idle after the load.
// Versus: shared_strided: the stride starts at half the block and halves, so neighbours use neighbouring banks.
// Expect: bank conflicts fall to 0: wavefronts equal requests.
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

// Each thread adds two elements while it loads: work for the half that was idle.
// Versus: shared_sequential: a block takes 2T elements and adds the two of each thread before the tree.
// Expect: half the blocks, so barriers, shared loads and shared stores fall to half; global loads stay.
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

// The tail of 2007: `volatile` and lockstep instead of barriers. A race since Volta.
//
// `volatile` keeps every access in the code and in order. It makes no lane wait for another, and since Volta the lanes
// of a warp need not move together: the check must flag it, although the sum comes out right.
// Versus: first_add: barriers end at 64 live values; one warp does the last six steps without any.
// Expect: barriers fall by 6 a block.
// Source: "Optimizing Parallel Reduction in CUDA" (M. Harris, 2007), its fifth kernel.
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

// The same tail with its order written down: __syncwarp after every read and every write.
// Versus: last_warp_volatile: a lane reads, all wait, it writes, all wait; its own sum stays in a register.
// Expect: 12 warp synchronisations a block and no race; shared loads fall, since a lane's own sum is not read again.
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

// The tail in registers: two reads of shared memory, then five shuffles.
// Versus: last_warp_syncwarp: lanes hand their sums over by shuffles, which synchronise, not through shared memory.
// Expect: shared requests and warp synchronisations fall, barriers stay.
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

// The block size is a template argument: no loop is left. BLOCK threads.
// Versus: last_warp_shuffle: the steps of the tree are written out, and those a block does not have are not compiled.
// Expect: warp instructions fall, barriers stay. A thread also keeps its sum in a register from step to
//     step, so shared loads fall.
extern "C" __global__ void unrolled(const element* data, element* partial, unsigned n) {
    element sum = block_tree<BLOCK>(two_elements(data, n));
    if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

// --- sums in registers, with one slot of shared memory a warp --------------------------------------------------------

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

// Two levels of shuffles, one slot of shared memory a warp, one barrier a block.
// Versus: last_warp_shuffle: every warp sums its own 32 values by shuffles; warp 0 then sums one value a warp.
// Expect: shared requests and barriers collapse, from 3 barriers a block to 1; shuffles rise from 5 a block to 45.
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

// A fixed grid walks over the data, sums in registers, and folds once at the end.
//
// The index is unsigned, which may wrap round by the rules of the language: a compiler cannot tell how many rounds the
// loop makes, so it keeps one load a round, which waits for the one before. See grid_stride_signed.
// Versus: shuffle: as many blocks as fill the GPU, each thread with as many elements as it takes.
// Expect: barriers, shuffles and instructions per element fall; global loads stay.
extern "C" __global__ void grid_stride(const element* data, element* partial, unsigned n) {
    element sum = block_sum(strided_sum(data, n));
    if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

// The same with an index that cannot wrap round: the compiler unrolls the loop.
//
// A signed index that overflows is an error of the program, so a compiler may count the rounds beforehand and make four
// loads before it needs the first. An H200 read 2,629 GB/s with the unsigned index and 4,363 with this one.
// Versus: grid_stride: the index is a signed 64-bit number, where it was unsigned.
// Expect: branches fall from 34,880 to 11,840 (64 blocks); loads of global memory and barriers stay.
extern "C" __global__ void grid_stride_signed(const element* data, element* partial, unsigned n) {
    long long threads = (long long)gridDim.x * blockDim.x;
    element sum = 0;
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += threads) sum += data[i];
    sum = block_sum(sum);
    if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

struct alignas(4 * sizeof(element)) Four { element x, y, z, w; };  // 16 bytes for elements of 4

// Four elements a load; what n % 4 leaves is added one by one.
//
// `data` must begin at a multiple of 16 bytes: a view that begins elsewhere stops the kernel (misaligned address).
// Versus: grid_stride: a lane loads 16 bytes, not 4.
// Expect: load requests fall to a quarter, and instructions with them; sectors stay: the bytes are the same.
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

// Sixteen elements a thread and round: four loads of 16 bytes that do not wait for each other.
//
// The first elements, up to a multiple of 16 bytes, and the last ones are added one by one, so any view of any length
// will do. A fixed number of loads a round needs no unrolling, so the index may as well be unsigned.
// Versus: vectorized: a block takes 4T neighbouring groups of four a round and each thread four of them, T apart; and
//     `data` may begin anywhere.
// Expect: branches fall; requests and sectors stay. What counters do not show is the gain: four times the bytes in
//     flight, 4,577 GB/s in place of 4,428 on an H200 whose data sheet says 4,800.
extern "C" __global__ void vectorized_unrolled(const element* data, element* partial, unsigned n) {
    unsigned off = (unsigned)((unsigned long long)data % sizeof(Four) / sizeof(element));
    unsigned head = min(n, (4 - off) % 4), count = (n - head) / 4;
    const Four* fours = reinterpret_cast<const Four*>(data + head);
    unsigned width = blockDim.x, threads = gridDim.x * width, i = blockIdx.x * width + threadIdx.x;
    element sum = 0;
    unsigned k = blockIdx.x * 4 * width + threadIdx.x, whole = count / (4 * width) * (4 * width);
    for (; k < whole; k += 4 * threads) {
        Four a = fours[k], b = fours[k + width], c = fours[k + 2 * width], d = fours[k + 3 * width];
        sum += ((a.x + a.y) + (a.z + a.w)) + ((b.x + b.y) + (b.z + b.w));
        sum += ((c.x + c.y) + (c.z + c.w)) + ((d.x + d.y) + (d.z + d.w));
    }
    for (k = whole + i; k < count; k += threads) {
        Four a = fours[k];
        sum += (a.x + a.y) + (a.z + a.w);
    }
    unsigned rest = head + 4 * count;
    if (i < head) sum += data[i];
    if (i < n - rest) sum += data[rest + i];
    sum = block_sum(sum);
    if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

// --- one number at the end -------------------------------------------------------------------------------------------

// A second launch, of one block, adds the partial sums: `partial` has `blocks` of them.
// Versus: grid_stride: one block more, in a launch of its own.
// Expect: one barrier more, and the load requests for the partial sums, one for 32 of them.
extern "C" __global__ void finish_second_launch(const element* partial, element* total, unsigned blocks) {
    element sum = 0;
    for (unsigned i = threadIdx.x; i < blocks; i += blockDim.x) sum += partial[i];
    sum = block_sum(sum);
    if (threadIdx.x == 0) *total = sum;
}

// The first thread of each block adds its sum to the total: one atomic a block. *total is 0 before.
// Versus: finish_second_launch: a block adds to the total where it stored a partial sum; the second launch is gone.
// Expect: global atomics equal the number of blocks; no store is left, and no load of partial sums.
extern "C" __global__ void finish_atomic(const element* data, element* total, unsigned n) {
    element sum = block_sum(strided_sum(data, n));
    if (threadIdx.x == 0) atomicAdd(total, sum);
}

// The block that finishes last adds the partial sums, always in the same order. *done is 0 before and after.
// Versus: finish_atomic: the atomic counts finished blocks, where it added sums; the last block reads and adds them.
// Expect: one atomic a block as before; stores of the partial sums come back, and one block's loads of them.
// Source: CUDA C++ Programming Guide, memory fence functions.
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

#ifndef WITHOUT_GRID_SYNC
// All blocks meet at a barrier of the grid, then block 0 adds the partial sums.
//
// A cooperative launch: all blocks must be on the GPU at once, or none could go on.
// Versus: finish_last_block: a barrier of the whole grid stands where blocks counted themselves.
// Expect: the same stores; the barrier is made of atomics too, and of loads that wait for the last block.
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
#endif
