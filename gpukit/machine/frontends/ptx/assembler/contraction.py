"""Products that the assembler adds in one step: mul and add without a rounding mode become one fma, rounded once.

A product is contracted if all that read it are additions and subtractions of its block that may be contracted too. Of
two products in one sum the first operand goes first, and a product that is read once before one that is read several
times.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from gpukit.machine.frontends.ptx.assembler.flow import Flow
from gpukit.machine.frontends.ptx.assembler.values import sources, targets
from gpukit.machine.frontends.ptx.syntax import Function, Instruction, Operand, Register, Statement

_TYPES = ("f32", "f64", "f16", "f16x2", "bf16", "bf16x2")


@dataclass(frozen=True, slots=True)
class _Use:
    """A statement that reads a product, through copies and changes of sign: as operand 1 or 2, `negated` or not."""

    statement: int
    operand: int
    negated: bool


def contract(function: Function) -> Function:
    """The function with the fused multiply-adds that the assembler makes. The function itself is left as it is."""
    assert function.body is not None
    if not any(isinstance(s, Instruction) and _is_product(s) for s in function.body):
        return function
    work = _Contraction(function)
    work.products_read_once()
    work.products_read_more_often()
    return work.result()


def _is_product(inst: Instruction) -> bool:
    """mul without a rounding mode; saturated it cannot be a part of a fma."""
    return inst.opcode == "mul" and _may_fuse(inst, ("ftz",)) and inst.guard is None


def _is_sum(inst: Instruction) -> bool:
    return inst.opcode in ("add", "sub") and _may_fuse(inst, ("ftz", "sat"))


def _may_fuse(inst: Instruction, modifiers: tuple[str, ...]) -> bool:
    return inst.type in _TYPES and all(m in modifiers for m in inst.modifiers[:-1])


class _Contraction:
    def __init__(self, function: Function):
        self.function = function
        self.flow = Flow(function)
        self.body = self.flow.body
        self.writes: dict[str, list[int]] = {}
        self.reads: dict[str, list[int]] = {}
        for i, statement in enumerate(self.body):
            if isinstance(statement, Instruction):
                for name in targets(statement):
                    self.writes.setdefault(name, []).append(i)
                for name in sources(statement):
                    self.reads.setdefault(name, []).append(i)
        self.fused: dict[int, tuple[int, _Use]] = {}  # sum -> (product, how it reads it)
        self.gone: set[int] = set()  # products that are a part of all that read them
        self.uses = {i: self._uses(i) for i, s in enumerate(self.body) if isinstance(s, Instruction) and _is_product(s)}

    # --- which -----------------------------------------------------------------------------------------------------

    def _uses(self, product: int) -> list[_Use] | None:
        """All that read a product, None if it cannot be contracted."""
        found: list[_Use] = []
        work = [(self._written(product), False)]
        inst = self._at(product)
        while work:
            name, negated = work.pop()
            if name is None or len(self.writes[name]) != 1:
                return None
            for i in self.reads.get(name, ()):
                reader = self._at(i)
                if i <= product or self.flow.block_of[i] != self.flow.block_of[product]:
                    return None
                if reader.opcode in ("mov", "neg") and reader.guard is None and len(reader.operands) == 2:
                    work.append((self._written(i), negated ^ (reader.opcode == "neg")))
                    continue
                if not _is_sum(reader) or reader.type != inst.type or reader.has("ftz") != inst.has("ftz"):
                    return None
                here = [n for n in (1, 2) if reader.operands[n] == Register(name)]
                if len(here) != 1:
                    return None
                found.append(_Use(i, here[0], negated))
        return found

    def _written(self, i: int) -> str | None:
        target = self._at(i).operands[0]
        return target.name if isinstance(target, Register) else None

    def _at(self, i: int) -> Instruction:
        statement = self.body[i]
        assert isinstance(statement, Instruction)
        return statement

    def products_read_once(self) -> None:
        once: dict[int, list[tuple[int, int]]] = {
            uses[0].statement: [] for uses in self.uses.values() if uses is not None and len(uses) == 1
        }
        for product, uses in self.uses.items():
            if uses is not None and len(uses) == 1:
                once[uses[0].statement].append((uses[0].operand, product))
        for candidates in once.values():
            product = min(candidates)[1]
            self._fuse(product)

    def products_read_more_often(self) -> None:
        for product, uses in self.uses.items():
            if uses is not None and len(uses) > 1 and not any(use.statement in self.fused for use in uses):
                self._fuse(product)

    def _fuse(self, product: int) -> None:
        for use in self.uses[product] or ():
            self.fused[use.statement] = product, use
        self.gone.add(product)

    # --- the result -------------------------------------------------------------------------------------------------

    def result(self) -> Function:
        registers = dict(self.function.registers)
        kept = self._operands_kept(registers)
        body: list[Statement] = []
        for i, statement in enumerate(self.body):
            if i in self.gone:
                body += [copy for copy, _ in kept[i].values()]
            elif i in self.fused:
                product, use = self.fused[i]
                factors = [kept[product][n][1] if n in kept[product] else self._at(product).operands[n] for n in (1, 2)]
                body += self._fma(self._at(i), use, factors, registers)
            else:
                body.append(statement)
        return replace(self.function, body=body, registers=registers)

    def _operands_kept(self, registers: dict[str, str]) -> dict[int, dict[int, tuple[Instruction, Register]]]:
        """product -> its factors that change before the sum reads them: how they are kept, and where."""
        kept: dict[int, dict[int, tuple[Instruction, Register]]] = {}
        for product in self.gone:
            inst = self._at(product)
            last = max(use.statement for use in self.uses[product] or ())
            kept[product] = {}
            for n in (1, 2):
                factor = inst.operands[n]
                if isinstance(factor, Register) and any(product <= w < last for w in self.writes.get(factor.name, ())):
                    copy = Register(f"%factor{product}.{n}")
                    registers[copy.name] = registers[factor.name]
                    made = replace(inst, opcode="mov", modifiers=(registers[factor.name],), operands=(copy, factor))
                    kept[product][n] = made, copy
        return kept

    def _fma(
        self, inst: Instruction, use: _Use, factors: list[Operand], registers: dict[str, str]
    ) -> Iterator[Instruction]:
        """`inst` as a fma. Signs are changed before it: they are a part of its operands on a GPU."""
        first, second = factors
        addend = inst.operands[3 - use.operand]
        subtracted = inst.opcode == "sub"
        if use.negated ^ (subtracted and use.operand == 2):
            first = yield from self._negative(inst, first, "factor", registers)
        if subtracted and use.operand == 1:
            addend = yield from self._negative(inst, addend, "addend", registers)
        modifiers = ("rn", *inst.modifiers)
        yield replace(inst, opcode="fma", modifiers=modifiers, operands=(inst.operands[0], first, second, addend))

    def _negative(self, inst: Instruction, value: Operand, what: str, registers: dict[str, str]):
        """A register with the opposite of a value."""
        opposite = Register(f"%opposite.{what}.{inst.type}")
        registers[opposite.name] = {"f16": "b16", "bf16": "b16", "f16x2": "b32", "bf16x2": "b32"}.get(
            inst.type, inst.type
        )
        yield Instruction("neg", (inst.type,), (opposite, value), None, inst.location, inst.text_line)
        return opposite
