"""One launch in a process of its own, for ncu to watch: `python -m gpukit.gpu.child LAUNCH.json RESULT.json`.

Everything is made ready before CUDA's profiler is started, so that the launch is all that ncu sees. RESULT.json holds
what went wrong, {"error": sentence}, or {"error": ""}.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from gpukit.errors import GpukitError
from gpukit.gpu.ncu import Spec


def launch_once(spec: Spec) -> None:
    """Launch the kernel and wait for it. Raises GpukitError for whatever is wrong with it."""
    import gpukit
    from gpukit import targets
    from gpukit.gpu import Gpu
    from gpukit.gpu.errors import explaining
    from gpukit.gpu.libraries import cupy

    gpu = Gpu()
    target = targets.find(spec.file, spec.kernel, spec.options)
    values = target.values(spec.args)
    runtime = cupy().cuda.runtime
    with explaining(f"the kernel `{spec.kernel}`", cupy=gpu.xp):
        gpu.synchronize()
        runtime.profilerStart()
        try:
            gpukit.launch(target.kernel, spec.grid, spec.block, *values, shared_bytes=spec.shared_bytes, machine="gpu")
            gpu.synchronize()
        finally:
            runtime.profilerStop()


def main(argv: Sequence[str]) -> int:
    """The exit code: 0 if the launch went well."""
    job, result = map(Path, argv)
    error = ""
    try:
        launch_once(Spec.from_json(job.read_text(encoding="utf-8")))
    except GpukitError as problem:
        error = str(problem)
    except Exception as problem:  # the process that started this one must hear of it
        error = f"the launch failed: {type(problem).__name__}: {problem}"
    result.write_text(json.dumps({"error": error}), encoding="utf-8")
    return 1 if error else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
