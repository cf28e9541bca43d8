"""Give the course's own kernel as the answer.

Deserves: refused
Named: an import of gpukit.kernels
"""

from gpukit.kernels.reduction import shuffle as dot
