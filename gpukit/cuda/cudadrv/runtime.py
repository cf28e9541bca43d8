"""`numba.cuda.cudadrv.runtime`: the CUDA runtime, of which only the version can be asked."""

from __future__ import annotations


class Runtime:
    """The runtime whose rules the CPU machine follows."""

    def get_version(self) -> tuple[int, int]:
        return (13, 0)

    def is_supported_version(self) -> bool:
        return True


runtime = Runtime()
