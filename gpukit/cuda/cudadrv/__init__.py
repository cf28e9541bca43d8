"""`numba.cuda.cudadrv`: the few names of the driver layer that programs look at."""

from gpukit.cuda import device as devices
from gpukit.cuda import devicearray
from gpukit.cuda import errors as error
from gpukit.cuda.cudadrv import driver, runtime

__all__ = ["devicearray", "devices", "driver", "error", "runtime"]
