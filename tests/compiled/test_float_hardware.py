"""Every form of PTX's float instructions against an H200: the readings of data/results/h200_float_instructions.json.

What IEEE 754 defines agrees in every bit of 16,384 results, NaN and flushed subnormal numbers included. Approximate
functions differ by no more than PTX allows.
"""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from compiled.snippet import run

from gpukit.machine.frontends.ptx.syntax import TYPES

DATA = Path(__file__).parent.parent.parent / "data"
READINGS = json.loads((DATA / "results" / "h200_float_instructions.json").read_text())


def _probe() -> ModuleType:
    spec = importlib.util.spec_from_file_location("float_instructions", DATA / "probes" / "float_instructions.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


PROBE = _probe()


def results(instruction: str, kind: str, sampled: bool = False) -> np.ndarray:
    """The machine's results, of the type and in the form in which the probe stores them."""
    operand_type = PROBE.operand_type(instruction)
    choose = PROBE.sampled if sampled else np.asarray
    inputs = {name: (operand_type, choose(v)) for name, v in zip("abc", PROBE.OPERANDS[operand_type], strict=True)}
    odd = choose(np.arange(PROBE.COUNT) % 2 == 1)
    inputs |= {"r": ("pred", odd), "p": ("pred", np.zeros_like(odd)), "q": ("pred", np.zeros_like(odd))}
    if kind == "pred":
        found = run(f"{instruction};", inputs, {"p": "pred", "q": "pred"})
        return found["p"].astype(np.uint32) + 2 * found["q"].astype(np.uint32)
    target = instruction.split()[1].rstrip(",")
    return run(f"{instruction};", inputs, {target: kind})[target]


def opcode(row: tuple[str, str]) -> str:
    return row[0].split(".")[0]


EXACT = [row for row in PROBE.INSTRUCTIONS if not PROBE.is_approximate(row[0])]
APPROXIMATE = [row for row in PROBE.INSTRUCTIONS if PROBE.is_approximate(row[0])]


@pytest.mark.parametrize("name", sorted({opcode(row) for row in EXACT}))
def test_every_bit_is_the_hardwares(name):
    wrong = [
        instruction
        for instruction, kind in EXACT
        if opcode((instruction, kind)) == name
        and PROBE.checksum(results(instruction, kind)) != READINGS["checksums"][instruction]
    ]
    assert not wrong


def units_apart(found: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """How many floats lie between two of one sign."""
    bits = f"i{found.dtype.itemsize}"
    return np.abs(found.view(bits) - expected.view(bits))


def beyond_tolerance(instruction: str, found: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Where two results are further apart than twice what PTX allows each of them to be from the truth."""
    name = opcode((instruction, ""))
    operand = PROBE.sampled(PROBE.OPERANDS[PROBE.operand_type(instruction)][0]).astype(float)
    absolute = np.abs(found.astype(float) - expected.astype(float))
    relative = absolute / np.abs(expected.astype(float))
    if name in ("sin", "cos"):
        return absolute > 4e-7  # PTX allows more, and for large angles anything
    if name == "lg2":
        return np.where((operand > 0.5) & (operand < 2), absolute, relative) > 2.0**-21
    if name == "tanh":
        return relative > 2.0**-10
    if instruction.startswith(("rcp.approx.ftz.f64", "rsqrt.approx.ftz.f64")):
        return units_apart(found, expected) > 1 << 32  # one unit in the last place of the upper word
    return units_apart(found, expected) > {"div": 4, "ex2": 4}.get(name, 2)


@pytest.mark.parametrize("row", APPROXIMATE, ids=lambda row: row[0].split()[0])
def test_approximate_functions_are_as_near_as_ptx_says(row):
    instruction, kind = row
    expected = np.frombuffer(bytes.fromhex(READINGS["samples"][instruction]), TYPES[kind])
    found = results(instruction, kind, sampled=True)
    nan = np.isnan(expected)
    assert (found[nan].view(f"u{found.dtype.itemsize}") == expected[nan].view(f"u{found.dtype.itemsize}")).all()
    with np.errstate(all="ignore"):
        apart = (found != expected) & beyond_tolerance(instruction, found, expected) & ~nan
    assert not apart.any(), list(zip(found[apart], expected[apart], strict=True))[:5]


def test_every_form_was_measured():
    assert set(READINGS["checksums"]) == {instruction for instruction, _ in PROBE.INSTRUCTIONS}
    assert set(READINGS["samples"]) == {instruction for instruction, _ in APPROXIMATE}
