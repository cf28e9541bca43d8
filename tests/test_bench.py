"""`gpukit bench machine`, on its small size: the comparison is made, fair, and the machine wins by far."""

import io
import json

import pytest
from rich.console import Console

from gpukit.bench import machine
from gpukit.errors import GpukitError


@pytest.fixture(scope="module")
def quick():
    """(result, printed text)"""
    result = machine.measure(quick=True)
    return result, shown(result)


def shown(result) -> str:
    text = io.StringIO()
    machine.show(result, Console(file=text, width=120))
    return text.getvalue()


def test_the_simulator_was_compared_with(quick):
    pytest.importorskip("numba_cuda")
    comparison = quick[0]["comparison"]
    assert comparison["elements"] == machine.QUICK
    assert comparison["simulator_s"] > 0
    for key in ("counters", "hazards"):
        assert comparison[key]["ratio"] == pytest.approx(comparison["simulator_s"] / comparison[key]["median_s"])
    # At this size the launch's fixed cost weighs most; the full size is measured by hand (data/results).
    assert comparison["counters"]["ratio"] > 100
    assert comparison["hazards"]["ratio"] > 30


def test_cost_grows_no_faster_than_the_lane_count(quick):
    first, *_, last = quick[0]["scaling"]
    assert last["seconds"] / first["seconds"] < 1.5 * last["threads"] / first["threads"]


def test_memory_at_a_million_elements_is_bounded(quick):
    for timing in quick[0]["large"].values():
        assert timing["counters"]["peak_bytes"] < 1 << 30
        assert timing["hazards"]["peak_bytes"] < 1 << 30


def test_the_result_says_where_it_is_from(quick):
    result, text = quick
    assert json.loads(json.dumps(result)) == result
    assert {"command", "date", "cpu", "cores", "python", "numpy"} <= result["machine"].keys()
    assert "numba's simulator" in text and "MiB" in text


def test_without_numba_cuda_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr(machine.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(machine, "LARGE", 1 << 12)
    monkeypatch.setattr(machine, "LOOP", 1 << 6)
    result = machine.measure(quick=True)
    assert "simulator_s" not in result["comparison"]
    assert "pip install" in shown(result)


def test_a_simulator_that_fails_is_one_sentence(monkeypatch):
    monkeypatch.setattr(machine, "_IN_SIMULATOR", "raise RuntimeError('no such luck')")
    with pytest.raises(GpukitError, match="no such luck"):
        machine._simulator_seconds(1 << 12)
