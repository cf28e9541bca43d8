"""Use a file further up.

Deserves: refused
Named: import
"""

from ..labs.solution import dot
