"""Which files of gpukit travel in the page: what `gpukit.profile` and `print(report)` need for kernels in Python."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import gpukit
from gpukit.resources import data_file
from gpukit.slides.errors import SlidesError

PACKAGE = Path(gpukit.__file__).parent
# Modules and rooms of gpukit. PTX has no place here, since there is no compiler; nor has the view for notebooks.
TAKEN = (
    *("__init__.py", "cuda", "errors.py", "gpus.py", "launching.py", "levels.py", "machine", "occupancy.py", "report"),
    *("resources.py", "slides/live/running.py", "tracing.py", "warp.py"),
)
LEFT_OUT = ("machine/frontends/ptx", "report/html.py")
DATA = ("gpus.toml",)

# What a report prints itself with: which modules of these packages that takes depends on their versions.
PRINTERS = ("rich", "pygments")
_PRINT_A_REPORT = """
import sys, numpy, gpukit
from gpukit import cuda
@cuda.jit
def kernel(x):
    # a comment
    x[cuda.grid(1)] = 1.5
str(gpukit.profile(kernel, 1, 32, numpy.zeros(32, numpy.float32)))
for name, module in sorted(sys.modules.items()):
    if name.partition(".")[0] in %r and getattr(module, "__file__", None):
        print(name, module.__file__, sep="|")
"""


def files() -> dict[str, bytes]:
    """Path in the page's site folder -> contents, sorted by path. Raises SlidesError."""
    found: dict[str, bytes] = {}
    for name in TAKEN:
        path = PACKAGE / name
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            inside = file.relative_to(PACKAGE).as_posix()
            if not any(inside == left or inside.startswith(f"{left}/") for left in LEFT_OUT):
                found[f"gpukit/{inside}"] = file.read_bytes()
    for name in DATA:
        found[f"gpukit/data/{name}"] = data_file(name).read_bytes()
    for name, file in printers().items():
        parts = name.split(".")
        package = file.name == "__init__.py"
        found["/".join([*parts, "__init__.py"] if package else [*parts[:-1], f"{parts[-1]}.py"])] = file.read_bytes()
    return dict(sorted(found.items()))


@functools.cache
def printers() -> dict[str, Path]:
    """Modules of PRINTERS that are loaded when a report is printed, and their files. Raises SlidesError."""
    program = _PRINT_A_REPORT % (PRINTERS,)
    env = {**os.environ, "PYTHONPATH": str(PACKAGE.parent)}
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "prints.py"  # a kernel's source is read from its file
        script.write_text(program, encoding="utf-8")
        done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, env=env)
    if done.returncode:
        raise SlidesError(f"a report cannot be printed here, so the page cannot be made: {done.stderr.strip()[-300:]}")
    pairs = (line.split("|") for line in done.stdout.splitlines() if "|" in line)
    return {name: Path(file) for name, file in pairs if file.endswith(".py")}
