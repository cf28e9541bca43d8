"""Work at the top level, for ever.

Deserves: refused
Named: COUNT
"""

COUNT = [number for number in range(10**18)]
