// CUB's collectives of a warp and a block.

#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/warp/warp_reduce.cuh>

extern "C" __global__ void cub_warp_reduce(const int* x, int* out) {
    using Reduce = cub::WarpReduce<int>;
    __shared__ typename Reduce::TempStorage storage[4];
    int warp = threadIdx.x / 32;
    int sum = Reduce(storage[warp]).Sum(x[blockIdx.x * blockDim.x + threadIdx.x]);
    if (threadIdx.x % 32 == 0) out[blockIdx.x * 4 + warp] = sum;
}

extern "C" __global__ void cub_block_reduce(const float* x, float* out) {
    using Reduce = cub::BlockReduce<float, 128>;
    __shared__ typename Reduce::TempStorage storage;
    float sum = Reduce(storage).Sum(x[blockIdx.x * 128 + threadIdx.x]);
    if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

extern "C" __global__ void cub_block_scan(const int* x, int* out) {
    using Scan = cub::BlockScan<int, 128>;
    __shared__ typename Scan::TempStorage storage;
    int items[2], i = 2 * (blockIdx.x * 128 + threadIdx.x);
    items[0] = x[i];
    items[1] = x[i + 1];
    Scan(storage).ExclusiveSum(items, items);
    out[i] = items[0];
    out[i + 1] = items[1];
}
