"""The labs on a GPU: does every solution pass its tests there, and how long do its larger launches take?

On a machine with an NVIDIA GPU, CuPy and numba-cuda, from the top of a checkout:

    PYTHONPATH=. python data/probes/labs.py > data/results/h200_labs.json

The answer that is tested is the solution itself, so the two times of a launch say how far such times can be trusted:
their ratio would be 1 if nothing else were on them.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from gpukit import devices
from gpukit.labs import answers, find_labs, running
from gpukit.labs.session import GPU, Session
from gpukit.provenance import provenance
from gpukit.timing import Timing

ROOT = Path(__file__).resolve().parents[2] / "labs"
SEED = 2007
TIME = "time_"


def timed(timing: Timing | None) -> dict[str, Any] | None:
    """Seconds: the median and the quartiles, of how many repeats."""
    if timing is None:
        return None
    return {
        "median_s": timing.median,
        "quartiles_s": timing.quartiles,
        "repeats": timing.n,
        "gb_s": timing.bandwidth_gb_s,
    }


def main() -> None:
    """What the text at the top says."""
    gpu = devices.device("gpu")
    tests: list[dict[str, Any]] = []
    times: list[dict[str, Any]] = []
    for lab in find_labs(ROOT):
        for language in lab.languages:
            with (
                answers.answer(lab, answers.SOLUTION, language) as answer,
                running.reference_for(lab, language) as reference,
            ):
                for test in lab.tests:
                    outcome = running.run_test(lab, test, answer, reference, SEED, GPU)
                    why = str(outcome.finding) if outcome.finding else ""
                    tests.append(
                        {"lab": lab.name, "language": language, "test": test.name, "status": outcome.status, "why": why}
                    )
                for name in [name for name in vars(lab.module) if name.startswith(TIME)]:
                    session = Session(lab, answer, reference, name, SEED, GPU)
                    getattr(lab.module, name)(session)
                    times += [
                        {
                            "lab": lab.name,
                            "language": language,
                            "time": found.test,
                            "call": found.call,
                            "answer": timed(found.answer),
                            "reference": timed(found.reference),
                            "said": str(found),
                        }
                        for found in session.times
                    ]
        print(lab.name, file=sys.stderr)
    machine = provenance("python data/probes/labs.py > h200_labs.json", gpu)
    print(json.dumps({"machine": machine, "seed": SEED, "tests": tests, "times": times}, indent=1))


if __name__ == "__main__":
    main()
