"""Help with a task: its tests' questions, one more each time it is asked for, and then where to read on."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gpukit.errors import GpukitError
from gpukit.labs.folders import Lab
from gpukit.registry import nearest
from gpukit.report.layout import near_path

FORMAT = "gpukit-progress/1"


def state_file(root: Path) -> Path:
    """Where it is kept how many hints were given: beside the folder of the labs."""
    return root.parent / ".gpukit" / "progress.json"


def hints(lab: Lab, task: str) -> list[str]:
    """The hints of a task's tests, in their order, each once."""
    return list(dict.fromkeys(test.hint for test in lab.tests if test.task == task and test.hint))


def place(lab: Lab, task: str) -> str:
    """Where the README says what the task is about: labs/05_reduction/README.md:31."""
    lines = lab.readme.splitlines()
    number = next((i for i, line in enumerate(lines, 1) if line.startswith(f"* **{task}** ")), 0)
    file = near_path(str(lab.path / "README.md"))
    return f"{file}:{number}" if number else file


def find_task(lab: Lab, name: str) -> str:
    """ "5.2" from "5.2" or "2". Raises GpukitError, naming the tasks there are."""
    known = list(lab.tasks)
    number = known[0].partition(".")[0] if known else ""
    for task in (name, f"{number}.{name}"):
        if task in known:
            return task
    raise GpukitError(f"{lab.name} has no task {name!r}{nearest(name, known)}; it has: {', '.join(known)}")


@dataclass
class Asked:
    """How many hints of each task a student has seen: lab -> task -> number."""

    counts: dict[str, dict[str, int]] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> Asked:
        """What a state file says; a file that is missing or damaged says that nothing was asked."""
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
            return cls(_counts(found["hints"])) if found["format"] == FORMAT else cls()
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return cls()

    def to_text(self) -> str:
        return json.dumps({"format": FORMAT, "hints": self.counts}, indent=1, sort_keys=True) + "\n"

    def seen(self, lab: Lab, task: str) -> int:
        return self.counts.get(lab.name, {}).get(task, 0)

    def ask(self, lab: Lab, task: str) -> str:
        """The next hint as text, and remember that it was given. Never the solution."""
        known = hints(lab, task)
        seen = self.seen(lab, task)
        self.counts.setdefault(lab.name, {})[task] = min(seen + 1, len(known) + 1)
        if seen < len(known):
            more = f" {seen + 1} of {len(known)}" if len(known) > 1 else ""
            return f"hint{more}: {known[seen]}"
        said = "that was the last hint" if known else "this task has no hint"
        return f"{said}; read {place(lab, task)}, and what comes before it: {lab.tasks[task]}"


def _counts(found: Any) -> dict[str, dict[str, int]]:
    return {
        str(lab): {str(task): int(n) for task, n in tasks.items() if isinstance(n, int) and n >= 0}
        for lab, tasks in found.items()
    }
