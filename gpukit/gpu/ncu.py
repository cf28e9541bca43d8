"""Nsight Compute's command line, ncu: where it is, how it is asked, what it answers, and what it means if it does not.

The sentences about permissions are here alone; `gpukit doctor` says them too.
"""

from __future__ import annotations

import csv
import glob
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from gpukit.errors import GpukitError
from gpukit.gpu.errors import GpuError
from gpukit.gpu.metrics import METRICS, MORE_METRICS, TIME, in_our_names

TIMEOUT_SECONDS = 600

REFUSED = (
    "this user may not read counters: ncu ends with ERR_NVGPUCTRPERM, because the driver keeps the GPU's counters for "
    "administrators"
)
ALLOW = (
    "run ncu as root, or have an administrator load the nvidia module with NVreg_RestrictProfilingToAdminUsers=0 (a "
    "container needs --cap-add=SYS_ADMIN)"
)
ALLOW_ON_WINDOWS = "allow all users in NVIDIA Control Panel, Developer, Manage GPU Performance Counters"
INSTALL = "install NVIDIA Nsight Compute"
WITHOUT = "Without it the CPU machine gives the same counters, and gpukit bench --machine gpu takes times"

_UNKNOWN_METRIC = re.compile(r"[Ff]ailed to find metric(?:s)?:? *(?P<names>[\w.,: ]+)")
_SECONDS = {
    **dict.fromkeys(("s", "sec", "second", "seconds"), 1.0),
    **dict.fromkeys(("ms", "msec", "msecond", "millisecond"), 1e-3),
    **dict.fromkeys(("us", "usec", "usecond", "microsecond"), 1e-6),
    **dict.fromkeys(("ns", "nsec", "nsecond", "nanosecond"), 1e-9),
}


class NoCounters(GpuError):
    """ncu read nothing, for a reason that is not the kernel's: it is not there, or may not."""


@dataclass(frozen=True, slots=True)
class Spec:
    """One launch, as another process can make it: a kernel of a file with arguments as `--arg` takes them."""

    file: str
    kernel: str
    grid: tuple[int, ...]
    block: tuple[int, ...]
    args: tuple[str, ...] = ()
    shared_bytes: int = 0
    options: tuple[str, ...] = ()

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Spec:
        given: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in json.loads(text).items()}
        return cls(**given)


@dataclass(frozen=True, slots=True)
class Reading:
    """What the hardware counted in one launch. `counters` have gpukit's names; `metrics` is all that ncu said, by its
    own; `seconds` is the launch's time on the GPU, with the caches emptied before."""

    kernel: str
    counters: dict[str, int]
    metrics: dict[str, float]
    seconds: float | None = None


def find() -> str | None:
    """The path of ncu: as the shell finds it, or where CUDA and Nsight Compute put it; None if it is nowhere."""
    found = shutil.which("ncu")
    if found is not None:
        return found
    names = ("ncu.exe", "ncu.bat") if platform.system() == "Windows" else ("ncu",)
    paths = (os.path.join(folder, name) for folder in folders() for name in names)
    return next((path for path in paths if os.access(path, os.X_OK) and os.path.isfile(path)), None)


def folders() -> list[str]:
    """Where else ncu may be, the likeliest first."""
    roots = [os.environ[name] for name in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(name)]
    found = [os.path.join(root, "bin") for root in (*roots, "/usr/local/cuda")]
    newest_first = {
        "Windows": (r"C:\Program Files\NVIDIA Corporation\Nsight Compute *",),
        "Linux": ("/opt/nvidia/nsight-compute/*", "/usr/local/NVIDIA-Nsight-Compute*"),
    }
    for pattern in newest_first.get(platform.system(), ()):
        found += sorted(glob.glob(pattern), reverse=True)
    return found


def advice() -> str:
    """How this user can be allowed to read counters."""
    return ALLOW_ON_WINDOWS if platform.system() == "Windows" else ALLOW


def command(ncu: str, metrics: Sequence[str], log: str, program: Sequence[str]) -> list[str]:
    """The command that reads metrics of what a program launches between CUDA's profilerStart and profilerStop. Clocks
    are left as they are, which no counter but time depends on and needs no permission."""
    return [
        *(ncu, "--clock-control", "none", "--print-units", "base", "--csv", "--profile-from-start", "off"),
        *("--metrics", ",".join(metrics), "--log-file", log, *program),
    ]


def read(spec: Spec) -> Reading:
    """Launch once, in a process of its own under ncu, and read the counters.

    Raises:
        NoCounters: ncu is not there, this user may not read counters, or ncu cannot do it on this GPU.
        GpuError: the launch itself failed.
    """
    ncu = find()
    if ncu is None:
        raise NoCounters(f"Nsight Compute (ncu) is not on this computer: {INSTALL}. {WITHOUT}")
    wanted = [*METRICS.values(), *MORE_METRICS.values(), TIME]
    try:
        return _read(ncu, spec, wanted)
    except _UnknownMetrics as error:
        unknown = {name.removesuffix(".sum") for name in error.names}
        left = [metric for metric in wanted if metric.removesuffix(".sum") not in unknown]
        if len(left) == len(wanted) or not left:
            raise NoCounters(str(error)) from None
        return _read(ncu, spec, left)


class _UnknownMetrics(GpukitError):
    """This ncu, or this GPU, does not have some of the metrics: `names`."""

    def __init__(self, message: str, names: set[str]):
        super().__init__(message)
        self.names = names


def _read(ncu: str, spec: Spec, metrics: Sequence[str]) -> Reading:
    with tempfile.TemporaryDirectory(prefix="gpukit-") as folder:
        log, job, result = (Path(folder) / name for name in ("ncu.csv", "launch.json", "result.json"))
        job.write_text(spec.to_json(), encoding="utf-8")
        program = [sys.executable, "-P", "-m", "gpukit.gpu.child", str(job), str(result)]
        try:
            done = subprocess.run(
                command(ncu, metrics, str(log), program),
                capture_output=True,
                text=True,
                errors="replace",
                timeout=TIMEOUT_SECONDS,
                env=_environment(),
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise NoCounters(f"ncu did not end in {TIMEOUT_SECONDS} seconds: profile a smaller launch") from None
        except OSError as error:
            raise NoCounters(f"ncu does not start ({error.strerror or error}): {INSTALL}") from None
        table = log.read_text(encoding="utf-8", errors="replace") if log.is_file() else ""
        said = "\n".join((table, done.stdout, done.stderr))
        launched = json.loads(result.read_text(encoding="utf-8")) if result.is_file() else {}
    if "ERR_NVGPUCTRPERM" in said:
        raise NoCounters(f"{REFUSED}: {advice()}. {WITHOUT}")
    if launched.get("error"):
        raise GpuError(launched["error"])
    if found := _UNKNOWN_METRIC.search(said):
        names = set(re.findall(r"[a-z]\w+__[\w.]+", found["names"]))
        raise _UnknownMetrics(f"ncu failed: {found[0].strip()}", names)
    readings = parse(table if '"Metric' in table or '"ID"' in table else done.stdout)
    if len(readings) == 1:
        return readings[0]
    if readings:
        raise NoCounters(f"ncu saw {len(readings)} launches where there should be one: {', '.join(_names(readings))}")
    raise NoCounters(f"ncu read no counters{_ncus_own_words(said, done.returncode)}. {WITHOUT}")


def _environment() -> dict[str, str]:
    """This process's, in which the other one finds gpukit too."""
    here = str(Path(__file__).resolve().parents[2])
    paths = [here, *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


def _ncus_own_words(said: str, code: int) -> str:
    lines = [line.strip() for line in said.splitlines() if line.startswith(("==ERROR==", "==WARNING=="))]
    lines.sort(key=lambda line: not line.startswith("==ERROR=="))
    if not lines:
        return f" and ended with code {code}" if code else ""
    return f"; it says: {lines[0].split('== ', 1)[-1].rstrip('.')}"


def _names(readings: Sequence[Reading]) -> list[str]:
    return [reading.kernel for reading in readings]


# --- what it prints --------------------------------------------------------------------------------------------------


def parse(text: str) -> list[Reading]:
    """The launches in what `ncu --csv` printed, in its order: a line for each metric (its page of details), or a line
    for each launch with a column for each metric and the units in the first line (`--page raw`)."""
    lines = [line for line in text.splitlines() if line.startswith('"')]
    rows = list(csv.DictReader(lines))
    if not rows:
        return []
    found = _by_line(rows) if "Metric Name" in rows[0] else _by_column(rows)
    return [_reading(kernel, metrics) for kernel, metrics in found]


Values = dict[str, tuple[float, str]]  # metric -> (value, unit)


def _by_line(rows: Sequence[Mapping[str, str]]) -> list[tuple[str, Values]]:
    launches: dict[int, tuple[str, Values]] = {}
    for row in rows:
        if not row["ID"]:
            continue
        _, metrics = launches.setdefault(int(row["ID"]), (row["Kernel Name"], {}))
        value = _number(row["Metric Value"])
        if value is not None:
            metrics[row["Metric Name"]] = value, row.get("Metric Unit") or ""
    return [launches[number] for number in sorted(launches)]


def _by_column(rows: Sequence[Mapping[str, str]]) -> list[tuple[str, Values]]:
    units: Mapping[str, str] = {}
    if not rows[0].get("ID"):
        units, rows = rows[0], rows[1:]
    launches = []
    for row in rows:
        values = {name: _number(text) for name, text in row.items() if name and "__" in name}
        launches.append(
            (
                row.get("Kernel Name", ""),
                {name: (value, units.get(name, "")) for name, value in values.items() if value is not None},
            )
        )
    return launches


def _number(text: str | None) -> float | None:
    """A number as ncu writes it, "1,234,567" or "1234.5"; None for what it could not read."""
    try:
        return float((text or "").replace(",", ""))
    except ValueError:
        return None


def _reading(kernel: str, values: Values) -> Reading:
    metrics = {name: value for name, (value, _) in values.items()}
    seconds = None
    if TIME in values:
        value, unit = values[TIME]
        seconds = value * _SECONDS.get(unit.strip().lower(), 1e-9)
    return Reading(kernel.split("(")[0], in_our_names(metrics), metrics, seconds)
