"""What torchrun starts: this folder, as a program. Its package is known by gpukit's plugins alone."""

import importlib
import sys
from pathlib import Path

from gpukit import plugins
from gpukit.errors import GpukitError

if __name__ == "__main__":
    here = str(Path(__file__).parent)
    sys.path[:] = [path for path in sys.path if path != here]  # Python puts it first: its modules are no others' names
    plugins.load("ctr")
    try:
        importlib.import_module(f"{plugins.NAMESPACE}.ctr.extras").need_torch()
    except GpukitError as error:
        sys.exit(f"gpukit: {error}")
    importlib.import_module(f"{plugins.NAMESPACE}.ctr.sharding.command").main()
