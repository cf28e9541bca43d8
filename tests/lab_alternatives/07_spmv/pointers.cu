/* 7.4 swaps with the partner by an indexed shuffle; 7.8 goes along its slots by pointers, and stops at padding. */

// BEGIN SOLUTION 7.4
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = t / lanes;
    float part = 0;
    if (row < rows) {
        const int end = indptr[row + 1];
        for (int k = indptr[row] + t % lanes; k < end; k += lanes) part += data[k] * x[indices[k]];
    }
    for (int half = lanes >> 1; half; half >>= 1) {
        const float other = __shfl_sync(FULL, part, t ^ half, lanes);
        part += other;
    }
    if (row < rows && t % lanes == 0) y[row] = part;
// END SOLUTION

// BEGIN SOLUTION 7.8
    const int place = blockIdx.x * blockDim.x + threadIdx.x;
    if (place >= rows) return;
    const int slice = place / height;
    const int* column = columns + offsets[slice] + place % height;
    const float* value = values + offsets[slice] + place % height;
    const int* end = columns + offsets[slice + 1];
    float total = 0;
    for (; column < end; column += height, value += height) {
        const int c = *column;
        if (c < 0) break;
        total = fmaf(*value, x[c], total);
    }
    y[permutation[place]] = total;
// END SOLUTION
