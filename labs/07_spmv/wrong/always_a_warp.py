"""A warp for every row, however short.

Fails:
    test_7_9_choice: one entry in every row
"""


def choose(lengths):
    return 32, 1
