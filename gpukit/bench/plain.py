"""What was measured as JSON knows it."""

from __future__ import annotations

from typing import Any

import numpy as np


def plain(value: Any) -> Any:
    """NumPy scalars as what JSON knows; what is not a number in JSON's sense (NaN, infinity) as None."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not np.isfinite(value) else value
