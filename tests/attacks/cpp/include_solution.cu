/*
The instructor's kernels.

Deserves: refused
Named: #include
*/
#include "solution.cu"
