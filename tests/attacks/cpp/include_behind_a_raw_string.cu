/*
A raw string with a quote in it, so that a reader who does not know raw strings takes the directive for text.

Deserves: refused
Named: a raw string
*/
__device__ const char text[] = R"x(" /* )x";
#include "/etc/passwd"
__device__ const char more[] = R"x( */ ")x";
