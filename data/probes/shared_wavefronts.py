"""The patterns of shared_wavefronts.cu; turns Nsight Compute's CSV into data/results/h200_shared_wavefronts.json.

python shared_wavefronts.py --patterns > patterns.txt      the input of the probe
python shared_wavefronts.py --collect probe.csv            readings as JSON, on standard output
"""

from __future__ import annotations

import argparse
import csv
import json
from collections import defaultdict
from pathlib import Path

import numpy as np

FULL = 0xFFFFFFFF
UNITS = 1024


def patterns() -> list[tuple[str, list[int], int]]:
    """(name, unit of each lane, mask of active lanes); the order is that of the readings."""
    rng = np.random.default_rng(5)
    lane = np.arange(32)
    made: list[tuple[str, list[int], int]] = []

    def add(name: str, unit: np.ndarray, mask: int = FULL) -> None:
        made.append((name, [int(u) % UNITS for u in unit], mask))

    for s in (1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33):
        add(f"stride{s}", lane * s)
    add("same", lane * 0)
    add("reverse", 31 - lane)
    for d in (2, 4, 8, 16):
        add(f"div{d}", lane // d)
        add(f"mod{d}", lane % d)
        for far in (8, 16, 32):
            add(f"div{d}x{far}", lane // d * far)
        for far in (8, 16):
            add(f"mod{d}x{far}", lane % d * far)
    for x in (1, 2, 4, 8, 16):
        add(f"xor{x}", lane ^ x)
    add("pairsum", (lane + 1) // 2)
    add("halves_swap", (lane + 16) % 32)
    add("pair_far", lane // 2 * 3)
    add("two_far", (lane // 16) * 100)
    add("two_alt", (lane % 2) * 100)
    add("two_alt32", (lane % 2) * 32)
    add("quad", (lane % 4) * 32 + (lane // 4))
    for mask in (
        0xFFFF,
        0xFFFF0000,
        0x55555555,
        0x11111111,
        0x00FF00FF,
        0x0F0F0F0F,
        1,
        0x80000001,
        0xFF,
        0xF,
        0x33333333,
    ):
        shapes = {
            "id": lane,
            "same": lane * 0,
            "s8": lane * 8,
            "s16": lane * 16,
            "div2": lane // 2,
            "mod2": lane % 2 * 16,
        }
        for name, unit in shapes.items():
            add(f"m{mask:x}_{name}", unit, mask)
    for k in (2, 3, 4, 6, 8, 12, 16, 24, 32, 64, 128, 1024):
        for r in range(8):
            add(f"rand{k}_{r}", rng.integers(0, k, 32))
        for r in range(2):
            add(f"randmask{k}_{r}", rng.integers(0, k, 32), int(rng.integers(1, 2**32)))
    for r in range(10):
        add(f"randpair_{r}", np.repeat(rng.integers(0, 64, 16), 2))
        add(f"randquad_{r}", np.repeat(rng.integers(0, 64, 8), 4))
        add(f"randhalf_{r}", np.tile(rng.integers(0, 64, 16), 2))
        add(f"randeighth_{r}", np.tile(rng.integers(0, 64, 8), 4))
    return made


def collect(path: Path) -> dict:
    """Readings by pattern: {"unit", "mask", "load": {width: [wavefronts, conflicts]}, "store": {...}}."""
    rows = csv.DictReader(line for line in path.read_text().splitlines() if line.startswith('"'))
    launches: dict[int, dict] = defaultdict(dict)
    for row in rows:
        launches[int(row["ID"])][row["Metric Name"]] = int(row["Metric Value"].replace(",", ""))
        launches[int(row["ID"])]["kernel"] = row["Kernel Name"]
    made = patterns()
    found: dict[str, dict] = {}
    for i in sorted(launches):
        name, unit, mask = made[i // 6]
        launch = launches[i]
        way = "load" if "load" in launch["kernel"] else "store"
        width = launch["kernel"].split("<")[1].split(">")[0]
        entry = found.setdefault(name, {"unit": unit, "mask": mask, "load": {}, "store": {}})
        op = "ld" if way == "load" else "st"
        entry[way][width] = [
            launch[f"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{op}.sum"],
            launch[f"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{op}.sum"],
        ]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--patterns", action="store_true")
    parser.add_argument("--collect", type=Path, metavar="CSV")
    args = parser.parse_args()
    if args.collect:
        print(json.dumps(collect(args.collect)))
    else:
        made = patterns()
        print(len(made))
        for _, unit, mask in made:
            print(mask, *unit)


if __name__ == "__main__":
    main()
