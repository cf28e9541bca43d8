"""Estimate pi with one random number generator per thread."""

import numpy as np
from numba import cuda
from numba.cuda.random import create_xoroshiro128p_states, xoroshiro128p_uniform_float32


@cuda.jit
def estimate(states, trials, out):
    thread = cuda.grid(1)
    inside = 0
    for _ in range(trials):
        x = xoroshiro128p_uniform_float32(states, thread)
        y = xoroshiro128p_uniform_float32(states, thread)
        if x**2 + y**2 <= 1.0:
            inside += 1
    out[thread] = 4.0 * inside / trials


threads, blocks = 64, 8
states = create_xoroshiro128p_states(threads * blocks, seed=1)
out = np.zeros(threads * blocks, dtype=np.float32)
estimate[blocks, threads](states, 200, out)
pi = out.mean()
assert abs(pi - np.pi) < 0.02, pi
print(f"pi is about {pi:.2f}")
