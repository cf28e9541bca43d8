"""How good predictions are, and how good they could be. NumPy float64 alone.

losses         logloss from probabilities and from logits, normalized entropy
ranking        AUC, E[AUC], PR-AUC, AUC by member
bins           predicted clicks over clicks: in all, by decile, by campaign; ECE
uncertainty    standard errors, and differences of two predictors on the same rows
bayes          the ceiling, regret, and the leak test
cold           warm and cold rows
evaluation     all of it for one predictor
table          evaluations in a terminal
"""

from .bayes import LEAK, bayes_auc, bayes_logloss, leak, leak_sentence, regret
from .bins import Bin, by_group, calibration, deciles, ece
from .cold import slices
from .evaluation import Ceiling, Evaluation, Slice, evaluate
from .losses import logloss, logloss_of_logits, normalized_entropy
from .ranking import GroupedAuc, auc, expected_auc, expected_auc_error, gauc, pr_auc
from .uncertainty import (
    Difference,
    auc_difference,
    auc_error,
    calibration_error,
    logloss_difference,
    logloss_error,
    normalized_entropy_error,
)

__all__ = [
    "LEAK",
    "Bin",
    "Ceiling",
    "Difference",
    "Evaluation",
    "GroupedAuc",
    "Slice",
    "auc",
    "auc_difference",
    "auc_error",
    "bayes_auc",
    "bayes_logloss",
    "by_group",
    "calibration",
    "calibration_error",
    "deciles",
    "ece",
    "evaluate",
    "expected_auc",
    "expected_auc_error",
    "gauc",
    "leak",
    "leak_sentence",
    "logloss",
    "logloss_difference",
    "logloss_error",
    "logloss_of_logits",
    "normalized_entropy",
    "normalized_entropy_error",
    "pr_auc",
    "regret",
    "slices",
]
