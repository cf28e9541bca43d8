"""Add two vectors, one thread per element, with explicit copies to and from the device."""

import numpy as np
from numba import cuda


@cuda.jit
def add(x, y, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i] + y[i]


n = 10_000
x = np.arange(n, dtype=np.float32)
y = 2 * x
d_x, d_y = cuda.to_device(x), cuda.to_device(y)
d_out = cuda.device_array_like(d_x)
threads = 256
blocks = (n + threads - 1) // threads
add[blocks, threads](d_x, d_y, d_out)
np.testing.assert_allclose(d_out.copy_to_host(), 3 * x)

# The same with host arrays: numba copies them there and back.
out = np.zeros_like(x)
add[blocks, threads](x, y, out)
np.testing.assert_allclose(out, 3 * x)
print("sum", out.sum(dtype=np.float64))
