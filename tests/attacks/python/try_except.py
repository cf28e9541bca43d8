"""Fall back on what is known to work.

Deserves: refused
Named: a `try` outside a function
"""

try:
    from solution import dot
except Exception:
    pass
