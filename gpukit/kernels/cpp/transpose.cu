// The transpose in CUDA C++: through a tile in shared memory, with and without padding.
//
// Blocks of 32 x R threads, R = 8 or 32, move tiles of 32 x 32 elements: blockIdx.x counts tiles along a row of `x`,
// blockIdx.y along a column. `x` has `rows` x `columns` elements, `y` has `columns` x `rows`.

constexpr int TILE = 32;

// The transpose of x through a tile whose rows have `padding` words more than elements.
template <typename T, int padding>
__device__ void through_tile(const T* x, T* y, int rows, int columns) {
    __shared__ T tile[TILE][TILE + padding];
    int top = blockIdx.y * TILE, left = blockIdx.x * TILE;
    for (int k = threadIdx.y; k < TILE; k += blockDim.y) {
        int row = top + k, column = left + threadIdx.x;
        if (row < rows && column < columns) tile[k][threadIdx.x] = x[size_t(row) * columns + column];
    }
    __syncthreads();  // a thread takes out what others put in
    for (int k = threadIdx.y; k < TILE; k += blockDim.y) {
        int row = top + threadIdx.x, column = left + k;
        if (row < rows && column < columns) y[size_t(column) * rows + row] = tile[threadIdx.x][k];
    }
}

// Rows come in and columns go out as rows: both sides of global memory are coalesced.
// Versus: strided_writes: the turn happens in a tile of shared memory.
// Expect: global store sectors fall 8 times; the columns of the tile are 32-way bank conflicts.
extern "C" __global__ void tiled(const float* x, float* y, int rows, int columns) {
    through_tile<float, 0>(x, y, rows, columns);
}

// A tile with rows of 33 words: its columns go through all the banks.
// Versus: tiled: one word more a row, as a template parameter.
// Expect: bank conflicts fall to 0 and everything else stays.
extern "C" __global__ void padded(const float* x, float* y, int rows, int columns) {
    through_tile<float, 1>(x, y, rows, columns);
}
