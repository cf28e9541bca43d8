// An array of structures against a structure of arrays, in CUDA C++: the x of n points.

struct Point {
    float x, y, z, w;
};

// Points one after the other: to read every x is to move every y, z and w too.
//
// Expect: 16 sectors per load request: a warp's 32 points take 512 bytes, and each sector holds the x of two.
//
// Args:
//     points: n points of four floats.
//     x: n floats, written.
extern "C" __global__ void array_of_structures(const Point* points, float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = points[i].x;
}

// Each field in an array of its own: neighbouring lanes read neighbouring x.
//
// Versus: array_of_structures: the same points, field by field; all x come first.
//
// Expect: 4 sectors per load request instead of 16, all of their bytes used.
//
// Args:
//     fields: 4 n floats, all x, all y, all z, all w.
//     x: n floats, written.
extern "C" __global__ void structure_of_arrays(const float* fields, float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = fields[i];
}
