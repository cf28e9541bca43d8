"""The README's table of instructions is the table of the code, and every form of the hardware record lowers."""

from __future__ import annotations

import importlib.util
import json
import pathlib
import re

import numpy as np
import pytest
from compiled.snippet import run

from gpukit.machine.frontends.ptx.instructions import table

ROOT = pathlib.Path(__file__).resolve().parents[2]
README = (ROOT / "gpukit/machine/frontends/ptx/README.md").read_text()
RECORD = ROOT / "data/results/h200_ptx_instructions.json"
APPROXIMATE = re.compile(r"\.approx|div\.full")


def listed(heading: str) -> set[str]:
    """Words in code type in the tables of a section that are opcodes: before the first dot."""
    section = README.split(f"## {heading}")[1].split("\n## ")[0]
    rows = [line.split("|")[2] for line in section.splitlines() if line.startswith("|")]
    return {word.split(".")[0] for row in rows for word in re.findall(r"`([a-z][\w.]*)`", row)}


def probe():
    spec = importlib.util.spec_from_file_location("ptx_instructions", ROOT / "data/probes/ptx_instructions.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_readme_lists_what_is_there_and_nothing_else():
    words = listed("What is in") - {"printf", "assert", "s16x2", "u16x2"}
    assert words == set(table.opcodes())


def test_what_the_readme_calls_out_is_refused():
    assert not (listed("What is out") & set(table.opcodes())) - {"barrier", "cp", "st", "red"}


def test_every_form_ran_on_a_gpu_and_only_approximate_functions_differ():
    record = json.loads(RECORD.read_text())
    assert record["environment"]["gpu"] == "NVIDIA H200"
    assert not record["refused"] and not record["rejected_by_the_driver"]
    assert set(record["forms"]) == set(probe().forms())
    unequal = [name for name, entry in record["forms"].items() if entry["different"]]
    assert [name for name in unequal if not APPROXIMATE.search(name)] == []


@pytest.mark.parametrize("part", range(4))
def test_every_form_gives_what_the_gpu_gave(part):
    recorded = json.loads(RECORD.read_text())["forms"]
    module = probe()
    for number, (name, form) in enumerate(module.forms().items()):
        if number % 4 == part:
            rng = np.random.default_rng(number)
            inputs = {register: module.operand(kind, rng) for register, kind in form[1].items()}
            result = run(form[0], inputs, form[2], form[3])["%d"]
            if not recorded[name]["different"]:
                assert module.digest(form[2]["%d"], result) == recorded[name]["gpu"], name
