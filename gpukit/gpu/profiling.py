"""A launch on both machines: what the CPU machine counts beside what the hardware counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from gpukit import levels
from gpukit.gpu import ncu
from gpukit.gpu.metrics import COMPARED
from gpukit.launching import Progress, Shape, profile
from gpukit.report import Report
from gpukit.report.model import Number

BY_ASSEMBLER = "the GPU's assembler makes machine code of the PTX that is counted here"
SPILLED = "registers that did not fit, which the GPU's assembler chose"
AS_WRITTEN = "counted as it is written; --level compiled counts what the compiler made of it"
TIMED = "the order in which warps run decides it"


@dataclass(frozen=True, slots=True)
class Row:
    """One counter on both machines. `difference` is the hardware's count minus the CPU machine's; `remark` says why
    there may be one, "" where there is none or no reason is known."""

    counter: str
    model: int
    hardware: int
    difference: int
    remark: str = ""


@dataclass(slots=True)
class OnBothMachines:
    """A launch on the CPU machine (`model`) and, where it could be read, on the hardware (`reading`); `why_not` says
    why it could not."""

    model: Report
    gpu: str
    reading: ncu.Reading | None = None
    why_not: str = ""
    rows: list[Row] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """Everything as dicts, lists, strings and numbers, ready for `json.dump`."""
        reading = self.reading
        return {
            "machine": "gpu",
            "gpu": self.gpu,
            "model": self.model.to_dict(),
            "hardware": reading.counters if reading is not None else None,
            "metrics": reading.metrics if reading is not None else None,
            "seconds": reading.seconds if reading is not None else None,
            "why_not": self.why_not,
            "comparison": [asdict(row) for row in self.rows],
        }


def on_both_machines(
    kernel: Any,
    grid: Shape,
    block: Shape,
    *args: Any,
    spec: ncu.Spec,
    card: str,
    shared_bytes: int = 0,
    gpu: str | None = None,
    level: str | None = None,
    progress: Progress | None = None,
) -> OnBothMachines:
    """Count one launch on both machines.

    Args:
        kernel, grid, block, *args, shared_bytes, gpu, progress: the launch here, as for `gpukit.profile`.
        spec: the same launch for another process. card: what the GPU is called.
        level: of the CPU machine; "compiled" if none is given, since that is what the hardware runs.

    Raises GpukitError: the kernel is wrong, or fails. Counters that cannot be read are no error: see `why_not`.
    """
    model = profile(
        *(kernel, grid, block, *args),
        shared_bytes=shared_bytes,
        hazards=False,
        gpu=gpu,
        level=level or (None if levels.is_compiled(kernel) else levels.COMPILED),
        progress=progress,
    )
    found = OnBothMachines(model, card)
    try:
        found.reading = ncu.read(spec)
    except ncu.NoCounters as error:
        found.why_not = error.message
        return found
    found.rows = compared(model.counters, found.reading.counters, model.level)
    return found


def compared(model: Mapping[str, Number], hardware: Mapping[str, int], level: str = levels.COMPILED) -> list[Row]:
    """The counters that both have, in the order of `COMPARED`, without those that are 0 on both."""
    rows = []
    for counter in COMPARED:
        if counter not in hardware:
            continue
        here, there = round(model.get(counter, 0)), hardware[counter]
        if here or there:
            rows.append(Row(counter, here, there, there - here, _remark(counter, here, there, level)))
    return rows


def _remark(counter: str, here: int, there: int, level: str) -> str:
    if here == there:
        return ""
    if level == levels.SOURCE:
        return AS_WRITTEN
    if counter in ("warp_instructions", "thread_instructions"):
        return BY_ASSEMBLER
    if counter.startswith("local_"):
        return SPILLED
    return TIMED if "atomic" in counter else ""
