// A k-way branch in CUDA C++.

// 32 kinds of work, one case after the other: a warp runs every case that one of its lanes wants.
//
// Expect: with the 32 kinds in turn, as they lie, one lane works at a time, and a warp has 32 divergent branches, one at
// the test of each case; grouped by kind, all lanes work and no branch diverges.
//
// Args:
//     x: n whole numbers; n a multiple of 1,024.
//     kind: n whole numbers, 0 to 31.
//     y: n whole numbers, written.
//     rounds: how often each operation is repeated.
extern "C" __global__ void one_of_32(const unsigned* x, const int* kind, unsigned* y, int rounds, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        unsigned v = x[i];
        int mine = kind[i];
        for (int k = 0; k < 32; k++)
            if (mine == k)
                for (int r = 0; r < rounds; r++) v = v * (2 * k + 3) + k;
        y[i] = v;
    }
}
