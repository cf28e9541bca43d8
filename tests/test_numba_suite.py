"""numba-cuda's own tests against the facade: counts are printed, may only rise, and every failure is explained."""

from __future__ import annotations

import pytest
from numba_suite import runner

pytestmark = pytest.mark.skipif(not runner.available(), reason="needs numba-cuda for its tests: pip install numba-cuda")


@pytest.fixture(scope="module")
def outcomes():
    return runner.run()


def test_yardstick_names_543_tests():
    names = runner.names("yardstick.txt")
    assert len(names) == len(set(names)) == 543


@pytest.mark.timeout(400)
def test_counts_have_not_fallen(outcomes, capsys):
    counted, floors = runner.summary(outcomes), runner.floors()
    with capsys.disabled():
        print(
            f"\nnumba-cuda's tests: {counted['yardstick']} of {counted['yardstick_total']} that run in its simulator "
            f"pass; {counted['beyond']} more pass that it skips, {counted['warp_ops']} of them warp operations"
        )
    assert {kind: counted[kind] for kind in floors if counted[kind] < floors[kind]} == {}, "below floor.json"


@pytest.mark.timeout(400)
def test_every_failure_is_explained(outcomes):
    expected = runner.expected_failures()
    failed = {name for name, outcome in outcomes.items() if outcome.status in (runner.FAIL, runner.LOST)}
    missing = {
        name for name in runner.names("yardstick.txt") if outcomes.get(name, runner.NOT_RUN).status != runner.PASS
    }
    unexplained = sorted((failed | missing) - set(expected))
    assert unexplained == [], "\n".join(f"{name}: {outcomes.get(name, runner.NOT_RUN).reason}" for name in unexplained)
    assert all(expected.values()), "expected_failures.txt needs a reason behind every name"


@pytest.mark.timeout(400)
def test_expected_failures_still_fail(outcomes):
    passing = sorted(
        name for name in runner.expected_failures() if outcomes.get(name, runner.NOT_RUN).status == runner.PASS
    )
    assert passing == [], "these pass now: take them out of expected_failures.txt and raise floor.json"
