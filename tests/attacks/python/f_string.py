"""Code in an f-string.

Deserves: refused
Named: in a constant: it is known only when the file runs
"""

NOTE = f"{open('/CANARY/written_by_an_f_string', 'w')}"
