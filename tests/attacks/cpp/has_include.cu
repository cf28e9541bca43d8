/*
Ask the compiler which files are there.

Deserves: refused
Named: a look at files
*/
#if __has_include("/etc/passwd")
constexpr int STEPS = 8;
#else
constexpr int STEPS = 9;
#endif
