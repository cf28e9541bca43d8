"""Counters of the hardware beside those of the CPU machine: what ncu prints, and every way in which it prints nothing.
In its place stands a program that does what ncu does, on a GPU made of host memory."""

import importlib
import json
import os
import stat
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import gpukit
from gpukit import cli, gpu
from gpukit.compilers import toolkit
from gpukit.gpu import availability, child, metrics, ncu, profiling
from gpukit.report import layout

ROOT = Path(__file__).parents[1]
NO_COMPILER = toolkit.why_no_nvrtc()
needs_nvrtc = pytest.mark.skipif(bool(NO_COMPILER), reason=NO_COMPILER)
on_posix = pytest.mark.skipif(os.name != "posix", reason="the program in ncu's place is a script with a #! line")

HEAD = (
    '"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device",'
    '"CC","Section Name","Metric Name","Metric Unit","Metric Value"'
)


def line(number, kernel, metric, value, unit=""):
    return (
        f'"{number}","4711","python3.12","127.0.0.1","{kernel}","1","7","(256, 1, 1)","(64, 1, 1)","0","9.0",'
        f'"Command line profiler metrics","{metric}","{unit}","{value}"'
    )


PRINTED = "\n".join(
    [
        "==PROF== Connected to process 4711 (/usr/bin/python3.12)",
        '==PROF== Profiling "scale" - 0: 0%....50%....100% - 2 passes',
        "==PROF== Disconnected from process 4711",
        HEAD,
        line(0, "scale(float *, float, float *, int)", "gpu__time_duration.sum", "4,672", "ns"),
        line(0, "scale(float *, float, float *, int)", metrics.METRICS["global_load_requests"], "1,234,567"),
        line(0, "scale(float *, float, float *, int)", metrics.METRICS["global_load_sectors"], "4938268.0", "sector"),
        line(0, "scale(float *, float, float *, int)", metrics.METRICS["global_reduction_requests"], "32"),
        line(0, "scale(float *, float, float *, int)", metrics.METRICS["global_atomic_requests"], "8"),
        line(0, "scale(float *, float, float *, int)", metrics.METRICS["warp_instructions"], "n/a", "inst"),
    ]
)


# --- what ncu prints -------------------------------------------------------------------------------------------------


def test_a_line_for_each_metric():
    (reading,) = ncu.parse(PRINTED)
    assert reading.kernel == "scale"
    assert reading.counters == {
        "global_load_requests": 1_234_567,
        "global_load_sectors": 4_938_268,
        "global_atomics": 40,
    }
    assert reading.metrics["gpu__time_duration.sum"] == 4672
    assert reading.seconds == pytest.approx(4.672e-6)


def test_several_launches_in_their_order():
    rows = [line(number, f"k{number}", metrics.METRICS["global_load_requests"], number) for number in (10, 2, 1)]
    assert [(r.kernel, r.counters["global_load_requests"]) for r in ncu.parse("\n".join([HEAD, *rows]))] == [
        ("k1", 1),
        ("k2", 2),
        ("k10", 10),
    ]


def test_a_column_for_each_metric_with_units_below_the_names():
    loads, time = metrics.METRICS["global_load_requests"], "gpu__time_duration.sum"
    text = "\n".join(
        [
            "==PROF== Disconnected from process 1",
            f'"ID","Process ID","Kernel Name","{time}","{loads}","smsp__cycles_active.avg"',
            '"","","","us","",""',
            '"0","1","scale(float *)","12.5","2,048","nan"',
        ]
    )
    (reading,) = ncu.parse(text)
    assert (reading.kernel, reading.counters) == ("scale", {"global_load_requests": 2048})
    assert reading.seconds == pytest.approx(12.5e-6)


@pytest.mark.parametrize("text", ["", "==ERROR== nothing\n", HEAD])
def test_nothing_printed_is_no_launch(text):
    assert ncu.parse(text) == []


def test_both_kinds_of_atomics_are_one_counter_and_half_a_sum_is_none():
    all_four = {metrics.METRICS[f"global_{kind}"]: n for n, kind in enumerate(
        ("reduction_requests", "atomic_requests", "reduction_sectors", "atomic_op_sectors"), 1
    )}  # fmt: skip
    assert metrics.in_our_names(all_four) == {"global_atomics": 3, "global_atomic_sectors": 7}
    del all_four[metrics.METRICS["global_atomic_requests"]]
    assert metrics.in_our_names(all_four) == {"global_atomic_sectors": 7}


def test_the_table_of_metrics_is_the_one_of_the_report_and_of_the_probes():
    shown = {metric for _, _, metric in layout._ROWS if metric}
    assert shown <= set(metrics.METRICS.values())
    report = gpukit.Report("k", "k.py", (1, 1, 1), (1, 1, 1), 1, 1)
    known = set(metrics.METRICS | metrics.MORE_METRICS)
    parts = {part for pair in metrics._SUMS.values() for part in pair}
    assert known - parts <= set(metrics.COMPARED)
    from gpukit.machine.counters import _empty

    assert set(metrics.COMPARED) <= set(_empty())  # each is a counter of the CPU machine
    assert report.counters == {}
    for name in ("compiled_kernels", "numba_kernels"):
        text = (ROOT / "data" / "probes" / f"{name}.py").read_text()
        table = text[text.index("METRICS = {") :]
        copy = eval(table[len("METRICS = ") : table.index("}") + 1])  # the probe itself needs numba.cuda
        assert copy.items() <= metrics.METRICS.items()


def test_model_and_hardware_side_by_side():
    model = {"global_load_requests": 10, "global_load_sectors": 40, "warp_instructions": 90, "barriers": 3}
    hardware = {"global_load_requests": 10, "global_load_sectors": 44, "global_store_requests": 0}
    rows = profiling.compared(model, {**hardware, "warp_instructions": 120})
    assert [(row.counter, row.model, row.hardware, row.difference) for row in rows] == [
        ("global_load_requests", 10, 10, 0),
        ("global_load_sectors", 40, 44, 4),
        ("warp_instructions", 90, 120, 30),
    ]
    assert [row.remark for row in rows] == ["", "", profiling.BY_ASSEMBLER]
    assert profiling.compared(model, hardware, "source")[1].remark == profiling.AS_WRITTEN
    assert profiling.compared({"local_load_requests": 0}, {"local_load_requests": 4})[0].remark == profiling.SPILLED


# --- asking ncu ------------------------------------------------------------------------------------------------------

# Does with the child what ncu does: runs it, and writes what a GPU would have counted. What it is to do is in FAKE_NCU.
PROGRAM = f"""\
#!{sys.executable}
import json, os, subprocess, sys
from pathlib import Path

arguments = sys.argv[1:]
options = dict(zip(arguments, arguments[1:]))
log, wanted = Path(options["--log-file"]), options["--metrics"].split(",")
program = arguments[arguments.index("--log-file") + 2 :]
does = json.loads(os.environ["FAKE_NCU"])
with open(os.environ["FAKE_NCU_CALLS"], "a") as calls:
    calls.write(json.dumps(arguments) + "\\n")
unknown = [metric for metric in wanted if metric in does.get("unknown", ())]
if unknown:
    log.write_text("==ERROR== Failed to find metric " + unknown[0] + "\\n")
    sys.exit(1)
job, result = program[-2:]
if does.get("runs", True):
    error = does.get("error", "")
    Path(result).write_text(json.dumps({{"error": error}}))
if "says" in does:
    log.write_text(does["says"])
else:
    kernel = json.loads(Path(job).read_text())["kernel"]
    rows = [{HEAD!r}]
    for metric in wanted:
        value = does["counts"].get(metric, 0)
        rows += [
            f'"{{number}}","1","python","127.0.0.1","{{kernel}}","1","7","(1, 1, 1)","(1, 1, 1)","0","9.0","x",'
            f'"{{metric}}","","{{value:,}}"'
            for number in range(does.get("launches", 1))
        ]
    log.write_text("==PROF== Connected\\n" + "\\n".join(rows) + "\\n")
sys.exit(does.get("code", 0))
"""

SPEC = ncu.Spec("kernels.py", "scale", (4,), (32,), ("x=float32[100]",), 0, ())


@pytest.fixture
def fake(tmp_path, monkeypatch):
    """Puts a program in ncu's place; a function that says what it does, and the calls it had."""
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "ncu"
    program.write_text(PROGRAM)
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", str(folder))
    calls = tmp_path / "calls"
    monkeypatch.setenv("FAKE_NCU_CALLS", str(calls))

    def do(**does):
        monkeypatch.setenv("FAKE_NCU", json.dumps(does))
        return lambda: [json.loads(text) for text in calls.read_text().splitlines()]

    return do


@on_posix
def test_the_command_asks_for_every_metric_once_and_leaves_the_clocks_alone(fake):
    calls = fake(counts={metrics.METRICS["global_load_requests"]: 1500, metrics.TIME: 2500})
    reading = ncu.read(SPEC)
    assert (reading.counters["global_load_requests"], reading.seconds) == (1500, pytest.approx(2.5e-6))
    assert reading.counters["shared_load_requests"] == 0
    (arguments,) = calls()
    text = " ".join(arguments)
    assert "--clock-control none --print-units base --csv --profile-from-start off" in text
    asked = arguments[arguments.index("--metrics") + 1].split(",")
    assert sorted(asked) == sorted({*metrics.METRICS.values(), *metrics.MORE_METRICS.values(), metrics.TIME})
    assert arguments[arguments.index("--log-file") + 2 :][:4] == [sys.executable, "-P", "-m", "gpukit.gpu.child"]


def test_a_launch_goes_to_another_process_unchanged():
    spec = ncu.Spec("a b.cu", "reduce<256>", (4, 2), (8, 8, 4), ("x=[16]:ones", "n=3"), 128, ("-DN=3", "-Iinclude"))
    assert ncu.Spec.from_json(spec.to_json()) == spec


@on_posix
def test_without_permission_it_says_why_who_can_and_what_still_works(fake):
    fake(
        says="==PROF== Connected to process 1\n"
        "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access "
        "NVIDIA GPU Performance Counters on the target device 0.\n",
        runs=False,
        code=9,
    )
    with pytest.raises(ncu.NoCounters, match="ERR_NVGPUCTRPERM") as caught:
        ncu.read(SPEC)
    text = str(caught.value)
    assert "keeps the GPU's counters for administrators" in text
    assert "NVreg_RestrictProfilingToAdminUsers=0" in text
    assert "the CPU machine gives the same counters" in text
    assert "gpukit bench --machine gpu" in text


def test_the_advice_is_the_one_of_the_system(monkeypatch):
    monkeypatch.setattr(ncu.platform, "system", lambda: "Windows")
    assert "NVIDIA Control Panel" in ncu.advice()
    monkeypatch.setattr(ncu.platform, "system", lambda: "Linux")
    assert "as root" in ncu.advice()


def test_without_ncu(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(ncu, "folders", list)
    with pytest.raises(ncu.NoCounters, match=r"\(ncu\) is not on this computer: install NVIDIA Nsight Compute"):
        ncu.read(SPEC)


@on_posix
def test_ncu_is_found_where_cuda_puts_it(monkeypatch, tmp_path):
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "ncu"
    program.write_text("#!/bin/sh\n")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    monkeypatch.setattr(ncu.glob, "glob", lambda pattern: [])
    assert ncu.find() != str(program)  # it cannot be run
    program.chmod(0o755)
    assert ncu.find() == str(program)


@on_posix
@pytest.mark.parametrize(
    ("does", "words"),
    [
        (
            {"says": "==ERROR== The GPU of compute capability 7.0 is not supported.\n", "code": 1, "runs": False},
            "it says: The GPU of compute capability 7.0 is not supported",
        ),
        ({"says": "", "code": 139, "runs": False}, "read no counters and ended with code 139"),
        ({"says": "==WARNING== No kernels were profiled.\n"}, "it says: No kernels were profiled"),
        ({"counts": {}, "launches": 2}, "ncu saw 2 launches where there should be one: scale, scale"),
    ],
)
def test_whatever_else_ncu_cannot_do_is_its_own_message_in_one_line(fake, does, words):
    fake(**does)
    with pytest.raises(ncu.NoCounters, match=words) as caught:
        ncu.read(SPEC)
    assert "\n" not in str(caught.value)


@on_posix
def test_a_program_that_is_no_ncu(monkeypatch, tmp_path):
    program = tmp_path / "ncu"
    program.write_text("neither a script nor a program")
    program.chmod(0o755)
    monkeypatch.setattr(ncu, "find", lambda: str(program))
    with pytest.raises(ncu.NoCounters, match="ncu does not start"):
        ncu.read(SPEC)


@on_posix
def test_an_ncu_that_does_not_end(fake, monkeypatch, tmp_path):
    fake(counts={})
    (tmp_path / "bin" / "ncu").write_text(f"#!{sys.executable}\nimport time\ntime.sleep(60)\n")
    monkeypatch.setattr(ncu, "TIMEOUT_SECONDS", 0.5)
    with pytest.raises(ncu.NoCounters, match=r"did not end in 0\.5 seconds"):
        ncu.read(SPEC)


@on_posix
def test_a_metric_that_this_gpu_lacks_is_done_without(fake):
    lacking = metrics.MORE_METRICS["local_load_requests"]
    calls = fake(counts={metrics.METRICS["global_load_requests"]: 7}, unknown=[lacking])
    assert ncu.read(SPEC).counters["global_load_requests"] == 7
    first, second = calls()
    assert lacking in " ".join(first)
    assert lacking not in " ".join(second)


@on_posix
def test_a_launch_that_fails_is_an_error_and_no_missing_counter(fake):
    fake(counts={}, error="the kernel `scale`: a kernel used memory that is not its own")
    with pytest.raises(gpu.GpuError, match="not its own") as caught:
        ncu.read(SPEC)
    assert not isinstance(caught.value, ncu.NoCounters)


# --- the launch that ncu watches -------------------------------------------------------------------------------------


def run_child(tmp_path, spec):
    job, result = tmp_path / "job.json", tmp_path / "result.json"
    job.write_text(spec.to_json())
    done = subprocess.run(
        [sys.executable, "-P", "-m", "gpukit.gpu.child", str(job), str(result)],
        capture_output=True, text=True, timeout=120, env=ncu._environment(), cwd=tmp_path,
    )  # fmt: skip
    return done, json.loads(result.read_text())


@pytest.mark.skipif(not gpu.missing(), reason="there is a GPU")
def test_the_process_says_what_went_wrong(tmp_path):
    done, result = run_child(tmp_path, SPEC)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "")
    assert result["error"] == gpu.missing()


KERNELS = """\
from numba import cuda


@cuda.jit
def scale(x, factor, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = factor * x[i]
"""


@pytest.fixture
def kernels(tmp_path):
    file = tmp_path / "kernels.py"
    file.write_text(KERNELS)
    return file


def test_the_process_launches_once_between_start_and_stop_of_the_profiler(kernels, monkeypatch):
    pytest.importorskip("numba_cuda", reason="numba-cuda launches kernels in Python")
    happened = []
    launched = []

    class Card:
        xp = None

        def synchronize(self):
            happened.append("synchronize")

    runtime = type("Runtime", (), {
        "profilerStart": staticmethod(lambda: happened.append("start")),
        "profilerStop": staticmethod(lambda: happened.append("stop")),
    })  # fmt: skip
    cupy = type("CuPy", (), {"cuda": type("Cuda", (), {"runtime": runtime})})
    monkeypatch.setattr(gpu, "Gpu", Card)
    monkeypatch.setattr(importlib.import_module("gpukit.gpu.libraries"), "cupy", lambda: cupy)

    def launch(kernel, grid, block, *args, **more):
        happened.append("launch")
        launched.append((kernel, grid, block, args, more))

    monkeypatch.setattr(gpukit, "launch", launch)
    spec = ncu.Spec(str(kernels), "scale", (4,), (32,), ("x=float32[100]:ones", "factor=2", "out=float32[100]"), 16)
    child.launch_once(spec)
    assert happened == ["synchronize", "start", "launch", "synchronize", "stop"]
    kernel, grid, block, args, more = launched[0]
    assert (kernel.name, grid, block, more) == ("scale", (4,), (32,), {"shared_bytes": 16, "machine": "gpu"})
    np.testing.assert_array_equal(args[0], np.ones(100, np.float32))


# --- gpukit profile --machine gpu ------------------------------------------------------------------------------------

LAUNCH = ["--grid", "4", "--block", "32", "-a", "x=float32[100]:ones", "-a", "factor=2.0", "-a", "out=float32[100]"]


@pytest.mark.skipif(not gpu.missing(), reason="there is a GPU")
def test_without_a_gpu_it_is_one_sentence(kernels, capsys):
    assert cli.main(["profile", f"{kernels}:scale", "--machine", "gpu", *LAUNCH]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err == f"gpukit: {gpu.missing()}\n"


@pytest.fixture
def card(monkeypatch):
    """A GPU that nothing is launched on here: the process under ncu does it."""
    monkeypatch.setattr(availability, "missing", lambda: "")
    monkeypatch.setattr(gpu, "Gpu", type("Gpu", (), {"card": "NVIDIA H200"}))


@on_posix
@needs_nvrtc
def test_both_machines_side_by_side(kernels, card, fake, capsys, tmp_path):
    pytest.importorskip("numba_cuda", reason="the compiled level of a kernel in Python")
    fake(
        counts={
            metrics.METRICS["global_load_requests"]: 4,
            metrics.METRICS["global_load_sectors"]: 14,
            metrics.METRICS["global_store_requests"]: 4,
            metrics.METRICS["global_store_sectors"]: 13,
            metrics.METRICS["warp_instructions"]: 77,
            metrics.TIME: 2_464,
        }
    )
    file = tmp_path / "out.json"
    arguments = ["profile", f"{kernels}:scale", "--machine", "gpu", *LAUNCH]
    assert cli.main([*arguments, "--json", str(file)]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    rows = {words[0]: words[1:] for text in printed.out.splitlines() if (words := text.split())}
    assert rows["global_load_requests"] == ["4", "4", "="]
    assert rows["global_load_sectors"][:3] == ["13", "14", "+1"]
    assert rows["global_store_sectors"] == ["13", "13", "="]
    assert rows["warp_instructions"][1] == "77"
    assert "compiled level" in printed.out
    assert "beside the NVIDIA H200: 3 of 6 counters equal" in printed.out.replace("\n", " ")
    assert "2.464 microseconds" in printed.out
    data = json.loads(file.read_text())
    assert data["model"]["counters"]["global_load_sectors"] == 13
    assert data["model"]["level"] == "compiled"
    assert data["hardware"]["global_load_sectors"] == 14
    assert data["seconds"] == pytest.approx(2.464e-6)
    assert {"counter": "global_load_sectors", "model": 13, "hardware": 14, "difference": 1, "remark": ""} in data[
        "comparison"
    ]
    assert cli.main([*arguments, "--level", "source", "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["model"]["level"] == "source"


@on_posix
def test_counters_that_cannot_be_read_leave_those_of_the_cpu_machine(kernels, card, fake, capsys):
    fake(says="==ERROR== ERR_NVGPUCTRPERM - The user does not have permission", runs=False, code=9)
    arguments = ["profile", f"{kernels}:scale", "--machine", "gpu", "--level", "source", *LAUNCH]
    assert cli.main(arguments) == 0
    printed = capsys.readouterr()
    assert "global_load_sectors" in printed.out and " 13" in printed.out
    assert printed.err.startswith("gpukit: this user may not read counters")
    assert printed.err.count("\n") == 1
    assert cli.main([*arguments, "--json", "-"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["hardware"] is None and "ERR_NVGPUCTRPERM" in data["why_not"]
    assert data["model"]["counters"]["global_load_sectors"] == 13


@on_posix
@needs_nvrtc
def test_cpp_with_its_options_goes_to_the_process_under_ncu(card, fake, tmp_path, capsys):
    file = tmp_path / "k.cu"
    file.write_text(
        textwrap.dedent("""
        extern "C" __global__ void fill(int* x) { x[threadIdx.x] = VALUE; }
    """)
    )
    calls = fake(counts={metrics.METRICS["global_store_requests"]: 1, metrics.METRICS["global_store_sectors"]: 4})
    arguments = ["--grid", "1", "--block", "32", "-a", "x=[32]", "-DVALUE=7"]
    assert cli.main(["profile", f"{file}:fill", "--machine", "gpu", *arguments]) == 0
    assert "global_store_sectors" in capsys.readouterr().out
    assert len(calls()) == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["profile", "--machine", "gpu", "script.py"],
        ["profile", "k.py:scale", "--machine", "gpu", "--level", "both", *LAUNCH],
        ["profile", "k.py:scale", "--machine", "gpu", "--html", "x.html", *LAUNCH],
        ["profile", "k.py:scale", "--machine", "gpu", "stray", *LAUNCH],
        ["profile", "k.py:scale", "--machine", "tpu", *LAUNCH],
        ["check", "k.py:scale", "--machine", "gpu", *LAUNCH],
    ],
)
def test_wrong_usage(arguments, card, capsys):
    assert cli.main(arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "Traceback" not in printed.err
