// How a launch covers an array, in CUDA C++: c = a + b.
//
// Compile with -DELEMENT=int for another type than float.

#ifndef ELEMENT
#define ELEMENT float
#endif

typedef ELEMENT element;

// One element per thread, and a guard for the threads past the end.
//
// Expect: 2 load requests and 1 store request per warp, of 4 sectors each, as in Python.
//
// Args:
//     a, b: n elements of 4 bytes.
//     c: n elements, written.
extern "C" __global__ void vector_add(const element* a, const element* b, element* c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}

// A grid-stride loop with an `int` index: the compiler unrolls it by four.
//
// Versus: vector_add: a fixed grid (SMs x 8 blocks), a loop in place of the guard.
//
// Expect: requests and sectors stay; branches rise, but by less than one a round, because four rounds are one turn of
// the unrolled loop. An `int` that overflows is undefined in C++, so the compiler may count the rounds beforehand. n
// and the threads of the grid together must stay below 2^31.
//
// Args:
//     a, b: n elements of 4 bytes.
//     c: n elements, written.
extern "C" __global__ void grid_stride(const element* a, const element* b, element* c, int n) {
    int stride = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) c[i] = a[i] + b[i];
}

// The same loop with an `unsigned` index: it may wrap round, so the compiler leaves it as it is.
//
// Versus: grid_stride: the index, the stride and n are `unsigned`; `size_t` does the same.
//
// Expect: branches rise to one a round: a wrapped index is defined in C++ and could make the loop go on, so its rounds
// cannot be counted beforehand and it is not unrolled. Requests and sectors stay. On a GPU a thread then has one round's
// loads under way at a time instead of four.
//
// Args:
//     a, b: n elements of 4 bytes.
//     c: n elements, written.
extern "C" __global__ void grid_stride_unsigned(const element* a, const element* b, element* c, unsigned n) {
    unsigned stride = gridDim.x * blockDim.x;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) c[i] = a[i] + b[i];
}
