/* Pointers, shuffles down within a width, loops that stop at padding, widths kept in offsets, lanes by the mean. */

// BEGIN SOLUTION 7.2
    for (int row = blockIdx.x * blockDim.x + threadIdx.x; row < rows; row += blockDim.x * gridDim.x) {
        float total = 0;
        for (int k = indptr[row], end = indptr[row + 1]; k < end; ++k) total = fmaf(alpha * data[k], x[indices[k]], total);
        if (beta != 0) total += beta * y[row];
        y[row] = total;
    }
// END SOLUTION

// BEGIN SOLUTION 7.3
    int lane = threadIdx.x % 32, row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    float total = 0;
    if (row < rows) {
        const int end = indptr[row + 1];
        for (int k = indptr[row] + lane; k < end; k += 32) total += data[k] * x[indices[k]];
    }
    for (int mask = 1; mask < 32; mask *= 2) total += __shfl_xor_sync(FULL, total, mask);
    if (row < rows && lane == 0) y[row] = total;
// END SOLUTION

// BEGIN SOLUTION 7.4
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / lanes, lane = threadIdx.x & (lanes - 1);
    bool there = row < rows;
    int k = there ? indptr[row] + lane : 0, end = there ? indptr[row + 1] : 0;
    float total = 0;
    for (; k < end; k += lanes) total += data[k] * x[indices[k]];
    for (int offset = 1; offset < lanes; offset *= 2) total += __shfl_down_sync(FULL, total, offset, lanes);
    if (there && lane == 0) y[row] = total;
// END SOLUTION

// BEGIN SOLUTION 7.6
    for (int slot = 0; slot < rows * width; slot++) {
        columns[slot] = -1;
        values[slot] = 0;
    }
    for (int row = 0; row < rows; row++) {
        for (int k = indptr[row], slot = row; k < indptr[row + 1]; k++, slot += rows) {
            columns[slot] = indices[k];
            values[slot] = data[k];
        }
    }
// END SOLUTION

// BEGIN SOLUTION 7.6
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) {
        float total = 0;
        for (int slot = row; slot < rows * width && columns[slot] >= 0; slot += rows) {
            total += values[slot] * x[columns[slot]];
        }
        y[row] = total;
    }
// END SOLUTION

// BEGIN SOLUTION 7.7
    for (int row = 0; row < rows; row++) {
        int place = row / sigma * sigma;
        for (int other = place; other < min(rows, row / sigma * sigma + sigma); other++) {
            if (lengths[other] > lengths[row] || (lengths[other] == lengths[row] && other > row)) place++;
        }
        permutation[place] = row;
    }
// END SOLUTION

// BEGIN SOLUTION 7.7
    int slices = (rows + height - 1) / height;
    offsets[0] = 0;
    for (int s = 0; s < slices; s++) {
        int width = 0;
        for (int p = s * height; p < rows && p < (s + 1) * height; p++) {
            width = max(width, indptr[permutation[p] + 1] - indptr[permutation[p]]);
        }
        offsets[s + 1] = offsets[s] + width * height;
    }
    for (int slot = 0; slot < offsets[slices]; slot++) {
        columns[slot] = -1;
        values[slot] = 0;
    }
    for (int p = 0; p < rows; p++) {
        int row = permutation[p], slot = offsets[p / height] + p % height;
        for (int k = indptr[row]; k < indptr[row + 1]; k++, slot += height) {
            columns[slot] = indices[k];
            values[slot] = data[k];
        }
    }
// END SOLUTION

// BEGIN SOLUTION 7.8
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p < rows) {
        int first = offsets[p / height] + p % height, width = (offsets[p / height + 1] - offsets[p / height]) / height;
        float total = 0;
        for (int k = 0; k < width; k++) {
            int column = columns[first + k * height];
            float value = values[first + k * height];
            if (column != -1) total += value * x[column];
        }
        y[permutation[p]] = total;
    }
// END SOLUTION

// BEGIN SOLUTION 7.9
    int entries = 0;
    for (int row = 0; row < rows; row++) entries += lengths[row];
    int mean = rows > 0 ? (entries + rows - 1) / rows : 0, lanes = 1;
    while (lanes < mean && lanes < 32) lanes *= 2;
    choice[0] = lanes;
    choice[1] = 0;
// END SOLUTION
