"""Every known mistake is reported and its cure comes out clean: the launches of cases/, and others of that form."""

import importlib.util
import inspect
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import gpukit

HERE = Path(__file__).parent
# A folder of further cases that may lie beside a checkout; they are in a form of their own, read by `shared_cases`.
SHARED = HERE.parents[1] / "shared" / "cases"

# Findings that doubt the numbers. The others explain a launch, and a clean one may have them.
DOUBTS = {"nan_propagation", "precision_loss"}


@dataclass
class Case:
    """One launch and what must be said about it; the fields are described in cases/README.md."""

    kernel: Any
    args: Any
    grid: Any
    block: Any
    out: int
    detect: list[str]
    result: Any = None
    correct: Any = None
    counts: dict[str, int] = field(default_factory=dict)
    shared_bytes: int = 0


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"case_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def own_cases() -> dict[str, Case]:
    """The launches of cases/*.py by "file: name"."""
    found = {}
    for path in sorted((HERE / "cases").glob("*.py")):
        for name, case in load(path).CASES.items():
            found[f"{path.stem}: {name}"] = Case(**case)
    return found


def shared_cases() -> dict[str, Case]:
    """The kernel launches of SHARED, brought to our form; host and training cases are not launches and stay out."""
    found = {}
    for path in sorted(SHARED.glob("B*.py")):
        module = load(path)
        if module.EXPECT["kind"] != "kernel":
            continue
        module.bind(gpukit.cuda)

        def value(of, module=module):
            return getattr(module, of)() if isinstance(of, str) else of

        for name, case in module.EXPECT["cases"].items():
            counts = {k: n for k, n in case.get("counts", {}).items() if k == "negative_index"}
            if "oob_threads" in case.get("counts", {}):
                counts |= dict.fromkeys(("oob_global_read", "oob_global_write"), case["counts"]["oob_threads"])
            if "unwritten" in case:
                counts["unwritten_output"] = case["unwritten"]
            found[f"{path.stem}: {name}"] = Case(
                kernel=getattr(module, case["kernel"]),
                args=getattr(module, case["inputs"]),
                grid=case["grid"],
                block=case["block"],
                out=case["out"],
                detect=case["must_detect"],
                result=value(case["result"]) if case["deterministic"] else None,
                correct=value(case["correct"]),
                counts=counts,
                shared_bytes=case.get("dynamic_shared_bytes", 0),
            )
    return found


CASES = own_cases() | shared_cases()


def run(case: Case):
    args = case.args()
    report = gpukit.profile(case.kernel, case.grid, case.block, *args, shared_bytes=case.shared_bytes)
    return report, args[case.out]


def faults(report) -> set[str]:
    """Kinds of what makes a launch not clean."""
    reported = {h.kind for h in report.hazards if h.severity in ("error", "warning")}
    return reported | {f.kind for f in report.findings if f.kind in DOUBTS}


def test_there_are_cases_of_every_sort():
    assert len(own_cases()) >= 50
    assert {kind for case in CASES.values() for kind in case.detect} >= {
        *("wrong_result", "race_shared", "race_global", "race_global_interblock", "uninit_shared_read"),
        *("barrier_divergence", "barrier_with_exited_threads", "oob_global_read", "oob_global_write"),
        *("negative_index", "int_overflow", "precision_loss", "nan_propagation", "unwritten_output"),
        *("shuffle_mask_names_absent_lane", "shuffle_inactive_source", "warp_mask_excludes_caller"),
        *("oob_shared", "oob_local", "uninit_local_read", "alias_dynamic_shared", "nonassociative_atomics"),
    }


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_case(case):
    report, output = run(case)
    if case.result is not None:
        np.testing.assert_array_equal(output, case.result)

    if case.detect in ([], ["wrong_result"]):
        assert faults(report) == set(), [h.message for h in (*report.hazards, *report.findings)]
    else:
        assert set(case.detect) <= {h.kind for h in (*report.hazards, *report.findings)}
    if case.detect == []:
        np.testing.assert_array_equal(output, case.correct)
    elif "wrong_result" in case.detect:
        assert not np.array_equal(output, case.correct)

    counted: Counter[str] = Counter()
    for hazard in (*report.hazards, *report.findings):
        counted[hazard.kind] += hazard.count
    assert {kind: counted[kind] for kind in case.counts} == case.counts


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_every_report_names_a_line_of_the_kernel(case):
    report, _ = run(case)
    function = getattr(case.kernel, "py_func", case.kernel)
    lines, first = inspect.getsourcelines(function)
    for hazard in report.hazards:
        assert first <= hazard.line < first + len(lines)
        assert hazard.message.strip()
    assert Path(report.file) == Path(inspect.getsourcefile(function))


@pytest.mark.parametrize("case", [case for case in CASES.values() if "wrong_result" not in case.detect])
def test_check_raises_exactly_for_errors(case):
    severities = {h.severity for h in run(case)[0].hazards}
    launch = case.kernel, case.grid, case.block, *case.args()
    if "error" in severities:
        with pytest.raises(gpukit.KernelHazard):
            gpukit.check(*launch, shared_bytes=case.shared_bytes)
    else:
        gpukit.check(*launch, shared_bytes=case.shared_bytes)


def test_a_grid_without_blocks_is_refused():
    """What `-(-nnz // threads)` gives for a matrix without entries."""
    kernel = CASES["sparse_products: no entries, guarded"]
    with pytest.raises(gpukit.LaunchError):
        gpukit.profile(kernel.kernel, 0, 32, *kernel.args())
