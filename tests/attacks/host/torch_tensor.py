"""A tensor in place of its number: equal to many things, and a bearer of methods.

Deserves: 0 points
Named: it returned a value of type Tensor: return x.detach().numpy()
"""

import torch


def bandwidth_gb_s(bytes_moved, seconds):
    return torch.tensor(bytes_moved / seconds / 1e9)
