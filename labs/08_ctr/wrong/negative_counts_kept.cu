/*
log1p without a look at what is below 0: -1 is minus infinity, -2 is NaN.

Fails:
    test_8_2_log_counts: -3, -2 and -1 stand for what was not counted, NaN for what is missing
*/

    // BEGIN SOLUTION 8.2
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= samples) return;
    int smaller = 0, distinct = 0;
    bool known = false;
    for (int i = 0; i < seen; i++) {
        bool first = true;
        for (int j = 0; j < i; j++) first = first && train[j] != train[i];
        if (first) {
            distinct++;
            smaller += train[i] < raw[t];
            known = known || train[i] == raw[t];
        }
    }
    ids[t] = known ? smaller + 1 : 0;
    if (t == 0) rows[0] = distinct + 1;
    // END SOLUTION

    // BEGIN SOLUTION 8.2
    long long before = 0;
    for (int f = 0; f < fields; f++) {
        offsets[f] = before;
        before += rows[f];
    }
    // END SOLUTION

    // BEGIN SOLUTION 8.2
    place[0] = place[1] = -1;
    for (int i = 0; i < samples * fields; i++) {
        if (ids[i] < 0 || ids[i] >= rows[i % fields]) {
            place[0] = i / fields;
            place[1] = i % fields;
            return;
        }
    }
    // END SOLUTION

    // BEGIN SOLUTION 8.2
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t < n) y[t] = log1pf(x[t]);
    // END SOLUTION
