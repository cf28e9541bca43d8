"""Checks of computed values, called by code that is generated only when hazards are on."""

from __future__ import annotations

import numpy as np

from gpukit.machine.hazards import HazardTracker
from gpukit.machine.lanes import LaneSet
from gpukit.machine.program import Alu
from gpukit.machine.spots import Lanewise


class ValueChecks:
    """The part of a wave's run that looks at results."""

    L: LaneSet
    tracker: HazardTracker | None

    @property
    def _hazards(self) -> HazardTracker:
        assert self.tracker is not None  # the calls of these checks are generated only when there is one
        return self.tracker

    def check_float(self, op: Alu, result: Lanewise, operands: tuple) -> None:
        """A NaN or Inf in the result is worth a look at where it came from."""
        if not np.isfinite(result).all():
            self._hazards.float_check(op, result, operands, self.L)

    def check_accumulate(self, op: Alu, result: Lanewise, operands: tuple) -> None:
        """As check_float, and whether the accumulator (operand 0) took in what was added to it."""
        self.check_float(op, result, operands)
        self._hazards.accumulated(op, operands[0], operands[1], result, self.L)

    def check_accumulate_product(self, op: Alu, result: Lanewise, operands: tuple) -> None:
        """As check_accumulate, of a fused multiply-add to the accumulator (operand 2)."""
        self.check_float(op, result, operands)
        product = operands[0] * operands[1]
        self._hazards.accumulated(op, operands[2], product, result, self.L)

    def check_narrow(self, op: Alu, value: Lanewise, result: Lanewise) -> None:
        """An integer about to be stored in a narrower type."""
        changed = np.asarray(result != value)
        signs = np.asarray((result < 0) != (value < 0))  # int64 <-> uint64 compares equal after wrapping
        lost = changed | signs
        if lost.any():
            lost = np.broadcast_to(lost, (self.L.n,))
            values = np.broadcast_to(np.asarray(value), (self.L.n,))
            self._hazards.narrow(op, self.L.subset(lost), values[lost], np.asarray(result).dtype)

    def check_int_div(self, op: Alu, divisor: Lanewise) -> None:
        """Integer division by zero: undefined on hardware."""
        zero = np.asarray(divisor == 0)
        if zero.any():
            self._hazards.int_div(op, self.L.subset(np.broadcast_to(zero, (self.L.n,))))
