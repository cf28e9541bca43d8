"""Specifications of named GPUs, read from data/gpus.toml (which names the source of every number)."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field, fields
from functools import cache

from gpukit.errors import GpukitError
from gpukit.resources import data_file

DEFAULT_GPU = "H200"

# The same on every GPU of compute capability 7.0 to 12.x (CUDA C++ Programming Guide, technical specifications).
WARP_SIZE = 32
MAX_THREADS_PER_BLOCK = 1024
MAX_REGISTERS_PER_THREAD = 255
SHARED_PER_BLOCK_DEFAULT_BYTES = 48 * 1024


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU. A figure that is not known for sure is None; `sources` says where each figure is from.

    `aliases` are other names of exactly this GPU; `memory_mhz` is half of the data rate of a pin, as CUDA reports it.
    """

    name: str
    architecture: str
    compute_capability: str
    max_threads_per_sm: int
    max_blocks_per_sm: int
    shared_per_sm_bytes: int
    shared_per_block_optin_bytes: int
    shared_reserved_per_block_bytes: int
    shared_allocation_unit_bytes: int
    fp32_lanes_per_sm: int
    registers_per_sm: int = 65536
    shared_per_block_bytes: int = SHARED_PER_BLOCK_DEFAULT_BYTES
    max_threads_per_block: int = MAX_THREADS_PER_BLOCK
    sms: int | None = None
    fp32_tflops: float | None = None
    bandwidth_gb_s: float | None = None
    l2_bytes: int | None = None
    copy_gb_s: float | None = None
    boost_mhz: float | None = None
    memory_mhz: float | None = None
    bus_bits: int | None = None
    aliases: tuple[str, ...] = ()
    sources: dict[str, str] = field(default_factory=dict)

    @property
    def max_warps_per_sm(self) -> int:
        return self.max_threads_per_sm // WARP_SIZE

    def to_dict(self) -> dict:
        """All figures and their sources, ready for JSON; unknown figures are left out."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        return {name: value for name, value in values.items() if value is not None}


@cache
def all_gpus() -> dict[str, Gpu]:
    """Every GPU of the specification file by name, in the file's order (oldest first)."""
    specs = tomllib.loads(data_file("gpus.toml").read_text(encoding="utf-8"))
    limits = specs["compute_capability"]
    gpus = {}
    for name, spec in specs["gpu"].items():
        aliases = tuple(spec.pop("aliases", ()))
        gpus[name] = Gpu(name=name, aliases=aliases, **limits[spec["compute_capability"]], **spec)
    return gpus


def find_gpu(name: str = DEFAULT_GPU) -> Gpu:
    """The GPU called `name`: case, spaces and a leading "NVIDIA" do not matter, and a part is enough if only one fits.

    A name of its own goes before a part of one: "A10" is not the A100, and a plain "A100" is the one that has it among
    its aliases. Raises GpukitError, naming the GPUs there are, when none or several fit.
    """
    gpus = all_gpus()
    wanted = _plain(name)
    exact = gpu_called(name)
    matches = [exact] if exact else [gpu for gpu in gpus.values() if wanted and any(wanted in n for n in _names(gpu))]
    if len(matches) == 1:
        return matches[0]
    problem = "fits several GPUs" if matches else "is not a GPU this kit has figures for"
    known = ", ".join(gpu.name for gpu in matches or gpus.values())
    raise GpukitError(f"{name!r} {problem}; choose one of: {known}.")


def gpu_called(name: str) -> Gpu | None:
    """The GPU that CUDA calls `name` ("NVIDIA A100-SXM4-40GB"), or None: a part of a name is not enough here, because a
    laptop's "RTX 3080 Laptop GPU" is another GPU than the RTX 3080."""
    wanted = _plain(name)
    return next((gpu for gpu in all_gpus().values() if wanted in _names(gpu)), None)


def _names(gpu: Gpu) -> tuple[str, ...]:
    return tuple(_plain(name) for name in (gpu.name, *gpu.aliases))


def _plain(name: str) -> str:
    return re.sub(r"nvidia|geforce|tesla|[^a-z0-9]", "", name.lower())
