"""The built-in names by their own module.

Deserves: refused
Named: __builtins__
"""


def blocks_for(n, threads):
    return __builtins__["open"]("/etc/passwd").read()
