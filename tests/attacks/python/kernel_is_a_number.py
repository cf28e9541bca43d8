"""The kernel's name on a number, and on an array of text.

Deserves: 0 points
Named: there is no kernel `dot` here
"""

dot = 5
checksum = "checksum"
