"""What a front end produces and the executor runs: basic blocks of lane operations.

A `Program` is a control-flow graph. Inside a block every operation runs for all lanes that are at the block, so
nothing inside a block is ever masked: whatever only some lanes do (the right side of `and`, one arm of a
conditional expression, the body of an `if`) stands in a block of its own. Whatever lanes may wait at (barriers,
warp synchronisations) ends a block.

A register holds one value per lane, of one NumPy dtype. An operand is a register number or a `Const`.

Addresses are virtual byte addresses (int64) in three windows, so one integer says both space and place:
`SHARED_BASE + offset in the block's shared memory`, `LOCAL_BASE + offset in the thread's local memory`, and
global allocations from `GLOBAL_BASE` up. Nothing here knows Python or PTX.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

SHARED_BASE = 1 << 40
LOCAL_BASE = 1 << 41
GLOBAL_BASE = 1 << 44

# CONSTANT is a space of loads only: constant and parameter memory lies in allocations like global memory, but its loads
# go through a cache of their own and are no global requests.
GLOBAL, SHARED, LOCAL, GENERIC, CONSTANT = "global", "shared", "local", "generic", "constant"

_BYTE = np.dtype(np.uint8)
_CPP_SUFFIXES = (".cu", ".cuh", ".cpp", ".h", ".hpp", ".ptx")

# Which lanes of a warp an atomic updates memory for in one go (Atomic.together).
WARP, WHOLE_WARP = "warp", "whole warp"

# How much of the grid shares one value of a register (computed by `analysis`, never set by a front end).
UNIFORM, BLOCK, LANE = 0, 1, 2


@dataclass(frozen=True, slots=True)
class Const:
    """An operand known before the launch: a NumPy scalar of exactly the dtype the operation wants."""

    value: np.generic


Operand = int | Const


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A line of the user's source. `Program.lines[op.line]` is where an operation came from."""

    file: str
    number: int
    text: str


def is_cpp(file: str, text: str = "") -> bool:
    """Whether a line of source is CUDA C++ or PTX: by its file, or, in a string of a Python file, by its words."""
    return file.lower().endswith(_CPP_SUFFIXES) or "__global__" in text


@dataclass(slots=True)
class Register:
    """One value per lane. `name` is the user's variable, or '' for a temporary."""

    name: str
    dtype: np.dtype


@dataclass(slots=True)
class Root:
    """A piece of memory the program names: an array argument, a shared array, a local array.

    `offset` is relative to the window for shared and local roots; a dynamic shared root starts where the static ones
    end and is as long as the launch says. `element` is the size in bytes of the smallest unit that is accessed: hazards
    are tracked in that unit. `written` is whether any store or atomic can reach it (None: unknown, so assume yes).
    """

    name: str
    space: str
    dtype: np.dtype
    element: int
    offset: int = 0
    nbytes: int = 0
    dynamic: bool = False
    parameter: int | None = None  # position in the kernel's argument list
    written: bool | None = None
    read: bool | None = None


@dataclass(slots=True)
class Element:
    """An element of a strided array: where = base + sum(index * stride), each index checked against its axis.

    Negative indices wrap once, as in numba; an index outside its axis suppresses the lane's access and is reported.
    All operands are int64; `shape` and `strides` (in bytes) have one entry per index. `offset` is a constant byte
    offset added at the end (a record's field).
    """

    base: Operand
    index: tuple[Operand, ...]
    shape: tuple[Operand, ...]
    strides: tuple[Operand, ...]
    name: str  # the array as the user calls it, for messages
    offset: int = 0


@dataclass(slots=True)
class Address:
    """A raw byte address per lane, as compiled code computes it. Checked: the limits of the memory it goes to (of the
    root's allocation, where the root is known) and that it is a multiple of the whole access's width."""

    address: Operand
    name: str = ""
    offset: int = 0


Place = Element | Address


# --- operations inside a block -------------------------------------------------------------------------------------


@dataclass(slots=True)
class Alu:
    """dst = code(src), elementwise. `code` is an expression template ("{0} + {1}") or a NumPy-vectorised callable.

    It must accept any mix of NumPy scalars and arrays and give dtype `registers[dst].dtype` by itself.
    `check` asks for a hazard check when hazards are on:
      "float"       a NaN or Inf made here out of operands that were not (also 0 x Inf and 0 x NaN)
      "accumulate"  as "float", and src[0] is an accumulator: count additions of a non-zero src[1] it absorbed
      "accumulate_product"  as "accumulate", for src[0] * src[1] + src[2] with the accumulator last
      "narrow"      src[0] is converted to a narrower integer for a store: report values that do not fit
      "int_div"     src[1] is an integer divisor: report zeros
    `count` is how many source-level operations this stands for (0: bookkeeping the user did not write).
    """

    dst: int
    src: tuple[Operand, ...]
    code: str | Callable
    line: int
    check: str | None = None
    count: int = 1


@dataclass(slots=True)
class Special:
    """dst = a hardware value: tid.x/y/z, ctaid.x/y/z (level by name), ntid.*, nctaid.*, laneid, warpid (in its
    block), tid.linear, activemask, lanemask_lt, clock. Converted to the register's dtype."""

    dst: int
    name: str
    line: int
    count: int = 0


@dataclass(slots=True)
class Load:
    """dst[0..k-1] = k consecutive values of `dtype` at `place`. `root` indexes Program.roots, None when unknown.

    `strong`: a relaxed or acquire access of the memory model, which does not race with atomics or its like.
    `requests`: what the hardware asks of memory in this operation's place, ((bytes after the own address, bytes a
    lane), ...): the assembler merges, splits and drops accesses. None: this one, as it stands; (): nothing. Only counts
    depend on it.
    """

    dst: tuple[int, ...]
    place: Place
    space: str
    dtype: np.dtype
    line: int
    root: int | None = None
    volatile: bool = False
    count: int = 1
    strong: bool = False
    requests: tuple[tuple[int, int], ...] | None = None


@dataclass(slots=True)
class Store:
    """`place` = src, each already of `dtype`. With several src, consecutive elements. `strong` and `requests` as for a
    load."""

    src: tuple[Operand, ...]
    place: Place
    space: str
    dtype: np.dtype
    line: int
    root: int | None = None
    volatile: bool = False
    count: int = 1
    strong: bool = False
    requests: tuple[tuple[int, int], ...] | None = None


@dataclass(slots=True)
class Atomic:
    """dst (or None when unused) = old value; memory = action(old, src...), lane after lane in ascending order.

    action: add sub max min nanmax nanmin and or xor exch cas(src = compare, new) inc dec, or a function (old, value) ->
    new over arrays of `dtype` (packed halves). Operands are of `dtype`. `float_action`: a function that rounds, so
    the result depends on the order. `wraps`: `dtype` does not say whether the integers are signed (compiled code);
    the dtype of the array does, where it is known. `together`: whether one lane does it for its warp, as the assembler
    has it: for the lanes that are there (WARP), or for all 32 if all are there and else each its own (WHOLE_WARP), or
    each its own (""). Only counts depend on it.
    """

    dst: int | None
    action: str | Callable
    src: tuple[Operand, ...]
    place: Place
    space: str
    dtype: np.dtype
    line: int
    root: int | None = None
    count: int = 1
    float_action: bool = False
    wraps: bool = False
    together: str = ""


@dataclass(slots=True)
class Fence:
    """Memory fence; scope "block", "device" or "system"."""

    scope: str
    line: int
    count: int = 1


@dataclass(slots=True)
class Print:
    """One output line per lane, in lane order. `parts` mixes literal strings and operands; joined by `sep`.

    With `format` (C printf) the parts are its arguments.
    """

    parts: tuple[str | Operand, ...]
    line: int
    sep: str = " "
    end: str = "\n"
    format: str | None = None
    count: int = 1


@dataclass(slots=True)
class Raise:
    """Stops the launch in the first lane (if any lane is here) with KernelAssertion(message)."""

    message: str
    line: int
    exception: type[BaseException] | None = None
    args: tuple = ()
    count: int = 1


Op = Alu | Special | Load | Store | Atomic | Fence | Print | Raise


# --- ends of blocks ------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Jump:
    target: int
    line: int = 0


@dataclass(slots=True)
class Branch:
    """Lanes with a true (bool) condition go to if_true. `count`: 1 for a test the user wrote."""

    condition: Operand
    if_true: int
    if_false: int
    line: int
    count: int = 1


@dataclass(slots=True)
class Exit:
    """The thread is done."""

    line: int = 0


@dataclass(slots=True)
class Barrier:
    """Block-wide barrier. reduce: None, "count", "and", "or" over src (int or bool), result (int32) in dst.

    A named barrier (PTX bar.sync a, b) has a `number` (0 to 15) and may have `threads`: how many of the block's
    threads (a multiple of 32) open it; without, all of them. With `arrive` the lanes are counted and go on at once.
    Both operands have one value for a warp.
    """

    target: int
    line: int
    reduce: str | None = None
    src: Operand | None = None
    dst: int | None = None
    number: Operand | None = None
    threads: Operand | None = None
    arrive: bool = False

    @property
    def is_named(self) -> bool:
        """Whether it may be another barrier than number 0 of the whole block."""
        return self.number is not None or self.threads is not None


@dataclass(slots=True)
class WarpSync:
    """All lanes named in src[0] (uint32 mask) take part. Kinds, further operands and results:

    sync        -                       orders memory among the named lanes
    shfl_idx    value, lane             value of that lane
    shfl_up / shfl_down / shfl_xor      value, delta; the own value where the source is outside the warp
                (an optional 4th operand is PTX's c: clamp | segment mask << 8; then dst[1] is the in-range predicate)
    any all eq  predicate (bool)        bool
    ballot      predicate               dst dtype decides signedness
    match_any   value                   mask of lanes with an equal value
    match_all   value                   mask or 0, and dst[1] = bool
    redux_add / redux_min / redux_max / redux_and / redux_or / redux_xor   value
    """

    kind: str
    target: int
    src: tuple[Operand, ...]
    dst: tuple[int, ...]
    line: int


@dataclass(slots=True)
class GridSync:
    """Cooperative grid barrier; makes the launch one wave (all blocks resident)."""

    target: int
    line: int


@dataclass(slots=True)
class Call:
    """Enter a subroutine that may be recursive: `save` are the registers pushed on the lane's stack and restored at
    its Return, which continues at `target`. Arguments and results travel in registers outside `save`."""

    entry: int
    target: int
    save: tuple[int, ...]
    line: int


@dataclass(slots=True)
class Return:
    line: int = 0


Terminator = Jump | Branch | Exit | Barrier | WarpSync | GridSync | Call | Return


@dataclass(slots=True)
class BasicBlock:
    ops: list[Op] = field(default_factory=list)
    end: Terminator = field(default_factory=Exit)


@dataclass
class Program:
    """A kernel, ready to run. Block 0 is the entry. `kernel_name` and `file` are for reports."""

    kernel_name: str
    file: str
    blocks: list[BasicBlock]
    registers: list[Register]
    lines: list[SourceLine]
    roots: list[Root]
    static_shared_bytes: int = 0
    local_bytes: int = 0
    level: str = "source"  # or "compiled"
    cooperative: bool = False  # needs all blocks at once: one wave, as with a GridSync
    source: list[SourceLine] = field(default_factory=list)  # the lines a report shows, in order
    compiled: dict = field(default_factory=dict, repr=False, compare=False)  # codegen's cache, one entry per mode


@dataclass(slots=True)
class Allocation:
    """A stretch of global memory: `data` (uint8, 1-D) is the user's own memory, so a store is seen at once.

    `base` is its virtual address: a multiple of 256, or as far from one as a view is from the start of its array.
    """

    name: str
    base: int
    data: np.ndarray
    shape: tuple[int, ...] = ()
    dtype: np.dtype = _BYTE
    readonly: bool = False

    @property
    def nbytes(self) -> int:
        return self.data.size


@dataclass(frozen=True, slots=True)
class Whereabouts:
    """Where an array lies, or lay. `name` is what the kernel that first saw it calls it."""

    base: int
    nbytes: int
    name: str


@dataclass
class Launch:
    """A program with everything one launch adds. `registers`: initial (uniform) values by register number;
    `allocations`: one per root of space global (None for the others), in the order of Program.roots.

    `others`: memory that no root names but a pointer found in memory may reach. `former`: arrays that a
    pointer may still point to though they are gone; nothing else has their addresses.
    """

    program: Program
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    registers: dict[int, np.generic]
    allocations: list[Allocation | None]
    shared_bytes: int = 0
    arguments: list[dict] = field(default_factory=list)  # name, dtype, shape of each argument, for the report
    others: list[Allocation] = field(default_factory=list)
    former: Sequence[Whereabouts] = ()
