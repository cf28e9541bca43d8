"""What is wrong with a kernel, found while it runs (`tracker`); what makes it slow, found afterwards (`findings`)."""

from gpukit.machine.hazards.ledger import Hazard
from gpukit.machine.hazards.tracker import HazardTracker

__all__ = ["Hazard", "HazardTracker"]
