"""What is known of a program before it runs: block order, liveness, and which registers one value serves.

Order. The executor always runs the lowest-numbered block that has lanes. That reconverges lanes where hardware does
if every edge but a loop's back edge goes up, a loop's blocks are contiguous, and each loop has a single latch (lanes
that `continue` wait there for the others). `lay_out` renumbers any graph so.

Levels. A register is UNIFORM when all lanes that may read it hold one value, BLOCK when all lanes of a thread block do,
LANE otherwise. Uniform values are computed once per wave instead of once per lane. Two things make a register vary: an
operand that varies, and definitions that meet (or outlive a loop) under a branch whose condition varies.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace

from gpukit.machine.program import (
    BLOCK,
    CONSTANT,
    GENERIC,
    GLOBAL,
    LANE,
    SHARED,
    UNIFORM,
    Address,
    Alu,
    Atomic,
    Barrier,
    BasicBlock,
    Branch,
    Call,
    Exit,
    GridSync,
    Jump,
    Load,
    Op,
    Operand,
    Place,
    Print,
    Program,
    Return,
    Root,
    Special,
    Store,
    Terminator,
    WarpSync,
)

_WAITS = (Barrier, GridSync)

# --- the graph -----------------------------------------------------------------------------------------------------


def successors(end: Terminator) -> tuple[int, ...]:
    """Blocks a terminator can lead to. A call leads to its entry and, by way of the return, to its target."""
    match end:
        case Branch():
            return (end.if_true, end.if_false) if end.if_true != end.if_false else (end.if_true,)
        case Call():
            return (end.entry, end.target)
        case Exit() | Return():
            return ()
        case _:
            return (end.target,)


def _redirect(end: Terminator, new: dict[int, int]) -> Terminator:
    """The terminator with its targets renumbered."""
    names = [f.name for f in fields(end) if f.name in ("target", "if_true", "if_false", "entry")]
    return replace(end, **{name: new.get(getattr(end, name), getattr(end, name)) for name in names})


def _reachable(blocks: list[BasicBlock], start: int) -> set[int]:
    seen = {start}
    stack = [start]
    while stack:
        for nxt in successors(blocks[stack.pop()].end):
            if nxt not in seen:
                seen.add(nxt)
                stack.append(nxt)
    return seen


def _reverse_postorder(entry: int, succ: Mapping[int, tuple[int, ...]]) -> list[int]:
    order: list[int] = []
    seen = {entry}
    stack = [(entry, iter(succ[entry]))]
    while stack:
        node, rest = stack[-1]
        for nxt in rest:
            if nxt not in seen:
                seen.add(nxt)
                stack.append((nxt, iter(succ[nxt])))
                break
        else:
            order.append(node)
            stack.pop()
    order.reverse()
    return order


def dominators(entry: int, succ: dict[int, tuple[int, ...]]) -> dict[int, int]:
    """Immediate dominator of each node reachable from `entry` (Cooper, Harvey and Kennedy's iteration)."""
    order = _reverse_postorder(entry, succ)
    position = {node: i for i, node in enumerate(order)}
    pred: dict[int, list[int]] = {node: [] for node in order}
    for node in order:
        for nxt in succ[node]:
            pred[nxt].append(node)
    idom = {entry: entry}
    changed = True
    while changed:
        changed = False
        for node in order[1:]:
            new = -1
            for p in pred[node]:
                if p in idom:
                    if new < 0:
                        new = p
                        continue
                    other = p
                    while new != other:
                        while position[new] > position[other]:
                            new = idom[new]
                        while position[other] > position[new]:
                            other = idom[other]
            if idom.get(node) != new:
                idom[node] = new
                changed = True
    return idom


def _components(
    region: set[int], succ: Mapping[int, tuple[int, ...]], ignored: int | None
) -> Iterator[tuple[list[int], bool]]:
    """(blocks, whether they form a cycle) of each strongly connected part of a region, edges to `ignored` left out.
    Tarjan's algorithm without recursion."""
    number: dict[int, int] = {}
    low: dict[int, int] = {}
    path: list[int] = []
    on_path: set[int] = set()
    for start in region:
        if start in number:
            continue
        number[start] = low[start] = len(number)
        path.append(start)
        on_path.add(start)
        stack = [(start, iter(succ[start]))]
        while stack:
            node, rest = stack[-1]
            for nxt in rest:
                if nxt not in region or nxt == ignored:
                    continue
                if nxt not in number:
                    number[nxt] = low[nxt] = len(number)
                    path.append(nxt)
                    on_path.add(nxt)
                    stack.append((nxt, iter(succ[nxt])))
                    break
                if nxt in on_path:
                    low[node] = min(low[node], number[nxt])
            else:
                stack.pop()
                if stack:
                    above = stack[-1][0]
                    low[above] = min(low[above], low[node])
                if low[node] == number[node]:
                    part = [path.pop()]
                    while part[-1] != node:
                        part.append(path.pop())
                    on_path.difference_update(part)
                    yield part, len(part) > 1 or (node in succ[node] and node != ignored)


def _find_loops(entry: int, succ: Mapping[int, tuple[int, ...]]) -> tuple[dict[int, set[int]], dict[int, set[int]]]:
    """(header -> blocks of the loop, header included; header -> sources of the edges back to it).

    A loop is a strongly connected part of the graph; without the edges to its header, the parts that are left inside it
    are its inner loops. In a reducible graph these are the natural loops. One with several entries (a jump into a
    loop, which compilers make now and then) gets the first of them as its header.
    """
    order = _reverse_postorder(entry, succ)
    position = {node: i for i, node in enumerate(order)}
    pred: dict[int, list[int]] = {node: [] for node in order}
    for node in order:
        for nxt in succ[node]:
            pred[nxt].append(node)
    loops: dict[int, set[int]] = {}
    latches: dict[int, set[int]] = {}
    regions: list[tuple[set[int], int | None]] = [(set(order), None)]
    while regions:
        region, without = regions.pop()
        for part, is_cycle in _components(region, succ, without):
            if is_cycle:
                body = set(part)
                entries = [b for b in part if b == entry or not body.issuperset(pred[b])]
                header = min(entries, key=position.__getitem__)
                loops[header] = body
                latches[header] = {b for b in pred[header] if b in body}
                regions.append((body, header))
    return loops, latches


def lay_out(blocks: list[BasicBlock]) -> list[BasicBlock]:
    """Renumber blocks (0 stays the entry): unreachable ones dropped, one latch a loop, loops contiguous, edges up."""
    blocks = list(blocks)
    alive = _reachable(blocks, 0)
    succ = {b: successors(blocks[b].end) for b in alive}
    loops, latches = _find_loops(0, succ)
    outside = _enclosing(loops)

    for header, sources in latches.items():
        if len(sources) > 1:
            latch = len(blocks)
            line = getattr(blocks[header].end, "line", 0)
            blocks.append(BasicBlock([], Jump(header, line)))
            for source in sources:
                old = blocks[source]
                blocks[source] = BasicBlock(old.ops, _redirect(old.end, {header: latch}))
                succ[source] = successors(blocks[source].end)
            succ[latch] = (header,)
            alive.add(latch)
            around: int | None = header
            while around is not None:
                loops[around].add(latch)
                around = outside[around]

    pred: dict[int, set[int]] = {b: set() for b in alive}
    for b in alive:
        for nxt in succ[b]:
            pred[nxt].add(b)
    waits = {b for b in alive if isinstance(blocks[b].end, _WAITS)}
    # What lanes do on their way out of a loop they do together, after it: so does hardware. Not so where lanes wait for
    # each other inside: a thread that returns from there must be gone before a barrier counts it in.
    exits = {b for b in alive if isinstance(blocks[b].end, Exit)}
    for header, body in loops.items():
        if not waits.isdisjoint(body):
            tails = {b for b in exits if pred[b] and pred[b] <= body}
            ends = latches[header] | {header}
            tails |= _ways_to_return(body, ends, exits, waits, succ, pred)
            body |= tails

    before_wait = _spread(waits, pred)
    for b in waits:
        after = _spread({b}, succ)
        before_wait |= _spread(after, pred) - after
    order = _in_order(alive, succ, loops, before_wait)
    new = {old: i for i, old in enumerate(order)}
    return [BasicBlock(blocks[old].ops, _redirect(blocks[old].end, new)) for old in order]


def _enclosing(loops: dict[int, set[int]]) -> dict[int, int | None]:
    """Header of the next loop around each loop."""
    innermost: dict[int, int] = {}
    outside: dict[int, int | None] = {}
    for header in sorted(loops, key=lambda h: -len(loops[h])):
        outside[header] = innermost.get(header)
        innermost.update(dict.fromkeys(loops[header], header))
    return outside


def _ways_to_return(
    body: set[int],
    ends: set[int],
    exits: set[int],
    waits: set[int],
    succ: Mapping[int, tuple[int, ...]],
    pred: Mapping[int, set[int]],
) -> set[int]:
    """Blocks outside a loop that only lead from the middle of it (not from its `ends`) to the end of the thread: an
    early return that does something first. Blocks at which lanes wait are on no such way."""
    inside = body - ends
    ways: set[int] = set()
    stack = [t for b in inside for t in succ[b] if t not in body]
    while stack:
        b = stack.pop()
        if b not in ways and b not in waits:
            ways.add(b)
            stack.extend(t for t in succ[b] if t not in body)
    # A return that others use too need not be on such a way: it has nothing left to do in any order.
    stack = list(ways)
    while stack:
        b = stack.pop()
        if b not in ways:
            continue
        leads_out = b in exits or (succ[b] and all(t in ways or t in exits for t in succ[b]))
        if not leads_out or not all(p in inside or p in ways for p in pred[b]):
            ways.discard(b)
            stack.extend(succ[b])
            stack.extend(pred[b])
    return ways


def _spread(targets: set[int], edges: Mapping[int, Iterable[int]]) -> set[int]:
    """`targets` and all that is reached from them along `edges` (successors or predecessors)."""
    found = set(targets)
    stack = list(targets)
    while stack:
        new = set(edges[stack.pop()]) - found
        found |= new
        stack.extend(new)
    return found


def _in_order(
    alive: set[int], succ: Mapping[int, tuple[int, ...]], loops: dict[int, set[int]], before_wait: set[int]
) -> list[int]:
    """Topological order of the blocks, edges to loop headers apart, with every loop kept together.

    Ties go to blocks outside `before_wait`: a thread that returns there, apart from the others, must be gone before a
    barrier counts it in. Then to the source order, which keeps listings readable.
    """
    outside = _enclosing(loops)
    inner: dict[int | None, list[int]] = {}
    for header, around in outside.items():
        inner.setdefault(around, []).append(header)
    orders: dict[int, list[int]] = {}
    # Smaller loops first, so that a loop's inner loops are in order when its turn comes.
    for header in sorted(loops, key=lambda h: len(loops[h])):
        within = {h: loops[h] for h in inner.get(header, ())}
        orders[header] = _order_region(loops[header], header, succ, within, orders, set())
    return _order_region(alive, None, succ, {h: loops[h] for h in inner.get(None, ())}, orders, before_wait)


def _order_region(
    region: set[int],
    header: int | None,
    succ: Mapping[int, tuple[int, ...]],
    inner: dict[int, set[int]],
    orders: dict[int, list[int]],
    before_wait: set[int],
) -> list[int]:
    """Order of one region: a loop's body, or the whole program (header None). `inner` are the loops directly inside,
    `orders` the order of each of their bodies."""
    owner = {b: h for h, body in inner.items() for b in body}
    nodes = {owner.get(b, b) for b in region}
    edges: dict[int, set[int]] = {n: set() for n in nodes}
    waiting = dict.fromkeys(nodes, 0)
    for b in region:
        for nxt in succ[b]:
            a, c = owner.get(b, b), owner.get(nxt, nxt)
            if nxt in region and nxt != header and a != c and c not in edges[a]:
                edges[a].add(c)
                waiting[c] += 1
    ready = [(n in before_wait, n) for n in nodes if waiting[n] == 0]
    heapq.heapify(ready)
    order: list[int] = []
    while ready:
        node = heapq.heappop(ready)[1]
        order.extend(orders[node] if node in inner else [node])
        for nxt in edges[node]:
            waiting[nxt] -= 1
            if waiting[nxt] == 0:
                heapq.heappush(ready, (nxt in before_wait, nxt))
    return order


# --- uses and definitions ------------------------------------------------------------------------------------------


def _place_operands(place: Place) -> tuple[Operand, ...]:
    if isinstance(place, Address):
        return (place.address,)
    return (place.base, *place.index, *place.shape, *place.strides)


def operands(op: Op | Terminator) -> tuple[Operand, ...]:
    """Everything an operation or terminator reads."""
    match op:
        case Alu() | WarpSync():
            return op.src
        case Load():
            return _place_operands(op.place)
        case Store() | Atomic():
            return (*op.src, *_place_operands(op.place))
        case Print():
            return tuple(p for p in op.parts if not isinstance(p, str))
        case Branch():
            return (op.condition,)
        case Barrier():
            return tuple(o for o in (op.src, op.number, op.threads) if o is not None)
        case _:
            return ()


def uses(op: Op | Terminator) -> tuple[int, ...]:
    """Registers read."""
    return tuple(o for o in operands(op) if isinstance(o, int))


def defines(op: Op | Terminator) -> tuple[int, ...]:
    """Registers written."""
    match op:
        case Alu() | Special():
            return (op.dst,)
        case Load() | WarpSync():
            return op.dst
        case Atomic() | Barrier() if op.dst is not None:
            return (op.dst,)
        case _:
            return ()


@dataclass
class Liveness:
    """Registers live at the entry and at the end of each block, and those each block defines."""

    live_in: list[set[int]]
    live_out: list[set[int]]
    defined: list[set[int]]


def liveness(blocks: list[BasicBlock]) -> Liveness:
    """Backward fixpoint over the blocks; registers a terminator defines are written after its operands are read."""
    read_first: list[set[int]] = []
    defined: list[set[int]] = []
    for block in blocks:
        reads: set[int] = set()
        writes: set[int] = set()
        for op in (*block.ops, block.end):
            reads.update(u for u in uses(op) if u not in writes)
            writes.update(defines(op))
        read_first.append(reads)
        defined.append(writes)
    live_in = [set(r) for r in read_first]
    live_out: list[set[int]] = [set() for _ in blocks]
    returns = [b for b, block in enumerate(blocks) if isinstance(block.end, Return)]
    after_calls = [block.end.target for block in blocks if isinstance(block.end, Call)]
    changed = True
    while changed:
        changed = False
        for b in range(len(blocks) - 1, -1, -1):
            out: set[int] = set()
            for nxt in successors(blocks[b].end):
                out |= live_in[nxt]
            if b in returns:
                for nxt in after_calls:
                    out |= live_in[nxt]
            if out != live_out[b]:
                live_out[b] = out
                live_in[b] = read_first[b] | (out - defined[b])
                changed = True
    return Liveness(live_in, live_out, defined)


# --- levels --------------------------------------------------------------------------------------------------------

_SPECIAL_LEVEL = {"ctaid": BLOCK, "ntid": UNIFORM, "nctaid": UNIFORM, "clock": UNIFORM}


def _own_level(op: Op | Terminator) -> int:
    """The least level of an operation's result, whatever its operands."""
    match op:
        case Special():
            return _SPECIAL_LEVEL.get(op.name.split(".")[0], LANE)
        case Atomic() | WarpSync():
            return LANE
        case Barrier():
            return BLOCK
        case Load():
            return {GLOBAL: UNIFORM, CONSTANT: UNIFORM, SHARED: BLOCK}.get(op.space, LANE)
        case _:
            return UNIFORM


def levels(blocks: list[BasicBlock], n_registers: int, live: Liveness) -> list[int]:
    """Level of each register (see the module's docstring). Registers never defined in a block are launch values."""
    if any(isinstance(block.end, Call) for block in blocks):
        return [LANE] * n_registers  # frames of different lanes are at different depths: nothing is shared
    level = [UNIFORM] * n_registers
    joins = _joins(blocks, live)

    def of(operand: Operand) -> int:
        return level[operand] if isinstance(operand, int) else UNIFORM

    changed = True
    while changed:
        changed = False
        for b, block in enumerate(blocks):
            for op in (*block.ops, block.end):
                targets = defines(op)
                if targets:
                    new = max((_own_level(op), *(of(o) for o in operands(op))))
                    for register in targets:
                        if level[register] < new:
                            level[register] = new
                            changed = True
            if b in joins:
                condition = of(block.end.condition)  # type: ignore[union-attr]
                for register in joins[b]:
                    if level[register] < condition:
                        level[register] = condition
                        changed = True
    return level


def _joins(blocks: list[BasicBlock], live: Liveness) -> dict[int, set[int]]:
    """Branch block -> registers whose value depends on the way its lanes went.

    With S1 and S2 the successors: the registers defined on a way from S1 or S2 to the branch's post-dominator that are
    live where ways from S1 and S2 can meet (the post-dominator, or any block both reach before it), and those that one
    way defines and the other reads. A loop's exit test has the loop as one such way, so what the loop defines and later
    code reads is found by the same rule.
    """
    end = len(blocks)
    succ = {b: successors(block.end) or (end,) for b, block in enumerate(blocks)}
    backwards: dict[int, tuple[int, ...]] = dict.fromkeys(range(end + 1), ())
    for b, targets in succ.items():
        for nxt in targets:
            backwards[nxt] = (*backwards[nxt], b)
    post = dominators(end, backwards)

    def before(start: int, stop: int) -> set[int]:
        seen: set[int] = set()
        stack = [start]
        while stack:
            b = stack.pop()
            if b not in (stop, end) and b not in seen:
                seen.add(b)
                stack.extend(succ[b])
        return seen

    # Sets of registers as the bits of integers: a large program has many branches over many blocks.
    live_in = [_bits(registers) for registers in live.live_in]
    defined = [_bits(registers) for registers in live.defined]
    found: dict[int, set[int]] = {}
    for b, block in enumerate(blocks):
        if isinstance(block.end, Branch) and block.end.if_true != block.end.if_false:
            stop = post.get(b, end)  # a block that cannot reach the end (an endless loop) has no post-dominator
            one, two = before(block.end.if_true, stop), before(block.end.if_false, stop)
            alive = live_in[stop] if stop < end else 0
            for m in one & two:
                alive |= live_in[m]
            made_one = made_two = 0
            for x in one:
                made_one |= defined[x]
            for x in two:
                made_two |= defined[x]
            # The ways run one after the other: what the first changes the second must not see.
            one_sees, two_sees = live_in[block.end.if_true], live_in[block.end.if_false]
            found[b] = _members(alive & (made_one | made_two) | one_sees & made_two | two_sees & made_one)
    return found


def _bits(numbers: set[int]) -> int:
    """A set of small numbers as the bits of an integer."""
    bits = bytearray(max(numbers, default=0) // 8 + 1)
    for n in numbers:
        bits[n >> 3] |= 1 << (n & 7)
    return int.from_bytes(bits, "little")


def _members(bits: int) -> set[int]:
    return {n for n, digit in enumerate(reversed(bin(bits))) if digit == "1"}


# --- loops ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Loop:
    """A loop as far as its end is concerned.

    `steering`: registers, live where the loop begins, that decide which way its branches go. `sealed`: they decide it
    alone, so when they come back unchanged the loop goes on for ever; otherwise it also depends on memory that the
    program writes, on other lanes or on the clock. `leaves`: whether any way leads out at all.
    """

    header: int
    blocks: frozenset[int]
    steering: tuple[int, ...]
    sealed: bool
    leaves: bool


def find_loops(blocks: list[BasicBlock], live: Liveness, written: Callable[[Load], bool]) -> dict[int, Loop]:
    """Loops by header. `written` says whether the program may write what a load reads."""
    succ = {b: successors(block.end) for b, block in enumerate(blocks)}
    bodies, _ = _find_loops(0, succ)
    # Register -> block -> (what its value comes from, whether that decides it alone) of each definition there.
    definitions: dict[int, dict[int, list[tuple[tuple[int, ...], bool]]]] = {}
    for b, block in enumerate(blocks):
        for op in (*block.ops, block.end):
            for register in defines(op):
                source = uses(op), _depends_on_operands_only(op, written)
                definitions.setdefault(register, {}).setdefault(b, []).append(source)
    where = {register: frozenset(by_block) for register, by_block in definitions.items()}
    asks = {b: uses(block.end) for b, block in enumerate(blocks) if isinstance(block.end, Branch)}
    calls = {b for b, block in enumerate(blocks) if isinstance(block.end, Call)}
    exits = {b for b, block in enumerate(blocks) if isinstance(block.end, Exit)}
    ends = exits | {b for b, block in enumerate(blocks) if isinstance(block.end, Return)}
    found: dict[int, Loop] = {}
    for header, body in bodies.items():
        leaves = any(t not in body or t in exits for b in body for t in succ[b]) or not ends.isdisjoint(body)
        sealed = calls.isdisjoint(body)
        wanted: set[int] = set()
        unseen = [register for b in body if b in asks for register in asks[b]]
        while unseen:
            register = unseen.pop()
            if register in wanted:
                continue
            wanted.add(register)
            for b in body & where.get(register, frozenset()):
                for sources, alone in definitions[register][b]:
                    unseen.extend(sources)
                    sealed &= alone
        found[header] = Loop(header, frozenset(body), tuple(sorted(wanted & live.live_in[header])), sealed, leaves)
    return found


def _depends_on_operands_only(op: Op | Terminator, written: Callable[[Load], bool]) -> bool:
    """Whether a result is the same whenever the operands are."""
    match op:
        case Load():
            return not written(op)
        case Special():
            return op.name != "clock"
        case _:
            return isinstance(op, Alu)


@dataclass
class Analysis:
    """A laid-out program with what was learnt of it."""

    blocks: list[BasicBlock]
    live: Liveness
    level: list[int]
    loops: dict[int, Loop]
    written: frozenset[int]  # see written_roots

    def may_be_written(self, op: Load) -> bool:
        """Whether some store or atomic of the program can reach what `op` loads."""
        return may_be_written(op, self.written)


def may_be_written(op: Load, written: frozenset[int]) -> bool:
    """Whether a store or atomic can reach what `op` loads. `written`: the roots that any can reach."""
    return op.space != CONSTANT and (op.root is None or op.root in written)


def written_roots(program: Program) -> frozenset[int]:
    """Roots that some store or atomic may reach: unless the front end knows, all but those that are only loaded from,
    and all of a space in which something is stored through a pointer to who knows what."""
    operations = [op for block in program.blocks for op in block.ops if isinstance(op, Load | Store | Atomic)]
    stores = [op for op in operations if not isinstance(op, Load)]
    unknown = {op.space for op in stores if op.root is None}
    stored = {op.root for op in stores}
    loaded = {op.root for op in operations} - stored

    def reached(number: int, root: Root) -> bool:
        if GENERIC in unknown or root.space in unknown:
            return True
        return number not in loaded if root.written is None else root.written

    return frozenset(number for number, root in enumerate(program.roots) if reached(number, root))


def analyse(program: Program) -> Analysis:
    """Lay out, then compute liveness, levels and loops."""
    blocks = lay_out(program.blocks)
    live = liveness(blocks)
    written = written_roots(program)
    level = levels(blocks, len(program.registers), live)
    loops = find_loops(blocks, live, lambda op: may_be_written(op, written))
    return Analysis(blocks, live, level, loops, written)
