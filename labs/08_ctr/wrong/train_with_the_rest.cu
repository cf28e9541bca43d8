/*
Samples that fill no batch are trained with, too, and not all threads reach the barriers.

Fails:
    test_8_8_right: barrier_divergence
*/

    // BEGIN SOLUTION 8.8
    int sample = threadIdx.x, full = samples - samples % blockDim.x;
    for (; sample < samples; sample += blockDim.x) {
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
    // END SOLUTION
