/*
A directive over two lines, and one behind a comment.

Deserves: refused
Named: #inc
*/
#inc\
lude "/etc/passwd"
/* here */ # /* and here */ include "/etc/shadow"
