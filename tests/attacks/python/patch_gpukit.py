"""Replace the machine's entry point by one that reports nothing.

Deserves: refused
Named: an import of gpukit
"""

import gpukit

gpukit.profile = lambda *args, **kwargs: None
