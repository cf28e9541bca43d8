"""The forbidden name in other letters, which Python takes for the same.

Deserves: refused
Named: __import__
"""

os = __ｉｍｐｏｒｔ__("os")
