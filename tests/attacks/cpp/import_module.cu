/*
A C++20 module.

Deserves: refused
Named: import
*/
import "/etc/passwd";
