"""Take all names of a module, whatever they are.

Deserves: refused
Named: `from math import *`
"""

from math import *
