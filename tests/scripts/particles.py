"""Structured arrays, vectorize and guvectorize for the GPU."""

import numpy as np
from numba import cuda, guvectorize, vectorize

particle = np.dtype([("x", np.float32), ("v", np.float32), ("hits", np.int32)])


@cuda.jit
def move(particles, dt):
    i = cuda.grid(1)
    if i >= particles.size:
        return
    particles[i].x += particles[i].v * dt
    if particles[i].x < 0:
        particles[i].x = -particles[i].x
        particles[i]["v"] = -particles[i]["v"]
        particles[i].hits += 1


@vectorize(["float32(float32, float32)"], target="cuda")
def kinetic(mass, v):
    return 0.5 * mass * v * v


@guvectorize(["void(float64[:], float64[:], float64[:])"], "(n),(n)->()", target="cuda")
def dot(a, b, out):
    total = 0.0
    for i in range(a.shape[0]):
        total += a[i] * b[i]
    out[0] = total


particles = np.zeros(50, particle)
particles["x"] = np.linspace(0, 1, 50)
particles["v"] = -1
expected = particles["x"] - np.float32(0.5)
move.forall(particles.size)(particles, np.float32(0.5))
np.testing.assert_allclose(particles["x"], np.abs(expected), rtol=1e-6)
assert particles["hits"].sum() == (expected < 0).sum()
energy = kinetic(np.float32(2.0), np.ascontiguousarray(particles["v"]))
np.testing.assert_allclose(energy, particles["v"] ** 2)
rng = np.random.default_rng(6)
a, b = rng.random((5, 7)), rng.random((5, 7))
np.testing.assert_allclose(dot(a, b), (a * b).sum(axis=1))
print("hits", particles["hits"].sum())
