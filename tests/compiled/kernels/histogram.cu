// Histograms, and other counting.

// 256 bins in shared memory, with atomics; then one global atomic a bin and block.
extern "C" __global__ void histogram_shared(const int* keys, int* bins, int n) {
    __shared__ int s[256];
    s[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) atomicAdd(&s[keys[i] & 255], 1);
    __syncthreads();
    if (s[threadIdx.x]) atomicAdd(&bins[threadIdx.x], s[threadIdx.x]);
}

// A histogram of 64 bins for each warp of the block, added up at the end.
extern "C" __global__ void histogram_by_warp(const unsigned char* data, unsigned* bins, int n) {
    __shared__ unsigned s[8][64];
    int t = threadIdx.x;
    for (int k = t; k < 512; k += 256) s[k / 64][k % 64] = 0;
    __syncthreads();
    for (int i = blockIdx.x * 256 + t; i < n; i += gridDim.x * 256) atomicAdd(&s[t / 32][data[i] >> 2], 1u);
    __syncthreads();
    if (t < 64) {
        unsigned sum = 0;
        for (int w = 0; w < 8; ++w) sum += s[w][t];
        atomicAdd(&bins[t], sum);
    }
}

// Lanes with the same key count together, and one of them adds the number.
extern "C" __global__ void histogram_matched(const int* keys, int* bins, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned active = __ballot_sync(0xffffffffu, i < n);
    if (i >= n) return;
    unsigned same = __match_any_sync(active, keys[i]);
    if (threadIdx.x % 32 == __ffs(same) - 1) atomicAdd(&bins[keys[i]], __popc(same));
}
