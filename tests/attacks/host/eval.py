"""Code in a text.

Deserves: refused
Named: eval
"""


def blocks_for(n, threads):
    return eval("__import__('os').getpid()")
