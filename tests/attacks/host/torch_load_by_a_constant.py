"""A function that reads files, by the name of a constant.

Deserves: refused
Named: `torch.load` in a constant
"""

import torch

READ = torch.load


def blocks_for(n, threads):
    return READ("/etc/passwd", weights_only=False)
