/*
A C++20 module.

Deserves: refused
Named: a look at files
*/
import "/etc/passwd";
