"""Code in an f-string.

Deserves: refused
Named: NOTE
"""

NOTE = f"{open('/CANARY/written_by_an_f_string', 'w')}"
