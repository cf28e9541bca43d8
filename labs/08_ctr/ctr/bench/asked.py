"""What `gpukit bench ctr` was asked to measure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..errors import CtrError
from ..fast.switches import ladder

BATCHES = (8_192, 65_536)  # where none is given


@dataclass(frozen=True, slots=True)
class Asked:
    """batches: of the ladders; BATCHES where there are none. rungs: by name; all where there are none.

    samples: impressions of a comparison or of a test of quality; None leaves it to the machine. seconds: how long a
    rung is timed, about. quality: compare what is learned. profiles: see where the time goes, or count what the kernels
    ask of the memory. Raises CtrError for a rung that there is not.
    """

    batches: Sequence[int] = ()
    rungs: Sequence[str] = ()
    samples: int | None = None
    seconds: float = 1.5
    quality: bool = True
    profiles: bool = True

    def __post_init__(self) -> None:
        known = [rung.name for rung in ladder(1, 1)]
        for name in self.rungs:
            if name not in known:
                raise CtrError(f"the ladder has no rung {name!r}: it has {', '.join(known)}")
