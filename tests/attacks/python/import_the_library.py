"""Give the course's own kernel as the answer.

Deserves: refused
Named: gpukit.kernels
"""

from gpukit.kernels.reduction import shuffle as dot
