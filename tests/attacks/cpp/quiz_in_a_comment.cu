/*
An answer in a comment. It is read as it stands there; half of the quiz is right.

Deserves: 0 points
Named: there is no constant `IDLE_THREADS` here
*/
/*
constexpr int STEPS = 8;
constexpr int COMPARISONS = 255;
*/
constexpr int STEPS = 0;
