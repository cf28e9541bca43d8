"""How a sparse matrix is stored: plain arrays, NumPy's on the host or CuPy's on a GPU.

Every format is made from a `Csr`, on the device where its arrays lie, and converted by array operations alone.
Duplicate entries add up, columns need no order, and stored zeros stay: a kernel multiplies what is stored. A slot that
is padding holds the value 0, and a kernel skips it: 0 * inf would be NaN.
"""

from .csr import Csr
from .ell import PADDING, Ell, SlicedEll
from .from_scipy import csr_from_scipy
from .hybrid import Hybrid

__all__ = ["PADDING", "Csr", "Ell", "Hybrid", "SlicedEll", "csr_from_scipy"]
