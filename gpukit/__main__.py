"""`python -m gpukit` is the `gpukit` command."""

import os
import sys

# With -m, Python looks for modules in the current folder first, and would run a numpy.py of somebody else's there, of a
# submission for instance. The installed command does not look there at all.
if __name__ == "__main__" and not sys.flags.safe_path:
    _here = sys.path.pop(0)
    if os.path.samefile(_here or ".", os.path.join(os.path.dirname(__file__), "..")):
        sys.path.append(_here)  # a checkout: gpukit itself lies there

from gpukit.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
