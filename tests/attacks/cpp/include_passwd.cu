/*
A file of the system, whose text the compiler would show in its errors.

Deserves: refused
Named: #include "/etc/passwd"
*/
#include "/etc/passwd"
