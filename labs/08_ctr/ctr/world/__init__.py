"""The log generator: a world whose true click probabilities are known, its impressions, history, and the truth."""

from .generating import generate
from .options import DEFAULT, FACTS, PRESETS, SMALL, SPARSE, STEADY, Options, preset
from .sampling import downsampled, recalibrate
from .truth import open_truth, truth_of, verify_truth
from .world import World, schema_of

__all__ = [
    "DEFAULT",
    "FACTS",
    "PRESETS",
    "SMALL",
    "SPARSE",
    "STEADY",
    "Options",
    "World",
    "downsampled",
    "generate",
    "open_truth",
    "preset",
    "recalibrate",
    "schema_of",
    "truth_of",
    "verify_truth",
]
