/*
The name of the file in a macro.

Deserves: refused
Named: #include FILE_NAME
*/
#define FILE_NAME "/etc/passwd"
#include FILE_NAME
