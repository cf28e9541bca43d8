// CUB's block and warp primitives, cooperative groups.
#include <cub/block/block_load.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_exchange.cuh>
#include <cub/warp/warp_reduce.cuh>
#include <cub/warp/warp_scan.cuh>
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;

template <typename T, int N> __global__ void cub_reduce(const T* x, T* y) {
    using R = cub::BlockReduce<T, N>;
    __shared__ typename R::TempStorage s;
    T v = R(s).Sum(x[blockIdx.x * N + threadIdx.x]);
    if (threadIdx.x == 0) y[blockIdx.x] = v;
}
template <typename T, int N> __global__ void cub_raking(const T* x, T* y) {
    using R = cub::BlockReduce<T, N, cub::BLOCK_REDUCE_RAKING>;
    __shared__ typename R::TempStorage s;
    T v = R(s).Sum(x[blockIdx.x * N + threadIdx.x]);
    if (threadIdx.x == 0) y[blockIdx.x] = v;
}
template <typename T, int N, int K> __global__ void cub_scan(const T* x, T* y) {
    using L = cub::BlockLoad<T, N, K, cub::BLOCK_LOAD_TRANSPOSE>;
    using S = cub::BlockScan<T, N>;
    __shared__ union { typename L::TempStorage load; typename S::TempStorage scan; } s;
    T v[K];
    L(s.load).Load(x + blockIdx.x * N * K, v);
    __syncthreads();
    S(s.scan).ExclusiveSum(v, v);
    for (int i = 0; i < K; i++) y[(blockIdx.x * N + threadIdx.x) * K + i] = v[i];
}
template <typename T, int N, int K> __global__ void cub_sort(T* x) {
    using S = cub::BlockRadixSort<T, N, K>;
    __shared__ typename S::TempStorage s;
    T v[K];
    for (int i = 0; i < K; i++) v[i] = x[threadIdx.x * K + i];
    S(s).Sort(v);
    for (int i = 0; i < K; i++) x[threadIdx.x * K + i] = v[i];
}
template <typename T, int N, int K> __global__ void cub_exchange(T* x) {
    using E = cub::BlockExchange<T, N, K>;
    __shared__ typename E::TempStorage s;
    T v[K];
    for (int i = 0; i < K; i++) v[i] = x[i * N + threadIdx.x];
    E(s).StripedToBlocked(v, v);
    for (int i = 0; i < K; i++) x[threadIdx.x * K + i] = v[i] + T(1);
}
template <typename T> __global__ void cub_warp(const T* x, T* y) {
    using R = cub::WarpReduce<T>;
    using S = cub::WarpScan<T>;
    __shared__ typename R::TempStorage r[4];
    __shared__ typename S::TempStorage s[4];
    int w = threadIdx.x / 32;
    T v = x[threadIdx.x], total = R(r[w]).Sum(v), prefix;
    S(s[w]).InclusiveSum(v, prefix);
    y[threadIdx.x] = prefix + total;
}
__global__ void groups(const int* x, int* y, int n) {
    auto block = cg::this_thread_block();
    auto tile = cg::tiled_partition<32>(block);
    __shared__ int s[32];
    int v = block.thread_rank() < n ? x[block.thread_rank()] : 0;
    v = cg::reduce(tile, v, cg::plus<int>());
    if (tile.thread_rank() == 0) s[tile.meta_group_rank()] = v;
    block.sync();
    if (tile.meta_group_rank() == 0) {
        v = tile.thread_rank() < tile.meta_group_size() ? s[tile.thread_rank()] : 0;
        v = cg::reduce(tile, v, cg::plus<int>());
        if (tile.thread_rank() == 0) *y = v;
    }
}
__global__ void small_tiles(const float* x, float* y) {
    auto tile = cg::tiled_partition<8>(cg::this_thread_block());
    __shared__ float s[64];
    float v = x[threadIdx.x];
    for (int o = 4; o; o /= 2) v += tile.shfl_down(v, o);
    if (tile.thread_rank() == 0) s[threadIdx.x / 8] = v;
    __syncthreads();
    y[threadIdx.x] = s[threadIdx.x / 8];
}
template __global__ void cub_reduce<float, 128>(const float*, float*);
template __global__ void cub_reduce<int, 256>(const int*, int*);
template __global__ void cub_reduce<double, 256>(const double*, double*);
template __global__ void cub_raking<float, 128>(const float*, float*);
template __global__ void cub_raking<int, 64>(const int*, int*);
template __global__ void cub_scan<int, 128, 4>(const int*, int*);
template __global__ void cub_scan<float, 64, 8>(const float*, float*);
template __global__ void cub_scan<int, 256, 1>(const int*, int*);
template __global__ void cub_sort<unsigned, 64, 4>(unsigned*);
template __global__ void cub_sort<float, 128, 2>(float*);
template __global__ void cub_exchange<float, 64, 4>(float*);
template __global__ void cub_exchange<double, 64, 3>(double*);
template __global__ void cub_exchange<int, 32, 8>(int*);
template __global__ void cub_warp<int>(const int*, int*);
template __global__ void cub_warp<float>(const float*, float*);
