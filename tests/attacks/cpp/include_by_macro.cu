/*
The name of the file in a macro.

Deserves: refused
Named: #include
*/
#define FILE_NAME "/etc/passwd"
#include FILE_NAME
