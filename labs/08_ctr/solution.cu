// Lab 8: Click-through rates. Ids become rows of a table, rows become a probability, and most of a step is memory.
//
// A sample is one impression: an id for each field (which member, which ad, on what device), some dense numbers, and
// a label, 1 if there was a click. All fields share one table: id k of field f is its row offsets[f] + k. Id 0 of
// each field is for what training never saw. A lookup is one id of one sample; lookup number sample * fields + f is
// that of field f.
//
//     ids      int (samples, fields)        offsets  long long (fields,)
//     table    float (rows, dim)            dim is any number from 1 to 64, unless a task says less
//
// Blocks are whole warps, unless a task says one thread. A grid has enough threads for what a task says, and more.
// What is host code in Python is kernels here: nothing of this file runs on the host.

constexpr unsigned FULL = 0xffffffffu;  // the mask of a whole warp

// --- 8.1: answer on paper -------------------------------------------------------------------------------------------
//
// A sector is 32 bytes. Row 0 of the table begins at a sector.

// The sectors that reading one row touches, alone: rows of 4 float ...
// BEGIN SOLUTION 8.1: work out what a lookup, a sample and a step of Adam move
constexpr int SECTORS_OF_4 = 1;
// END SOLUTION

// ... of 8 ...
// BEGIN SOLUTION 8.1: work out what a lookup, a sample and a step of Adam move
constexpr int SECTORS_OF_8 = 1;
// END SOLUTION

// ... and of 32.
// BEGIN SOLUTION 8.1: work out what a lookup, a sample and a step of Adam move
constexpr int SECTORS_OF_32 = 4;
// END SOLUTION

// Fields of 5, 4 and 3 rows in one table: the row of id 3 of the second field (fields and rows count from 0).
// BEGIN SOLUTION 8.1: work out what a lookup, a sample and a step of Adam move
constexpr int ROW_OF_ID = 8;
// END SOLUTION

// 6 fields, dim 32: the bytes of the rows that one sample gathers.
// BEGIN SOLUTION 8.1: work out what a lookup, a sample and a step of Adam move
constexpr int GATHERED_BYTES = 768;
// END SOLUTION

// Adam, float: a step reads gradient, weight and both moments, and writes weight and both moments. Bytes a parameter:
// BEGIN SOLUTION 8.1: work out what a lookup, a sample and a step of Adam move
constexpr int ADAM_BYTES = 28;
// END SOLUTION

// The megabytes (10^6 bytes) of one step of Adam over a table of 10 million rows of 32, whatever the batch is.
// BEGIN SOLUTION 8.1: work out what a lookup, a sample and a step of Adam move
constexpr int ADAM_MEGABYTES = 8960;
// END SOLUTION

// The microseconds that this takes at 4.8 TB/s (4.8 * 10^12 bytes a second), to the nearest whole one.
// BEGIN SOLUTION 8.1: work out what a lookup, a sample and a step of Adam move
constexpr int ADAM_MICROSECONDS = 1867;
// END SOLUTION

// --- 8.2: from raw values to ids ------------------------------------------------------------------------------------

// The ids of one field: the vocabulary is that of the training rows alone, and 0 is for all other values.
//
// The k-th smallest value of `trained`, counted from 1 and each value once, has id k. One thread for each raw value;
// values are few here, so that each thread may look at all pairs of them.
//
// trained: (seen,), the field's values in the training rows. raw: (samples,), any values. Not changed.
// ids: (samples,), the ids of `raw`, set. rows: (1,), how many rows this field needs, set.
extern "C" __global__ void encode(const long long* trained, const long long* raw, int* ids, int* rows, int seen,
                                  int samples) {
    // BEGIN SOLUTION 8.2: turn raw values into ids that training knows, and counts into features
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= samples) return;
    int smaller = 0, distinct = 0;
    bool known = false;
    for (int i = 0; i < seen; i++) {
        bool first = true;
        for (int j = 0; j < i; j++) first = first && trained[j] != trained[i];
        if (first) {
            distinct++;
            smaller += trained[i] < raw[t];
            known = known || trained[i] == raw[t];
        }
    }
    ids[t] = known ? smaller + 1 : 0;
    if (t == 0) rows[0] = distinct + 1;
    // END SOLUTION
}

// Where each field begins in the one table. One thread.
//
// rows: (fields,), the rows of each field, not changed. offsets: (fields,), set.
extern "C" __global__ void offsets_of(const long long* rows, long long* offsets, int fields) {
    // BEGIN SOLUTION 8.2: turn raw values into ids that training knows, and counts into features
    long long before = 0;
    for (int f = 0; f < fields; f++) {
        offsets[f] = before;
        before += rows[f];
    }
    // END SOLUTION
}

// Where the first id is that its field has no row for. One thread.
//
// ids: (samples, fields). rows: (fields,), the rows of each field. Not changed.
// place: (2,), set: the first sample that has one, and its first such field; -1 and -1 if all ids are good.
extern "C" __global__ void first_bad(const int* ids, const long long* rows, int* place, int samples, int fields) {
    // BEGIN SOLUTION 8.2: turn raw values into ids that training knows, and counts into features
    place[0] = place[1] = -1;
    for (int i = 0; i < samples * fields; i++) {
        if (ids[i] < 0 || ids[i] >= rows[i % fields]) {
            place[0] = i / fields;
            place[1] = i % fields;
            return;
        }
    }
    // END SOLUTION
}

// Dense features from counts: log(1 + x), as one feature of a thousand would drown the others. One thread a number.
//
// Click logs say -1 and less for things that were not counted, and NaN for what is missing: both become 0, as a
// count of 0 does. All of y is finite.
//
// x: (n,), not changed. y: (n,), set.
extern "C" __global__ void log_counts(const float* x, float* y, int n) {
    // BEGIN SOLUTION 8.2: turn raw values into ids that training knows, and counts into features
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t < n) y[t] = x[t] > 0 ? log1pf(x[t]) : 0;
    // END SOLUTION
}

// --- 8.3: gather ----------------------------------------------------------------------------------------------------

// place[sample, f] = the element of the flat table (row 0, row 1, ...) with which the row of this lookup begins.
//
// One thread a lookup. The table is not there: it may have 200 million rows of 64, of which no int can tell the
// elements apart.
//
// ids: (samples, fields). offsets: (fields,). Not changed.
// place: (samples, fields), set.
extern "C" __global__ void locate(const int* ids, const long long* offsets, int dim, long long* place, int samples,
                                  int fields) {
    // BEGIN SOLUTION 8.3: find the row of each lookup, and gather the rows
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t < samples * fields) place[t] = (offsets[t % fields] + ids[t]) * dim;
    // END SOLUTION
}

// out[sample, f * dim + d] = table[offsets[f] + ids[sample, f], d]: the rows of a sample, one behind the other.
//
// The grid has enough threads for all elements of out.
//
// ids: (samples, fields). offsets: (fields,). table: (rows, dim). Not changed.
// out: (samples, fields * dim), set.
//
// Cost: neighbouring lanes read neighbouring numbers of a row; nothing is read that is not asked for, and each
// number of a row once.
extern "C" __global__ void gather(const int* ids, const long long* offsets, const float* table, float* out,
                                  int samples, int fields, int dim) {
    // BEGIN SOLUTION 8.3: find the row of each lookup, and gather the rows
    int t = blockIdx.x * blockDim.x + threadIdx.x, lookup = t / dim;
    if (lookup >= samples * fields) return;
    long long row = offsets[lookup % fields] + ids[lookup];
    out[t] = table[row * dim + t % dim];
    // END SOLUTION
}

// --- 8.4: answer on paper -------------------------------------------------------------------------------------------
//
// given.py has three kernels to think about, one warp or eight. The weights begin at a sector: 8 float are one.

// look_up, 32 ids, all different, and at least 8 apart, in random order: the sectors of the request for weights ...
// BEGIN SOLUTION 8.4: predict what sorting the ids changes, and what it does not
constexpr int SECTORS_FAR_APART = 32;
// END SOLUTION

// ... the same ids, sorted ...
// BEGIN SOLUTION 8.4: predict what sorting the ids changes, and what it does not
constexpr int SECTORS_FAR_APART_SORTED = 32;
// END SOLUTION

// ... and the ids 0 to 31, in random order.
// BEGIN SOLUTION 8.4: predict what sorting the ids changes, and what it does not
constexpr int SECTORS_NEIGHBOURS = 4;
// END SOLUTION

// look_up, 256 ids, 8 warps: 32 different ids, at least 8 apart, each of them 8 times. They come in turn, each warp has
// all 32. The sectors of all requests for weights together ...
// BEGIN SOLUTION 8.4: predict what sorting the ids changes, and what it does not
constexpr int SECTORS_IN_TURN = 256;
// END SOLUTION

// ... and when they are sorted.
// BEGIN SOLUTION 8.4: predict what sorting the ids changes, and what it does not
constexpr int SECTORS_SORTED = 32;
// END SOLUTION

// copy_rows, with the same 256 ids, in turn: the sectors of all requests for rows of 32 together ...
// BEGIN SOLUTION 8.4: predict what sorting the ids changes, and what it does not
constexpr int ROW_SECTORS_IN_TURN = 1024;
// END SOLUTION

// ... and when they are sorted. (What caches make of it is another matter: a request is counted before any cache.)
// BEGIN SOLUTION 8.4: predict what sorting the ids changes, and what it does not
constexpr int ROW_SECTORS_SORTED = 1024;
// END SOLUTION

// count_ids, with the same 256 ids, in turn: the most lanes of a warp that add to one address at once ...
// BEGIN SOLUTION 8.4: predict what sorting the ids changes, and what it does not
constexpr int LANES_IN_TURN = 1;
// END SOLUTION

// ... and when they are sorted.
// BEGIN SOLUTION 8.4: predict what sorting the ids changes, and what it does not
constexpr int LANES_SORTED = 8;
// END SOLUTION

// --- 8.5: backward, by atomics --------------------------------------------------------------------------------------

// total[offsets[f] + ids[sample, f], d] += grad[sample, f * dim + d], for all lookups: the gradient of `gather`.
//
// Several samples may have the same id; half of them may have one. The grid has enough threads for all elements of
// grad.
//
// ids: (samples, fields). offsets: (fields,). grad: (samples, fields * dim). Not changed.
// total: (rows, dim), added to.
//
// Cost: 32 numbers a request, as far as a row goes; and the lanes of a warp keep out of each other's way as far
// as dim allows.
extern "C" __global__ void scatter_add(const int* ids, const long long* offsets, const float* grad, float* total,
                                       int samples, int fields, int dim) {
    // BEGIN SOLUTION 8.5: add up gradients by row with atomics
    int t = blockIdx.x * blockDim.x + threadIdx.x, lookup = t / dim;
    if (lookup >= samples * fields) return;
    long long row = offsets[lookup % fields] + ids[lookup];
    atomicAdd(&total[row * dim + t % dim], grad[t]);
    // END SOLUTION
}

// --- 8.6: backward from sorted rows, and the update in the same kernel ----------------------------------------------

// The lookups of a batch, sorted by row: those of one row are a segment. One thread.
//
// rows: (lookups,), the row of each lookup, not changed. There is one lookup at least.
// order: (lookups,), set: the numbers of the lookups by row, those of one row in ascending order.
// starts: (segments + 1,), set: segment s is order[starts[s]] up to, not including, order[starts[s + 1]].
// touched: (segments,), set: the row of each segment, ascending.
extern "C" __global__ void segments(const long long* rows, int* order, int* starts, long long* touched, int lookups) {
    // BEGIN SOLUTION 8.6: sum each row's gradients without atomics, and update the row at once
    for (int i = 0; i < lookups; i++) {
        int place = i;
        for (; place > 0 && rows[order[place - 1]] > rows[i]; place--) order[place] = order[place - 1];
        order[place] = i;
    }
    int found = 0;
    for (int k = 0; k < lookups; k++) {
        if (k == 0 || rows[order[k]] != rows[order[k - 1]]) {
            starts[found] = k;
            touched[found++] = rows[order[k]];
        }
    }
    starts[found] = lookups;
    // END SOLUTION
}

// One step of row-wise Adagrad for the rows that a batch touched, a warp for each; dim is 1 to 32.
//
// g, the gradient of a row, is the sum of its lookups' gradients, added in their order. Then, with one state a row,
//
//     state[row] += mean of g * g over its dim numbers
//     table[row] -= lr * g / (sqrt(state[row]) + eps)
//
// order, starts, touched: as `segments` makes them, not changed; `found` segments.
// grad: (lookups, dim), not changed.
// table: (rows, dim), state: (rows,). Rows that are not touched stay as they are.
//
// Cost: no atomics and no shared memory; a gradient is read once; a row and its state are read once and written once.
extern "C" __global__ void update(const int* order, const int* starts, const long long* touched, const float* grad,
                                  float* table, float* state, float lr, float eps, int found, int dim) {
    // BEGIN SOLUTION 8.6: sum each row's gradients without atomics, and update the row at once
    int segment = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (segment >= found) return;  // the whole warp goes
    float g = 0;
    if (lane < dim) {
        int end = starts[segment + 1];
        for (int k = starts[segment]; k < end; k++) g += grad[(long long)order[k] * dim + lane];
    }
    float squares = g * g, scale = 0;
    for (int offset = 16; offset > 0; offset /= 2) squares += __shfl_down_sync(FULL, squares, offset);
    long long row = touched[segment];
    if (lane == 0) {
        float now = state[row] + squares / dim;
        state[row] = now;
        scale = lr / (sqrtf(now) + eps);
    }
    scale = __shfl_sync(FULL, scale, 0);
    if (lane < dim) table[row * dim + lane] -= scale * g;
    // END SOLUTION
}

// --- 8.7: the model -------------------------------------------------------------------------------------------------

// The logits of samples: gathered rows, then the dense numbers, through two hidden layers. One thread a sample.
//
// x is the rows of a sample, field by field, and behind them its dense numbers; then
//
//     relu(w1 x + b1),    relu(w2 of that + b2),    w3 of that + b3
//
// dense: (samples, numbers). w1: (hidden1, fields * dim + numbers), b1: (hidden1,), w2: (hidden2, hidden1), and so
// on; w3 has one row. hidden1 and hidden2 are 32 at most. All not changed.
// logits: (samples,), set: numbers of any size, not probabilities.
extern "C" __global__ void forward(const int* ids, const float* dense, const long long* offsets, const float* table,
                                   const float* w1, const float* b1, const float* w2, const float* b2, const float* w3,
                                   const float* b3, float* logits, int samples, int fields, int dim, int numbers,
                                   int hidden1, int hidden2) {
    // BEGIN SOLUTION 8.7: from ids to a logit, and from logits to the loss of a batch
    int sample = blockIdx.x * blockDim.x + threadIdx.x;
    if (sample >= samples) return;
    float first[32];
    int width = fields * dim + numbers;
    for (int h = 0; h < hidden1; h++) {
        float sum = b1[h];
        for (int f = 0; f < fields; f++) {
            long long row = offsets[f] + ids[sample * fields + f];
            for (int d = 0; d < dim; d++) sum += w1[h * width + f * dim + d] * table[row * dim + d];
        }
        for (int k = 0; k < numbers; k++) sum += w1[h * width + fields * dim + k] * dense[sample * numbers + k];
        first[h] = fmaxf(sum, 0);
    }
    float logit = b3[0];
    for (int h = 0; h < hidden2; h++) {
        float sum = b2[h];
        for (int k = 0; k < hidden1; k++) sum += w2[h * hidden1 + k] * first[k];
        logit += w3[h] * fmaxf(sum, 0);
    }
    logits[sample] = logit;
    // END SOLUTION
}

// The mean over the samples of -log(the probability of what happened), with sigmoid(logit) that of a click. One thread.
//
// Logits of +-1000 have a loss, too: 0, or 1000.
//
// logits: (samples,). labels: (samples,), 0 or 1. Not changed.
// mean: (1,), set.
extern "C" __global__ void loss(const float* logits, const unsigned char* labels, float* mean, int samples) {
    // BEGIN SOLUTION 8.7: from ids to a logit, and from logits to the loss of a batch
    float sum = 0;
    for (int i = 0; i < samples; i++) {
        float z = labels[i] ? -logits[i] : logits[i];
        sum += fmaxf(z, 0) + log1pf(expf(-fabsf(z)));
    }
    mean[0] = sum / samples;
    // END SOLUTION
}

// --- 8.8: the training loop -----------------------------------------------------------------------------------------

// One pass over the samples by gradient descent, batch after batch, all in one launch that the host need not wait for.
//
// The model is smaller than in Python, where this is PyTorch: a number for each id, weights[offsets[f] + id], and a
// logit is the sum of a sample's numbers. One block; the batch is as large as the block. Each step takes the next
// blockDim.x samples, and moves each weight by -lr times its gradient of the mean loss of the batch; for a sample, d
// loss / d logit is sigmoid(logit) - label. All samples of a batch see the weights as they are before its step.
// Samples at the end that fill no batch are left out.
//
// ids: (samples, fields). offsets: (fields,). labels: (samples,). Not changed.
// weights: (rows,), changed.
// losses: (samples,), set: the loss of each sample before the step of its batch; 0 for those left out.
//
// Cost: two barriers a step.
extern "C" __global__ void train(const int* ids, const long long* offsets, const unsigned char* labels, float* weights,
                                 float* losses, float lr, int samples, int fields) {
    // BEGIN SOLUTION 8.8: train without waiting for the GPU, and without a gradient as large as the table
    int sample = threadIdx.x, full = samples - samples % blockDim.x;
    for (; sample < full; sample += blockDim.x) {
        float logit = 0;
        for (int f = 0; f < fields; f++) logit += weights[offsets[f] + ids[sample * fields + f]];
        float z = labels[sample] ? -logit : logit;
        losses[sample] = fmaxf(z, 0) + log1pf(expf(-fabsf(z)));
        float g = 1 / (1 + expf(-logit)) - labels[sample];
        __syncthreads();  // all have read the weights
        for (int f = 0; f < fields; f++) {
            atomicAdd(&weights[offsets[f] + ids[sample * fields + f]], -lr / blockDim.x * g);
        }
        __syncthreads();  // all have changed them
    }
    if (sample < samples) losses[sample] = 0;
    // END SOLUTION
}

// --- 8.9: evaluation ------------------------------------------------------------------------------------------------

// Which samples are for the test: the last `count` in time, and all others of the same second as the first of them. One
// thread a sample.
//
// times: (samples,), seconds, in any order, not changed. count: 1 to samples.
// test: (samples,), set: 1 for those, 0 for the others.
extern "C" __global__ void split(const long long* times, int count, unsigned char* test, int samples) {
    // BEGIN SOLUTION 8.9: split by time, use the past alone, and measure what is predicted
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= samples) return;
    int later = 0;
    for (int i = 0; i < samples; i++) later += times[i] > times[t];
    test[t] = later < count;
    // END SOLUTION
}

// The click-through rate that each sample's id had before: of the clicks in earlier buckets of time, and no others. One
// thread a sample.
//
// Bucket 0 is seconds 0 to bucket - 1, and so on. Where the id has had n samples and c clicks in earlier buckets,
// its rate is (c + k * prior) / (n + k), so that an id nobody knows has the rate `prior`.
//
// times: (samples,), seconds from 0 on, in any order. ids: (samples,), of one field. labels: (samples,). Not changed.
// rates: (samples,), set.
extern "C" __global__ void history(const long long* times, const int* ids, const unsigned char* labels, int bucket,
                                   double prior, double k, double* rates, int samples) {
    // BEGIN SOLUTION 8.9: split by time, use the past alone, and measure what is predicted
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= samples) return;
    int shown = 0, clicked = 0;
    for (int i = 0; i < samples; i++) {
        if (ids[i] == ids[t] && times[i] / bucket < times[t] / bucket) {
            shown++;
            clicked += labels[i];
        }
    }
    rates[t] = (clicked + k * prior) / (shown + k);
    // END SOLUTION
}

// The chance that a random clicked sample has a higher score than a random one without a click; a tie is a half. One
// thread.
//
// labels: (samples,), with both kinds among them. scores: (samples,). Not changed.
// result: (1,), set.
extern "C" __global__ void auc(const unsigned char* labels, const double* scores, double* result, int samples) {
    // BEGIN SOLUTION 8.9: split by time, use the past alone, and measure what is predicted
    int halves = 0, clicks = 0;
    for (int i = 0; i < samples; i++) {
        if (!labels[i]) continue;
        clicks++;
        for (int j = 0; j < samples; j++) {
            if (!labels[j]) halves += (scores[i] > scores[j]) + (scores[i] >= scores[j]);
        }
    }
    result[0] = 0.5 * halves / (clicks * (samples - clicks));
    // END SOLUTION
}

// The clicks that were predicted for each that there was: 1 is right, 2 is twice as many. One thread.
//
// labels: (samples,), with a click among them. p: (samples,), probabilities. Not changed.
// result: (1,), set.
extern "C" __global__ void calibration(const unsigned char* labels, const double* p, double* result, int samples) {
    // BEGIN SOLUTION 8.9: split by time, use the past alone, and measure what is predicted
    double predicted = 0;
    int clicks = 0;
    for (int i = 0; i < samples; i++) {
        predicted += p[i];
        clicks += labels[i];
    }
    result[0] = predicted / clicks;
    // END SOLUTION
}

// The mean log loss of p, divided by that of predicting the samples' own click rate for each: 1 is no better. One
// thread.
//
// labels: (samples,), with both kinds among them. p: (samples,), more than 0 and less than 1. Not changed.
// result: (1,), set.
extern "C" __global__ void normalized_entropy(const unsigned char* labels, const double* p, double* result,
                                              int samples) {
    // BEGIN SOLUTION 8.9: split by time, use the past alone, and measure what is predicted
    double sum = 0, clicks = 0;
    for (int i = 0; i < samples; i++) {
        sum -= log(labels[i] ? p[i] : 1 - p[i]);
        clicks += labels[i];
    }
    double rate = clicks / samples;
    result[0] = sum / samples / -(rate * log(rate) + (1 - rate) * log(1 - rate));
    // END SOLUTION
}

// --- 8.10: one speed-up ---------------------------------------------------------------------------------------------

// What one speed-up of your choice changes in a step, and what it gains at most. One thread.
//
// Choose 1: row-wise Adagrad for the table, in place of dense Adam; 2: bf16 in the network, in place of fp32; 3: one
// CUDA graph, in place of launches one by one; or 4: a batch 8 times as large. Before, none of them is done; after,
// yours alone. A step
//
//     moves   3 * 4 bytes for each number gathered (batch * fields * dim): read from the table, written for the
//             network, and read as a gradient. And for the table's optimizer: 28 bytes a parameter with dense Adam, 8 a
//             number gathered and 8 a lookup with row-wise Adagrad (a row and its state, read and written)
//     does    6 FLOPs for each weight of the network and sample
//     makes   the launches, or one
//
// On the GPU bytes and FLOPs take time one behind the other, for each layer waits for what it reads; meanwhile the host
// launches. The step takes at least what takes longer, GPU or host. (What this leaves out is small here: ids, dense
// numbers, the network's own optimizer.) A gain of 1 is an answer, too.
//
// model: (6,): rows of the table, fields, dim, weights of the network, batch, launches.
// gpu: (4,): bytes a second, FLOPs a second in fp32, FLOPs a second in bf16, seconds a launch.
// result: (12,), set: the choice, 1, 2, 3 or 4, the same in every call; then, before, the bytes, FLOPs, launches,
//     microseconds and term of a step, with the microseconds that it takes at least, and term 2 if the host takes
//     longer than the GPU, otherwise what takes longer there, 0 for bytes and 1 for FLOPs; then the same five after;
//     then the gain: samples a second after, over those before.
extern "C" __global__ void speed_up(const long long* model, const double* gpu, double* result) {
    // BEGIN SOLUTION 8.10: choose one speed-up, and say what it can gain at most
    double rows = model[0], fields = model[1], dim = model[2], weights = model[3], choice = 1, before = 0;
    result[0] = choice;
    for (int after = 0; after < 2; after++) {
        int done = after ? (int)choice : 0;
        double samples = done == 4 ? 8.0 * model[4] : model[4], lookups = samples * fields;
        double* out = result + 1 + 5 * after;
        out[0] = 12 * lookups * dim + (done == 1 ? 8 * lookups * dim + 8 * lookups : 28 * rows * dim);
        out[1] = 6 * weights * samples;
        out[2] = done == 3 ? 1 : model[5];
        double reading = out[0] / gpu[0], computing = out[1] / gpu[done == 2 ? 2 : 1], launching = out[2] * gpu[3];
        out[3] = 1e6 * fmax(reading + computing, launching);
        out[4] = launching > reading + computing ? 2 : computing > reading;
        if (after) result[11] = samples / out[3] / before;
        before = samples / out[3];
    }
    // END SOLUTION
}
