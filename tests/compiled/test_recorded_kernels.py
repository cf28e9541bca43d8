"""The kernels that were read on an H200, from the very PTX it ran: counters and results are the hardware's.

The record is data/results/h200_compiled_kernels.json, made by data/probes/compiled_kernels.py.
"""

from __future__ import annotations

import functools
import importlib.util
import json
import pathlib
import sys
import zipfile

import numpy as np
import pytest
from compiled.kernels.launches import LAUNCHES

import gpukit

ROOT = pathlib.Path(__file__).parents[2]
RESULTS = ROOT / "data/results"
RECORD = json.loads((RESULTS / "h200_compiled_kernels.json").read_text())


def probe(name: str):
    """A module of data/probes."""
    spec = importlib.util.spec_from_file_location(name, ROOT / f"data/probes/{name}.py")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


PROBE = probe("compiled_kernels")


@functools.cache
def archive() -> tuple[dict, dict]:
    """(launches by name, PTX by file name)."""
    with zipfile.ZipFile(RESULTS / "h200_compiled_kernels_ptx.zip") as z:
        texts = {name: z.read(name).decode() for name in z.namelist()}
    return {entry["name"]: entry for entry in json.loads(texts.pop("launches.json"))["launches"]}, texts


@functools.cache
def module(ptx: str) -> gpukit.RawModule:
    return gpukit.RawModule(code=archive()[1][ptx])


@functools.cache
def corpus_arguments() -> tuple:
    return probe("kernel_corpus").arguments()


@pytest.mark.parametrize("name", RECORD["launches"])
def test_counters_and_results_are_those_of_the_hardware(name: str):
    recorded, entry = RECORD["launches"][name], archive()[0][name]
    given = list(LAUNCHES[name].args() if name in LAUNCHES else corpus_arguments())
    args = [a.copy() if isinstance(a, np.ndarray) else a for a in given]
    kernel = module(entry["ptx"]).get_function(entry["kernel"])
    report = gpukit.profile(
        kernel, entry["grid"], entry["block"], *args, shared_bytes=entry["shared_bytes"], hazards=False
    )
    if not recorded.get("approximate"):
        changed = PROBE.outputs_of(entry, given, args)
        assert PROBE.digests(changed, name) == recorded["outputs"]
    if not recorded.get("polls"):
        expected = {counter: recorded["counters"].get(counter, 0) for counter in PROBE.COMPARED}
        expected |= recorded.get("cpu_machine", {})
        assert {counter: report.counters.get(counter, 0) for counter in PROBE.COMPARED} == expected


def test_the_record_says_where_it_comes_from_and_explains_what_differs():
    assert RECORD["machine"]["gpu"] == "NVIDIA H200" and RECORD["machine"]["driver"] and RECORD["command"]
    launches = RECORD["launches"]
    assert len(launches) == RECORD["summary"]["launches"] >= 200
    differ = {name for name, entry in launches.items() if "cpu_machine" in entry}
    assert differ == set(RECORD["summary"]["counters_differ_with_a_reason"])
    assert all(launches[name]["reason"] for name in differ)
    assert len(differ) <= len(PROBE.REASONS)
