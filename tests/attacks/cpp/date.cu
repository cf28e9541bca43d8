/*
What the compiler knows of the time and the place.

Deserves: 0 points
Named: another number was counted than predicted
*/
constexpr const char* when = __DATE__ __TIME__ __FILE__;
constexpr int STEPS = sizeof(__FILE__);
constexpr int DIVERGENT_BRANCHES = 1;
