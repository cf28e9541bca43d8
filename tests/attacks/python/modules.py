"""Reach a module that somebody else has imported.

Deserves: refused
Named: an import of sys
"""

from sys import modules

modules["os"]._exit(0)
