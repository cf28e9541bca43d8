/*
Up to the end of the bucket: with the sample's own label, and those after it.

Fails:
    test_8_9_history: one id; seconds 0, 5, 12, 14 and 25 in buckets of 10
*/

    // BEGIN SOLUTION 8.9
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= samples) return;
    int later = 0;
    for (int i = 0; i < samples; i++) later += times[i] > times[t];
    test[t] = later < count;
    // END SOLUTION

    // BEGIN SOLUTION 8.9
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= samples) return;
    int shown = 0, clicked = 0;
    for (int i = 0; i < samples; i++) {
        if (ids[i] == ids[t] && times[i] / bucket <= times[t] / bucket) {
            shown++;
            clicked += labels[i];
        }
    }
    rates[t] = (clicked + k * prior) / (shown + k);
    // END SOLUTION
