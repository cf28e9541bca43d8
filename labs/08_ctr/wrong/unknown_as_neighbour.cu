/*
Where a value would stand in the vocabulary is taken for its id, whether it stands there or not.

Fails:
    test_8_2_encode: training has 20, 70 and 90; nobody knows 110
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
    ids[t] = smaller + known;
    if (t == 0) rows[0] = distinct + 1;
    // END SOLUTION
