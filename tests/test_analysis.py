"""Block order and levels: the properties the executor relies on."""

from __future__ import annotations

import random
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpukit.machine import analysis, executor
from gpukit.machine.memory import GlobalMemory
from gpukit.machine.program import (
    BLOCK,
    LANE,
    UNIFORM,
    Address,
    Alu,
    Barrier,
    BasicBlock,
    Branch,
    Const,
    Exit,
    Jump,
    Launch,
    Load,
    Program,
    Register,
    Root,
    SourceLine,
    Special,
    Store,
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


@st.composite
def arbitrary(draw, n_registers: int = 4):
    """Blocks with edges from anywhere to anywhere: loops that are entered in several places among them."""
    n = draw(st.integers(1, 14))
    target = st.integers(0, n - 1)
    register = st.integers(0, n_registers - 1)
    blocks = []
    for _ in range(n):
        kind = draw(st.sampled_from(["branch", "branch", "jump", "exit"]))
        ends = {
            "branch": lambda: Branch(draw(register), draw(target), draw(target), 0),
            "jump": lambda: Jump(draw(target)),
            "exit": Exit,
        }
        blocks.append(BasicBlock([], ends[kind]()))
    return blocks


def assert_in_order(order: list[BasicBlock]) -> None:
    """Edges go up, but for one latch a loop; loops are contiguous but for ways out of the kernel."""
    succ = {b: analysis.successors(block.end) for b, block in enumerate(order)}
    loops, latches = analysis._find_loops(0, succ)
    for b, targets in succ.items():
        for target in targets:
            assert target > b or (target in loops and b in latches[target])
    for header, body in loops.items():
        assert len(latches[header]) == 1
        assert min(body) == header


@given(arbitrary())
def test_any_graph_can_be_laid_out(blocks):
    order = analysis.lay_out(blocks)
    assert_in_order(order)
    reached = analysis._reachable(blocks, 0)
    assert len(order) >= len(reached)
    assert sum(isinstance(b.end, Exit) for b in order) == sum(isinstance(blocks[b].end, Exit) for b in reached)


def large(n: int, reach: int, seed: int = 0) -> list[BasicBlock]:
    """A program of n blocks: branches over a few blocks ahead, one in twelve goes back as far as `reach`."""
    pick = random.Random(seed)
    blocks = []
    for b in range(n):
        ops = [Alu(pick.randrange(200), (pick.randrange(200), ONE), "({0} + {1})", 0) for _ in range(5)]
        if b == n - 1:
            end = Exit()
        elif pick.random() < 1 / 12:
            end = Branch(pick.randrange(200), max(0, b - pick.randrange(reach)), b + 1, 0)
        elif pick.random() < 0.03:
            end = Barrier(b + 1, 0)
        else:
            end = Branch(pick.randrange(200), b + 1, min(n - 1, b + pick.randint(1, 9)), 0)
        blocks.append(BasicBlock(ops, end))
    return blocks


@pytest.mark.parametrize("reach", [10, 60])
def test_large_programs_are_analysed_quickly(reach):
    blocks = large(2000, reach)
    program = Program("k", "k.cu", blocks, [Register("", np.dtype(np.int64)) for _ in range(200)], [], [])
    start = time.process_time()
    done = analysis.analyse(program)
    assert time.process_time() - start < 4  # 0.6 s on a quiet computer
    assert_in_order(done.blocks)


def walk(blocks: list[BasicBlock], values: list[int], fuel: int) -> list[int]:
    """What one lane does: the blocks it passes, as a number that depends on their order."""
    b = trace = 0
    values = list(values)
    while True:
        trace = (trace * 31 + b + 1) % 1_000_003
        fuel -= 1
        if fuel <= 0:
            return [trace, *values]
        values[b % 4] = (values[b % 4] * 5 + b) % 64
        end = blocks[b].end
        if isinstance(end, Branch):
            b = end.if_true if values[end.condition] & 1 else end.if_false
        elif isinstance(end, Jump):
            b = end.target
        else:
            return [trace, *values]


@settings(max_examples=60)
@given(arbitrary(), st.integers(0, 1000))
def test_lanes_go_their_own_ways_through_any_graph(blocks, seed):
    threads, steps = 40, 25
    start = np.random.default_rng(seed).integers(0, 64, (4, threads))
    out = np.zeros((5, threads), np.int64)
    registers = [Register("", np.dtype(np.int64)) for _ in range(8)]
    base, tid, trace, fuel = 4, 5, 6, 7
    conditions = []

    def alu(dst: int, code: str, *src) -> Alu:
        return Alu(dst, src, code, 0)

    # The given graph as blocks that count their steps, each with a way out where the fuel is used up.
    n = len(blocks)
    made = [BasicBlock() for _ in range(2 * n + 2)]
    finish = 2 * n
    for b, block in enumerate(blocks):
        spent, go_on = len(registers), len(registers) + 1
        registers += [Register("", np.dtype(bool)), Register("", np.dtype(bool))]
        made[b].ops = [
            alu(trace, f"(({{0}} * np.int64(31) + np.int64({b + 1})) % np.int64(1000003))", trace),
            alu(fuel, "({0} - np.int64(1))", fuel),
            alu(spent, "({0} <= 0)", fuel),
        ]
        made[b].end = Branch(spent, finish, n + b, 0)
        turn = alu(b % 4, f"(({{0}} * np.int64(5) + np.int64({b})) % np.int64(64))", b % 4)
        made[n + b].ops = [turn]
        if isinstance(block.end, Branch):
            made[n + b].ops.append(alu(go_on, "(({0} & np.int64(1)) == 1)", block.end.condition))
            made[n + b].end = Branch(go_on, block.end.if_true, block.end.if_false, 0)
        elif isinstance(block.end, Jump):
            made[n + b].end = Jump(block.end.target)
        else:
            made[n + b].end = Jump(finish)
        conditions.append(spent)
    where = len(registers)
    registers.append(Register("", np.dtype(np.int64)))
    made[finish].ops = [alu(where, "({0} + {1} * np.int64(8))", base, tid)]
    for row, register in enumerate((trace, 0, 1, 2, 3)):
        place = Address(where, offset=8 * threads * row)
        made[finish].ops.append(Store((register,), place, "global", np.dtype(np.int64), 0, 0))
    entry = len(made) - 1
    made[entry].ops = [Special(tid, "tid.x", 0), alu(trace, "np.int64(0)"), alu(fuel, f"np.int64({steps})")]
    source = len(registers)
    registers.append(Register("", np.dtype(np.int64)))
    made[entry].ops.append(alu(where, "({0} + {1} * np.int64(8))", source, tid))
    for row in range(4):
        place = Address(where, offset=8 * threads * row)
        made[entry].ops.append(Load((row,), place, "global", np.dtype(np.int64), 0, 1))
    made[entry].end = Jump(0)
    # Block 0 is the entry: swap it with the one that sets up.
    swap = {0: entry, entry: 0}
    made[0], made[entry] = made[entry], made[0]
    made = [BasicBlock(block.ops, analysis._redirect(block.end, swap)) for block in made]

    memory = GlobalMemory()
    allocations = [memory.allocate(out), memory.allocate(start)]
    roots = [Root(name, "global", np.dtype(np.int64), 8) for name in ("out", "start")]
    program = Program("k", "k.cu", made, registers, [SourceLine("k.cu", 1, "")], roots)
    values = {base: np.int64(allocations[0].base), source: np.int64(allocations[1].base)}
    done = executor.run(Launch(program, (1, 1, 1), (threads, 1, 1), values, allocations))
    assert not [h for h in done.hazards if h.severity == "error"]
    assert out.T.tolist() == [walk(blocks, start[:, t].tolist(), steps) for t in range(threads)]
