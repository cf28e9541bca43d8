"""Work at the top level, for ever.

Deserves: refused
Named: in a constant: it is known only when the file runs
"""

COUNT = [number for number in range(10**18)]
