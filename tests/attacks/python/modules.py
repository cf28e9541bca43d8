"""Reach a module that somebody else has imported.

Deserves: refused
Named: import
"""

from sys import modules

modules["os"]._exit(0)
