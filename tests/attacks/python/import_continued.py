"""An import over two lines, behind a constant.

Deserves: refused
Named: os
"""

BLOCK = 256; import \
    os
