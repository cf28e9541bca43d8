// A branch per lane against the same branch per warp, and the same choice without a branch, in CUDA C++.

// Neighbouring lanes take different sides: every warp runs both, half empty.
//
// Expect: one divergent branch per warp, 8 per 256-thread block, and a store request for each side. The load stands
// before the branch, as the compiler moves it.
//
// Args:
//     x: n whole numbers, not negative.
//     y: n whole numbers, written.
extern "C" __global__ void by_lane(const int* x, int* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        if (i % 2 == 0)
            y[i] = 3 * x[i] + 1;
        else
            y[i] = x[i] / 2;
    }
}

// Whole warps take different sides: every warp runs one, full.
//
// Versus: by_lane: the elements are grouped, 32 even ones and then 32 odd ones.
//
// Expect: divergent branches fall from 8 per 256-thread block to 0, with the same number of branches, and stores to one
// request per warp.
//
// Args:
//     x: n whole numbers, not negative, grouped; n a multiple of 64.
//     y: n whole numbers, written, grouped alike.
extern "C" __global__ void by_warp(const int* x, int* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        if (i / 32 % 2 == 0)
            y[i] = 3 * x[i] + 1;
        else
            y[i] = x[i] / 2;
    }
}

// Both sides for every lane, and a selection: no branch, so nothing diverges.
//
// Versus: by_lane: both values are computed before one is chosen; the elements lie as they did.
//
// Expect: divergent branches fall from 8 per 256-thread block to 0, and warp instructions fall, since each side is only
// a few. The compiler chooses: with x[i] read on both sides of the question mark, it makes a branch of it again.
//
// Args:
//     x: n whole numbers, not negative.
//     y: n whole numbers, written.
extern "C" __global__ void selected(const int* x, int* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        int v = x[i], up = 3 * v + 1, down = v / 2;
        y[i] = i % 2 == 0 ? up : down;
    }
}
