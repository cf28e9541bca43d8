"""The kernel's name on a number, and on an array of text.

Deserves: 0 points
Named: kernel
"""

dot = 5
checksum = "checksum"
