"""Use a file further up.

Deserves: refused
Named: an import from a file beside this one
"""

from ..labs.solution import dot
