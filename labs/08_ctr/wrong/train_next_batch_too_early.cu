/*
No barrier behind the step: the next batch reads weights that are still changing.

Fails:
    test_8_8_right: race_global
    test_8_8_busy: race_global
*/

    // BEGIN SOLUTION 8.8
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
    }
    if (sample < samples) losses[sample] = 0;
    // END SOLUTION
