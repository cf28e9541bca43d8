"""Threads taken for warps, and a warp that has some work counted as idle.

Fails:
    test_1_1_warps: WARPS_IN_A_BLOCK = 256
    test_1_1_threads: THREADS_LAUNCHED = 1000
    test_1_1_idle: IDLE_THREADS = 100
"""

WARPS_IN_A_BLOCK = 256
THREADS_LAUNCHED = 1000
IDLE_THREADS = 100
IDLE_WARPS = 4
