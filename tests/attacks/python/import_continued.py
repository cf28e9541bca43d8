"""An import over two lines, behind a constant.

Deserves: refused
Named: an import of os
"""

BLOCK = 256; import \
    os
