/*
The instructor's kernels.

Deserves: refused
Named: #include "solution.cu"
*/
#include "solution.cu"
