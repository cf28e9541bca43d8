"""As many lanes as the longest row has work for, for all rows.

Fails:
    test_7_9_choice: 4 rows have 20 entries
"""


def choose(lengths):
    longest = int(max(lengths, default=0))
    lanes = 1
    while lanes < 32 and lanes < longest:
        lanes *= 2
    return lanes, 1
