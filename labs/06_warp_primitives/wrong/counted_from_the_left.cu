/* The quiz: bit 0 is taken for the leftmost one.

Fails:
    test_6_1_votes: another number
*/

// BEGIN SOLUTION 6.1
constexpr unsigned BALLOT = 0x10101010;
// END SOLUTION
