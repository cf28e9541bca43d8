/* A warp for every row, however short.

Fails:
    test_7_9_choice: one entry in every row
*/

// BEGIN SOLUTION 7.9
    choice[0] = 32;
    choice[1] = 1;
// END SOLUTION
