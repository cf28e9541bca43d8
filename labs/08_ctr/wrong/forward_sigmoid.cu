/*
The network ends in a sigmoid, and so does the loss: no prediction is below 0.5.

Fails:
    test_8_7_forward: whole numbers: exact; samples: 5, fields of 40, 3, 17 rows, dim 4, 3 dense numbers, hidden layers of 8 and 6
*/

    // BEGIN SOLUTION 8.7
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
    logits[sample] = 1 / (1 + expf(-logit));
    // END SOLUTION
