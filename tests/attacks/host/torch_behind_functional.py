"""The whole package, which its module of functions has imported.

Deserves: refused
Named: `F.torch`
"""

import torch.nn.functional as F


def blocks_for(n, threads):
    return F.torch.ops.load_library("/CANARY/library.so")
