"""Sort everything: one giant row pads the 31 beside it.

Fails:
    test_7_9_choice: one row of 6,000 entries
"""


def choose(lengths):
    return 0, max(1, lengths.size)
