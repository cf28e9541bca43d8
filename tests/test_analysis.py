"""Block order and levels: the properties the executor relies on."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gpukit.machine import analysis
from gpukit.machine.program import (
    BLOCK,
    LANE,
    UNIFORM,
    Alu,
    Barrier,
    BasicBlock,
    Branch,
    Const,
    Exit,
    Jump,
    Special,
)

ONE = Const(np.int64(1))


@st.composite
def structured(draw):
    """Blocks of a random structured program: sequences, ifs and loops with break and continue."""
    blocks: list[BasicBlock] = []

    def new() -> int:
        blocks.append(BasicBlock())
        return len(blocks) - 1

    def body(here: int, depth: int, exit_to: int | None, latch: int | None) -> int:
        """Extend from block `here`; the block where it ends."""
        for _ in range(draw(st.integers(0, 3))):
            what = draw(st.sampled_from(["if", "loop", "break", "continue", "return"])) if depth < 3 else "none"
            if what == "if":
                yes, no, after = new(), new(), new()
                blocks[here].end = Branch(0, yes, no, 0)
                blocks[body(yes, depth + 1, exit_to, latch)].end = Jump(after)
                blocks[body(no, depth + 1, exit_to, latch)].end = Jump(after)
                here = after
            elif what == "loop":
                head, inside, turn, after = new(), new(), new(), new()
                blocks[here].end = Jump(head)
                blocks[head].end = Branch(0, inside, after, 0)
                blocks[turn].end = Jump(head)
                blocks[body(inside, depth + 1, after, turn)].end = Jump(turn)
                here = after
            elif what in ("break", "continue") and exit_to is not None and latch is not None:
                rest = new()
                blocks[here].end = Branch(0, exit_to if what == "break" else latch, rest, 0)
                here = rest
            elif what == "return":
                out, rest = new(), new()
                blocks[out].end = Exit()
                blocks[here].end = Branch(0, out, rest, 0)
                here = rest
        return here

    blocks[body(new(), 0, None, None)].end = Exit()
    return blocks


@given(structured())
def test_only_back_edges_go_down_and_loops_are_contiguous(blocks):
    order = analysis.lay_out(blocks)
    succ = {b: analysis.successors(block.end) for b, block in enumerate(order)}
    loops, latches = analysis._find_loops(0, succ)
    for b, targets in succ.items():
        for target in targets:
            assert target > b or (target in loops and b in latches[target])
    for header, body in loops.items():
        assert len(latches[header]) == 1
        assert body <= set(range(header, max(body) + 1))
        strangers = set(range(header, max(body) + 1)) - body
        # Only ways out of the kernel may stand inside: a thread that returns must not wait for the loop to end.
        assert all(isinstance(order[s].end, Exit) for s in strangers)


def levels_of(blocks: list[BasicBlock], n: int) -> list[int]:
    order = analysis.lay_out(blocks)
    return analysis.levels(order, n, analysis.liveness(order))


def test_operands_give_the_level():
    tid, bid, dim, a, b = range(5)
    blocks = [
        BasicBlock(
            [
                Special(tid, "tid.x", 0),
                Special(bid, "ctaid.x", 0),
                Special(dim, "ntid.x", 0),
                Alu(a, (bid, dim), "({0} * {1})", 0),
                Alu(b, (a, tid), "({0} + {1})", 0),
            ]
        )
    ]
    assert levels_of(blocks, 5) == [LANE, BLOCK, UNIFORM, BLOCK, LANE]


def test_a_value_chosen_by_a_varying_branch_varies():
    tid, value, used = range(3)
    blocks = [
        BasicBlock([Special(tid, "tid.x", 0)], Branch(tid, 1, 2, 0)),
        BasicBlock([Alu(value, (ONE,), "{0}", 0)], Jump(3)),
        BasicBlock([Alu(value, (ONE,), "-{0}", 0)], Jump(3)),
        BasicBlock([Alu(used, (value,), "{0}", 0)]),
    ]
    assert levels_of(blocks, 3) == [LANE, LANE, LANE]


def test_a_counter_inside_a_guard_stays_uniform_but_not_after_a_varying_loop():
    tid, i, test, after = range(4)

    def loop(condition: int) -> list[BasicBlock]:
        return [
            BasicBlock([Special(tid, "tid.x", 0), Alu(i, (ONE,), "{0}", 0)], Jump(1)),
            BasicBlock([Alu(test, (i, condition), "({0} < {1})", 0)], Branch(test, 2, 3, 0)),
            BasicBlock([Alu(i, (i, ONE), "({0} + {1})", 0)], Jump(1)),
            BasicBlock([Alu(after, (i,), "{0}", 0)]),
        ]

    assert levels_of(loop(tid), 4) == [LANE, LANE, LANE, LANE]
    guarded = [
        BasicBlock([Special(tid, "tid.x", 0)], Branch(tid, 1, 4, 0)),
        BasicBlock([Alu(i, (ONE,), "{0}", 0)], Jump(2)),
        BasicBlock([Alu(test, (i, ONE), "({0} < {1})", 0)], Branch(test, 3, 4, 0)),
        BasicBlock([Alu(i, (i, ONE), "({0} + {1})", 0)], Jump(2)),
        BasicBlock([]),
    ]
    assert levels_of(guarded, 4)[i] == UNIFORM


def loop_with_a_way_out(inside):
    """Block 1 loops by way of 3, whose end is `inside`, until lanes leave to 2, which stores and exits."""
    return [
        BasicBlock([], Jump(1)),
        BasicBlock([], Branch(0, 2, 3, 0)),
        BasicBlock([Special(1, "laneid", 0)], Exit()),
        BasicBlock([], inside),
    ]


def test_what_is_done_on_the_way_out_of_a_loop_comes_after_it():
    laid_out = analysis.lay_out(loop_with_a_way_out(Jump(1)))
    assert laid_out[-1].ops
    assert isinstance(laid_out[-1].end, Exit)


def test_threads_that_leave_a_loop_are_gone_before_its_barrier():
    laid_out = analysis.lay_out(loop_with_a_way_out(Barrier(1, 0)))
    exits, barrier = ([isinstance(b.end, kind) for b in laid_out].index(True) for kind in (Exit, Barrier))
    assert exits < barrier


def branch_before_a_barrier(after_the_other_way):
    """Lanes go from block 0 to a barrier in 1, or by way of 3 to 4. `after_the_other_way` is the end of block 4."""
    return [
        BasicBlock([Special(0, "laneid", 0)], Branch(0, 1, 3, 0)),
        BasicBlock([], Barrier(2, 0)),
        BasicBlock([Special(1, "laneid", 0)], Exit()),
        BasicBlock([Special(1, "tid.x", 0)], Jump(4)),
        BasicBlock([Special(1, "tid.y", 0)], after_the_other_way),
    ]


def test_lanes_that_return_apart_from_the_others_go_before_a_barrier():
    laid_out = analysis.lay_out(branch_before_a_barrier(Exit()))
    assert [isinstance(b.end, Barrier) for b in laid_out].index(True) == 3


def test_an_arm_that_meets_the_barriers_arm_again_keeps_its_place():
    laid_out = analysis.lay_out(branch_before_a_barrier(Jump(2)))
    assert [isinstance(b.end, Barrier) for b in laid_out].index(True) == 1
