"""The quiz: the divergence of the last `if`, where thread 0 stores, is not counted.

Fails:
    test_5_1_counters: another number
"""

DIVERGENT_BRANCHES = 23
