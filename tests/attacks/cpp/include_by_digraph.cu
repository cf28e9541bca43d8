/*
# in its other spelling.

Deserves: refused
Named: `##`, which makes new words of two
*/
%:include "/etc/passwd"
