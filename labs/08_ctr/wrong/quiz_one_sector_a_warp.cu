/*
A request is taken for one sector, wherever the lanes read.

Fails:
    test_8_4_order: SECTORS_FAR_APART = 1
*/

// BEGIN SOLUTION 8.4
constexpr int SECTORS_FAR_APART = 1;
// END SOLUTION
