/*
The lookups of a row in descending order: another sum, where sums round.

Fails:
    test_8_6_segments: rows 7, 2, 7, 7, 0
*/

    // BEGIN SOLUTION 8.6
    for (int i = 0; i < lookups; i++) {
        int place = i;
        for (; place > 0 && rows[order[place - 1]] >= rows[i]; place--) order[place] = order[place - 1];
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
