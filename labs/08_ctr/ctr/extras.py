"""Packages that gpukit does without, and this lab does not."""

from __future__ import annotations

import os

from .errors import CtrError

INSTALL = 'python -m pip install -e ".[ctr]"'


def need_torch() -> None:
    """Raises CtrError where PyTorch is not installed. Else its threads wait for one another without spinning, which
    costs nothing, and saves most of the time where other programs want the cores, too: on two cores with a load of 5 a
    step took 22 to 31 ms in place of 180 to 260."""
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # read when PyTorch is first imported
    try:
        import torch  # noqa: F401
    except ImportError as error:
        raise CtrError(f"training needs PyTorch ({error.name} is missing): {INSTALL}") from error
