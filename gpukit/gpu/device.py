"""A GPU as a device that plans run on."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from gpukit.errors import LaunchError
from gpukit.gpu import availability, libraries
from gpukit.gpu.errors import explaining, free_bytes

if TYPE_CHECKING:
    from gpukit.registry import Launch


class Gpu:
    """CuPy's current GPU as a `gpukit.devices.Device`: name "gpu", `xp` is CuPy, `sms` its multiprocessors.

    `card` is what NVIDIA calls it, `capability` its compute capability, "9.0".

    Raises LaunchError where no GPU can be used.
    """

    def __init__(self) -> None:
        why = availability.missing()
        if why:
            raise LaunchError(why)
        self.name = "gpu"
        self.xp: ModuleType = libraries.cupy()
        device = self.xp.cuda.Device()
        self.sms = int(device.attributes["MultiProcessorCount"])
        name = self.xp.cuda.runtime.getDeviceProperties(device.id)["name"]
        self.card = name.decode() if isinstance(name, bytes) else str(name)
        self.capability = f"{device.compute_capability[:-1]}.{device.compute_capability[-1]}"

    @property
    def memory_bytes(self) -> int:
        """Bytes that arrays can still take."""
        return free_bytes(self.xp)

    def launch(self, launch: Launch) -> None:
        """Start one launch on CuPy's current stream; with CuPy arrays it runs on by itself.

        Raises what `gpukit.launch` raises.
        """
        from gpukit.launching import launch as start

        start(
            *(launch.kernel, launch.grid, launch.block, *launch.args),
            shared_bytes=launch.shared_bytes,
            machine="gpu",
        )

    def synchronize(self) -> None:
        """Wait for what was started. Raises GpuError if a kernel failed."""
        with explaining("a kernel that was launched before", cupy=self.xp):
            self.xp.cuda.Device().synchronize()

    def to_host(self, array: Any) -> np.ndarray:
        """The array as a NumPy array, once what was started before has run."""
        with explaining("a kernel that was launched before", cupy=self.xp):
            return np.array(self.xp.asnumpy(array))
