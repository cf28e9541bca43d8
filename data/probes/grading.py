"""How long does a class of made-up submissions take to grade, and does a second run write the same bytes?

From the top of a checkout, with the `test` extra:

    PYTHONPATH=. python data/probes/grading.py 300 > data/results/grading.json

The submissions are those of tests/synthetic_class.py: right, wrong, half done, empty, unreadable and hostile.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

import synthetic_class  # noqa: E402

from gpukit.labs import find_lab  # noqa: E402
from gpukit.provenance import provenance  # noqa: E402

LAB = "05_reduction"
SALT = "leaderboard_salt.txt"


def main(number: int) -> None:
    """What the text at the top says."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        kinds = synthetic_class.make(find_lab(ROOT / "labs", LAB), number, folder / "class")
        first, second = folder / "first", folder / "second"
        seconds = [graded(folder / "class", first)]
        second.mkdir()
        (second / SALT).write_bytes((first / SALT).read_bytes())  # the only thing that chance decides
        seconds.append(graded(folder / "class", second))
        files = sorted(path.relative_to(first) for path in first.rglob("*") if path.is_file())
        same = files == sorted(path.relative_to(second) for path in second.rglob("*") if path.is_file())
        same = same and all((first / path).read_bytes() == (second / path).read_bytes() for path in files)
        records = [json.loads(path.read_text()) for path in sorted((first / "records").glob("*.json"))]
    found = {
        "machine": provenance(f"python data/probes/grading.py {number} > grading.json"),
        "lab": LAB,
        "submissions": len(records),
        "kinds": dict(sorted(Counter(kinds.values()).items())),
        "statuses": dict(sorted(Counter(record["status"] for record in records).items())),
        "points_by_kind": points(kinds, records),
        "seconds": [round(each, 1) for each in seconds],
        "files": len(files),
        "same_bytes": same,
    }
    print(json.dumps(found, indent=1))


def graded(submissions: Path, out: Path) -> float:
    """Seconds of `gpukit grade`, from its start to its end."""
    words = [sys.executable, "-m", "gpukit", "grade", str(submissions), "--lab", LAB, "--out", str(out)]
    began = time.monotonic()
    subprocess.run(words, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - began


def points(kinds: dict[str, str], records: list[dict]) -> dict[str, dict[str, int]]:
    """Kind -> points -> how many got them."""
    got: dict[str, Counter] = {}
    for record in records:
        got.setdefault(kinds[record["student"]], Counter())[f"{record['points']:g}"] += 1
    return {kind: dict(sorted(found.items(), key=lambda pair: float(pair[0]))) for kind, found in sorted(got.items())}


if __name__ == "__main__":
    main(int(sys.argv[1]))
