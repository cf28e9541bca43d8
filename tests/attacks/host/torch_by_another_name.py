"""The module under a name that nobody looks at, from an inner function's parameter.

Deserves: refused
Named: is also a variable
"""

import torch


def blocks_for(n, threads):
    def inner(torch):
        return torch

    module = torch
    return module.load("/etc/passwd")
