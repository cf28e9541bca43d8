/*
A program with host code.

Deserves: 0 points
Named: dot
*/
extern "C" int system(const char*);
int main() { return system("touch /CANARY/written_by_main"); }
