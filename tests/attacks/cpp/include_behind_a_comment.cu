/*
A comment that ends where a reader of lines does not see it.

Deserves: refused
Named: a line that goes on in the next
*/
// a comment that goes on in the next line \
#include "not this"
/* a comment *\
/
#include "/etc/passwd"
