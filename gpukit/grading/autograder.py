"""The autograder of a lab for Gradescope: the zip file that is uploaded there.

It holds setup.sh, run_autograder, gpukit and the lab, and runs in Gradescope's container, on the CPU: there is no GPU,
and the counters need none.
"""

from __future__ import annotations

import io
import json
import shlex
import zipfile
from pathlib import Path

from gpukit import packing
from gpukit.errors import GpukitError
from gpukit.labs.folders import Lab

LEFT_OUT_OF_LABS = ("student.py", "student.cu", "wrong")

_SETUP = """\
#!/usr/bin/env bash
# Builds the image: Python 3.11 or newer (the base image's own may be older), and gpukit with what it needs.
set -euo pipefail
export DEBIAN_FRONTEND=noninteractive
apt-get update
for python in python3.13 python3.12 python3.11; do
    if apt-get install -y "$python" "$python-venv"; then break; fi
done
"$python" -m venv /autograder/venv
/autograder/venv/bin/python -m pip install --no-cache-dir "/autograder/source{extras}"
"""

_RUN = """\
#!/usr/bin/env bash
# Grades one submission. A result is written before anything can go wrong: Gradescope needs one.
root="${{GPUKIT_AUTOGRADER_ROOT:-/autograder}}"
mkdir -p "$root/results"
cat > "$root/results/results.json" <<'END'
{before}
END
work="$(mktemp -d)"
mkdir "$work/submissions"
cp -R "$root/submission" "$work/submissions/student"
cd "$root/source" || exit 1
# The container is thrown away after this submission: that is the wall, whatever others it lacks.
"$root/venv/bin/python" -m gpukit grade "$work/submissions" --lab {lab} --labs labs --out "$work/out" --weak-sandbox
for found in "$work"/out/gradescope/*/results.json; do
    if [ -f "$found" ]; then cp "$found" "$root/results/results.json"; fi
done
"""
_BEFORE = {
    "score": 0,
    "output": "The autograder stopped before it had a result. That says nothing about your work: tell your instructor.",
    "output_format": "text",
    "visibility": "visible",
    "stdout_visibility": "hidden",
    "tests": [],
}


def autograder(lab: Path) -> bytes:
    """The zip file for a lab's folder (labs/NN_topic), which installs the packages that its answers need.

    The lab's solution is in it, since grades are relative to what it needs; its package for gpukit's commands is not.

    Raises:
        GpukitError: there is no such lab, or gpukit does not run from a checkout, which is what the zip installs.
    """
    if not (lab / "test_lab.py").is_file():
        raise GpukitError(f"{lab} is no lab: it has no test_lab.py")
    called = lab.resolve().name
    needed = Lab(lab).extras
    extras = f"[{','.join(needed)}]" if needed else ""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        packing.add(archive, "setup.sh", _SETUP.format(extras=extras).encode(), executable=True)
        run = _RUN.format(before=json.dumps(_BEFORE, indent=1), lab=shlex.quote(called))
        packing.add(archive, "run_autograder", run.encode(), executable=True)
        for name, content in packing.checkout_files():
            packing.add(archive, name, content)
        for path in packing.files_in(lab):
            place = path.relative_to(lab)
            if place.parts[0] not in (*LEFT_OUT_OF_LABS, called.partition("_")[2]):
                packing.add(archive, f"labs/{called}/{place.as_posix()}", path.read_bytes())
    return buffer.getvalue()
