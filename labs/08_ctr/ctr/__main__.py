"""`gpukit ctr` as a script, for those that start one: python labs/08_ctr/ctr train.

torchrun --nproc-per-node 2 labs/08_ctr/ctr train --sharded
"""

import sys
from pathlib import Path

# Python put this folder there, whose modules are a package's and no programs.
sys.path[0] = str(Path(__file__).resolve().parents[3])

from gpukit import cli  # noqa: E402

if __name__ == "__main__":
    sys.exit(cli.main(["ctr", *sys.argv[1:]]))
