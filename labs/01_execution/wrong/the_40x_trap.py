"""The speed-up of the part taken for the program's.

Fails:
    test_1_6_whole: 80 s that get 40 times faster, 20 s that do not
"""


def whole_speedup(part_seconds, rest_seconds, speedup):
    return speedup
