"""Ids drawn by a bounded Zipf law in constant time each, by an alias table that NumPy builds without a loop.

Sources: A. J. Walker, "An Efficient Method for Generating Discrete Random Variables with General Distributions", ACM
TOMS 3 (1977); the construction by prefix sums is that of L. Hübschle-Schneider and P. Sanders, "Parallel Weighted
Random Sampling" (2019), section 4.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


def zipf(count: int, exponent: float, rng: np.random.Generator) -> np.ndarray:
    """(count,) float64: the probability of each id, k ** -exponent for the k-th in an order drawn at random, so that
    the number of an id says nothing about how often it comes."""
    weights = np.arange(1, count + 1, dtype=np.float64) ** -exponent
    weights /= weights.sum()
    return weights[rng.permutation(count)]


@dataclass(frozen=True, slots=True)
class Alias:
    """Draws 0 to count - 1: place i keeps `keep[i]` of its share of the draws and gives the rest to `other[i]`."""

    keep: np.ndarray  # (count,) float32
    other: np.ndarray  # (count,) int32

    @classmethod
    def of(cls, probabilities: np.ndarray) -> Alias:
        """`probabilities`: (count,) float64 that sum to 1."""
        count = len(probabilities)
        scaled = probabilities * count
        light, heavy = np.flatnonzero(scaled < 1), np.flatnonzero(scaled >= 1)
        keep, other = np.ones(count, np.float32), np.arange(count, dtype=np.int32)
        if not light.size or not heavy.size:
            return cls(keep, other)
        lacks = np.cumsum(1 - scaled[light])  # what the light places up to here lack
        spare = np.cumsum(scaled[heavy] - 1)  # what the heavy places up to here have to spare
        last = len(heavy) - 1
        # A light place is filled by the heavy one that is not used up yet.
        keep[light] = scaled[light]
        giver = np.searchsorted(spare, np.concatenate(([0.0], lacks[:-1])), side="right")
        other[light] = heavy[np.minimum(giver, last)]
        # A heavy place used up by light ones has less than its share left, and is filled by the next heavy one.
        by = np.searchsorted(lacks, spare[:-1], side="right")
        used = by < len(light)
        which = np.flatnonzero(used)
        keep[heavy[which]] = 1 + spare[which] - lacks[by[which]]
        other[heavy[which]] = heavy[which + 1]
        return cls(keep, other)

    def draw(self, rng: np.random.Generator, count: int) -> np.ndarray:
        """(count,) int32."""
        scaled = rng.random(count)
        scaled *= len(self.keep)
        place = scaled.astype(np.int32)
        scaled -= place
        return np.where(scaled < self.keep.take(place), place, self.other.take(place))
