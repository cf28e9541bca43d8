"""The Mandelbrot set with complex numbers in a device function and a two-dimensional grid-stride loop."""

import numpy as np
from numba import cuda


@cuda.jit(device=True)
def escape(x, y, limit):
    c = complex(x, y)
    z = 0.0j
    for i in range(limit):
        z = z * z + c
        if z.real * z.real + z.imag * z.imag >= 4:
            return i
    return limit


@cuda.jit
def mandelbrot(left, right, bottom, top, image, limit):
    height, width = image.shape
    start_x, start_y = cuda.grid(2)
    step_x, step_y = cuda.gridsize(2)
    for x in range(start_x, width, step_x):
        for y in range(start_y, height, step_y):
            real = left + x * (right - left) / width
            imag = bottom + y * (top - bottom) / height
            image[y, x] = escape(real, imag, limit)


def reference(image, limit):
    height, width = image.shape
    for y in range(height):
        for x in range(width):
            c, z = complex(-2 + x * 3 / width, -1 + y * 2 / height), 0j
            image[y, x] = limit
            for i in range(limit):
                z = z * z + c
                if abs(z) ** 2 >= 4:
                    image[y, x] = i
                    break


image, expected = np.zeros((24, 36), np.uint8), np.zeros((24, 36), np.uint8)
mandelbrot[(2, 2), (8, 4)](-2.0, 1.0, -1.0, 1.0, image, 20)
reference(expected, 20)
assert (image == expected).mean() > 0.99
print("points inside:", int((image == 20).sum()))
