"""Fall back on what is known to work.

Deserves: refused
Named: try
"""

try:
    from solution import dot
except Exception:
    pass
