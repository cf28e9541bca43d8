/* Sectors are counted as if a warp's lanes read neighbours in both kernels.

Fails:
    test_7_1_reading: SECTORS_BY_THREAD
*/

// BEGIN SOLUTION 7.1
constexpr int ROW_2 = 19;
// END SOLUTION
// BEGIN SOLUTION 7.1
constexpr int CSR_BYTES = 68;
// END SOLUTION
// BEGIN SOLUTION 7.1
constexpr int BYTES_PER_ENTRY = 8;
// END SOLUTION
// BEGIN SOLUTION 7.1
constexpr int SECTORS_BY_THREAD = 4;
// END SOLUTION
