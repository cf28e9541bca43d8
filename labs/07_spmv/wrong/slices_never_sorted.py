"""Sliced ELL in the order of the matrix: each slice has its long row.

Fails:
    test_7_9_choice: every fourth row has 101 entries
"""


def choose(lengths):
    return 0, 1
