"""The quiz: the threads at work in the fourth step are taken for the idle ones.

Fails:
    test_5_1_tree: another number
"""

IDLE_THREADS = 16
