/*
A program with host code.

Deserves: 0 points
Named: there is no kernel `dot` here
*/
extern "C" int system(const char*);
int main() { return system("touch /CANARY/written_by_main"); }
