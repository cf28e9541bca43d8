"""Which function lowers which instruction: opcode and family of its type -> function.

A module of this package registers its functions with `@instruction(opcode, ...)`; importing the package fills the
table. What is not in the table is refused by name, with its source line.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from gpukit.machine.frontends.ptx.syntax import FLOAT, HALF, INTEGER, PREDICATE, Instruction, family

if TYPE_CHECKING:
    from gpukit.machine.frontends.ptx.emitter import Emitter

Lower = Callable[["Emitter", Instruction], None]

ANY = (INTEGER, FLOAT, HALF, PREDICATE)
_table: dict[tuple[str, str], Lower] = {}
_effects: set[str] = set()


def instruction(*opcodes: str, families: tuple[str, ...] = ANY, effect: bool = False) -> Callable[[Lower], Lower]:
    """Registers a function that lowers these opcodes when the last type of the instruction is of these families.

    `effect`: it does more than compute a register, so lanes whose guard is false must go around it.
    """

    def register(lower: Lower) -> Lower:
        if effect:
            _effects.update(opcodes)
        for opcode in opcodes:
            for kind in families:
                assert (opcode, kind) not in _table, f"two functions for {opcode} of {kind} type"
                _table[opcode, kind] = lower
        return lower

    return register


def find(inst: Instruction) -> Lower | None:
    """The function that lowers an instruction, None if there is none."""
    return _table.get((inst.opcode, family(inst.type)))


_REFUSED = {
    **dict.fromkeys(
        ("wmma", "mma", "ldmatrix", "stmatrix", "movmatrix", "wgmma", "tcgen05"), "it belongs to tensor cores"
    ),
    **dict.fromkeys(("mapa", "getctarank", "clusterlaunchcontrol"), "it belongs to thread block clusters"),
    **dict.fromkeys(("tensormap", "multimem"), "it belongs to asynchronous copies"),
    "mbarrier": "it belongs to asynchronous barriers; with the option -arch=compute_75 the compiler makes "
    "cuda::barrier and cuda::pipeline of plain atomics, which run here",
    **dict.fromkeys(("tex", "tld4", "txq", "suld", "sust", "sured", "suq"), "it belongs to textures and surfaces"),
    **dict.fromkeys(("alloca", "stacksave", "stackrestore"), "it makes a stack of variable size"),
}


def refused(inst: Instruction) -> str:
    """What an instruction without a function belongs to, for the message that refuses it; "" if that is not known."""
    return _REFUSED.get(inst.opcode, "")


def has_effect(opcode: str) -> bool:
    """Whether lanes whose guard is false must go around the instruction."""
    return opcode in _effects


def known(opcode: str) -> bool:
    """Whether there is a function for an opcode, of whatever type."""
    return any((opcode, kind) in _table for kind in ANY)


def opcodes() -> dict[str, tuple[str, ...]]:
    """Every opcode that has a function -> the families it is there for."""
    found: dict[str, list[str]] = {}
    for opcode, kind in sorted(_table):
        found.setdefault(opcode, []).append(kind)
    return {opcode: tuple(kinds) for opcode, kinds in found.items()}
