/* The quiz: the threads at work in the fourth step are taken for the idle ones.

Fails:
    test_5_1_tree: another number
*/

// BEGIN SOLUTION 5.1
constexpr int STEPS = 8;
// END SOLUTION

// BEGIN SOLUTION 5.1
constexpr int COMPARISONS = 255;
// END SOLUTION

// BEGIN SOLUTION 5.1
constexpr int IDLE_THREADS = 16;
// END SOLUTION
