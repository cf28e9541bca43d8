"""What every baseline is."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..storage.log import Part

Predictor = Callable[[Part], np.ndarray]  # a part to its (rows,) float64 probabilities
Fit = Callable[[Part, Part, int], Predictor]  # training and validation rows, and a seed
