"""Relax a heated plate until it is quiet, swapping two device arrays, with a reduction for the residual."""

import numpy as np
from numba import cuda


@cuda.jit("void(float64[:, :], float64[:, :], float64[:])")
def relax(old, new, change):
    i, j = cuda.grid(2)
    rows, columns = old.shape
    if 0 < i < rows - 1 and 0 < j < columns - 1:
        new[i, j] = 0.25 * (old[i - 1, j] + old[i + 1, j] + old[i, j - 1] + old[i, j + 1])
        cuda.atomic.max(change, 0, abs(new[i, j] - old[i, j]))


plate = np.zeros((20, 24))
plate[0, :] = 100.0
expected = plate.copy()
old, new = cuda.to_device(plate), cuda.to_device(plate)
change = np.ones(1)
steps = 0
while change[0] > 0.5:
    change = np.zeros(1)
    relax[(3, 3), (8, 8)](old, new, change)
    old, new = new, old
    before = expected.copy()
    expected[1:-1, 1:-1] = 0.25 * (before[:-2, 1:-1] + before[2:, 1:-1] + before[1:-1, :-2] + before[1:-1, 2:])
    steps += 1
np.testing.assert_allclose(old.copy_to_host(), expected)
print("quiet after", steps)
