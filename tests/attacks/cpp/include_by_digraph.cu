/*
# in its other spelling.

Deserves: refused
Named: include
*/
%:include "/etc/passwd"
