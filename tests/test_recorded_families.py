"""The CPU machine's counters against an H200's, for every rung of every family (data/results/h200_families.json).

Both levels count each launch anew. They must equal the hardware on every counter, except where the record gives the
number that the level counts instead, and the reason for it; then they must give that number.
"""

from __future__ import annotations

import functools
import importlib.util
import json
import sys
from pathlib import Path

import pytest

from gpukit import devices, registry
from gpukit.compilers import toolkit

DATA = Path(__file__).parents[1] / "data"
RECORD = json.loads((DATA / "results" / "h200_families.json").read_text())
LAUNCHES = RECORD["launches"]
NO_COMPILER = toolkit.why_no_nvrtc()


@functools.cache
def families_probe():
    """data/probes/families.py, which made the record."""
    spec = importlib.util.spec_from_file_location("families_probe", DATA / "probes" / "families.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["families_probe"] = module
    spec.loader.exec_module(module)
    return module


@functools.cache
def problem(family):
    return families_probe().problem_on_host(registry.find_family(family), registry.find_family(family).cpu_n)


def counted(name, level):
    """The counters of each launch of a rung at one level, by the launch's name in the record."""
    family, _, key = name.partition(".")
    rung = registry.find_family(family).rungs[key]
    plan = rung.plan(problem(family), registry.find_family(family).block, devices.device("cpu"))
    return dict(zip(families_probe().launch_names(name, plan), families_probe().counted(plan, level), strict=True))


def of_level(level):
    names = [n for n, entry in LAUNCHES.items() if level == "compiled" or entry["language"] == registry.NUMBA]
    return list(dict.fromkeys(name.split("/")[0] for name in names))


def compare(name, level):
    for launch, counters in counted(name, level).items():
        entry = LAUNCHES[launch]
        own = entry.get(level, {"counts": {}})["counts"]
        read = dict.fromkeys(counters, 0) | entry["counters"]
        hardware = families_probe().without(read, entry.get("stray_conflicts", {}))
        assert all(own[counter] != hardware[counter] for counter in own)
        assert counters == hardware | own, launch


@pytest.mark.parametrize("name", of_level("source"))
def test_source_level(name):
    compare(name, "source")


@pytest.mark.skipif(bool(NO_COMPILER), reason=NO_COMPILER or "the compilers are here")
@pytest.mark.parametrize("name", of_level("compiled"))
def test_compiled_level(name):
    compare(name, "compiled")


def test_every_rung_was_read():
    read = {launch.split("/")[0] for launch in LAUNCHES}
    assert read == {f"{family.name}.{rung.key}" for family, rung in families_probe().rungs()}
    assert {launch.split(".")[0] for launch in read} <= set(registry.own_families())


def test_enough_was_read_and_agrees():
    assert len(LAUNCHES) >= 40
    assert RECORD["summary"] == families_probe().summary(LAUNCHES)
    assert RECORD["summary"]["source_level_agrees"] >= 20
    assert not RECORD["wrong"]


# At the compiled level nothing but these differs: what depends on the order of atomics or on time.
DEPENDS_ON_TIME = {
    "reduction.finish_grid_sync",
    "reduction.cpp:finish_grid_sync",
    "warp_compaction.atomic_each",
    "warp_compaction.ballot",
    "warp_compaction.cpp:ballot",
}


def test_what_differs_is_named():
    assert {launch for launch, entry in LAUNCHES.items() if "compiled" in entry} <= DEPENDS_ON_TIME
    for launch, entry in LAUNCHES.items():
        for level in ("source", "compiled"):
            assert level not in entry or len(entry[level]["reason"]) > 20, launch


def test_stray_bank_conflicts_are_few_and_vary():
    strays = {launch: entry for launch, entry in LAUNCHES.items() if "stray_conflicts" in entry}
    for entry in strays.values():
        for kind, count in entry["stray_conflicts"].items():
            assert 0 < count <= families_probe().STRAY * entry["counters"][f"{kind}_wavefronts"]
    twice = [entry for entry in strays.values() if "stray_conflicts_again" in entry]
    varied = [entry for entry in twice if entry["stray_conflicts"] != entry["stray_conflicts_again"]]
    assert len(twice) > 10 and len(varied) > len(twice) / 2


def test_the_record_says_where_it_is_from():
    machine = RECORD["machine"]
    assert machine["gpu"] == "NVIDIA H200"
    assert all(machine[key] for key in ("driver", "command", "date", "commit", "ncu", "cupy-cuda13x", "numba-cuda"))
