"""Parameters and results of calls: registers by byte offset instead of memory."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from gpukit.machine.frontends.ptx.emitter import Emitter
from gpukit.machine.program import Alu
from gpukit.machine.program import Operand as Value


@dataclass
class Slots:
    """One `.param` variable of a call. `pieces`: byte offset -> (register, bytes)."""

    name: str
    pieces: dict[int, tuple[int, int]] = field(default_factory=dict)

    def piece(self, out: Emitter, offset: int, nbytes: int) -> int:
        """The register of some bytes, made when it is first asked for."""
        found = self.pieces.get(offset)
        if found is None or found[1] != nbytes:
            found = self.pieces[offset] = (out.temporary(np.dtype(f"u{nbytes}")), nbytes)
        return found[0]

    def store(self, out: Emitter, offset: int, value: Value, dtype: np.dtype) -> None:
        """bytes at offset = value (of dtype)."""
        unsigned = np.dtype(f"u{dtype.itemsize}")
        register = self.piece(out, offset, dtype.itemsize)
        bits = value if not isinstance(value, int) else out.viewed(value, unsigned)
        if not isinstance(bits, int):
            bits = out.literal(bits, unsigned)
        out.emit(Alu(register, (bits,), "{0}", out.line, count=0))
        out.forget(register)

    def load(self, out: Emitter, offset: int, dtype: np.dtype) -> Value:
        """The bytes at offset as `dtype`, put together from the pieces that hold them."""
        found = self.pieces.get(offset)
        if found is not None and found[1] == dtype.itemsize:
            return out.viewed(found[0], dtype)
        total: Value | None = None
        wide = np.dtype(np.uint64)
        for start, (register, nbytes) in sorted(self.pieces.items()):
            low, high = max(start, offset), min(start + nbytes, offset + dtype.itemsize)
            if low >= high:
                continue
            part = out.temporary(wide)
            right, left = 8 * (low - start), 8 * (low - offset)
            mask = (1 << 8 * (high - low)) - 1
            code = f"(({{0}}.astype('u8') >> np.uint64({right})) & np.uint64({mask})) << np.uint64({left})"
            out.emit(Alu(part, (register,), code, out.line, count=0))
            if total is None:
                total = part
            else:
                both = out.temporary(wide)
                out.emit(Alu(both, (total, part), "{0} | {1}", out.line, count=0))
                total = both
        if total is None:
            out.refuse(f"bytes of the call's parameter {self.name} that were never passed")
        assert isinstance(total, int)
        return out.viewed(total, dtype)
