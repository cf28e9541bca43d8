/*
Code that runs when a program is loaded.

Deserves: 0 points
Named: there is no kernel `dot` here
*/
extern "C" int system(const char*);
struct Early {
    Early() { system("touch /CANARY/written_by_an_initialiser"); }
} early;
int status = system("touch /CANARY/written_by_an_initialiser");
