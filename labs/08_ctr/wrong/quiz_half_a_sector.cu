/*
A row of 16 bytes is taken for half a sector, which memory cannot move.

Fails:
    test_8_1_rows: SECTORS_OF_4 = 0.5
*/

// BEGIN SOLUTION 8.1
constexpr float SECTORS_OF_4 = 0.5f;
// END SOLUTION
