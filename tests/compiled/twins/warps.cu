// Shuffles, votes and masks: mistakes and cures.

#define FULL 0xffffffffu

extern "C" __global__ void shuffle_in_if(int* out) {
    int t = threadIdx.x, v = t;
    if (t < 16) {
        v = __shfl_down_sync(FULL, v, 1);  //! shuffle_mask_names_absent_lane: lane
    }
    out[t] = v;
}

extern "C" __global__ void shuffle_in_if_cured(int* out) {
    int t = threadIdx.x, v = t;
    if (t < 16) v = __shfl_xor_sync(0xffff, v, 1);
    out[t] = v;
}

extern "C" __global__ void shuffle_from_an_idle_lane(int* out) {
    int t = threadIdx.x, v = t;
    if (t < 16) {
        v = __shfl_down_sync(0xffff, v, 1);  //! shuffle_inactive_source: lane
    }
    out[t] = v;
}

extern "C" __global__ void shuffle_behind_the_guard(const float* x, float* out, int n) {
    int t = threadIdx.x;
    if (t >= n) return;
    float v = x[t];
    v += __shfl_down_sync(FULL, v, 1);  //! shuffle_mask_names_absent_lane: lane
    out[t] = v;
}

extern "C" __global__ void shuffle_across_a_gap(const float* x, float* out) {
    int t = threadIdx.x;
    unsigned mask = __ballot_sync(FULL, t % 3 != 0);
    float v = x[t];
    if (t % 3 != 0) {
        v = __shfl_up_sync(mask, v, 1);  //! shuffle_inactive_source: lane
    }
    out[t] = v;
}

extern "C" __global__ void mask_of_the_others(int* out) {
    int t = threadIdx.x;
    out[t] = __ballot_sync(0xffff, t > 3);  //! warp_mask_excludes_caller: lane
}

extern "C" __global__ void mask_of_the_others_cured(int* out) {
    int t = threadIdx.x;
    out[t] = __ballot_sync(FULL, t > 3);
}

extern "C" __global__ void ballot_as_mask(const int* x, int* out) {
    int t = threadIdx.x;
    unsigned mask = __ballot_sync(FULL, x[t] > 0);
    out[t] = __shfl_sync(mask, t, 0);  //! warp_mask_excludes_caller: lane
}

extern "C" __global__ void wrong_half(const int* x, int* out) {
    int t = threadIdx.x;
    if (t % 2 == 0) {
        __syncwarp(0xaaaaaaaa);  //! warp_mask_excludes_caller: lane
    }
    out[t] = x[t];
}

extern "C" __global__ void syncwarp_in_if(int* out) {
    int t = threadIdx.x;
    if (t < 16) {
        __syncwarp();  //! shuffle_mask_names_absent_lane: lane
        out[t] = 1;
    }
    out[t] += t;
}

extern "C" __global__ void shuffle_in_a_loop(const float* x, float* out) {
    int t = threadIdx.x;
    float v = x[t];
    for (int k = 0; k < t % 4; ++k) {
        v += __shfl_xor_sync(FULL, v, 1);  //! shuffle_mask_names_absent_lane: lane
    }
    out[t] = v;
}

extern "C" __global__ void shuffle_in_a_loop_cured(const float* x, float* out) {
    int t = threadIdx.x;
    float v = x[t];
    for (int k = 0; k < 4; ++k) {
        float other = __shfl_xor_sync(FULL, v, 1);
        if (k < t % 4) v += other;
    }
    out[t] = v;
}

// Two branches that meet in one operation, as hardware since Volta has it.
extern "C" __global__ void both_branches_cured(const int* x, int* out) {
    int t = threadIdx.x, v = x[t];
    if (t % 2 == 0) v = __shfl_xor_sync(FULL, v, 1) + 1;
    else v = __shfl_xor_sync(FULL, v, 1) - 1;
    out[t] = v;
}

extern "C" __global__ void aggregated_cured(const int* keys, int* bins) {
    int key = keys[blockIdx.x * blockDim.x + threadIdx.x];
    unsigned same = __match_any_sync(FULL, key);
    if (threadIdx.x % 32 == __ffs(same) - 1) atomicAdd(&bins[key], __popc(same));
}
