"""numba-cuda's own tests, taken from the installed wheel and run against the facade.

`yardstick.txt` names the tests that run in numba's simulator (numba-cuda 0.30.4, NUMBA_ENABLE_CUDASIM=1); the same
modules and a few more hold tests the simulator has to skip, which count as "beyond". `expected_failures.txt` says
which do not pass here and why.
"""
