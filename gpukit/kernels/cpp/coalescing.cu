// The same number of loads, at addresses that lie closer together or further apart, in CUDA C++: y becomes a copy.

// A warp reads 32 neighbours, and every byte that moves is used.
//
// Expect: 4 sectors per load request: 32 lanes x 4 bytes = 128 bytes = 4 sectors of 32.
//
// Args:
//     x: n elements.
//     y: n elements, written.
extern "C" __global__ void contiguous(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i];
}

// A stride of 8 elements, 32 bytes: every lane has a sector of its own.
//
// Versus: contiguous: the elements lie `stride` apart; the rung has a stride of 8.
//
// Expect: 32 sectors per load request instead of 4, as for every stride from 8 on. Requests stay.
//
// Args:
//     x: n * stride elements; int reaches 2^31 of them.
//     y: n elements, written.
extern "C" __global__ void every_nth(const float* x, int stride, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i * stride];
}

// Where the lanes of a warp read is up to the data.
//
// Versus: contiguous: the elements lie in random order, and an array says where.
//
// Expect: a second load request per warp, for the index, of 4 sectors, and close to 32 for x[index[i]].
//
// Args:
//     x: n elements.
//     index: n places in x.
//     y: n elements, written.
extern "C" __global__ void gather(const float* x, const int* index, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[index[i]];
}
