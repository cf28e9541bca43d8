"""Every matrix that has a name here: generated ones, twins of published ones, and real ones.

make("poisson2d")                    at full size: what is generated has 30 million entries or more, over 200 MB
make("poisson2d", scale=0.01)        a hundredth of the rows, the same shape of lengths
make("webbase-1M", rows=5000)        about as many rows
small("webbase-1M")                  a size for the CPU machine
"""

from .generators import Filling
from .named import GENERATED, MATRICES, REAL, TWIN, Named, make, real, small

__all__ = ["GENERATED", "MATRICES", "REAL", "TWIN", "Filling", "Named", "make", "real", "small"]
