"""How many blocks and warps of a launch an SM holds at a time, and what stops it from holding more.

The rules are those of NVIDIA's occupancy API; the tests compare with its answers on an H200.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpukit.errors import LaunchError
from gpukit.gpus import DEFAULT_GPU, MAX_REGISTERS_PER_THREAD, WARP_SIZE, Gpu, find_gpu

# An SM has four schedulers, each with a quarter of the registers; a warp takes registers in units of 256.
SCHEDULERS_PER_SM = 4
REGISTER_UNIT = 256


@dataclass(frozen=True, slots=True)
class Occupancy:
    """What one SM of `gpu` holds at a time.

    `limits` maps what is limited ("threads", "blocks", "shared memory", "registers") to the blocks per SM it allows;
    `limited_by` names the tightest ones; `occupancy` is warps_per_sm / max_warps_per_sm, from 0 to 1.
    """

    gpu: str
    block_threads: int
    shared_bytes: int
    registers: int | None
    blocks_per_sm: int
    warps_per_sm: int
    max_warps_per_sm: int
    limits: dict[str, int]
    resident_warps: int | None

    @property
    def occupancy(self) -> float:
        return self.warps_per_sm / self.max_warps_per_sm

    @property
    def limited_by(self) -> tuple[str, ...]:
        return tuple(name for name, blocks in self.limits.items() if blocks == self.blocks_per_sm)

    def to_dict(self) -> dict:
        """Plain data for JSON. `resident_warps` is what the whole GPU holds, null when its SM count is not known."""
        return {
            "gpu": self.gpu,
            "block_threads": self.block_threads,
            "shared_bytes": self.shared_bytes,
            "registers": self.registers,
            "blocks_per_sm": self.blocks_per_sm,
            "warps_per_sm": self.warps_per_sm,
            "max_warps_per_sm": self.max_warps_per_sm,
            "occupancy": self.occupancy,
            "limited_by": list(self.limited_by),
            "limits": dict(self.limits),
            "resident_warps": self.resident_warps,
        }


def occupancy(
    block_threads: int, shared_bytes: int = 0, registers: int | None = None, gpu: str | Gpu = DEFAULT_GPU
) -> Occupancy:
    """Occupancy of a launch.

    Args:
        block_threads: threads per block, 1 to 1,024.
        shared_bytes: static and dynamic shared memory of a block, in bytes.
        registers: registers per thread (1 to 255), or None when the compiler has not said: then they do not limit.
        gpu: name of a GPU of data/gpus.toml, or a Gpu.

    Returns:
        Occupancy; `blocks_per_sm` is 0 when a block does not fit at all, and `limits` then says why.

    Raises:
        LaunchError: a number outside the ranges above.
    """
    gpu = find_gpu(gpu) if isinstance(gpu, str) else gpu
    if not 1 <= block_threads <= gpu.max_threads_per_block:
        raise LaunchError(f"A block has 1 to {gpu.max_threads_per_block:,} threads, not {block_threads:,}.")
    if shared_bytes < 0:
        raise LaunchError(f"Shared memory per block cannot be {shared_bytes} bytes.")
    if registers is not None and not 1 <= registers <= MAX_REGISTERS_PER_THREAD:
        raise LaunchError(f"A thread has 1 to {MAX_REGISTERS_PER_THREAD} registers, not {registers}.")

    warps_per_block = -(-block_threads // WARP_SIZE)
    limits = {"threads": gpu.max_warps_per_sm // warps_per_block, "blocks": gpu.max_blocks_per_sm}
    if shared_bytes > 0:
        limits["shared memory"] = _blocks_by_shared_memory(gpu, shared_bytes)
    if registers is not None:
        limits["registers"] = _blocks_by_registers(gpu, warps_per_block, registers)
    blocks = min(limits.values())
    warps = blocks * warps_per_block
    return Occupancy(
        gpu=gpu.name,
        block_threads=block_threads,
        shared_bytes=shared_bytes,
        registers=registers,
        blocks_per_sm=blocks,
        warps_per_sm=warps,
        max_warps_per_sm=gpu.max_warps_per_sm,
        limits=limits,
        resident_warps=None if gpu.sms is None else warps * gpu.sms,
    )


def _blocks_by_shared_memory(gpu: Gpu, shared_bytes: int) -> int:
    if shared_bytes > gpu.shared_per_block_optin_bytes:
        return 0
    return gpu.shared_per_sm_bytes // _round_up(
        shared_bytes + gpu.shared_reserved_per_block_bytes, gpu.shared_allocation_unit_bytes
    )


def _blocks_by_registers(gpu: Gpu, warps_per_block: int, registers: int) -> int:
    per_warp = _round_up(registers * WARP_SIZE, REGISTER_UNIT)
    if per_warp * warps_per_block > gpu.registers_per_sm:
        return 0
    per_scheduler = gpu.registers_per_sm // SCHEDULERS_PER_SM // per_warp
    return per_scheduler * SCHEDULERS_PER_SM // warps_per_block


def _round_up(value: int, unit: int) -> int:
    return -(-value // unit) * unit
