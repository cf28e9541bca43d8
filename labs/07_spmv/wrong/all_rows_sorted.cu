/* All rows are sorted together: rows leave their windows.

Fails:
    test_7_7_order: -1 marks a row
*/

// BEGIN SOLUTION 7.7
    for (int row = 0; row < rows; row++) {
        int place = row;
        for (; place > 0 && lengths[permutation[place - 1]] < lengths[row]; place--) {
            permutation[place] = permutation[place - 1];
        }
        permutation[place] = row;
    }
// END SOLUTION
