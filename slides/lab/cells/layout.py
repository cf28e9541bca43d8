"""6. Layout: array of structures or structure of arrays?

128 points with the fields x, y, z and w. The kernels copy every x. In the first array the fields of a point lie side by
side, in the second one all x do. How many sectors does a warp's load need in each?

Try:
* Copy y in place of x: `points[i, 1]` and `fields[1, i]`. Does it matter which field it is?
* Make the points float64. What is the least that a load can need?
* Give the points 8 fields in place of 4.

Lab: 03_coalescing
"""

import numpy as np

import gpukit
from gpukit import cuda


# code: gpukit/kernels/layout.py::array_of_structures


# code: gpukit/kernels/layout.py::structure_of_arrays


points = np.arange(128 * 4, dtype=np.float32).reshape(128, 4)
fields = np.ascontiguousarray(points.T)
x = np.zeros(128, np.float32)

gpukit.profile(array_of_structures, 2, 64, points, x)
gpukit.profile(structure_of_arrays, 2, 64, fields, x)
