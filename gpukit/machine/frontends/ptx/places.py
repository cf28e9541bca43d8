"""Where things lie: parameters, variables and addresses of a kernel that is being lowered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gpukit.machine.frontends.ptx import provenance
from gpukit.machine.frontends.ptx.emitter import I64, U32, Emitter
from gpukit.machine.frontends.ptx.frames import Frame
from gpukit.machine.frontends.ptx.storage import Storage
from gpukit.machine.frontends.ptx.syntax import (
    Function,
    Instruction,
    Memory,
    Module,
    Operand,
    Register,
    Statement,
    Symbol,
    Variable,
)
from gpukit.machine.program import (
    GENERIC,
    GLOBAL,
    LOCAL,
    LOCAL_BASE,
    SHARED,
    SHARED_BASE,
    Address,
    Alu,
    Const,
    Root,
)
from gpukit.machine.program import Operand as Value

U8 = np.dtype(np.uint8)
# Inputs that are no variables of the module.
PARAMETERS, WORKSPACE, SHARED_BYTES = "(parameters)", "(workspace)", "(shared bytes)"
# Numbers that stand for device functions where a program takes their address.
FUNCTION_BASE, FUNCTION_STEP = 1 << 39, 16


@dataclass(frozen=True, slots=True)
class Input:
    """A register that a launch fills: bytes of a parameter (its position), the address of a variable of the module,
    of a parameter (PARAMETERS), or a half of the address of the grid barrier (WORKSPACE; offset 1: upper, 2: lower)."""

    register: int
    dtype: np.dtype
    parameter: int = -1
    offset: int = 0
    variable: str = ""


class Places:
    """The part of lowering that turns names into registers and addresses."""

    module: Module
    kernel: Function
    out: Emitter
    frame: Frame
    storage: Storage

    def __init__(self, parameters: Sequence[str]):
        self.inputs: dict[tuple, Input] = {}
        self.pointers: dict[int, tuple[int, int]] = {}
        self.variables: dict[int, Variable] = {}
        self.parameter_block: int | None = None
        self.workspace: int | None = None
        self.cooperative = False
        self.names = list(parameters) or [f"parameter {i + 1}" for i in range(len(self.kernel.parameters))]
        self.positions = {variable.name: i for i, variable in enumerate(self.kernel.parameters)}

    # --- variables and addresses ------------------------------------------------------------------------------------

    def variable(self, name: str, frame: Frame | None = None) -> Variable | None:
        frame = frame or self.frame
        return frame.variables.get(name) or self.module.variables.get(name)

    def root_of_parameter(self, name: str, offset: int) -> int | None:
        """The root of a pointer that lies at an offset of a kernel parameter."""
        position = self.positions.get(name)
        if position is None:
            return None
        variable = self.kernel.parameters[position]
        if variable.type not in ("u64", "b64", "s64") or variable.count != 1 or offset:
            return None
        root = self.storage.parameter(position, self.names[position], f"param.{name}")
        self.pointers[root] = position, offset
        return root

    def root_of_variable(self, name: str, frame: Frame) -> int | None:
        variable = self.variable(name, frame)
        if variable is None or variable.space == "param":
            return None
        if variable.space == LOCAL:
            return self.storage.number(f"{frame.key}.{name}")
        if variable.space == SHARED:
            return self.storage.number(variable.name)
        root = self.storage.module_variable(variable)
        self.variables[root] = variable
        return root

    def input(self, key: tuple, make: Input) -> int:
        """The register of something a launch fills, made when it is first asked for."""
        if key not in self.inputs:
            self.inputs[key] = make
        return self.inputs[key].register

    def parameter(self, name: str, offset: int, dtype: np.dtype) -> int:
        """A register with bytes of a kernel parameter."""
        key = name, offset, dtype
        if key in self.inputs:
            return self.inputs[key].register
        register = self.out.temporary(dtype)
        return self.input(key, Input(register, dtype, self.positions[name], offset))

    def address_of(self, symbol: Symbol) -> Value:
        """The address that the name of a variable or function stands for, as PTX sees it: shared and local variables
        by their offset in the window, everything else by its generic address. int64."""
        frame = self.frame
        function = function_address(self.module, symbol.name)
        if function is not None:
            return Const(np.int64(function))
        if symbol.name in self.positions:
            return self.shifted(self.parameter_address(symbol.name), symbol.offset)
        variable = self.variable(symbol.name)
        if variable is None:
            self.out.malformed(f"the variable `{symbol.name}` is not declared")
        if variable.space == "param":
            self.out.refuse(f"the address of `{symbol.name}`, a parameter of a call")
        if variable.external and not variable.dynamic:
            self.out.malformed(f"the variable `{symbol.name}` is declared, but not defined: define it in this source")
        if variable.space == SHARED:
            return Const(np.int64(self.storage.shared[variable.name] + symbol.offset))
        if variable.space == LOCAL:
            offset = frame.local[variable.name] + symbol.offset
            if frame.stack is None:
                return Const(np.int64(offset))
            return self.shifted(frame.stack, offset)
        root = self.root_of_variable(symbol.name, frame)
        register = self.inputs.get(("variable", symbol.name))
        number = register.register if register else self.out.temporary(I64)
        self.input(("variable", symbol.name), Input(number, I64, variable=symbol.name))
        assert root is not None
        return self.shifted(number, symbol.offset)

    def parameter_address(self, name: str) -> int:
        """A register with the address of a kernel parameter, whose block then lies in memory."""
        if self.parameter_block is None:
            self.parameter_block = self.storage.root("(parameters)", Root("the parameters", GLOBAL, U8, 1))
        key = ("block", name)
        if key not in self.inputs:
            self.inputs[key] = Input(self.out.temporary(I64), I64, self.positions[name], variable=PARAMETERS)
        return self.inputs[key].register

    def workspace_word(self, number: int, dtype: np.dtype) -> int:
        """%envreg1 and %envreg2, the two halves of the address of the grid barrier's memory."""
        if self.workspace is None:
            self.workspace = self.storage.root("(workspace)", Root("the grid barrier", GLOBAL, U8, 4))
        self.cooperative = True
        key = ("workspace", number)
        if key not in self.inputs:
            self.inputs[key] = Input(self.out.temporary(dtype), dtype, variable=WORKSPACE, offset=number)
        return self.inputs[key].register

    def shared_size(self, dynamic: bool) -> int:
        """A register with the bytes of shared memory: dynamic ones (a launch says) or all."""
        size = self.out.temporary(U32)
        key = ("shared bytes",)
        given = self.input(
            key, Input(self.out.temporary(U32) if key not in self.inputs else -1, U32, variable=SHARED_BYTES)
        )
        more = 0 if dynamic else self.storage.shared_bytes
        self.out.emit(Alu(size, (given, Const(np.uint32(more))), "{0} + {1}", self.out.line, count=0))
        return size

    def shifted(self, register: int, offset: int) -> int:
        if not offset:
            return register
        out = self.out
        moved = out.temporary(I64)
        out.emit(Alu(moved, (register, Const(np.int64(offset))), "{0} + {1}", out.line, count=0))
        return moved

    def place(self, where: Operand, space: str) -> tuple[Address, str, int | None]:
        """(place, space, root) of a memory operand. A generic access whose array is known goes to that array's space;
        shared and local addresses are moved into their windows."""
        out, frame = self.out, self.frame
        if not isinstance(where, Memory):
            out.refuse(f"an address that `{out.inst.name if out.inst else ''}` does not take")
        base, offset = where.base, where.offset
        root: int | None = None
        if isinstance(base, Symbol):
            root = self.root_of_variable(base.name, frame)
            address: Value = self.address_of(Symbol(base.name))
            variable = self.variable(base.name)
            if variable is not None and space == GENERIC and variable.space in (SHARED, LOCAL):
                out.refuse(f"the address of {spoken_space(variable)} memory without a conversion to a generic one")
        else:
            if isinstance(base, Register):
                root = frame.roots.get(base.name)
                root = None if root == provenance.SEVERAL else root
            address = out.read(base, I64)
        if root is not None and space == GENERIC:
            # The address is a generic one already.
            return Address(address, offset=offset), self.storage.roots[root].space, root
        if root is not None and space != self.storage.roots[root].space and space in (SHARED, LOCAL, GLOBAL):
            root = None
        window = {SHARED: SHARED_BASE, LOCAL: LOCAL_BASE}.get(space)
        if window is not None:
            address = self.in_window(address, window)
        return Address(address, offset=offset), space, root

    def in_window(self, address: Value, window: int) -> Value:
        """A shared or local address as one of the machine's. The same register gives the same vector again, so the
        machine sees that accesses at constant offsets belong together."""
        out = self.out
        if isinstance(address, Const):
            return Const(np.int64(int(address.value) + window))
        known = out.windows.setdefault(address, {})
        if window not in known:
            known[window] = out.temporary(I64)
            out.emit(Alu(known[window], (address,), f"{{0}} + np.int64({window})", out.line, count=0))
        return known[window]

    def string(self, operand: Operand, before: Sequence[Statement]) -> str | None:
        """The text of the C string whose address an operand is known to be, after the statements `before`."""
        symbol = self.symbol(operand, before)
        variable = self.variable(symbol.name) if symbol is not None else None
        if variable is None or symbol is None:
            return None
        data = variable.initial[symbol.offset :].split(b"\0")[0]
        return data.decode("utf-8", "replace")

    def symbol(self, operand: Operand, before: Sequence[Statement]) -> Symbol | None:
        """The symbol whose address an operand holds after the statements `before` of its block."""
        for position in range(len(before) - 1, -1, -1):
            if not isinstance(operand, Register):
                break
            inst = before[position]
            if isinstance(inst, Instruction) and inst.operands and inst.operands[0] == operand:
                if inst.opcode not in ("mov", "cvta") or len(inst.operands) != 2:
                    return None
                operand = inst.operands[1]
        if isinstance(operand, Register):
            return self.frame.constants.get(operand.name)
        return operand if isinstance(operand, Symbol) else None


def function_address(module: Module, name: str) -> int | None:
    """The number that stands for the address of a device function."""
    return FUNCTION_BASE + FUNCTION_STEP * list(module.functions).index(name) if name in module.functions else None


def spoken_space(variable: Variable) -> str:
    return f"{variable.space} variable {variable.name}'s"
