"""The same, with the class inside the function.

Deserves: refused
Named: a class: a lab needs functions only
"""


def blocks_for(n, threads):
    class Equal(float):
        def __sub__(self, other):
            return 0.0

    return Equal(1)
