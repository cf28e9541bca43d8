"""The source level beside the compiled level: what the compiler changed, and why where that can be shown."""

from gpukit.comparison.model import Difference, LevelComparison, LineComparison, ResultComparison
from gpukit.comparison.reasons import Reason
from gpukit.comparison.running import compare_levels

__all__ = ["Difference", "LevelComparison", "LineComparison", "Reason", "ResultComparison", "compare_levels"]
