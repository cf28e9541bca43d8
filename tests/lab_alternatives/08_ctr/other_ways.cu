/*
Loops over the grid, pairs of numbers at once where rows allow it, a butterfly, hidden layers on the way, and a shared
sum.

8.2 counts ranks; 8.3 reads two numbers at a time where dim is even; 8.6 sorts by counting smaller rows, and keeps the
state in every lane; 8.8 keeps the rows of a sample; 8.10 takes bf16.
*/

// BEGIN SOLUTION 8.2
for (int t = blockIdx.x * blockDim.x + threadIdx.x; t < samples; t += gridDim.x * blockDim.x) {
    int id = 0, distinct = 0;
    bool found = false;
    for (int i = 0; i < seen; i++) {
        int before = 0;
        for (int j = 0; j < i; j++) before += trained[j] == trained[i];
        if (before > 0) continue;
        distinct++;
        if (trained[i] <= raw[t]) id++;
        if (trained[i] == raw[t]) found = true;
    }
    ids[t] = found ? id : 0;
    if (t == 0) *rows = distinct + 1;
}
// END SOLUTION

// BEGIN SOLUTION 8.2
for (int f = 0; f < fields; f++) offsets[f] = f == 0 ? 0 : offsets[f - 1] + rows[f - 1];
// END SOLUTION

// BEGIN SOLUTION 8.2
int sample = 0, field = 0;
bool bad = false;
for (sample = 0; sample < samples && !bad; sample++) {
    for (field = 0; field < fields && !bad; field++) {
        int id = ids[sample * fields + field];
        bad = id < 0 || id >= rows[field];
    }
}
place[0] = bad ? sample - 1 : -1;
place[1] = bad ? field - 1 : -1;
// END SOLUTION

// BEGIN SOLUTION 8.2
int i = blockIdx.x * blockDim.x + threadIdx.x;
if (i < n) y[i] = log1pf(fmaxf(x[i], 0.0f));  // fmaxf takes the number where the other is NaN
// END SOLUTION

// BEGIN SOLUTION 8.3
int t = blockIdx.x * blockDim.x + threadIdx.x;
if (t >= samples * fields) return;
long long row = ids[t];
row += offsets[t % fields];
place[t] = row * (long long)dim;
// END SOLUTION

// BEGIN SOLUTION 8.3
int t = blockIdx.x * blockDim.x + threadIdx.x;
if (dim % 2 == 0) {
    int half = dim / 2, lookup = t / half;
    if (lookup >= samples * fields) return;
    long long row = offsets[lookup % fields] + ids[lookup];
    reinterpret_cast<float2*>(out)[t] = reinterpret_cast<const float2*>(table)[row * half + t % half];
    return;
}
int lookup = t / dim;
if (lookup < samples * fields) {
    const float* row = table + (offsets[lookup % fields] + ids[lookup]) * dim;
    out[t] = row[t - lookup * dim];
}
// END SOLUTION

// BEGIN SOLUTION 8.5
int width = fields * dim;
for (int t = blockIdx.x * blockDim.x + threadIdx.x; t < samples * width; t += gridDim.x * blockDim.x) {
    int sample = t / width, place = t % width, field = place / dim;
    float* row = total + (ids[sample * fields + field] + offsets[field]) * dim;
    atomicAdd(row + place % dim, grad[t]);
}
// END SOLUTION

// BEGIN SOLUTION 8.6
int found = 0;
for (int i = 0; i < lookups; i++) {
    int place = 0;
    for (int j = 0; j < lookups; j++) place += rows[j] < rows[i] || (rows[j] == rows[i] && j < i);
    order[place] = i;
}
for (int k = 0; k < lookups; k++) {
    if (k > 0 && rows[order[k]] == rows[order[k - 1]]) continue;
    starts[found] = k;
    touched[found] = rows[order[k]];
    found++;
}
starts[found] = lookups;
// END SOLUTION

// BEGIN SOLUTION 8.6
int t = blockIdx.x * blockDim.x + threadIdx.x, warp = t >> 5, lane = t & 31;
if (warp >= found) return;
long long row = touched[warp];
float g = 0, old = state[row];
for (int k = starts[warp], end = starts[warp + 1]; k < end; k++) {
    if (lane < dim) g += grad[order[k] * dim + lane];
}
float mean = g * g / dim;
for (int mask = 1; mask < 32; mask *= 2) mean += __shfl_xor_sync(FULL, mean, mask);
float now = old + mean;
__syncwarp();
if (lane == 0) state[row] = now;
if (lane < dim) table[row * dim + lane] -= lr * g / (sqrtf(now) + eps);
// END SOLUTION

// BEGIN SOLUTION 8.7
for (int sample = blockIdx.x * blockDim.x + threadIdx.x; sample < samples; sample += gridDim.x * blockDim.x) {
    float one[32], two[32];
    for (int h = 0; h < hidden1; h++) {
        const float* w = w1 + h * (fields * dim + numbers);
        float sum = 0;
        for (int f = 0; f < fields; f++) {
            const float* row = table + (offsets[f] + ids[sample * fields + f]) * dim;
            for (int d = 0; d < dim; d++) sum += *w++ * row[d];
        }
        for (int k = 0; k < numbers; k++) sum += *w++ * dense[sample * numbers + k];
        sum += b1[h];
        one[h] = sum > 0 ? sum : 0;
    }
    for (int h = 0; h < hidden2; h++) {
        float sum = b2[h];
        for (int k = 0; k < hidden1; k++) sum += w2[h * hidden1 + k] * one[k];
        two[h] = sum > 0 ? sum : 0;
    }
    float logit = b3[0];
    for (int h = 0; h < hidden2; h++) logit += w3[h] * two[h];
    logits[sample] = logit;
}
// END SOLUTION

// BEGIN SOLUTION 8.7
double sum = 0;
for (int i = 0; i < samples; i++) {
    double z = logits[i];
    sum += (z > 0 ? z : 0) - z * labels[i] + log1p(exp(-fabs(z)));
}
*mean = sum / samples;
// END SOLUTION

// BEGIN SOLUTION 8.8
int batch = blockDim.x, steps = samples / batch;
for (int step = 0; step < steps; step++) {
    int sample = step * batch + threadIdx.x;
    const int* mine = ids + sample * fields;
    float z = 0;
    for (int f = 0; f < fields; f++) z += weights[offsets[f] + mine[f]];
    __syncthreads();
    float y = labels[sample];
    losses[sample] = (z > 0 ? z : 0) - z * y + log1pf(expf(-fabsf(z)));
    float change = -lr * (1.0f / (1.0f + expf(-z)) - y) / batch;
    for (int f = 0; f < fields; f++) atomicAdd(weights + offsets[f] + mine[f], change);
    if (step + 1 < steps) __syncthreads();
}
for (int sample = steps * batch + threadIdx.x; sample < samples; sample += batch) losses[sample] = 0;
// END SOLUTION

// BEGIN SOLUTION 8.9
for (int t = blockIdx.x * blockDim.x + threadIdx.x; t < samples; t += gridDim.x * blockDim.x) {
    int later = 0;
    for (int i = 0; i < samples; i++) {
        if (times[i] > times[t]) later++;
    }
    test[t] = later < count ? 1 : 0;
}
// END SOLUTION

// BEGIN SOLUTION 8.9
int t = blockIdx.x * blockDim.x + threadIdx.x;
if (t < samples) {
    long long begin = times[t] / bucket * bucket;
    double shown = k, clicked = k * prior;
    for (int i = 0; i < samples; i++) {
        if (times[i] >= begin || ids[i] != ids[t]) continue;
        shown += 1;
        clicked += labels[i];
    }
    rates[t] = clicked / shown;
}
// END SOLUTION

// BEGIN SOLUTION 8.9
double above = 0, pairs = 0;
for (int i = 0; i < samples; i++) {
    for (int j = 0; j < i; j++) {
        if (labels[i] == labels[j]) continue;
        double clicked = labels[i] ? scores[i] : scores[j], other = labels[i] ? scores[j] : scores[i];
        above += clicked > other ? 1 : clicked == other ? 0.5 : 0;
        pairs += 1;
    }
}
*result = above / pairs;
// END SOLUTION

// BEGIN SOLUTION 8.9
double mean = 0, rate = 0;
for (int i = 0; i < samples; i++) {
    mean += p[i] / samples;
    rate += (double)labels[i] / samples;
}
*result = mean / rate;
// END SOLUTION

// BEGIN SOLUTION 8.9
double rate = 0, mine = 0, theirs = 0;
for (int i = 0; i < samples; i++) rate += labels[i];
rate /= samples;
for (int i = 0; i < samples; i++) {
    mine += labels[i] ? log(p[i]) : log1p(-p[i]);
    theirs += labels[i] ? log(rate) : log1p(-rate);
}
*result = mine / theirs;
// END SOLUTION

// BEGIN SOLUTION 8.10
double numbers = (double)model[4] * model[1] * model[2];
double moved = 12 * numbers + 28.0 * model[0] * model[2], flops = 6.0 * model[3] * model[4];
result[0] = 2;
for (int i = 0; i < 2; i++) {
    double* step = result + 1 + 5 * i;
    double reading = moved / gpu[0], computing = flops / gpu[1 + i], host = model[5] * gpu[3];
    step[0] = moved;
    step[1] = flops;
    step[2] = model[5];
    step[3] = (reading + computing > host ? reading + computing : host) * 1e6;
    step[4] = host > reading + computing ? 2 : computing > reading ? 1 : 0;
}
result[11] = result[4] / result[9];
// END SOLUTION
