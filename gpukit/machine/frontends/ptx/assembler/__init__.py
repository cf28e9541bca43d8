"""What the assembler (ptxas) still changes between PTX and the instructions a GPU runs, as far as memory requests go."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gpukit.machine.frontends.ptx.assembler.contraction import contract
from gpukit.machine.frontends.ptx.assembler.flow import Flow
from gpukit.machine.frontends.ptx.assembler.merging import requests
from gpukit.machine.frontends.ptx.assembler.unrolling import unroll
from gpukit.machine.frontends.ptx.assembler.values import Values
from gpukit.machine.frontends.ptx.syntax import Function, Instruction


def assemble(function: Function, shared: Mapping[str, int]) -> Function:
    """The function with the requests of its loads and stores as the assembler leaves them (`Instruction.requests`).

    `shared`: byte offset in the block's shared memory of each shared variable that the function names. The function
    itself is left as it is.
    """
    if not function.body:
        return function
    function = unroll(contract(function))
    assert function.body is not None
    flow = Flow(function)
    made = requests(flow, Values(flow, shared))
    body = [
        replace(statement, requests=made[i]) if i in made and isinstance(statement, Instruction) else statement
        for i, statement in enumerate(function.body)
    ]
    return replace(function, body=body)


__all__ = ["assemble"]
