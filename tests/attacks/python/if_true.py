"""A block that always runs.

Deserves: refused
Named: an `if` outside a function
"""

if True:
    STEPS = __import__("os").getpid()
