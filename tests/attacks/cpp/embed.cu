/*
Embed a file's bytes.

Deserves: refused
Named: #embed
*/
__device__ const unsigned char bytes[] = {
#embed "/etc/passwd"
};
