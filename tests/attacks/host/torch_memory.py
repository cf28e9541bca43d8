"""Tensors that take all memory.

Deserves: 0 points
Named: MemoryError: it asks for more memory than host code may have
"""

import torch


def bandwidth_gb_s(bytes_moved, seconds):
    kept = []
    while True:
        kept.append(torch.ones(1 << 24))
