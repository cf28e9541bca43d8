"""The forbidden name in other letters, which Python takes for the same.

Deserves: refused
Named: has letters that are not ASCII
"""

os = __ｉｍｐｏｒｔ__("os")
