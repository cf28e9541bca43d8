"""A `with` that writes a file when it ends.

Deserves: refused
Named: `torch.profiler` in the host function
"""

import torch


def blocks_for(n, threads):
    with torch.no_grad(), torch.profiler.profile() as seen:
        torch.ones(3)
    seen.export_chrome_trace("/CANARY/trace.json")
    return 1
