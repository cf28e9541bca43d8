"""Let the reader of the file work: a function that computes a constant.

Deserves: refused
Named: the function `tower` without a decorator
"""


def tower(n):
    if n == 0:
        return 2
    return tower(n - 1) ** tower(n - 1)


STEPS = tower(30)
