"""Which atomics the assembler lets one lane do for its warp.

Where all lanes of a warp go to one address, ptxas counts the active lanes (vote) and lets the first do the atomic:

* an integer `add` of one value: one lane adds it times the number of lanes, and, if the old value is wanted, each
  lane adds the value times the lanes before it to what was found;
* a 32-bit integer operation on any values (`add`, `min`, `max`, `and`, `or`, `xor`) whose old value nobody wants: the
  values are reduced first (redux);
* a 32-bit integer `add` of any values whose old value is wanted: a scan of shuffles, and one atomic, but only if the
  whole warp is there; otherwise each lane does its own.

In any memory, under any order and scope, at any place of the program. Everything else stays: floats, 64-bit operations
but `add`, `exch`, `cas`, `inc` and `dec` with a limit, `min`, `max` and bits whose old value is wanted, addresses that
vary. So does what only one thread of a row reaches (`if (threadIdx.x == 0)`), and `red.shared.add.u32` of 1, for which
there is an instruction that takes all lanes.

Not imitated: addresses that arithmetic alone makes one (`tid - tid`), and a first round that is copied in front of its
loop. Read off ptxas 13.0 and 13.5 for sm_90; tests/compiled/test_aggregation.py lists the forms that both were shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gpukit.machine.frontends.ptx.assembler.flow import Flow
from gpukit.machine.frontends.ptx.assembler.uniformity import Uniformity
from gpukit.machine.frontends.ptx.assembler.values import Values, registers_of, space_of
from gpukit.machine.frontends.ptx.syntax import (
    SIZES,
    Function,
    Instruction,
    Integer,
    Operand,
    Register,
    Statement,
)
from gpukit.machine.program import WARP, WHOLE_WARP

_REDUCED = ("add", "min", "max", "and", "or", "xor")
_ONE_LANE = ("%tid.x", "%laneid")


def aggregate(function: Function, shared: Mapping[str, int]) -> Function:
    """The function with what its atomics are `together` (see program.Atomic). The function itself is left as it is.

    `shared`: byte offset in the block's shared memory of each shared variable that the function names.
    """
    body = list(function.body or ())
    if not any(_may_be(statement) for statement in body):
        return function
    flow = Flow(function)
    values = Values(flow, shared)
    uniform = Uniformity(flow, values)
    guards = _OneLane(flow, values, uniform)
    for i in flow.statements():
        inst = body[i]
        if isinstance(inst, Instruction) and _may_be(inst):
            how = _of(inst, values, uniform, i)
            body[i] = replace(inst, together="" if guards.reach(i) else how)
    return replace(function, body=body)


def _may_be(statement: Statement) -> bool:
    return (
        isinstance(statement, Instruction)
        and statement.opcode in ("atom", "red")
        and statement.type in ("u32", "s32", "b32", "u64")
        and not statement.has("async")
    )


def _of(inst: Instruction, values: Values, uniform: Uniformity, i: int) -> str:
    """What statement `i`, an atomic, is done together for."""
    where, value = inst.operands[1:3] if inst.opcode == "atom" else inst.operands[:2]
    wanted = inst.opcode == "atom" and any(name in values.read for name in registers_of(inst.operands[0]))
    action = next((m for m in inst.modifiers if m in _REDUCED), "")
    if inst.has("inc") and _is(values, value, i, 0xFFFFFFFF):
        action, value = "add", Integer(1)  # without a limit it is an addition
    if uniform.varies(where, i):
        return ""
    if action == "add" and not uniform.varies(value, i):
        counted = space_of(inst) == "shared" and not wanted and inst.type == "u32" and _is(values, value, i, 1)
        return "" if counted else WARP
    if not action or SIZES[inst.type] != 4:
        return ""
    if not wanted:
        return WARP
    return WHOLE_WARP if action == "add" else ""


def _is(values: Values, operand: Operand, at: int, number: int) -> bool:
    """Whether an operand of 32 bits is known to be a number."""
    if isinstance(operand, Register):
        known = values.sum(operand.name, at)
        return not known.terms and known.constant & 0xFFFFFFFF == number
    return isinstance(operand, Integer) and operand.value & 0xFFFFFFFF == number


class _OneLane:
    """Code that only the thread is in whose index in x, or whose lane, is a certain number."""

    def __init__(self, flow: Flow, values: Values, uniform: Uniformity):
        self.flow = flow
        self.values = values
        self.uniform = uniform
        self.starts = [start for b in flow.order if (start := self._entered(b)) is not None]

    def reach(self, at: int) -> bool:
        """Whether statement `at` is such code."""
        inst = self.flow.body[at]
        if isinstance(inst, Instruction) and inst.guard is not None:
            predicate, negated = inst.guard
            if self._says_equal(predicate, at) is (not negated):
                return True
        return any(self.flow.dominates(start, at) for start in self.starts)

    def _entered(self, block: int) -> int | None:
        """The first statement that is only reached from a test at the end of a block by the one thread."""
        end = self.flow.blocks[block].stop - 1
        inst = self.flow.body[end]
        if not isinstance(inst, Instruction) or inst.guard is None or inst.opcode not in ("bra", "exit", "ret"):
            return None
        predicate, negated = inst.guard
        equal = self._says_equal(predicate, end)
        if equal is None:
            return None
        taken = equal is (not negated)
        following = self.flow.blocks[block].successors
        if inst.opcode == "bra" and len(following) == 2:
            target = following[0 if taken else 1]
        elif inst.opcode != "bra" and following and not taken:
            target = following[0]
        else:
            return None
        return self.flow.blocks[target].start if self.flow.blocks[target].predecessors == [block] else None

    def _says_equal(self, predicate: Register, at: int) -> bool | None:
        """Whether a predicate is true for the one thread (True), for all others (False), or something else (None)."""
        inst = self._definition(predicate, at)
        if inst is None or inst.opcode != "setp" or len(inst.operands) != 3 or not (inst.has("eq") or inst.has("ne")):
            return None
        made = self.values.definitions[predicate.name][0]
        _, one, other = inst.operands
        for place, number in ((one, other), (other, one)):
            if self._counts_lanes(place, made) and not self.uniform.varies(number, made):
                return inst.has("eq")
        return None

    def _counts_lanes(self, operand: Operand, at: int) -> bool:
        """Whether a value is %tid.x or %laneid, or that plus what is the same for all."""
        if not isinstance(operand, Register):
            return False
        if operand.name in _ONE_LANE:
            return True
        inst = self._definition(operand, at)
        if inst is None or inst.opcode not in ("mov", "cvt", "add", "mad"):
            return False
        made = self.values.definitions[operand.name][0]
        sources = inst.operands[1:]
        *rest, last = sources
        if inst.opcode == "add" and self._counts_lanes(rest[0], made):
            rest, last = [last], rest[0]
        return self._counts_lanes(last, made) and not any(self.uniform.varies(s, made) for s in rest)

    def _definition(self, register: Register, at: int) -> Instruction | None:
        """The only instruction that writes a register."""
        written = self.values.definitions.get(register.name, ())
        inst = self.flow.body[written[0]] if len(written) == 1 else None
        return inst if isinstance(inst, Instruction) and inst.guard is None else None
