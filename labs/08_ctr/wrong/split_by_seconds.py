"""A share of the seconds, not of the samples.

Fails:
    test_8_9_split: the last 2 of seconds 5, 7, 7, 7, 9: three of them are one second
"""


def split(times, count):
    share = count / times.size
    return times >= times.max() - share * (times.max() - times.min())
