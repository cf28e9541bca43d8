"""Loops that the assembler unrolls: four rounds at a time, then two, then one.

Lanes that make different numbers of rounds then share fewer of them: with 5 and 7 rounds a warp loads 4 + 2 + 1 times,
not 7; with 3 and 4 rounds 4 + 2 + 1 times, not 4. Which loops it takes, and how it counts their instructions, is read
off ptxas.
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
    """A loop whose only way out is its last statement, a branch back while `counter` `test` `bound`.

    start, stop: its statements, from its label to the branch. `step`: what a round adds to the counter.
    """

    start: int
    stop: int
    counter: str
    kind: str  # type of the test
    test: str
    bound: Operand
    step: int


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
        body += _Unrolled(function, loop, number, registers).statements()
        at = loop.stop
    body += function.body[at:]
    return replace(function, body=body, registers=registers)


# --- finding loops -------------------------------------------------------------------------------------------------


def _loops(function: Function) -> Iterator[Loop]:
    flow = Flow(function)
    reached = set(flow.order)
    for last in flow.order:
        block = flow.blocks[last]
        branch = flow.body[block.stop - 1]
        if not isinstance(branch, Instruction) or branch.opcode != "bra" or branch.guard is None or branch.guard[1]:
            continue
        back = [b for b in block.successors if b <= last]
        if len(back) != 1 or block.successors == back:
            continue
        inside = range(back[0], last + 1)
        entered = {p for b in inside for p in flow.blocks[b].predecessors if p in reached and p not in inside}
        left = [(b, s) for b in inside if b in reached for s in flow.blocks[b].successors if s not in inside]
        turns = [(b, s) for b in inside for s in flow.blocks[b].successors if s <= b]
        first = flow.blocks[back[0]]
        at_head = {p for p in flow.blocks[back[0]].predecessors if p not in inside}
        if left != [(last, last + 1)] or turns != [(last, back[0])] or entered != at_head:
            continue
        head = flow.body[first.start]
        if not isinstance(head, Label) or head.name in function.rolled:
            continue
        loop = _counted(flow, first.start, block.stop, branch)
        if loop is not None:
            yield loop


def _counted(flow: Flow, start: int, stop: int, branch: Instruction) -> Loop | None:
    """The loop of these statements, if a counter ends it that every round changes by the same constant."""
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
        if not (i < tests[0] and flow.dominates(i, stop - 1) and flow.dominates(tests[0], stop - 1)):
            continue
        if upwards == (step > 0) and not _constant_rounds(flow, start, stop, counter.name, bound):
            return Loop(start, stop, counter.name, kind, compare, bound, step)
    return None


def _constant_rounds(flow: Flow, start: int, stop: int, counter: str, bound: Operand) -> bool:
    """Whether the loop starts and ends at constants: all lanes make the same number of rounds."""
    before = [
        statement
        for i, statement in enumerate(flow.body)
        if isinstance(statement, Instruction) and not start <= i < stop and counter in targets(statement)
    ]
    constant = all(inst.opcode == "mov" and isinstance(inst.operands[1], Integer) for inst in before)
    return isinstance(bound, Integer) and len(before) == 1 and constant


# --- which loops ---------------------------------------------------------------------------------------------------


def _worthwhile(function: Function, loop: Loop) -> bool:
    assert function.body is not None
    inside = [s for s in function.body[loop.start : loop.stop] if isinstance(s, Instruction)]
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
        self.body = function.body[loop.start : loop.stop]
        branch = self.body[-1]
        assert isinstance(branch, Instruction) and branch.guard is not None
        self.branch = branch
        read = {name for s in function.body if isinstance(s, Instruction) and s is not branch for name in sources(s)}
        self.keep_test = branch.guard[0].name in read
        self.copies = 0
        self.distance = self._register("distance", loop.kind)
        self.more = self._register("more", "pred")
        self.fresh = self._register("fresh", "pred")  # no round was made yet
        self.head = self.body[0]

    def _register(self, name: str, kind: str) -> Register:
        register = Register(f"%unrolled{self.number}.{name}")
        self.registers[register.name] = kind
        return register

    def _label(self, name: str) -> Label:
        return Label(f"unrolled{self.number}.{name}")

    def _make(self, name: str, *operands: Operand, guard: tuple[Register, bool] | None = None) -> Instruction:
        opcode, *modifiers = name.split(".")
        return Instruction(opcode, tuple(modifiers), operands, guard, self.branch.location, self.branch.text_line)

    def _goto(self, label: Label, guard: tuple[Register, bool] | None = None) -> Instruction:
        return self._make("bra", Symbol(label.name), guard=guard)

    def statements(self) -> list[Statement]:
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
        """A copy of the loop's body, with labels of its own and without the branch back."""
        self.copies += 1
        names = {s.name: f"{s.name}.{self.number}.{self.copies}" for s in self.body[1:] if isinstance(s, Label)}
        made: list[Statement] = []
        assert self.branch.guard is not None
        for statement in self.body[1:-1]:
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
        left = self._register("left", "pred")
        return [
            replace(test[0], operands=(left, *test[0].operands[1:])),
            self._make("and.pred", self.more, self.more, left),
        ]
