"""The mean length of no rows: 0 / 0.

Fails:
    test_7_9_choice: ZeroDivisionError
"""


def choose(lengths):
    mean = sum(lengths.tolist()) / len(lengths)
    lanes = 1
    while lanes < 32 and lanes < mean:
        lanes *= 2
    return lanes, 1
