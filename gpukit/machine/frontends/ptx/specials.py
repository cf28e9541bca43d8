"""Special registers: `%tid.x` and the like."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpukit.machine.program import Alu, Const

if TYPE_CHECKING:
    from gpukit.machine.frontends.ptx.emitter import Emitter

_U32, _U64 = np.dtype(np.uint32), np.dtype(np.uint64)

# Those that the machine knows under the same name.
_SAME = frozenset(f"{name}.{axis}" for name in ("tid", "ctaid", "ntid", "nctaid") for axis in "xyz") | {
    "laneid",
    "warpid",
    "lanemask_lt",
}
# Those that have one value here: one grid on one SM of a device without clusters.
_CONSTANT = {
    "%smid": 0, "%nsmid": 1, "%gridid": 0, "%nwarpid": 64,
    **{f"%clusterid.{axis}": 0 for axis in "xyz"},
    **{f"%cluster_ctaid.{axis}": 0 for axis in "xyz"},
    **{f"%cluster_nctaid.{axis}": 1 for axis in "xyz"},
    "%cluster_ctarank": 0, "%cluster_nctarank": 1, "%is_explicit_cluster": 0,
    "%reserved_smem_offset_begin": 0, "%reserved_smem_offset_end": 0, "%reserved_smem_offset_cap": 0,
    "WARP_SZ": 32,
}  # fmt: skip
# The other lane masks, from the bits below the lane's own.
_MASKS = {
    "lanemask_lt": "{0}",
    "lanemask_le": "{0} << np.uint32(1) | np.uint32(1)",
    "lanemask_eq": "{0} + np.uint32(1)",
    "lanemask_ge": "~{0}",
    "lanemask_gt": "~({0} << np.uint32(1) | np.uint32(1))",
}


def read(out: Emitter, name: str) -> int:
    """A fresh register with the value of a special register. Widths are those of the PTX ISA."""
    plain = name.lstrip("%")
    if plain in _SAME:
        return out.special(plain, _U32)
    if plain in _MASKS:
        below, mask = out.special("lanemask_lt", _U32), out.temporary(_U32)
        out.emit(Alu(mask, (below,), _MASKS[plain], out.line, count=0))
        return mask
    if plain in ("clock", "clock_hi"):
        return out.special("clock", _U32)
    if plain in ("clock64", "globaltimer"):
        return out.special("clock", _U64)
    if plain in ("globaltimer_lo", "globaltimer_hi"):
        return out.special("clock", _U32)
    if plain in ("dynamic_smem_size", "total_smem_size", "aggr_smem_size"):
        return out.lowering.shared_size(dynamic=plain == "dynamic_smem_size")
    if plain in ("envreg1", "envreg2"):
        return out.lowering.workspace_word(int(plain[-1]), _U32)
    if name in _CONSTANT:
        register = out.temporary(_U32)
        out.emit(Alu(register, (Const(np.uint32(_CONSTANT[name])),), "{0}", out.line, count=0))
        return register
    out.refuse(f"the special register {name}")


def direct(name: str) -> str | None:
    """The machine's own name of a special register that needs no arithmetic."""
    plain = name.lstrip("%")
    return plain if plain in _SAME else None
