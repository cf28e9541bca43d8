"""Mistakes of click models and of clocks in cases/host: each is caught with its sentence, and its cure passes."""

import importlib
import importlib.util
from pathlib import Path

import pytest

from gpukit import plugins

torch = pytest.importorskip("torch")
torch.set_num_threads(1)

plugins.load("ctr")
guards = importlib.import_module("gpukit_labs.ctr.guards")
errors = importlib.import_module("gpukit_labs.ctr.errors")
schemas = importlib.import_module("gpukit_labs.ctr.schema")

HERE = Path(__file__).parent / "cases" / "host"


def cases():
    for path in sorted(HERE.glob("*.py")):
        spec = importlib.util.spec_from_file_location(f"case_{path.stem}", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        for name, case in module.CASES.items():
            yield f"{path.stem}: {name}", case


CASES = dict(cases())


def ask(check, given):
    if check == "check_ids":
        given = {"ids": given["ids"], "schema": schemas.Schema((schemas.Field("ad", given["rows"]),))}
    if check == "check_dense":
        given = {**given, "names": ("I1", "I2")}
    getattr(guards, check)(**given)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_case(case):
    given = case["give"]()
    if not case["say"]:
        ask(case["check"], given)
        return
    with pytest.raises(errors.CtrError) as error:
        ask(case["check"], given)
    for words in case["say"]:
        assert words in str(error.value)


@pytest.mark.parametrize(
    ("check", "given", "words"),
    [
        (guards.check_clock, ([10], [0.5]), "two or more amounts of work and a time for each"),
        (guards.check_clock, ([10, 20], [0.5]), "two or more amounts of work and a time for each"),
        (guards.check_clock, ([10, 20], [0.5, 0.0]), "all above 0"),
        (guards.check_iterations, ([0.5],), "1 iterations show no change"),
        (guards.check_labels, (["a"],), "labels must be numbers, and not <U1"),
        (guards.check_dense, ([[None]], ("I1",)), "dense features must be numbers, and not object"),
        (guards.check_probabilities, ([[0.5], [0.5, 0.5]],), "must be one array"),
        (guards.check_not_squeezed, ([0.6, 0.7], [0]), "for 1 labels"),
    ],
)
def test_what_a_guard_cannot_judge_is_refused(check, given, words):
    with pytest.raises(errors.CtrError, match=words):
        check(*given)


def test_every_guard_has_a_mistake_and_a_cure():
    checks = [name for name in vars(guards) if name.startswith("check_")]
    assert len(checks) == 11
    for name in checks:
        says = {bool(case["say"]) for case in CASES.values() if case["check"] == name}
        assert says == {True, False}, name
