/*
What the compiler knows of the time and the place.

Deserves: refused
Named: the name of a file or a time
*/
constexpr const char* when = __DATE__ __TIME__ __FILE__;
constexpr int STEPS = sizeof(__FILE__);
constexpr int DIVERGENT_BRANCHES = 1;
