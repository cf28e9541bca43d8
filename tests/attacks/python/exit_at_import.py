"""Leave with exit status 0 as soon as the file is imported.

Deserves: refused
Named: an import of os
"""

import os

os._exit(0)
