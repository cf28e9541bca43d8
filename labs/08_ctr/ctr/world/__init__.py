"""The log generator: a world whose true click probabilities are known, its impressions, history, and the truth."""

from .cold import Seen, cold_shares, unseen_to_unknown
from .generating import generate
from .options import DEFAULT, FACTS, PRESETS, SMALL, SPARSE, STEADY, Options, preset
from .sampling import downsampled, recalibrate
from .truth import open_truth, verify_truth
from .world import World

__all__ = [
    "DEFAULT",
    "FACTS",
    "PRESETS",
    "SMALL",
    "SPARSE",
    "STEADY",
    "Options",
    "Seen",
    "World",
    "cold_shares",
    "downsampled",
    "generate",
    "open_truth",
    "preset",
    "recalibrate",
    "unseen_to_unknown",
    "verify_truth",
]
