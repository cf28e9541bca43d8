"""Every family and rung: documented, right on awkward input, and moving the counters that it says it moves."""

import importlib.util

import numpy as np
import pytest

import gpukit
from gpukit import checking, devices, plugins, registry
from gpukit.bench import counting
from gpukit.compilers import toolkit

FAMILIES = registry.families()
RUNGS = [rung for family in FAMILIES.values() for rung in family.rungs.values()]
NO_COMPILER = toolkit.why_no_nvrtc()
CPU = devices.device("cpu")


def on_cpu(rungs):
    """The rungs that this computer can run, one pytest parameter each."""
    for rung in rungs:
        missing = [name for name in rung.needs if importlib.util.find_spec(name) is None]
        marks = []
        if "cpu" not in rung.machines:
            continue
        if missing:
            marks.append(pytest.mark.skip(reason=f"needs {', '.join(missing)}"))
        if rung.language == registry.CPP and NO_COMPILER:
            marks.append(pytest.mark.skip(reason=NO_COMPILER))
        yield pytest.param(rung, id=f"{rung.family}.{rung.key}", marks=marks)


KERNELS = list(on_cpu(rung for rung in RUNGS if rung.kernel is not None))


def test_there_are_families_and_rungs():
    assert set(FAMILIES) > set(registry.own_families()) or not plugins.families()[0]
    assert plugins.families()[1] == [], "families of labs that cannot be imported"
    assert all(family.rungs for family in FAMILIES.values())


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
def test_a_family_is_well_made(family):
    assert len(family.document.strip().splitlines()[0]) <= 120
    assert "source" in registry.parse_document(family.document), "Source: where its techniques are from"
    assert family.block in family.blocks
    assert len(set(family.lengths)) == len(family.lengths)


@pytest.mark.parametrize("rung", RUNGS, ids=lambda rung: f"{rung.family}.{rung.key}")
def test_a_rung_is_documented(rung):
    sections = rung.sections
    assert 10 < len(sections["effect"]) <= 160, "the effect is one line"
    if rung.against:
        assert sections.get("versus"), "Versus: what changed against the rung it is compared with"
        assert rung.against.removeprefix("cpp:") in sections["versus"], "Versus names that rung"
        assert sections.get("expect"), "Expect: which counter must move, and why"
    if rung.language == registry.NUMBA:
        assert sections.get("args"), "Args: shapes, dtypes and units"
    assert rung.produces


@pytest.mark.parametrize("rung", list(on_cpu(RUNGS)))
def test_a_rung_is_right(rung):
    family = FAMILIES[rung.family]
    lengths = [n for n in family.lengths if n <= 4096]
    found = checking.check(family, [rung], CPU, lengths)
    assert not found[rung.key], str(found[rung.key][0])


def counted(rung):
    family = FAMILIES[rung.family]
    problem = family.problem(family.cpu_n, family.kinds[-1], np.random.default_rng(0), CPU)
    plan = rung.plan(problem, family.block, CPU)
    found = counting.count(rung, plan, hazards=False).counters
    assert checking.compare(rung, problem, family.block, np.asarray(plan.answer())) is None
    return found


COUNTED = {}


@pytest.mark.parametrize("rung", [p for p in KERNELS if p.values[0].against])
def test_the_counters_move_as_the_rung_says(rung):
    below = FAMILIES[rung.family].rungs[rung.against]
    for one in (rung, below):
        if (one.family, one.key) not in COUNTED:
            COUNTED[one.family, one.key] = counted(one)
    new, old = COUNTED[rung.family, rung.key], COUNTED[rung.family, rung.against]
    assert rung.falls or rung.rises or rung.stays, "a rung says which counter moves, or that none does"
    for name in rung.falls:
        assert new[name] < old[name], f"{name} was to fall: {old[name]} -> {new[name]}"
    for name in rung.rises:
        assert new[name] > old[name], f"{name} was to rise: {old[name]} -> {new[name]}"
    for name in rung.stays:
        assert new[name] == old[name], f"{name} was to stay: {old[name]} -> {new[name]}"


@pytest.mark.parametrize("rung", KERNELS)
def test_the_hazards_are_those_it_is_there_to_show(rung):
    family = FAMILIES[rung.family]
    n = min((length for length in family.lengths if length >= 1000), default=family.lengths[-1])
    problem = family.problem(min(n, 5000), family.kinds[-1], np.random.default_rng(0), CPU)
    plan = rung.plan(problem, family.block, CPU)
    devices.restore(plan)
    kinds = set()
    for launch in plan.launches:
        report = gpukit.check(
            launch.kernel, launch.grid, launch.block, *launch.args, shared_bytes=launch.shared_bytes, raise_=False
        )
        kinds |= {hazard.kind for hazard in report.errors}
    assert kinds == ({rung.hazard} if rung.hazard else set())


def test_a_dropped_element_fails():
    family = FAMILIES["reduction"]
    problem = family.problem(5000, "ones", np.random.default_rng(0), CPU)
    rung = next(iter(family.rungs.values()))
    failure = checking.compare(rung, problem, 256, problem.expected - 1)
    assert failure is not None and "got 4999" in str(failure) and "expected 5000" in str(failure)
    assert checking.compare(rung, problem, 256, np.asarray(np.nan)) is not None
    assert checking.compare(rung, problem, 256, np.zeros(3)) is not None
