"""`PYTHONPATH=tests python -m numba_suite [MODULE...]`: run the suite and print what passed and what did not."""

from __future__ import annotations

import argparse
import json
from collections import Counter

from numba_suite import runner


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m numba_suite", description=__doc__)
    parser.add_argument("modules", nargs="*", help="such as test_atomics; all by default")
    parser.add_argument("--json", help="write every outcome to this file")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--raise-floor", action="store_true", help="record what passes now (with all modules only)")
    options = parser.parse_args()
    outcomes = runner.run(options.modules, options.processes)
    if options.raise_floor and not options.modules:
        runner.raise_floor(outcomes)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as out:
            json.dump({name: vars(outcome) for name, outcome in sorted(outcomes.items())}, out, indent=1)
    yardstick, expected = set(runner.names("yardstick.txt")), runner.expected_failures()
    for name, outcome in sorted(outcomes.items()):
        if outcome.status in (runner.FAIL, runner.LOST):
            mark = "" if name in yardstick else " (beyond the simulator)"
            known = " (expected)" if name in expected else ""
            print(f"{outcome.status} {name}{mark}{known}: {outcome.reason[:300]}")
    for module, counts in sorted(_by_module(outcomes).items()):
        print(f"{module:40} {', '.join(f'{n} {status}' for status, n in sorted(counts.items()))}")
    counted = runner.summary(outcomes)
    print(
        f"{counted['yardstick']} of {counted['yardstick_total']} tests that run in numba's simulator pass; "
        f"{counted['beyond']} pass that it has to skip, {counted['warp_ops']} of them warp operations"
    )
    return 0


def _by_module(outcomes: dict[str, runner.Outcome]) -> dict[str, Counter]:
    counts: dict[str, Counter] = {}
    for name, outcome in outcomes.items():
        counts.setdefault(name.split(".")[0], Counter())[outcome.status] += 1
    return counts


if __name__ == "__main__":
    raise SystemExit(main())
