"""A function that runs inside the backward pass, where nobody would expect one.

Deserves: refused
Named: the attribute `.register_hook`
"""

import torch


def blocks_for(n, threads):
    x = torch.ones(1, requires_grad=True)
    x.register_hook(lambda g: g.untyped_storage())
    x.sum().backward()
    return 1
