"""Runs a few lines of PTX for one thread per element, through the whole pipeline."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gpukit.machine import executor
from gpukit.machine.frontends import ptx
from gpukit.machine.frontends.ptx.syntax import SIZES, TYPES
from gpukit.machine.memory import GlobalMemory

_LETTER = {1: "b16", 2: "b16", 4: "b32", 8: "b64"}


def module_text(
    body: str, inputs: Mapping[str, str], outputs: Mapping[str, str], declare: str = "", top: str = ""
) -> str:
    """A module with one kernel `snippet` that loads its inputs, runs `body` and stores its outputs.

    `inputs` and `outputs` map registers to PTX types; registers of predicate type are stored as 0 or 1 (u8).
    """
    arguments = [*inputs, *outputs]
    lines = [".version 8.8", ".target sm_90", ".address_size 64", top]
    lines.append(f".visible .entry snippet({', '.join(f'.param .u64 p{i}' for i in range(len(arguments)))})")
    lines += ["{", ".reg .b64 %at, %index, %base;", ".reg .b32 %flag, %thread, %block, %width;"]
    for name, kind in {**inputs, **outputs}.items():
        declared = "pred" if kind == "pred" else kind if kind in ("f32", "f64") else _LETTER[SIZES[kind]]
        lines.append(f".reg .{declared} {name};")
    lines += [declare, "mov.u32 %thread, %tid.x;", "mov.u32 %block, %ctaid.x;", "mov.u32 %width, %ntid.x;"]
    lines += ["mad.lo.s32 %thread, %block, %width, %thread;", "cvt.s64.s32 %index, %thread;"]

    def at(position: int, kind: str) -> None:
        size = 1 if kind == "pred" else SIZES[kind]
        lines.append(f"ld.param.u64 %base, [p{position}];")
        lines.append(f"mad.lo.s64 %at, %index, {size}, %base;")

    for i, (name, kind) in enumerate(inputs.items()):
        at(i, kind)
        if kind == "pred":
            lines += ["ld.global.u8 %flag, [%at];", f"setp.ne.s32 {name}, %flag, 0;"]
        else:
            lines.append(f"ld.global.{_moved(kind)} {name}, [%at];")
    lines.append(body)
    for i, (name, kind) in enumerate(outputs.items(), start=len(inputs)):
        at(i, kind)
        if kind == "pred":
            lines += [f"selp.b32 %flag, 1, 0, {name};", "st.global.u8 [%at], %flag;"]
        else:
            lines.append(f"st.global.{_moved(kind)} [%at], {name};")
    return "\n".join([*lines, "ret;", "}"])


def _moved(kind: str) -> str:
    return kind if kind in ("s8", "u8") else f"b{8 * SIZES[kind]}"


def run(
    body: str,
    inputs: Mapping[str, tuple[str, np.ndarray]],
    outputs: Mapping[str, str],
    declare: str = "",
    top: str = "",
    hazards: bool = False,
) -> dict[str, np.ndarray]:
    """Values of the outputs, one per element of the inputs (all of one length).

    Args:
        body: PTX instructions.
        inputs: register -> (PTX type, values as TYPES[type]; bool for "pred").
        outputs: register -> PTX type; the result has TYPES[type] (bool for "pred").
        declare, top: further declarations in the kernel and before it.
    """
    n = len(next(iter(inputs.values()))[1])
    kinds = {name: kind for name, (kind, _) in inputs.items()}
    given = [
        np.ascontiguousarray(values, np.uint8 if kind == "pred" else TYPES[kind]) for kind, values in inputs.values()
    ]
    results = {name: np.zeros(n, np.uint8 if kind == "pred" else TYPES[kind]) for name, kind in outputs.items()}
    text = module_text(body, kinds, outputs, declare, top)
    kernel = ptx.load(text).kernel("snippet")
    block = min(n, 256)
    grid = -(-n // block)
    assert grid * block == n, "the number of elements must be below 256 or a multiple of it"
    launch = kernel.bind((grid, 1, 1), (block, 1, 1), [*given, *results.values()], 0, GlobalMemory())
    executor.run(launch, hazards=hazards)
    return {name: values.astype(bool) if outputs[name] == "pred" else values for name, values in results.items()}
