"""Loops that the assembler unrolls: short ones of a known number of rounds altogether, others four rounds at a time,
then two, then one.

Lanes that make different numbers of rounds then share fewer of them: with 5 and 7 rounds a warp loads 4 + 2 + 1 times,
not 7; with 3 and 4 rounds 4 + 2 + 1 times, not 4. In a loop that is written out altogether, loads of several rounds can
merge. Which loops it takes, and how it counts their instructions, is read off ptxas.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

from gpukit.machine.frontends.ptx.assembler.flow import Flow
from gpukit.machine.frontends.ptx.assembler.values import registers_of, sources, space_of, targets
from gpukit.machine.frontends.ptx.syntax import (
    SIZES,
    Float,
    Function,
    Instruction,
    Integer,
    Label,
    Memory,
    Operand,
    Register,
    Statement,
    Symbol,
    Vector,
)

ROUNDS = 4
SIZE = 49  # weight of a loop that is unrolled whatever it does
SIZE_WITH_SHARED_LOADS = 99  # of one with many shared loads: up to 21 and 5 for each
NEVER = 1000
# Rounds -> weight of a loop of so many rounds that is still written out altogether; between two of them by steps.
WRITTEN_OUT = {
    2: 197, 3: 127, 4: 99, 5: 79, 6: 75, 7: 64, 8: 59, 9: 57, 10: 51, 11: 50, 12: 47, 13: 44, 14: 42, 15: 42, 16: 39,
    17: 38, 18: 37, 20: 35, 22: 33, 28: 30, 32: 27, 40: 25, 48: 23, 56: 21, 64: 20, 80: 17, 96: 16, 112: 15, 128: 14,
    160: 13, 192: 12, 224: 11, 256: 10, 400: 7,
}  # fmt: skip

_OTHERWISE = {"eq": "ne", "ge": "lt", "gt": "le", "le": "gt", "lt": "ge"}
_OPPOSITE_SIDE = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "ne": "ne"}
# Approximations, with a scaling around them unless subnormal numbers count as zero: (without .ftz, with it).
_SCALED = {
    "ex2": (6, 1), "lg2": (6, 1), "sqrt": (6, 1), "rsqrt": (6, 1), "rcp": (7, 1), "div": (7, 2), "div.full": (12, 8)
}  # fmt: skip
# (instruction, whether by a constant); 64-bit ones become subroutines.
_INTEGER_DIVISION = {
    ("div.s32", False): 27, ("rem.s32", False): 24, ("div.u32", False): 21, ("rem.u32", False): 19,
    ("div.s32", True): 24, ("rem.s32", True): 20, ("div.u32", True): 18, ("rem.u32", True): 16,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop that ends with its last statement, a branch back while `counter` `test` `bound`.

    start, stop: its statements, from its label to the branch. `step`: what a round adds to the counter. `rounds`: how
    many there are, if counter and bound are constants; only such a loop can have other ways out. One that is entered in
    its middle, at the label `entry`, ends with a branch out, to the label `out`, and one back.
    """

    start: int
    stop: int
    counter: str
    kind: str  # type of the test
    test: str
    bound: Operand
    step: int
    rounds: int | None
    entry: int | None = None
    out: str = ""


def unroll(function: Function) -> Function:
    """The function with the loops unrolled that the assembler unrolls. The function itself is left as it is."""
    assert function.body is not None
    found = sorted(_loops(function), key=lambda loop: loop.start)
    loops = [loop for loop in found if _worthwhile(function, loop)]
    if not loops:
        return function
    registers = dict(function.registers)
    body: list[Statement] = []
    at = 0
    for number, loop in enumerate(loops):
        body += function.body[at : loop.start]
        unrolled = _Unrolled(function, loop, number, registers)
        body += unrolled.by_fours() if loop.rounds is None else unrolled.altogether(loop.rounds)
        at = loop.stop
    body += function.body[at:]
    return replace(function, body=body, registers=registers)


# --- finding loops -------------------------------------------------------------------------------------------------


def _loops(function: Function) -> Iterator[Loop]:
    flow = Flow(function)
    for last in flow.order:
        branch = _last(flow, last)
        if branch is None or branch.opcode != "bra" or (branch.guard is not None and branch.guard[1]):
            continue
        back = [b for b in flow.blocks[last].successors if b <= last]
        if len(back) != 1:
            continue
        loop = _plain(flow, back[0], last, branch) if branch.guard else _turned(flow, back[0], last)
        if loop is not None:
            head = flow.body[loop.start]
            if isinstance(head, Label) and head.name not in function.rolled:
                yield loop


def _last(flow: Flow, block: int) -> Instruction | None:
    statement = flow.body[flow.blocks[block].stop - 1]
    return statement if isinstance(statement, Instruction) else None


def _entered_at(flow: Flow, first: int, last: int) -> set[int]:
    """Blocks of a range that are reached from outside it."""
    inside = range(first, last + 1)
    reached = set(flow.order)
    return {b for b in inside for p in flow.blocks[b].predecessors if p in reached and p not in inside}


def _is_turn(flow: Flow, first: int, last: int) -> bool:
    """Whether the branch of the last block to the first one is the only way back among blocks."""
    inside = range(first, last + 1)
    return [(b, s) for b in inside for s in flow.blocks[b].successors if s in inside and s <= b] == [(last, first)]


def _plain(flow: Flow, first: int, last: int, branch: Instruction) -> Loop | None:
    """The loop of these blocks, if the last statement decides about the next round."""
    if _entered_at(flow, first, last) != {first} or not _is_turn(flow, first, last):
        return None
    loop = _counted(flow, flow.blocks[first].start, flow.blocks[last].stop, branch)
    inside = range(first, last + 1)
    ways_out = [(b, s) for b in inside for s in flow.blocks[b].successors if s not in inside]
    return loop if loop is not None and (loop.rounds is not None or ways_out == [(last, last + 1)]) else None


def _turned(flow: Flow, first: int, last: int) -> Loop | None:
    """The loop of these blocks, if it has a known number of rounds and is entered in its middle: the last block goes
    back, the one before it decides."""
    entered = _entered_at(flow, first, last)
    leaving = _last(flow, last - 1) if last > first else None
    if len(entered) != 1 or not _is_turn(flow, first, last) or leaving is None or leaving.opcode != "bra":
        return None
    if leaving.guard is None or leaving.guard[1] or flow.blocks[last].stop - flow.blocks[last].start != 1:
        return None
    out, middle = leaving.operands[0], flow.blocks[entered.pop()]
    # What the first round leaves out is one block, so that the counter changes in every other round.
    if not isinstance(out, Symbol) or middle.start != flow.blocks[first].stop:
        return None
    loop = _counted(flow, flow.blocks[first].start, flow.blocks[last - 1].stop, leaving, middle.start)
    if loop is None or loop.rounds is None:
        return None
    return replace(loop, stop=flow.blocks[last].stop, entry=middle.start, out=out.name)


def _counted(flow: Flow, start: int, stop: int, branch: Instruction, entry: int | None = None) -> Loop | None:
    """The loop of these statements, if a counter ends it that every round changes by the same constant. `entry`: where
    it is entered if that is in its middle; the branch then leaves it instead of going back."""
    assert branch.guard is not None
    inside = [(i, s) for i, s in enumerate(flow.body[start:stop], start) if isinstance(s, Instruction)]
    if any(inst.opcode in ("ret", "exit", "trap", "call", "brx") for _, inst in inside):
        return None
    writes: dict[str, list[int]] = {}
    for i, inst in inside:
        for name in targets(inst):
            writes.setdefault(name, []).append(i)
    tests = writes.get(branch.guard[0].name, [])
    if len(tests) != 1:
        return None
    test = flow.body[tests[0]]
    assert isinstance(test, Instruction)
    match test:
        case Instruction(
            "setp", (comparison, ("s32" | "u32" | "s64" | "u64") as kind), (Register(), left, right), None
        ):
            pass
        case _:
            return None
    if entry is not None:
        comparison = _OTHERWISE.get(comparison, "")
    for counter, bound, compare in ((left, right, comparison), (right, left, _OPPOSITE_SIDE.get(comparison, ""))):
        if not isinstance(counter, Register) or compare not in _OPPOSITE_SIDE or len(writes.get(counter.name, ())) != 1:
            continue
        if any(name in writes for name in registers_of(bound)):
            continue
        i = writes[counter.name][0]
        match flow.body[i]:
            case Instruction("add", (_,), (_, Register(name), Integer(step)), None) if name == counter.name and step:
                pass
            case _:
                continue
        upwards = {"lt": True, "le": True, "gt": False, "ge": False}.get(compare, step > 0)
        left_out = entry is not None and i < entry  # by the first round
        if not (i < tests[0] and (left_out or flow.dominates(i, stop - 1)) and flow.dominates(tests[0], stop - 1)):
            continue
        if upwards == (step > 0):
            begin = _constant_before(flow, start, stop, counter.name)
            if begin is None or not isinstance(bound, Integer):
                return Loop(start, stop, counter.name, kind, compare, bound, step, None)
            rounds = _rounds(begin - step if left_out else begin, compare, bound.value, step)
            return Loop(start, stop, counter.name, kind, compare, bound, step, rounds) if rounds else None
    return None


def _constant_before(flow: Flow, start: int, stop: int, counter: str) -> int | None:
    """The constant that a counter always begins with."""
    before = [
        statement
        for i, statement in enumerate(flow.body)
        if isinstance(statement, Instruction) and not start <= i < stop and counter in targets(statement)
    ]
    match before:
        case [Instruction("mov", _, (_, Integer(value)), None)]:
            return value
    return None


def _rounds(begin: int, test: str, bound: int, step: int) -> int | None:
    """How often a loop runs that ends where it is meant to; None if it does not, or too often to be written out."""
    goes_on = {"lt": int.__lt__, "le": int.__le__, "gt": int.__gt__, "ge": int.__ge__, "ne": int.__ne__}[test]
    for n in range(1, max(WRITTEN_OUT) + 1):
        if not goes_on(begin + n * step, bound):
            return n
    return None


# --- which loops ---------------------------------------------------------------------------------------------------


def _worthwhile(function: Function, loop: Loop) -> bool:
    assert function.body is not None
    inside = [s for s in function.body[loop.start : loop.stop] if isinstance(s, Instruction)]
    if loop.rounds is not None:
        # All lanes do the same, so only what merges matters.
        loads = any(inst.opcode == "ld" for inst in inside)
        whole = loop.rounds - (loop.entry is not None)
        limit = min((weight for rounds, weight in WRITTEN_OUT.items() if rounds <= whole), default=NEVER)
        return loads and _Weights(function, inside).total() <= limit
    shared_loads = sum(inst.opcode == "ld" and space_of(inst) == "shared" for inst in inside)
    limit = max(SIZE, min(SIZE_WITH_SHARED_LOADS, 21 + 5 * shared_loads)) if shared_loads else SIZE
    return _Weights(function, inside).total() <= limit


class _Weights:
    """How many instructions the assembler takes a loop for when it decides."""

    def __init__(self, function: Function, inside: list[Instruction]):
        self.function = function
        self.inside = inside
        self.writers: dict[str, int] = Counter(name for inst in inside for name in targets(inst))
        self.given = _given(function)

    def total(self) -> int:
        return sum(map(self.of, self.inside))

    def of(self, inst: Instruction) -> int:
        match inst.opcode:
            case "neg" | "abs":
                return 0  # part of the instruction that reads it
            case "mov":
                return self._mov(inst)
            case "ld" | "st":
                return self._access(inst)
            case "atom" | "red":
                return _atomic(inst)
            case "membar" | "fence":
                return NEVER
            case "div" | "rem" if inst.type[0] in "su":
                return _INTEGER_DIVISION.get((inst.name, isinstance(inst.operands[2], Integer)), NEVER)
            case opcode if opcode in _SCALED:
                if inst.type == "f64" or not (inst.has("approx") or inst.has("full")):
                    return NEVER  # becomes a subroutine
                plain, flushing = _SCALED["div.full" if inst.has("full") else opcode]
                return flushing if inst.has("ftz") else plain
            case "add" | "sub" | "mul" | "fma" if inst.type in ("f16x2", "bf16x2"):
                return 2
        return 1

    def _mov(self, inst: Instruction) -> int:
        """A constant that meets another value must be in a register; everything else needs no instruction."""
        target, source = inst.operands
        constant = isinstance(source, Integer | Float)
        return int(constant and isinstance(target, Register) and self.writers[target.name] > 1)

    def _access(self, inst: Instruction) -> int:
        where = next(operand for operand in inst.operands if isinstance(operand, Memory))
        value = inst.operands[0] if inst.opcode == "ld" else inst.operands[1]
        space = space_of(inst)
        if space == "param" or isinstance(where.base, Symbol):
            return 1
        given = isinstance(where.base, Register) and where.base.name in self.given
        addition = where.offset != 0 or (space != "shared" and given)
        halves = inst.opcode == "ld" and SIZES[inst.type] == 2 and isinstance(value, Vector)
        return 1 + addition + (halves or self._extends(inst, value))

    def _extends(self, inst: Instruction, value: Operand) -> bool:
        """Whether a load fills a register wider than what it loads."""
        if inst.opcode != "ld" or not isinstance(value, Register):
            return False
        return SIZES[inst.type] < 4 and SIZES[self.function.registers[value.name]] >= 4


def _given(function: Function) -> set[str]:
    """Registers that hold nothing but a parameter or its copy: as an address they must be moved first."""
    computed: set[str] = set()
    copied: set[str] = set()
    for statement in function.body or ():
        if isinstance(statement, Instruction):
            parameter = statement.opcode == "ld" and space_of(statement) == "param"
            (copied if parameter or statement.opcode in ("mov", "cvta") else computed).update(targets(statement))
    return copied - computed


def _atomic(inst: Instruction) -> int:
    one_word = SIZES[inst.type] == 4 and inst.type[0] in "sub"
    if inst.has("cas") or inst.has("exch"):
        return 1 if space_of(inst) == "shared" else 2
    if space_of(inst) == "shared":
        return 10
    return 11 if one_word else 2  # lanes that meet are added up first


# --- unrolling -----------------------------------------------------------------------------------------------------


class _Unrolled:
    """The statements that take a loop's place."""

    def __init__(self, function: Function, loop: Loop, number: int, registers: dict[str, str]):
        assert function.body is not None
        self.loop = loop
        self.number = number
        self.registers = registers
        last = loop.stop - (1 if loop.entry is None else 2)
        self.body = function.body[loop.start + 1 : last]
        self.first = function.body[loop.entry + 1 : last] if loop.entry is not None else self.body
        self.head = function.body[loop.start if loop.entry is None else loop.entry]
        branch = function.body[last]
        assert isinstance(branch, Instruction) and branch.guard is not None
        self.branch = branch
        read = {name for s in function.body if isinstance(s, Instruction) and s is not branch for name in sources(s)}
        self.keep_test = branch.guard[0].name in read
        self.copies = 0
        self.distance = Register(f"%unrolled{number}.distance")
        self.more = Register(f"%unrolled{number}.more")
        self.fresh = Register(f"%unrolled{number}.fresh")  # no round was made yet
        if loop.rounds is None:
            registers |= {self.distance.name: loop.kind, self.more.name: "pred", self.fresh.name: "pred"}

    def _label(self, name: str) -> Label:
        return Label(f"unrolled{self.number}.{name}")

    def _make(self, name: str, *operands: Operand, guard: tuple[Register, bool] | None = None) -> Instruction:
        opcode, *modifiers = name.split(".")
        return Instruction(opcode, tuple(modifiers), operands, guard, self.branch.location, self.branch.text_line)

    def _goto(self, label: Label, guard: tuple[Register, bool] | None = None) -> Instruction:
        return self._make("bra", Symbol(label.name), guard=guard)

    def altogether(self, rounds: int) -> list[Statement]:
        """All rounds, one after the other."""
        made: list[Statement] = [self.head, *self._copy(self.first)]
        for _ in range(rounds - 1):
            made += self._round()
        if self.loop.out:
            made.append(self._goto(Label(self.loop.out)))
        return made

    def by_fours(self) -> list[Statement]:
        """As many rounds as each lane makes: four at a time, then two, then one."""
        main, two, one, single, done = (self._label(n) for n in ("main", "two", "one", "single", "done"))
        test, kind = self.loop.test, self.loop.kind
        made: list[Statement] = [self.head]
        unsigned = kind[0] == "u"
        if test == "ne":
            # Unless the counter is on its way to the bound, one round at a time.
            made += [*self._ahead("gt" if self.loop.step > 0 else "lt"), self._goto(single, (self.more, True))]
        elif unsigned:
            made += [
                *self._again(),
                self._make("mov.pred", self.fresh, self.more),
                self._goto(main_test := self._label("start"), (self.more, False)),
            ]
            made += [*self._round(), main_test]
        if test == "ne" or not unsigned:
            made.append(self._make("setp.eq.s32", self.fresh, Integer(0), Integer(0)))
        made += [*self._at_least(ROUNDS), self._goto(two, (self.more, True)), main]
        for _ in range(ROUNDS):
            made += self._round()
        made += [self._begun(), *self._at_least(ROUNDS), self._goto(main, (self.more, False)), two]
        made += [
            *self._at_least(2),
            self._goto(one, (self.more, True)),
            *self._round(),
            *self._round(),
            self._begun(),
            one,
        ]
        made += [
            *self._again(),
            self._make("or.pred", self.more, self.more, self.fresh),
            self._goto(done, (self.more, True)),
        ]
        if test == "ne":
            made += [single, *self._round(), *self._again(), self._goto(single, (self.more, False))]
        else:
            made += self._round()
        made.append(done)
        return made

    def _round(self) -> list[Statement]:
        return self._copy(self.body)

    def _copy(self, statements: list[Statement]) -> list[Statement]:
        """A copy of the loop's body or the end of it, with labels of its own and without the branch back."""
        self.copies += 1
        names = {s.name: f"{s.name}.{self.number}.{self.copies}" for s in statements if isinstance(s, Label)}
        made: list[Statement] = []
        assert self.branch.guard is not None
        for statement in statements:
            if isinstance(statement, Label):
                made.append(Label(names[statement.name]))
            elif statement.opcode == "bra":
                target = statement.operands[0]
                assert isinstance(target, Symbol)
                made.append(replace(statement, operands=(Symbol(names.get(target.name, target.name)),)))
            elif self.keep_test or self.branch.guard[0].name not in targets(statement):
                made.append(replace(statement))
        return made

    def _begun(self) -> Instruction:
        return self._make("setp.ne.s32", self.fresh, Integer(0), Integer(0))

    def _again(self) -> list[Instruction]:
        """more = whether there is another round."""
        return [
            self._make(
                f"setp.{self.loop.test}.{self.loop.kind}", self.more, Register(self.loop.counter), self.loop.bound
            )
        ]

    def _ahead(self, compare: str) -> list[Instruction]:
        """more = bound `compare` counter."""
        return [self._make(f"setp.{compare}.{self.loop.kind}", self.more, self.loop.bound, Register(self.loop.counter))]

    def _at_least(self, rounds: int) -> list[Instruction]:
        """more = whether there are so many rounds left: the bound is far enough."""
        kind, step = self.loop.kind, abs(self.loop.step)
        counter, bound = Register(self.loop.counter), self.loop.bound
        first, second = (bound, counter) if self.loop.step > 0 else (counter, bound)
        compare = "ge" if self.loop.test in ("le", "ge") else "gt"
        made = [
            self._make(f"sub.s{kind[1:]}", self.distance, first, second),
            self._make(f"setp.{compare}.{kind}", self.more, self.distance, Integer((rounds - 1) * step)),
        ]
        if kind[0] == "u":  # a distance backwards looks far
            made += [*self._copied(self._again())]
        return made

    def _copied(self, test: list[Instruction]) -> list[Instruction]:
        left = Register(f"%unrolled{self.number}.left")
        self.registers[left.name] = "pred"
        return [
            replace(test[0], operands=(left, *test[0].operands[1:])),
            self._make("and.pred", self.more, self.more, left),
        ]
