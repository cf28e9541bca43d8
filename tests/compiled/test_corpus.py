"""How much of what NVRTC emits the machine runs: the kernels of this folder and a hundred generated ones.

The generator is data/probes/kernel_corpus.py; on a GPU the same kernels are run by data/probes/compiled_kernels.py.
"""

from __future__ import annotations

import importlib.util
import sys
from functools import cache
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from compiled.kernels.launches import LAUNCHES

import gpukit
from gpukit.compilers.nvrtc import compile_cuda
from gpukit.machine.frontends import ptx
from gpukit.machine.frontends.ptx.syntax import Instruction


def load_generator() -> ModuleType:
    """data/probes/kernel_corpus.py."""
    path = Path(__file__).parents[2] / "data" / "probes" / "kernel_corpus.py"
    spec = importlib.util.spec_from_file_location("kernel_corpus", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["kernel_corpus"] = module  # for its dataclasses
    spec.loader.exec_module(module)
    return module


generator = load_generator()
CORPUS = {kernel.name: kernel for kernel in generator.kernels()}


@cache
def module(name: str) -> ptx.Module:
    """The PTX of a generated kernel."""
    return ptx.load(compile_cuda(CORPUS[name].source, name=f"{name}.cu").text, f"{name}.cu")


@cache
def modules() -> list[ptx.Module]:
    """The PTX of every generated kernel and of every file in this folder."""
    files = {(launch.file, launch.options) for launch in LAUNCHES.values()}
    own = [compile_cuda(f.read_text(), options=o, name=str(f)) for f, o in sorted(files)]
    return [ptx.load(compiled.text, compiled.name) for compiled in own] + [module(name) for name in CORPUS]


def test_the_generator_makes_the_same_kernels_every_time_and_none_twice():
    again = {kernel.name: kernel for kernel in generator.kernels()}
    assert again == CORPUS and len(CORPUS) == 100
    assert len({kernel.source.split("(", 1)[1] for kernel in CORPUS.values()}) == 100
    assert {kernel.flavour for kernel in CORPUS.values()} == {flavour.name for flavour in generator.FLAVOURS}


def test_nearly_all_opcodes_run_and_the_rest_is_refused_clearly():
    emitted: set[str] = set()
    running: set[str] = set()
    refused: dict[str, str] = {}
    for each in modules():
        in_functions = {
            name: {s.name for s in function.body or () if isinstance(s, Instruction)}
            for name, function in each.parsed.functions.items()
        }
        emitted.update(*in_functions.values())
        device = set().union(*(names for f, names in in_functions.items() if not each.parsed.functions[f].entry))
        for name in each.kernels:
            try:
                assert each.kernel(name).lowered.program.blocks
            except gpukit.UnsupportedFeature as error:
                refused[name] = str(error)
            else:
                running |= in_functions[name] | device
    assert len(emitted) > 400
    assert len(emitted & running) >= 0.95 * len(emitted), sorted(emitted - running)
    for sentence in refused.values():
        assert "which the CPU machine does not have" in sentence and ".cu:" in sentence


@pytest.mark.parametrize("number", range(20))
def test_generated_kernels_run(number: int):
    """Two of each flavour: they write all their results, the same ones twice, and use memory properly."""
    kernel = list(CORPUS.values())[number]
    compiled = gpukit.RawKernel(kernel.source, kernel.name)
    runs = []
    for _ in range(2):
        args = generator.arguments()
        report = gpukit.profile(compiled, generator.BLOCKS, generator.THREADS, *args)
        # Random numbers do overflow and are divided by zero; addresses and barriers are in order.
        assert {hazard.kind for hazard in report.hazards} <= {"int_overflow"}
        runs.append(args)
    outputs = range(4, 7)
    for position in outputs:
        np.testing.assert_array_equal(runs[0][position], runs[1][position])
    assert any(runs[0][position].any() for position in outputs)
