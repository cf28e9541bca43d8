// Rows against columns of a 2-D array, in CUDA C++: b becomes a copy of an n x n matrix that lies row by row.

// Lanes along a row, which lies side by side in memory: x is the column.
//
// Expect: 4 sectors per load and store request, for n a multiple of 8.
//
// Args:
//     a: n x n elements, row by row.
//     b: n x n elements, row by row, written.
extern "C" __global__ void along_rows(const float* a, float* b, int n) {
    int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < n && column < n) b[row * n + column] = a[row * n + column];
}

// Lanes down a column: neighbours are a whole row apart, and each has a sector of its own.
//
// Versus: along_rows: x is the row.
//
// Expect: 32 sectors per load and store request instead of 4. Requests stay.
//
// Args:
//     a: n x n elements, row by row.
//     b: n x n elements, row by row, written.
extern "C" __global__ void down_columns(const float* a, float* b, int n) {
    int row = blockIdx.x * blockDim.x + threadIdx.x, column = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < n && column < n) b[row * n + column] = a[row * n + column];
}
