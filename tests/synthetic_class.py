"""A class of made-up submissions of a lab: right, wrong, half done, empty, unreadable and hostile, in a course's mix.

    python tests/synthetic_class.py 05_reduction 300 DIR

makes the folder that `gpukit grade DIR --lab 05_reduction --out OUT` takes. The same number gives the same files.
"""

from __future__ import annotations

import random
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

from gpukit.labs import overlay, regions
from gpukit.labs.folders import Lab, find_lab
from gpukit.labs.regions import CPP, PYTHON, SUFFIXES

ROOT = Path(__file__).resolve().parents[1]
ATTACKS = Path(__file__).with_name("attacks")
Maker = Callable[[Lab, random.Random, Path], None]


def right(lab: Lab, rng: random.Random, folder: Path) -> None:
    """The solution; now and then in CUDA C++, where the lab takes that."""
    language = CPP if CPP in lab.languages and rng.random() < 0.2 else PYTHON
    put(folder, language, lab.solution(language) + f"\n{regions.COMMENT[language]} {rng.random()}\n")


def wrong(lab: Lab, rng: random.Random, folder: Path) -> None:
    """One of the lab's known wrong answers."""
    path = rng.choice(sorted(lab.wrong.values()))
    language = regions.language_of(path.name)
    put(folder, language, overlay.laid_over(path, lab.solution(language)).text)


def half_done(lab: Lab, rng: random.Random, folder: Path) -> None:
    """The first tasks solved, the others with their holes."""
    text, done = lab.solution(), rng.randrange(1, len(lab.tasks))
    solved = set(list(lab.tasks)[:done])
    lines = text.splitlines()
    for region in reversed(regions.regions(text, "solution.py")):
        if region.task in solved:  # its lines stay, without their tags
            del lines[region.last], lines[region.first - 2]
    text = regions.skeleton("\n".join(lines), "solution.py")
    put(folder, PYTHON, text)


def untouched(lab: Lab, rng: random.Random, folder: Path) -> None:
    """The student's file as it was given out."""
    put(folder, PYTHON, regions.skeleton(lab.solution(), "solution.py"))


def empty(lab: Lab, rng: random.Random, folder: Path) -> None:
    """A folder without a file, or an empty file."""
    folder.mkdir(parents=True)
    if rng.random() < 0.5:
        (folder / "student.py").touch()


def unreadable(lab: Lab, rng: random.Random, folder: Path) -> None:
    """Bytes that are no text, or half a program."""
    folder.mkdir(parents=True)
    if rng.random() < 0.5:
        (folder / "student.py").write_bytes(rng.randbytes(2000))
    else:
        text = lab.solution()
        (folder / "student.py").write_text(text[: rng.randrange(len(text) // 2, len(text))], encoding="utf-8")


def hostile(lab: Lab, rng: random.Random, folder: Path) -> None:
    """One of the attacks."""
    folder.mkdir(parents=True)
    kinds = [
        p for p in sorted(ATTACKS.glob("*/*")) if p.suffix in SUFFIXES.values() and p.parent.name in ("python", "cpp")
    ]
    path = rng.choice([p for p in kinds if regions.language_of(p.name) in lab.languages])
    shutil.copyfile(path, folder / f"student{path.suffix}")


def put(folder: Path, language: str, text: str) -> None:
    folder.mkdir(parents=True)
    (folder / f"student{SUFFIXES[language]}").write_text(text, encoding="utf-8")


# Of a hundred students.
SHARES: tuple[tuple[Maker, int], ...] = (
    (right, 45),
    (wrong, 25),
    (half_done, 15),
    (untouched, 3),
    (empty, 2),
    (unreadable, 3),
    (hostile, 7),
)


def make(lab: Lab, number: int, to: Path) -> dict[str, str]:
    """Write `number` submissions into the folder `to`; student -> kind ("right", "wrong", ...)."""
    rng = random.Random(number)
    makers = [maker for maker, share in SHARES for _ in range(share)]
    kinds = {}
    for i in range(number):
        maker = makers[i * 37 % 100]  # all kinds from the first on, each in its share
        student = f"student_{i:03}"
        maker(lab, rng, to / student)
        kinds[student] = maker.__name__
    return kinds


if __name__ == "__main__":
    name, count, target = sys.argv[1:]
    print(make(find_lab(ROOT / "labs", name), int(count), Path(target)))
