"""Work in a default value, which runs when the function is made.

Deserves: refused
Named: a default is a number or name
"""


def blocks_for(n, threads, made=sum(range(10**12))):
    return made
