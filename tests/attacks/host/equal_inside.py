"""The same, with the class inside the function.

Deserves: refused
Named: class
"""


def blocks_for(n, threads):
    class Equal(float):
        def __sub__(self, other):
            return 0.0

    return Equal(1)
