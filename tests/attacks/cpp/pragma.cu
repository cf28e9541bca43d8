/*
Pragmas may name libraries and files.

Deserves: refused
Named: #pragma include_alias
*/
#pragma include_alias("a.h", "/etc/passwd")
_Pragma("GCC dependency \"/etc/passwd\"")
