// Sorting, merging, and moving what is kept to the front.

__device__ void order(int& low, int& high, bool ascending) {
    if ((low > high) == ascending) {
        int swapped = low;
        low = high;
        high = swapped;
    }
}

// Sorts the 256 keys of each block; 128 threads.
extern "C" __global__ void bitonic_block(int* keys) {
    __shared__ int s[256];
    int t = threadIdx.x, start = blockIdx.x * 256;
    s[t] = keys[start + t];
    s[t + 128] = keys[start + t + 128];
    for (int size = 2; size <= 256; size *= 2)
        for (int stride = size / 2; stride > 0; stride /= 2) {
            __syncthreads();
            int low = 2 * t - (t & (stride - 1));
            order(s[low], s[low + stride], (low & size) == 0);
        }
    __syncthreads();
    keys[start + t] = s[t];
    keys[start + t + 128] = s[t + 128];
}

// One step of the same network over the whole array.
extern "C" __global__ void bitonic_step(int* keys, int size, int stride) {
    int t = blockIdx.x * blockDim.x + threadIdx.x, low = 2 * t - (t & (stride - 1));
    int a = keys[low], b = keys[low + stride];
    order(a, b, (low & size) == 0);
    keys[low] = a;
    keys[low + stride] = b;
}

// How often each digit of 4 bits occurs in each block: counts[digit][block].
extern "C" __global__ void radix_count(const unsigned* keys, unsigned* counts, int n, int shift) {
    __shared__ unsigned s[16];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    if (t < 16) s[t] = 0;
    __syncthreads();
    if (i < n) atomicAdd(&s[keys[i] >> shift & 15], 1u);
    __syncthreads();
    if (t < 16) counts[t * gridDim.x + blockIdx.x] = s[t];
}

// Keys in the order of their digit, equal ones in the order they had. A warp a block; starts[digit][block].
extern "C" __global__ void radix_scatter(const unsigned* keys, const unsigned* starts, unsigned* out, int n, int shift) {
    int lane = threadIdx.x, i = blockIdx.x * 32 + lane;
    bool there = i < n;
    unsigned key = there ? keys[i] : 0, digit = key >> shift & 15;
    unsigned same = __ballot_sync(0xffffffffu, there);
    for (int bit = 0; bit < 4; ++bit) {
        unsigned votes = __ballot_sync(0xffffffffu, digit >> bit & 1);
        same &= digit >> bit & 1 ? votes : ~votes;
    }
    if (there) out[starts[digit * gridDim.x + blockIdx.x] + __popc(same & ((1u << lane) - 1))] = key;
}

// Two sorted arrays into one: each thread finds where its 4 elements begin on the path between them.
extern "C" __global__ void merge(const int* a, int na, const int* b, int nb, int* out) {
    int first = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (first >= na + nb) return;
    int low = max(0, first - nb), high = min(first, na);
    while (low < high) {
        int middle = (low + high) / 2;
        if (a[middle] <= b[first - 1 - middle]) low = middle + 1;
        else high = middle;
    }
    int i = low, j = first - low;
    for (int k = first; k < min(first + 4, na + nb); ++k)
        out[k] = j >= nb || (i < na && a[i] <= b[j]) ? a[i++] : b[j++];
}

// What is positive moves to the front, in order; one block of whole warps.
extern "C" __global__ void compaction(const int* in, int* out, int* kept, int n) {
    __shared__ int before[33];
    int t = threadIdx.x, lane = t % 32, warp = t / 32;
    bool keep = t < n && in[t] > 0;
    unsigned votes = __ballot_sync(0xffffffffu, keep), lanes_below;
    asm("mov.u32 %0, %%lanemask_lt;" : "=r"(lanes_below));
    if (lane == 0) before[warp + 1] = __popc(votes);
    __syncthreads();
    if (t == 0) {
        before[0] = 0;
        for (int k = 0; k < blockDim.x / 32; ++k) before[k + 1] += before[k];
        *kept = before[blockDim.x / 32];
    }
    __syncthreads();
    if (keep) out[before[warp] + __popc(votes & lanes_below)] = in[t];
}
