"""Functions of CUDA's device runtime that a kernel calls by name: printf, assert, the grid barrier."""

from __future__ import annotations

import re

import numpy as np

from gpukit.machine.frontends.ptx.emitter import I64, Emitter
from gpukit.machine.frontends.ptx.syntax import Instruction, Memory, Operand, Register, Symbol
from gpukit.machine.program import GENERIC, Address, Const, GridSync, Load, Print, Raise
from gpukit.machine.program import Operand as Value

# A conversion of printf: flags, width, precision, length, letter.
CONVERSION = re.compile(r"%([-+ #0]*)(\*|\d+)?(?:\.(\*|\d+))?(hh|h|ll|l|j|z|t|L)?([diouxXcsSpeEfFgGaA%])")


def call(out: Emitter, name: str, arguments: tuple[Operand, ...], results: tuple[Operand, ...]) -> None:
    """A call of a function without a body."""
    match name:
        case "vprintf":
            _printf(out, arguments, results)
        case "__assertfail":
            _assert(out, arguments)
        case "cudaCGSynchronize" | "cudaCGSynchronizeGrid":
            out.then(lambda after: GridSync(after, out.line))
            _result(out, results, np.uint32(0))
        case "cudaCGGetIntrinsicHandle":
            _result(out, results, np.uint64(1))
        case "malloc" | "free":
            out.refuse(f"{name}() (or `new`)", "give the kernel memory as an argument")
        case _:
            out.malformed(f"the kernel calls `{name}`, which is declared but not defined in this source")


def _result(out: Emitter, results: tuple[Operand, ...], value: np.generic) -> None:
    for operand in results:
        if isinstance(operand, Symbol):
            out.lowering.slots(operand.name).store(out, 0, Const(value), value.dtype)
        elif isinstance(operand, Register):
            out.write(operand, Const(value))


def _passed(out: Emitter, operand: Operand) -> str | None:
    """The literal that was stored into an argument of the call at hand."""
    before = out.lowering.before(out.inst)
    if not isinstance(operand, Symbol):
        return out.lowering.string(operand, before)
    for position in range(len(before) - 1, -1, -1):
        statement = before[position]
        if isinstance(statement, Instruction) and statement.opcode == "st" and statement.has("param"):
            where, value = statement.operands
            if isinstance(where, Memory) and where.base == Symbol(operand.name):
                return out.lowering.string(value, before[:position])
    return None


def _printf(out: Emitter, arguments: tuple[Operand, ...], results: tuple[Operand, ...]) -> None:
    lowering = out.lowering
    text = _passed(out, arguments[0])
    if text is None:
        out.refuse("printf with a format that is not a literal")
    buffer = (
        lowering.slots(arguments[1].name).load(out, 0, I64)
        if isinstance(arguments[1], Symbol)
        else out.read(arguments[1], I64)
    )
    parts: list[str | Value] = []
    offset = 0
    for found in CONVERSION.finditer(text):
        _, width, precision, length, letter = found.groups()
        if letter in "aA":
            out.refuse("printf with %a", "use %g or %.17g")
        if letter == "%":
            continue
        kinds = ["i4"] * ((width == "*") + (precision == "*"))
        if letter in "eEfFgGaA":
            kinds.append("f8")
        elif letter in "sSp" or length in ("l", "ll", "j", "z", "t"):
            kinds.append("u8" if letter in "sSpuoxX" else "i8")
        else:
            kinds.append("u4" if letter in "uoxX" else "i4")
        for kind in kinds:
            dtype = np.dtype(kind)
            offset = -(-offset // dtype.itemsize) * dtype.itemsize
            if letter in "sS" and kind == "u8":
                parts.append(_string(out, offset))
            else:
                register = out.temporary(dtype)
                place = Address(buffer, offset=offset)
                out.emit(Load((register,), place, GENERIC, dtype, out.line, count=0))
                parts.append(register)
            offset += dtype.itemsize
    out.emit(Print(tuple(parts), out.line, sep="", end="", format=python_format(text)))
    count = sum(1 for found in CONVERSION.finditer(text) if found.group(5) != "%")
    _result(out, results, np.int32(count))


def python_format(text: str) -> str:
    """A format of C as one of Python's % operator, which knows no lengths and no %p."""
    pieces, at = [], 0
    for found in CONVERSION.finditer(text):
        pieces.append(text[at : found.start()].replace("%", "%%"))
        flags, width, precision, _, letter = found.groups()
        form = f"%{flags}{width or ''}{'.' + precision if precision else ''}"
        pieces.append({"p": "0x%x", "%": "%%", "S": form + "s"}.get(letter, form + letter))
        at = found.end()
    return "".join([*pieces, text[at:].replace("%", "%%")])


def _string(out: Emitter, offset: int) -> str:
    """The literal that the call's buffer holds at an offset."""
    before = out.lowering.before(out.inst)
    for position in range(len(before) - 1, -1, -1):
        statement = before[position]
        if not isinstance(statement, Instruction) or statement.opcode != "st" or statement.has("param"):
            continue
        where = statement.operands[0]
        if isinstance(where, Memory) and where.offset == offset:
            text = out.lowering.string(statement.operands[1], before[:position])
            if text is not None:
                return text
    out.refuse("printf of a string that is not a literal")


def _assert(out: Emitter, arguments: tuple[Operand, ...]) -> None:
    message = _passed(out, arguments[0]) or "an assertion"
    out.emit(Raise(f"assertion failed: {message}", out.line))
