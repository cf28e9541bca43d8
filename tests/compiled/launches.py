"""Runs a kernel written in PTX and gives its counters and hazards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gpukit.machine import executor
from gpukit.machine.counters import summarise
from gpukit.machine.frontends import ptx
from gpukit.machine.hazards import Hazard
from gpukit.machine.memory import GlobalMemory

HEAD = ".version 8.8\n.target sm_90\n.address_size 64\n"


@dataclass
class Outcome:
    counters: dict
    hazards: list[Hazard]
    output: str

    @property
    def kinds(self) -> list[str]:
        return sorted(h.kind for h in self.hazards if h.severity != "note")


def kernel(body: str, *parameters: str, top: str = "", names: Sequence[str] = ()) -> ptx.Kernel:
    """A kernel `k` with parameters of these PTX types (a0, a1, ...) and registers of every kind declared:
    %p<20>, %h<20> (16 bits), %r<40>, %q<40> (64 bits), %f<20>, %d<20>."""
    given = ", ".join(f".param .{kind} a{i}" for i, kind in enumerate(parameters))
    declared = ".reg .pred %p<20>; .reg .b16 %h<20>; .reg .b32 %r<40>; .reg .b64 %q<40>; .reg .f32 %f<20>;"
    text = f"{HEAD}{top}\n.visible .entry k({given})\n{{\n{declared} .reg .f64 %d<20>;\n{body}\nret;\n}}\n"
    return ptx.load(text).kernel("k", names or [f"a{i}" for i in range(len(parameters))])


def launch(made: ptx.Kernel, threads: int, *args, blocks: int = 1, shared: int = 0, hazards: bool = True) -> Outcome:
    """One launch; arrays are updated in place."""
    bound = made.bind((blocks, 1, 1), (threads, 1, 1), args, shared, GlobalMemory())
    done = executor.run(bound, hazards=hazards)
    analysis = done.compiled.analysis
    counters, _ = summarise(bound.program, analysis.blocks, analysis.level, done.counts)
    return Outcome(counters, [*done.hazards, *done.findings], "".join(done.output))


# %r0 = tid.x, %q0 = its 64-bit value, %q1 = address of a0, %q2 = address of a1
PROLOGUE = "mov.u32 %r0, %tid.x; cvt.u64.u32 %q0, %r0; ld.param.u64 %q1, [a0]; ld.param.u64 %q2, [a1];"


def per_thread(body: str, x: np.ndarray, out: np.ndarray, top: str = "", declare: str = "", **options) -> Outcome:
    """`body` with %q3 = &x[tid] and %q4 = &out[tid]; one block with a thread per element of `out`."""
    text = f"""{declare} {PROLOGUE}
        mad.lo.s64 %q3, %q0, {x.itemsize}, %q1; mad.lo.s64 %q4, %q0, {out.itemsize}, %q2;
        {body}"""
    return launch(kernel(text, "u64", "u64", top=top, names=["x", "out"]), out.size, x, out, **options)
