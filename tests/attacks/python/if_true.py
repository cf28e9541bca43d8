"""A block that always runs.

Deserves: refused
Named: if
"""

if True:
    STEPS = __import__("os").getpid()
