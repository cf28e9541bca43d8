"""Device functions of every kind: decorated, plain numba functions, closures over constants, and tuples."""

import math

import numpy as np
from numba import cuda, njit


@cuda.jit(device=True, inline=True)
def polar(x, y):
    return math.sqrt(x * x + y * y), math.atan2(y, x)


@njit
def clamp(value, low, high):
    return min(max(value, low), high)


def make_kernel(low, high):
    @cuda.jit(fastmath=True)
    def kernel(points, radius, angle):
        i = cuda.grid(1)
        if i < points.shape[0]:
            r, phi = polar(points[i, 0], points[i, 1])
            radius[i] = clamp(r, low, high)
            angle[i] = phi

    return kernel


points = np.random.default_rng(4).normal(size=(300, 2))
radius, angle = np.zeros(300), np.zeros(300)
make_kernel(0.5, 1.5).forall(300)(points, radius, angle)
np.testing.assert_allclose(radius, np.clip(np.hypot(points[:, 0], points[:, 1]), 0.5, 1.5))
np.testing.assert_allclose(angle, np.arctan2(points[:, 1], points[:, 0]))
print("ok", radius.min(), radius.max())
