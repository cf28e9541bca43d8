"""Logistic regression on the historical click rates alone: a handful of weights, found by Newton's method in float64.

So few weights of so many rows need no regularisation; validation has nothing to choose.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit, logit

from ..storage.log import Part
from .history import histories
from .interface import Predictor

STEPS = 30
CLOSE = 1e-10  # a step that changes no weight by more is the last
RIDGE = 1e-9  # a row: keeps columns that never change from making the equations singular


def logistic_on_history(train: Part, validation: Part, seed: int) -> Predictor:
    """On the log-odds of the rates, and a constant."""
    past = histories(train)
    weights = newton(_design(past.of(train)), np.asarray(train.labels, np.float64))
    return lambda part: expit(_design(past.of(part)) @ weights)


def newton(design: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """(columns,) weights of least logloss for design (rows, columns) float64 and labels (rows,) of 0 and 1."""
    weights = np.zeros(design.shape[1])
    ridge = RIDGE * len(labels)
    for _ in range(STEPS):
        p = expit(design @ weights)
        slope = design.T @ (p - labels) + ridge * weights
        curve = (design * (p * (1 - p))[:, None]).T @ design + ridge * np.eye(len(weights))
        step = np.linalg.solve(curve, slope)
        weights -= step
        if np.abs(step).max() < CLOSE:
            break
    return weights


def _design(rates: np.ndarray) -> np.ndarray:
    return np.concatenate((np.ones((len(rates), 1)), logit(rates)), axis=1)
