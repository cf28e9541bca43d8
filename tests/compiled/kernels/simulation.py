"""Simulations."""

import numpy as np
from compiled.kernels.table import Near, floats, fma, i32, launched, zeros

EPS = float(np.finfo(np.float32).eps)


def escape(rounds: np.ndarray, width: np.int32, height: np.int32, most: np.int32) -> dict:
    """The same rounding as the kernel, except that |z|^2 <= 4 is tested on a fused sum: points near 4 do not occur."""
    re, im = np.meshgrid(-2 + 0.0625 * np.arange(width), -1 + 0.0625 * np.arange(height))
    a, b, count = np.zeros_like(re), np.zeros_like(re), np.zeros(re.shape, np.int32)
    for _ in range(most):
        inside = a * a + b * b <= 4
        count += inside
        a, b = np.where(inside, a * a - b * b + re, a), np.where(inside, 2 * a * b + im, b)
    return {0: count}


launched(
    "simulation",
    "mandelbrot",
    (2, 9),
    (32, 4),
    lambda: (zeros(33, 48, dtype=np.int32), i32(48), i32(33), i32(100)),
    escape,
)


def attract(bodies: np.ndarray, acceleration: np.ndarray, n: np.int32) -> dict:
    """Each term has about 9 roundings (rsqrtf: 2 units, cubed), then the sum of n terms."""
    wide = bodies.astype(np.float64)
    d = wide[None, :, :3] - wide[:, None, :3]
    inverse = (d**2).sum(2) + np.float64(np.float32(0.01))
    terms = d * (wide[None, :, 3] * inverse**-1.5)[:, :, None]
    value = np.zeros_like(wide)
    value[:, :3] = terms.sum(1)
    bound = np.zeros_like(wide)
    bound[:, :3] = (n + 16) * EPS * np.abs(terms).sum(1)
    return {1: Near(value, bound)}


launched(
    "simulation",
    "nbody",
    3,
    64,
    lambda: (floats(150, 4, low=0.1), zeros(150, 4), i32(150)),
    attract,
    exact=False,
)


def quarter_circle(hits: np.ndarray, seed: np.uint32, rounds: np.int32) -> dict:
    """Marsaglia's xorshift with 13, 17, 5; two numbers a point."""
    state = seed ^ (np.arange(1, hits.size + 1, dtype=np.uint32) * np.uint32(2654435761))
    count = np.zeros_like(hits)
    for _ in range(rounds):
        point = []
        for _axis in range(2):
            state = state ^ (state << np.uint32(13))
            state = state ^ (state >> np.uint32(17))
            state = state ^ (state << np.uint32(5))
            point.append((state >> np.uint32(8)).astype(np.float32) * np.float32(2**-24))
        count += point[0] * point[0] + point[1] * point[1] < 1
    return {0: count}


launched(
    "simulation",
    "monte_carlo",
    3,
    64,
    lambda: (zeros(192, dtype=np.uint32), np.uint32(12345), i32(40)),
    quarter_circle,
)


def move_records(particles: np.ndarray, n: np.int32, dt: np.float32) -> dict:
    """Positions move by their velocities."""
    after = particles.copy()
    after[:, :3] = fma(particles[:, 3:], dt, particles[:, :3])
    return {0: after}


launched("simulation", "move_records", 3, 100, lambda: (floats(290, 6), i32(290), np.float32(0.1)), move_records)
launched(
    "simulation",
    "move_arrays",
    3,
    100,
    lambda: (*(floats(290, seed=k) for k in range(6)), i32(290), np.float32(0.1)),
    lambda *a: {k: fma(a[3 + k], a[7], a[k]) for k in range(3)},
)


def swing(angles: np.ndarray, out: np.ndarray, energy: np.ndarray, n: np.int32, steps: np.int32) -> dict:
    """Every step adds rounding errors and those of sinf (2 units); steps of 0.01 hardly magnify them."""
    angle, speed = angles.astype(np.float64), np.zeros(angles.size)
    step = np.float64(np.float32(0.01))
    for _ in range(steps):
        speed = speed - step * np.sin(angle)
        angle = angle + step * speed
    bound = 4.0 * steps * EPS
    return {1: Near(angle, bound), 2: Near(0.5 * speed**2 - np.cos(angle), 4 * bound)}


launched(
    "simulation",
    "pendulum",
    2,
    64,
    lambda: (floats(100, low=-3, high=3), zeros(100), zeros(100, dtype=np.float64), i32(100), i32(50)),
    swing,
)


def spectrum(x: np.ndarray, turns: np.ndarray, out: np.ndarray) -> dict:
    """Seven stages, each with about two roundings a part, on numbers of at most the sum of all."""
    value = np.fft.fft(x.astype(np.complex128).reshape(-1, 128))
    return {2: Near(value.ravel(), 4 * 7 * EPS * np.repeat(np.abs(x.reshape(-1, 128)).sum(1), 128))}


launched(
    "simulation",
    "fourier",
    2,
    64,
    lambda: (
        (floats(256, low=-1) + 1j * floats(256, low=-1, seed=2)).astype(np.complex64),
        np.exp(-2j * np.pi * np.arange(64) / 128).astype(np.complex64),
        zeros(256, dtype=np.complex64),
    ),
    spectrum,
)
