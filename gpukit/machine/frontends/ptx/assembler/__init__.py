"""What the assembler (ptxas) still changes between PTX and the instructions that a GPU runs.

Values stay what they are, but for contraction. What is imitated was read off ptxas 13 for sm_90 and compared with its
machine code (data/probes/sass_agreement.py, data/results/sass_agreement.json: of 313 kernels 305 have exactly the
memory instructions expected here when ptxas is told not to unroll, and 304 when it is not; the record has the reason of
each that does not):

* `merging`: loads of neighbouring elements at one base become one request of 8 or 16 bytes where the alignment of the
  window can be proved; equal loads become one while nothing may have written between; stores of neighbours become one;
  elements of a vector load that nobody uses are left out; loads that nobody uses are dropped. Volatile accesses stay.
* `unrolling`: innermost counted loops run four rounds, then two, then one, which shows in the requests of warps whose
  lanes make different numbers of rounds; short ones of a known number of rounds are written out, so that loads of
  several rounds merge.
* `contraction`: mul and add without a rounding mode become one fma, rounded once.
* `aggregation`: where a warp goes to one address, one lane does an atomic for all of it; `uniformity` says what is one
  value for a warp.

Not imitated: code that is copied in front of a loop or into both arms of a branch; loads made ahead of a loop, or later
than written; values that ptxas finds unused by arithmetic; atomics on halves and on shared floats, which become loops
around a compare-and-swap; predicated branches (`branches` counts those of the PTX); lanes that leave a loop for code
that ends the thread, which do not wait for the others there; local arrays in registers; spills; the number of
instructions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gpukit.machine.frontends.ptx.assembler.aggregation import aggregate
from gpukit.machine.frontends.ptx.assembler.contraction import contract
from gpukit.machine.frontends.ptx.assembler.flow import Flow
from gpukit.machine.frontends.ptx.assembler.merging import requests
from gpukit.machine.frontends.ptx.assembler.unrolling import unroll
from gpukit.machine.frontends.ptx.assembler.values import Values
from gpukit.machine.frontends.ptx.syntax import Function, Instruction


def assemble(function: Function, shared: Mapping[str, int]) -> Function:
    """The function as the assembler leaves it, with the requests of its loads and stores (`Instruction.requests`).

    `shared`: byte offset in the block's shared memory of each shared variable that the function names. The function
    itself is left as it is.
    """
    if not function.body:
        return function
    function = unroll(contract(aggregate(function, shared)))
    assert function.body is not None
    flow = Flow(function)
    made = requests(flow, Values(flow, shared))
    body = [
        replace(statement, requests=made[i]) if i in made and isinstance(statement, Instruction) else statement
        for i, statement in enumerate(function.body)
    ]
    return replace(function, body=body)


__all__ = ["assemble"]
