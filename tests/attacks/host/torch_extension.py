"""A compiler, and what it makes, by a module of PyTorch's.

Deserves: refused
Named: an import of torch.utils
"""

from torch.utils import cpp_extension


def blocks_for(n, threads):
    return cpp_extension.load_inline("x", 'int x = system("touch /CANARY/compiled");')
