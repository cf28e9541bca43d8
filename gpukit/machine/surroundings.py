"""What a kernel has besides memory: special registers, print, assert; and how a lane is called in messages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gpukit.errors import KernelAssertion
from gpukit.machine.lanes import LaneSet, Wave, per_lane
from gpukit.machine.program import Launch, Print, Raise
from gpukit.machine.spots import Lanewise
from gpukit.machine.warp import active_bits


class Surroundings:
    """The part of a wave's run that answers and speaks."""

    L: LaneSet
    wave: Wave
    launch: Launch
    effects: int

    def __init__(self, output: Callable[[str], bool]):
        self.output = output
        self.clock = 0
        self._special: dict[tuple[str, int], Any] = {}

    def special(self, name: str, register: int) -> Lanewise:
        """A hardware value for the current lanes, in the register's dtype."""
        key = (name, register)
        value = self._special.get(key)
        if value is None:
            dtype = self.launch.program.registers[register].dtype
            if name == "activemask":
                return self._active_mask().astype(dtype)
            if name == "clock":
                self.clock += 1
                return dtype.type(self.clock)
            value = self._special[key] = self._special_value(name, dtype)
        if isinstance(value, np.ndarray) and self.L.index is not None:
            return value[self.L.index]
        return value

    def _special_value(self, name: str, dtype: np.dtype) -> Lanewise:
        """For all lanes of the wave. Made for one block, or once per block, then repeated: divisions are slow."""
        geometry, n_blocks = self.wave.geometry, self.wave.n_blocks
        kind, _, axis = name.partition(".")
        place = "xyz".find(axis) if axis else 0
        thread = np.arange(geometry.lanes_per_block)
        match kind:
            case "ntid":
                return dtype.type(geometry.block[place])
            case "nctaid":
                return dtype.type(geometry.grid[place])
            case "ctaid":
                block = geometry.block_index(np.arange(n_blocks) + self.wave.first_block)[place].astype(dtype)
                same = n_blocks == 1 or geometry.grid[place] == 1
                return block[0] if same else np.repeat(block, geometry.lanes_per_block)
            case "tid" if axis != "linear" and geometry.block[place] == 1:
                return dtype.type(0)
            case "tid":
                in_block = thread if axis == "linear" else geometry.thread_index(thread)[place]
            case "laneid":
                in_block = thread & 31
            case "warpid":
                in_block = thread >> 5
            case "lanemask_lt":
                in_block = (1 << (thread & 31)) - 1
            case _:
                raise NotImplementedError(f"special register {name}")
        return np.tile(in_block.astype(dtype), n_blocks)

    def _active_mask(self) -> np.ndarray:
        return per_lane(self.L, active_bits(self.L))

    def print(self, op: Print, parts: tuple) -> None:
        """One line of text per lane, in lane order, as long as there is room for it."""
        self.effects += 1
        if not self.output(""):
            return
        columns = [p if isinstance(p, str) else np.broadcast_to(np.asarray(p), (self.L.n,)).tolist() for p in parts]
        for i in range(self.L.n):
            values = [c if isinstance(c, str) else c[i] for c in columns]
            if op.format is not None:
                text = op.format % tuple(values)
            else:
                text = op.sep.join(_shown(v) for v in values) + op.end
            if not self.output(text):
                return

    def raised(self, op: Raise) -> None:
        """An assert or raise fired in the current lanes: stop the launch."""
        line = self.launch.program.lines[op.line]
        error = KernelAssertion(
            f"{op.message} (in {self.L.n} thread(s), first {self.describe(int(self.L.lanes[0]))})",
            file=line.file,
            line=line.number,
        )
        error.exception, error.arguments, error.place = op.exception, op.args, self.place_of(int(self.L.lanes[0]))
        raise error

    def place_of(self, lane: int) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
        """((x, y, z) of the block, (x, y, z) of the thread) of a lane."""
        block, thread = self.wave.locate(lane)
        return self.wave.geometry.block_index(block), self.wave.geometry.thread_index(thread)

    def describe(self, lane: int) -> str:
        """ "block (x, y, z), thread (x, y, z)" of a lane, for messages."""
        block, thread = self.place_of(lane)
        return f"block {block}, thread {thread}"


def _shown(value: object) -> str:
    """A value as the GPU's printf shows it."""
    return f"{value:f}" if isinstance(value, float) else str(value)
