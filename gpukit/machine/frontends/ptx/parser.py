"""PTX text -> `syntax.Module`.

Names of registers, parameters of calls and labels that are declared inside `{ }` are made unique, so that a function
is one flat list of statements afterwards.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from typing import NamedTuple, NoReturn

from gpukit.errors import KernelSyntaxError
from gpukit.machine.frontends.ptx.syntax import (
    SIZES,
    TYPES,
    Float,
    Function,
    Instruction,
    Integer,
    Label,
    Location,
    Memory,
    Module,
    Negated,
    Operand,
    Pair,
    Register,
    Sink,
    Symbol,
    Variable,
    Vector,
)

_TOKEN = re.compile(
    r"""
    (?P<space>[ \t\r]+|//[^\n]*|/\*.*?\*/)
  | (?P<newline>\n)
  | (?P<string>"(?:[^"\\]|\\.)*")
  | (?P<float>0[fF][0-9a-fA-F]{8}|0[dD][0-9a-fA-F]{16}|\d+\.\d*(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+)
  | (?P<integer>0[xX][0-9a-fA-F]+U?|0[bB][01]+U?|\d+U?)
  | (?P<name>[A-Za-z_$%][\w$]*)
  | (?P<dotted>\.\w+(?:::\w+)*)
  | (?P<mark>[{}()\[\],;:=@!|<>+\-&*~])
    """,
    re.VERBOSE | re.DOTALL,
)

_LINKAGE = (".visible", ".extern", ".weak", ".common", ".internal", ".unified")
_SPACES = (".global", ".const", ".shared", ".local", ".param")
_LIMITS = (
    ".maxntid", ".reqntid", ".minnctapersm", ".maxnctapersm", ".maxnreg", ".noreturn", ".explicitcluster",
    ".reqnctapercluster", ".maxclusterrank", ".blocksareclusters", ".abi_preserve", ".abi_preserve_control",
)  # fmt: skip


MAX_REGISTERS = 1_000_000


class Token(NamedTuple):
    kind: str
    text: str
    line: int


def _tokens(text: str, file: str) -> Iterator[Token]:
    position, line = 0, 1
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            found = text[position : position + 20].split("\n")[0]
            raise KernelSyntaxError(f"{found!r} is not PTX", file=file, line=line)
        kind = match.lastgroup or ""
        if kind not in ("space", "newline"):
            yield Token(kind, match.group(), line)
        line += match.group().count("\n")
        position = match.end()
    yield Token("end", "", line)


def parse(text: str, file: str = "kernel.ptx") -> Module:
    """The module a PTX text describes.

    Raises KernelSyntaxError, naming `file` and the line of the text.
    """
    return _Parser(text.rstrip("\0"), file).module()


class _Scope:
    """Names that one pair of braces declares -> the unique names they get."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}


class _Parser:
    def __init__(self, text: str, file: str):
        self.file = file
        self.tokens = list(_tokens(text, file))
        self.at = 0
        self.made = Module((0, 0), "")
        self.scopes: list[_Scope] = []
        self.renamed = 0
        self.registers_here: dict[str, str] = {}  # of the function at hand
        self.locations: dict[tuple[int, int, int], Location] = {}
        self.location: Location | None = None

    # --- tokens -----------------------------------------------------------------------------------------------------

    @property
    def token(self) -> Token:
        return self.tokens[self.at]

    def next(self) -> Token:
        token = self.tokens[self.at]
        if token.kind == "end":
            self.fail("it stops in the middle")
        self.at += 1
        return token

    def accept(self, text: str) -> bool:
        if self.token.text == text and self.token.kind != "string":
            self.at += 1
            return True
        return False

    def expect(self, text: str) -> None:
        if not self.accept(text):
            self.fail(f"expected {text!r}")

    def fail(self, what: str) -> NoReturn:
        token = self.token
        found = repr(token.text) if token.text else "the end"
        raise KernelSyntaxError(f"this PTX cannot be read: {what} at {found}", file=self.file, line=token.line)

    def name(self) -> str:
        if self.token.kind not in ("name", "dotted"):
            self.fail("expected a name")
        return self.next().text

    def integer(self) -> int:
        sign = -1 if self.accept("-") else 1
        if self.token.kind != "integer":
            self.fail("expected a number")
        return sign * _integer(self.next().text)

    # --- module -----------------------------------------------------------------------------------------------------

    def module(self) -> Module:
        made = self.made
        external = False
        while self.token.kind != "end":
            token = self.next()
            match token.text:
                case ".version":
                    made.version = self.version()
                case ".target":
                    made.target = self.name()
                    while self.accept(","):
                        self.next()
                case ".address_size":
                    if self.integer() != 64:
                        self.fail("only 64-bit addresses are known")
                case ".file":
                    self.numbered_file()
                case ".section":
                    self.name()
                    self.skip_braces()
                case ".loc":
                    self.loc()
                case ".pragma" | ".alias":
                    while not self.accept(";"):
                        self.next()
                case ".entry" | ".func":
                    self.function(token.text == ".entry")
                case text if text in _SPACES:
                    for variable in self.variables(text):
                        variable.external = external
                        self.made.variables.setdefault(variable.name, variable)
                        if variable.initial or variable.pointers:
                            self.made.variables[variable.name] = variable
                    self.expect(";")
                case text if text in _LINKAGE or text == ";":
                    external = text == ".extern"
                    continue
                case ".attribute":
                    self.skip_parentheses()
                case _:
                    self.at -= 1
                    self.fail("this is not known at the top of a module")
            external = False
        return made

    def version(self) -> tuple[int, int]:
        found = re.fullmatch(r"(\d+)\.(\d+)", self.token.text)
        if found is None:
            self.fail("expected a version, such as 8.0")
        self.next()
        return int(found[1]), int(found[2])

    def numbered_file(self) -> None:
        number = self.integer()
        self.made.files[number] = _unquoted(self.next().text)
        while self.accept(","):
            self.next()

    def skip_braces(self) -> None:
        self.expect("{")
        depth = 1
        while depth:
            text = self.next().text
            depth += (text == "{") - (text == "}")

    def skip_parentheses(self) -> None:
        self.expect("(")
        while not self.accept(")"):
            self.next()

    def loc(self) -> None:
        file, line, column = self.integer(), self.integer(), self.integer()
        outer = None
        while self.accept(","):
            word = self.name()
            if word == "function_name":
                self.name()
                if self.accept("+"):
                    self.integer()
            elif word == "inlined_at":
                at = self.integer(), self.integer(), self.integer()
                outer = self.locations.get(at) or Location(*at)
        self.location = Location(file, line, column, outer)
        if outer is not None or (file, line, column) not in self.locations:
            self.locations[file, line, column] = self.location

    # --- variables --------------------------------------------------------------------------------------------------

    def variables(self, space: str) -> Iterator[Variable]:
        """What follows `.global` and the like, up to but not including ';' or ')'."""
        align, vector, kind = 0, 1, ""
        while self.token.kind == "dotted":
            word = self.next().text
            if word == ".align":
                align = self.integer()
            elif word in (".v2", ".v4"):
                vector = int(word[2:])
            elif word[1:] in TYPES:
                kind = word[1:]
            elif word == ".attribute":
                self.skip_parentheses()
            elif word in (".texref", ".samplerref", ".surfref"):
                kind = "b64"
        if not kind:
            self.fail("expected a type")
        while True:
            name = self.name()
            if self.accept("<"):  # .param .b32 p<3>
                self.fail("a range of variables is not known")
            dims = []
            while self.accept("["):
                dims.append(0 if self.token.text == "]" else self.integer())
                self.expect("]")
            count = vector
            for n in dims:
                count *= n
            variable = Variable(name, space[1:], kind, count, align or SIZES[kind] * vector)
            variable.dynamic = bool(dims) and count == 0
            if self.accept("="):
                self.initializer(variable)
            yield variable
            if not self.accept(","):
                return
            if self.token.kind == "dotted":  # the next parameter of a list
                self.at -= 1
                return

    def initializer(self, variable: Variable) -> None:
        size = SIZES[variable.type]
        data = bytearray()

        def values() -> None:
            if self.accept("{"):
                while not self.accept("}"):
                    values()
                    self.accept(",")
                return
            token = self.token
            if token.kind == "name":
                name = self.name()
                inner = name
                if name in ("generic", "mask") and self.accept("("):
                    inner = self.name()
                    if self.accept(","):
                        self.fail("mask() is not known in an initializer")
                    self.expect(")")
                offset = 0
                while self.token.text in ("+", "-"):
                    self.accept("+")
                    offset += self.integer()
                variable.pointers[len(data)] = Symbol(inner, offset)
                data.extend(bytes(size))
            elif token.kind == "float" or (token.text == "-" and self.tokens[self.at + 1].kind == "float"):
                negative = self.accept("-")
                value = float(_float(self.next().text).value)
                data.extend(TYPES[variable.type].type(-value if negative else value).tobytes())
            else:
                number = self.integer()
                data.extend((number & ((1 << 8 * size) - 1)).to_bytes(size, "little"))

        values()
        if len(data) > variable.nbytes:
            self.fail(f"`{variable.name}` is initialised with {len(data)} bytes and has {variable.nbytes}")
        variable.initial = bytes(data)

    # --- functions --------------------------------------------------------------------------------------------------

    def function(self, entry: bool) -> None:
        self.scopes = [_Scope()]
        while self.token.text == ".attribute":
            self.next()
            self.skip_parentheses()
        results = self.parameters() if self.token.text == "(" else []
        name = self.name()
        parameters = self.parameters() if self.token.text == "(" else []
        made = Function(name, entry, parameters, results)
        while self.token.text in _LIMITS:
            word = self.next().text[1:]
            numbers = []
            while self.token.kind == "integer":
                numbers.append(self.integer())
                self.accept(",")
            made.limits[word] = tuple(numbers)
        while self.token.text in _LINKAGE:
            self.next()
        if self.accept(";"):
            self.made.functions.setdefault(name, made)
            return
        for variable in (*parameters, *results):
            if variable.type and variable.space == "reg":
                made.registers[variable.name] = variable.type
        made.body = []
        self.registers_here = made.registers
        self.location = None
        self.locations = {}
        self.expect("{")
        self.block(made)
        self.made.functions[name] = made

    def parameters(self) -> list[Variable]:
        self.expect("(")
        found: list[Variable] = []
        while not self.accept(")"):
            word = self.name()
            if word in (".param", ".reg"):
                found += list(self.parameter(word))
            self.accept(",")
        return found

    def parameter(self, space: str) -> Iterator[Variable]:
        align, kind = 0, ""
        while self.token.kind == "dotted":
            word = self.next().text
            if word == ".align":
                align = self.integer()
            elif word[1:] in TYPES:
                kind = word[1:]
            # .ptr, the space it points to and its alignment say nothing that changes the result
        name = self.name()
        count = 1
        dynamic = False
        while self.accept("["):
            n = 0 if self.token.text == "]" else self.integer()
            dynamic |= n == 0
            count *= n
            self.expect("]")
        yield Variable(name, space[1:], kind or "b64", count, align or SIZES[kind or "b64"], dynamic)

    def block(self, made: Function) -> None:
        """Statements up to the closing brace of the innermost scope."""
        self.scopes.append(_Scope())
        if len(self.scopes) > 2:
            self.declare_labels()
        assert made.body is not None
        while not self.accept("}"):
            token = self.token
            if token.kind == "end":
                self.fail("expected '}'")
            if token.text == "{":
                self.next()
                self.block(made)
            elif token.kind == "dotted":
                self.directive(made)
            elif token.kind == "name" and self.tokens[self.at + 1].text == ":" and token.text[0] != "%":
                self.next()
                self.next()
                name = self.resolve(token.text)
                if self.token.text in (".branchtargets", ".calltargets", ".callprototype"):
                    self.list_of_labels(made, name)
                else:
                    made.body.append(Label(name))
            elif self.accept(";"):
                pass
            else:
                made.body.append(self.instruction())
        self.scopes.pop()

    def declare_labels(self) -> None:
        """Give the labels of the scope that begins here names of their own."""
        depth, at = 0, self.at
        while depth >= 0 and at + 1 < len(self.tokens):
            token, after = self.tokens[at], self.tokens[at + 1]
            depth += (token.text == "{") - (token.text == "}")
            if depth == 0 and token.kind == "name" and after.text == ":" and token.text[0] != "%":
                self.declare(token.text)
            at += 1

    def declare(self, name: str) -> str:
        unique = name
        if len(self.scopes) > 2:
            self.renamed += 1
            unique = f"{name}@{self.renamed}"
        self.scopes[-1].names[name] = unique
        return unique

    def resolve(self, name: str) -> str:
        for scope in reversed(self.scopes):
            if name in scope.names:
                return scope.names[name]
        return name

    def directive(self, made: Function) -> None:
        word = self.next().text
        match word:
            case ".reg":
                self.registers(made)
            case ".loc":
                self.loc()
                return
            case ".file":
                self.numbered_file()
                return
            case ".pragma" | ".alias":
                while self.token.text != ";":
                    last = made.body[-1] if made.body else None
                    if "nounroll" in self.next().text and isinstance(last, Label):
                        made.rolled.add(last.name)
            case ".section":
                self.name()
                self.skip_braces()
                return
            case text if text in _SPACES:
                for variable in self.variables(text):
                    variable.name = self.declare(variable.name)
                    made.variables.append(variable)
            case text if text in _LINKAGE:
                return
            case _:
                self.at -= 1
                self.fail("this directive is not known in a function")
        self.expect(";")

    def registers(self, made: Function) -> None:
        kind = self.name()[1:]
        if kind not in TYPES:
            self.at -= 1
            self.fail("vector registers are not known")
        while True:
            name = self.name()
            if self.accept("<"):
                count = self.integer()
                if count > MAX_REGISTERS:
                    self.fail(f"more than {MAX_REGISTERS:,} registers")
                for number in range(count):
                    made.registers[self.declare(f"{name}{number}")] = kind
                self.expect(">")
            else:
                made.registers[self.declare(name)] = kind
            if not self.accept(","):
                return

    def list_of_labels(self, made: Function, name: str) -> None:
        word = self.next().text
        if word == ".callprototype":
            results = self.parameters() if self.token.text == "(" else []
            self.next()  # _
            parameters = self.parameters() if self.token.text == "(" else []
            made.prototypes[name] = results, parameters
        else:
            labels = [self.resolve(self.name())]
            while self.accept(","):
                labels.append(self.resolve(self.name()))
            made.labels_of[name] = tuple(labels)
        while not self.accept(";"):
            self.next()

    # --- instructions -----------------------------------------------------------------------------------------------

    def instruction(self) -> Instruction:
        guard = None
        line = self.token.line
        if self.accept("@"):
            negated = self.accept("!")
            guard = Register(self.resolve(self.name())), negated
        if self.token.kind != "name":
            self.fail("expected an instruction")
        opcode = self.next().text
        modifiers = []
        while self.token.kind == "dotted":
            modifiers.append(self.next().text[1:])
        operands: list[Operand] = []
        while not self.accept(";"):
            if opcode == "call" and self.token.text == "(":
                operands.append(self.parenthesised())
            else:
                operands.append(self.operand())
            if self.token.text not in (",", ";"):
                self.fail("expected ',' or ';'")
            self.accept(",")
        return Instruction(opcode, tuple(modifiers), tuple(operands), guard, self.location, line)

    def parenthesised(self) -> Vector:
        self.expect("(")
        items = []
        while not self.accept(")"):
            items.append(self.operand())
            self.accept(",")
        return Vector(tuple(items))

    def operand(self) -> Operand:
        first = self.simple()
        if self.accept("|"):
            return Pair(first, self.simple())
        return first

    def simple(self) -> Operand:
        token = self.token
        if self.accept("["):
            return self.address()
        if self.accept("{"):
            items = []
            while not self.accept("}"):
                items.append(self.operand())
                self.accept(",")
            return Vector(tuple(items))
        if self.accept("!"):
            return Negated(Register(self.resolve(self.name())))
        if token.text == "_":
            self.next()
            return Sink()
        if token.kind == "name":
            name = self.resolve(self.next().text)
            if name.startswith("%") and self.token.kind == "dotted":
                name += self.next().text
            if name.startswith("%") or name in self.registers_here:
                return Register(name)
            return Symbol(name, self.plus())
        negative = self.accept("-")
        if self.token.kind == "float":
            value = _float(self.next().text)
            return Float(value.bits ^ (1 << 8 * value.width - 1), value.width) if negative else value
        if self.token.kind == "integer":
            number = _integer(self.next().text)
            return Integer(-number if negative else number)
        self.fail("expected an operand")

    def plus(self) -> int:
        """A constant byte offset, if one follows."""
        total = 0
        while self.token.text in ("+", "-"):
            self.accept("+")
            total += self.integer()
        return total

    def address(self) -> Operand:
        base = self.simple_base()
        offset = self.plus()
        if self.accept(","):
            # tensor coordinates: kept as a vector, for the message that refuses them
            items = [base, self.operand()]
            while self.accept(","):
                items.append(self.operand())
            self.expect("]")
            return Vector(tuple(items))
        self.expect("]")
        if isinstance(base, Symbol):
            return Memory(Symbol(base.name), base.offset + offset)
        return Memory(base, offset)

    def simple_base(self) -> Register | Symbol | Integer:
        base = self.simple()
        if not isinstance(base, Register | Symbol | Integer):
            self.fail("expected an address")
        return base


def _integer(text: str) -> int:
    digits = text.rstrip("U")
    if digits[:2] in ("0x", "0X", "0b", "0B"):
        return int(digits, 0)
    octal = digits[0] == "0" and set(digits) <= set("01234567")
    return int(digits, 8 if octal else 10)


def _float(text: str) -> Float:
    if text[:2] in ("0f", "0F"):
        return Float(int(text[2:], 16), 4)
    if text[:2] in ("0d", "0D"):
        return Float(int(text[2:], 16), 8)
    return Float(int.from_bytes(struct.pack("<d", float(text)), "little"), 8)


def _unquoted(text: str) -> str:
    return text[1:-1].replace('\\"', '"').replace("\\\\", "\\")
