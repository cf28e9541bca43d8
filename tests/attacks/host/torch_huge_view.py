"""An array of a billion numbers that is one number long.

Deserves: 0 points
Named: it returned more than 4,194,304 bytes
"""

import torch


def bandwidth_gb_s(bytes_moved, seconds):
    return torch.ones(1).expand(1 << 30).numpy()
