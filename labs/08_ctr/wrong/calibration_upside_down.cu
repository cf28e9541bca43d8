/*
Clicks over predicted clicks.

Fails:
    test_8_9_calibrated: 4 samples, 1 click
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
        if (ids[i] == ids[t] && times[i] / bucket < times[t] / bucket) {
            shown++;
            clicked += labels[i];
        }
    }
    rates[t] = (clicked + k * prior) / (shown + k);
    // END SOLUTION

    // BEGIN SOLUTION 8.9
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

    // BEGIN SOLUTION 8.9
    double predicted = 0;
    int clicks = 0;
    for (int i = 0; i < samples; i++) {
        predicted += p[i];
        clicks += labels[i];
    }
    result[0] = clicks / predicted;
    // END SOLUTION
