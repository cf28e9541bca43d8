// The matrix product in CUDA C++: tiles in shared memory, their side a template parameter.
//
// C = A B, with A rows x inner, B inner x columns and C rows x columns, row-major. A block has side x side threads and
// makes one tile of C; the grid has as many blocks as C has tiles, the last ones partly empty.

// One tile of C. Tiles that stick out of A or B are filled up with zeros, which add nothing.
template <typename T, int side>
__device__ void tile_of_product(const T* a, const T* b, T* c, int rows, int inner, int columns) {
    __shared__ T tile_a[side][side], tile_b[side][side];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * side + ty, column = blockIdx.x * side + tx;
    T sum = 0;
    for (int start = 0; start < inner; start += side) {  // the last round may be a part of a tile: it counts too
        tile_a[ty][tx] = row < rows && start + tx < inner ? a[size_t(row) * inner + start + tx] : T(0);
        tile_b[ty][tx] = start + ty < inner && column < columns ? b[size_t(start + ty) * columns + column] : T(0);
        __syncthreads();  // both tiles are full before anyone multiplies
        for (int k = 0; k < side; k++) sum += tile_a[ty][k] * tile_b[k][tx];
        __syncthreads();  // everyone is done with them before the next round overwrites them
    }
    if (row < rows && column < columns) c[size_t(row) * columns + column] = sum;
}

// Tiles of 16 x 16: every element that is loaded serves 16 threads.
// Versus: coalesced: a block loads tiles of A and B into shared memory and multiplies from there.
// Expect: global loads fall 16 times; shared loads take their place, 20 a warp for 16 rounds of k: four neighbours of
// tile_a come in one load of 16 bytes.
extern "C" __global__ void tiled_16(const float* a, const float* b, float* c, int rows, int inner, int columns) {
    tile_of_product<float, 16>(a, b, c, rows, inner, columns);
}

// Tiles of 32 x 32: every element that is loaded serves 32 threads.
// Versus: tiled_16: the side of the tile, a template parameter.
// Expect: global load requests fall by half.
extern "C" __global__ void tiled_32(const float* a, const float* b, float* c, int rows, int inner, int columns) {
    tile_of_product<float, 32>(a, b, c, rows, inner, columns);
}
