"""Layers of neural networks.

Bounds in units of the last place are those of the CUDA C++ Programming Guide for each function (expf 2, log1pf 1,
erff 2, tanhf 2, rsqrtf 2, division 0; __expf 2 + 1.173 |x|), for the numbers that go through it.
"""

import math

import numpy as np
from compiled.kernels.table import Near, floats, i32, integers, launched, ulps, zeros

EPS = float(np.finfo(np.float32).eps)


def logits(rows: int = 5, columns: int = 75) -> np.ndarray:
    """Numbers as a layer gives them."""
    return floats(rows, columns, low=-6, high=6)


def softmax(x: np.ndarray, y: np.ndarray, rows: np.int32, columns: np.int32) -> dict:
    """Errors of the difference (half a unit of up to 12, so 12 EPS/2 in the exponent), exp, the sum, the quotient."""
    wide = x.astype(np.float64)
    e = np.exp(wide - wide.max(1, keepdims=True))
    value = e / e.sum(1, keepdims=True)
    return {1: Near(value, value * EPS * (2 * (6 + 2) + columns + 1))}


def softmax_online(x: np.ndarray, y: np.ndarray, rows: np.int32, columns: np.int32) -> dict:
    """The same with the fast exponential (up to 2 + 1.173 * 12 units), applied again each time the maximum grows."""
    wide = x.astype(np.float64)
    e = np.exp(wide - wide.max(1, keepdims=True))
    value = e / e.sum(1, keepdims=True)
    return {1: Near(value, value * EPS * (10 * (6 + 2 + 1.173 * 12) + columns + 2))}


launched("neural", "softmax", 3, (32, 2), lambda: (logits(), zeros(5, 75), i32(5), i32(75)), softmax, exact=False)
launched(
    "neural",
    "softmax_online",
    3,
    (32, 2),
    lambda: (logits(), zeros(5, 75), i32(5), i32(75)),
    softmax_online,
    exact=False,
)


def layer_norm(x, scale, shift, y, columns) -> dict:
    """The variance is a difference of means of squares: its error is relative to them."""
    wide = x.astype(np.float64)
    mean = wide.mean(1, keepdims=True)
    squares = (wide**2).mean(1, keepdims=True)
    variance = squares - mean**2 + 1e-5
    value = (wide - mean) / np.sqrt(variance)
    error_of_mean = (columns / 256 + 16) * EPS * np.abs(wide).mean(1, keepdims=True)
    error_of_variance = (columns / 256 + 16) * EPS * (squares + mean**2) + 2 * np.abs(mean) * error_of_mean
    bound = (
        np.abs(value) * (0.5 * error_of_variance / variance + 5 * EPS)
        + error_of_mean / np.sqrt(variance)
        + EPS * np.abs(wide) / np.sqrt(variance)
    )
    return {3: Near(value * scale + shift, bound * np.abs(scale) + 2 * EPS * (np.abs(value * scale) + np.abs(shift)))}


launched(
    "neural",
    "layer_norm",
    3,
    256,
    lambda: (floats(3, 700, low=-1, high=2), floats(700, seed=2), floats(700, seed=3), zeros(3, 700), i32(700)),
    layer_norm,
    exact=False,
)
launched(
    "neural",
    "embedding_gather",
    3,
    128,
    lambda: (floats(50, 32), integers(40, high=50), zeros(40, 32), i32(40)),
    lambda table, ids, out, n: {2: table[ids]},
)


def scatter(gradient, ids, table, n, rate) -> dict:
    """Sums in any order; each term is a rounded product."""
    terms = -np.float64(rate) * gradient
    value = table.astype(np.float64)
    np.add.at(value, ids, terms)
    size = np.abs(table).astype(np.float64)
    np.add.at(size, ids, np.abs(terms))
    return {2: Near(value, (np.bincount(ids).max() + 2) * EPS * size)}


launched(
    "neural",
    "embedding_scatter",
    10,
    (32, 4),
    lambda: (floats(40, 32, low=-1), integers(40, high=9), floats(9, 32, seed=2), i32(40), np.float32(0.125)),
    scatter,
    exact=False,
)


def cross_entropy(z, clicked, loss, gradient, n) -> dict:
    """Loss and gradient of a click."""
    wide, label = z.astype(np.float64), clicked.astype(np.float64)
    small = np.log1p(np.exp(-np.abs(wide)))
    value = np.maximum(wide, 0) - wide * label + small
    p = 1 / (1 + np.exp(-wide))
    return {
        2: Near(value, EPS * (np.maximum(wide, 0) + np.abs(wide) + 4 * small + np.abs(value))),
        3: Near(p - label, EPS * (5 * p + 1)),
    }


launched(
    "neural",
    "cross_entropy",
    3,
    100,
    lambda: (logits(1, 290)[0], integers(290, high=2, dtype=np.uint8), zeros(290), zeros(290), i32(290)),
    cross_entropy,
    exact=False,
)


def activations(x, y, n) -> dict:
    """ReLU, leaky ReLU, GELU, tanh."""
    wide = x.astype(np.float64)
    error = np.vectorize(math.erf)(wide * np.float64(np.float32(0.70710678)))
    rows = np.stack(
        [
            np.maximum(wide, 0),
            np.where(wide > 0, wide, np.float64(np.float32(0.01)) * wide),
            0.5 * wide * (1 + error),
            np.tanh(wide),
        ]
    )
    bound = ulps(rows, 2)
    # erff's argument is off by half a unit, which its slope carries on; 1 + erf is small for negative x.
    bound[2] = np.abs(wide) * EPS * 4
    return {1: Near(rows, bound)}


launched(
    "neural",
    "activations",
    (3, 4),
    100,
    lambda: (floats(290, low=-4, high=4), zeros(4, 290), i32(290)),
    activations,
    exact=False,
)
