"""Records of a class as a grading run leaves them: every status, and names and files that are hard on every format."""

import hashlib
from collections.abc import Sequence

import numpy as np

from gpukit.grading.record import (
    AT_LEAST,
    FAILED,
    GRADED,
    MISSING,
    NOT_STARTED,
    PASSED,
    REFUSED,
    STOPPED,
    UNREADABLE,
    Cost,
    HazardFound,
    Item,
    Record,
    Submission,
)

LAB = "05_reduction"
ENVIRONMENT = {"gpukit": "0.1.0", "python": "3.11.9", "numpy": "2.4.6"}

# Names that break files, tables, mark-up, spreadsheets or file systems that are not careful.
HARD_NAMES = (
    '=cmd|"/C calc"!A0',
    "+49 170 1234567",
    "@SUM(A1:A9)",
    "Müller, Jürgen",
    "Mu\u0308ller, Ju\u0308rgen",  # the same on paper, other bytes
    'Ann "Q" O\'Hara',
    "../../etc/passwd",
    "CON",
    "ada",
    "Ada",
    "<script>alert(1)</script>",
    "李小龍 🐉",
    "two\nlines",
    "pipe | `tick` [link](http://example.org) **bold**",
    "\u202egnitirw",
    "x" * 300,
)

SOURCE = '''"""Lab 5: the product of all elements, and the largest element of a block."""

from gpukit import cuda
import numpy as np

BLOCK = 128
STEPS = 7  # TODO 5.1


@cuda.jit
def product(x, partial):
    """Multiply the elements of each block; one result per block."""
    s = cuda.shared.array(BLOCK, np.float32)
    tid = cuda.threadIdx.x
    i = cuda.grid(1)
    s[tid] = x[i] if i < x.size else 1
    step = BLOCK // 2
    while step > 0:
        if tid < step:
            s[tid] *= s[tid + step]
        step //= 2
    if tid == 0:
        partial[cuda.blockIdx.x] = s[0]


@cuda.jit
def largest(x, out):
    """The largest element of the whole array."""
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.max(out, 0, x[i])
'''
RACE = next(n for n, line in enumerate(SOURCE.splitlines(), 1) if "s[tid + step]" in line)
STAGE = next(n for n, line in enumerate(SOURCE.splitlines(), 1) if "x[i] if" in line)
ATOMIC = next(n for n, line in enumerate(SOURCE.splitlines(), 1) if "atomic.max" in line)

TITLES = {
    "5.1": "predict how many steps the tree takes",
    "5.2": "multiply, then fold the upper half onto the lower half",
    "5.3": "the largest element, with one atomic a block",
    "5.10": "the same with warp shuffles",
}
HINTS = {
    "5.1": "How often can 128 be halved?",
    "5.2": "Who has to be done before thread 0 reads its partner's value?",
    "5.3": "How many threads of a warp need the address at the same time?",
    "5.10": "Which lanes still hold something after the first shuffle?",
}
TESTS = (
    ("test_5_1_steps", "5.1", 1.0),
    ("test_5_2_right", "5.2", 2.0),
    ("test_5_2_cost", "5.2", 1.5),
    ("test_5_3_right", "5.3", 2.0),
    ("test_5_3_cost", "5.3", 1.5),
    ("test_5_10_cost", "5.10", 2.0),
)
RACE_FOUND = HazardFound(
    "race_shared",
    "error",
    RACE,
    f"line {RACE}: thread 0 reads s[32] that thread 32 writes, and no barrier stands between them",
)
RACE_MESSAGE = (
    "product[8, 128](x, partial) has a hazard\n"
    f"  {RACE_FOUND.message}\n"
    "  n = 1000: the last block is partly filled\n"
    "see it: gpukit check labs/05_reduction/student.py:product"
)


def item(test: str, status: str = PASSED, message: str = "", **more) -> Item:
    """One test's item with the points that go with its status."""
    task, most = next((task, most) for name, task, most in TESTS if name == test)
    text = message or {PASSED: "", FAILED: "expected 24, got 12", NOT_STARTED: f"TODO {task}: {TITLES[task]}"}[status]
    points = most if status == PASSED else 0.0
    return Item(test, task, TITLES[task], points, most, status, text, HINTS[task], **more)


def costs(factor: float, allowed: float = 1.0) -> dict[str, Cost]:
    """Counters of a cost test at so many times the reference's."""
    return {
        "global_load_sectors": Cost(int(1024 * factor), int(1024 * allowed), 1024),
        "shared_load_bank_conflicts": Cost(max(0, int(96 * (factor - 1))), 0, 0),
        "active_lanes_per_instruction": Cost(min(32.0, round(28.5 / factor, 2)), 25.0, 28.5, AT_LEAST),
    }


def lines(factor: float, first: int) -> dict[int, dict[str, float]]:
    return {
        first: {
            "global_load_requests": 256,
            "global_load_sectors": int(1024 * factor),
            "warp_instructions": 512,
            "active_lanes": 32.0,
        },
        first + 4: {
            "branches": 224,
            "divergent_branches": 160,
            "shared_load_requests": 480,
            "warp_instructions": 960,
            "active_lanes": round(16 / factor, 2),
        },
    }


def record(student: str, items: Sequence[Item] = (), source: str = SOURCE, **more) -> Record:
    """A graded record, or what `more` makes of it."""
    file = "student.cu" if more.get("language") == "CUDA C++" else "student.py"
    folder = hashlib.sha256(student.encode()).hexdigest()[:6]
    submission = Submission(
        f"{folder}/{file}",
        more.pop("language", "Python"),
        hashlib.sha256(source.encode()).hexdigest(),
        tuple(more.pop("notes", ())),
    )
    status = more.pop("status", GRADED)
    if status == MISSING:
        submission, source = Submission(), ""
    values = {
        "lab": LAB,
        "student": student,
        "submission": submission,
        "status": status,
        "reason": "",
        "seed": 123456,
        "points": sum(i.points for i in items),
        "max_points": 10.0,
        "items": tuple(items),
        "source": source,
        "environment": ENVIRONMENT,
        "complete": True,
    }
    return Record(**{**values, **more})


def everything_right(student: str, factor: float = 1.0, source: str = SOURCE) -> Record:
    """All tests passed, or merely too costly."""
    state = PASSED if factor <= 1 else FAILED
    message = "" if factor <= 1 else f"global_load_sectors is {int(1024 * factor):,}, at most 1,024 are allowed"
    return record(
        student,
        [
            item("test_5_1_steps"),
            item("test_5_2_right"),
            item("test_5_2_cost", state, message, counters=costs(factor), lines=lines(factor, STAGE), line=STAGE),
            item("test_5_3_right"),
            item("test_5_3_cost", counters={"global_atomics": Cost(8, 8, 8)}),
            item("test_5_10_cost", counters={"warp_instructions": Cost(int(900 * factor**0.5), 1800, 900)}),
        ],
        source,
    )


def racing(student: str, source: str = SOURCE) -> Record:
    """A missing barrier in task 5.2, an atomic per thread in 5.3, 5.10 not begun."""
    found = (RACE_FOUND,)
    contention = HazardFound("atomic_contention", "note", ATOMIC, "32 lanes of a warp update one address")
    atomics = {"global_atomics": Cost(256, 8, 8)}
    message = "global_atomics is 256, at most 8 are allowed"
    return record(
        student,
        [
            item("test_5_1_steps", FAILED, "STEPS = 6 is not what the machine counts\nsee it: gpukit profile ..."),
            item("test_5_2_right", FAILED, RACE_MESSAGE, hazards=found, line=RACE, lines=lines(1, STAGE)),
            item("test_5_2_cost", FAILED, "wrong answer: partial[0] is 12, expected 24", hazards=found, line=RACE),
            item("test_5_3_right"),
            item("test_5_3_cost", FAILED, message, counters=atomics, hazards=(contention,), line=ATOMIC),
            item("test_5_10_cost", NOT_STARTED),
        ],
        source,
        notes=["two files: student.py is graded, old.py is not"],
    )


def not_begun(student: str) -> Record:
    """The skeleton as it was handed out."""
    skeleton = SOURCE.split("    s = cuda", 1)[0] + '    raise NotImplementedError("TODO 5.2: multiply")\n'
    return record(student, [item(test, NOT_STARTED) for test, _, _ in TESTS], skeleton)


def all_failed(reason: str) -> list[Item]:
    """What the grader makes of the tests of a submission that it could not grade."""
    return [item(test, FAILED, reason) for test, _, _ in TESTS]


def refused(student: str) -> Record:
    source = "import os\nos.system('rm -rf /')\n"
    reason = "student.py:1: os is not among the modules that a kernel file may import; remove the line."
    return record(student, all_failed(reason), source, status=REFUSED, reason=reason)


def stopped(student: str) -> Record:
    reason = "The kernel did not end within 10 s; look at its loops."
    return record(student, all_failed(reason), status=STOPPED, reason=reason)


def unreadable(student: str) -> Record:
    reason = "student.py is not UTF-8 text (byte 0xff at 0)."
    return record(student, all_failed(reason), "", status=UNREADABLE, reason=reason)


def missing(student: str) -> Record:
    return record(student, status=MISSING, reason="There is no student.py in the folder.")


def interrupted(student: str) -> Record:
    return record(student, [item("test_5_1_steps")], complete=False, max_points=1.0)


def renamed(source: str) -> str:
    """The same program with other names and comments."""
    return source.replace("tid", "me").replace("step", "half").replace("  # TODO 5.1", "") + "\n# all mine\n"


def hostile() -> Record:
    """Everything a student can write is an attack on whoever shows it."""
    attack = (
        "</td></tr></table><script>alert(1)</script>\"'><img src=http://example.org/x onerror=alert(2)>"
        "]]> --> ``` | \x00\x1b[31m \u202e \ufffe & &amp;"
    )
    found = HazardFound(attack, "error", 2, attack)
    bad = Item(
        f"test_5_1_steps {attack}",
        "5.1",
        attack,
        0.0,
        1.0,
        FAILED,
        attack + "\n" + attack,
        attack,
        2,
        (found,),
        {attack: Cost(3, 2, 1)},
        {2: {attack: 3, "active_lanes": 1.5}},
    )
    rest = [item(test, NOT_STARTED) for test, _, _ in TESTS[1:]]
    return record(attack, [bad, *rest], f"x = 1\n{attack}\n```\n", notes=[attack], environment={"gpukit": attack})


def classroom(size: int = 30) -> list[Record]:
    """A class: hard names first, then ordinary ones, with every status in it."""
    rng = np.random.default_rng(5)
    names = [*HARD_NAMES, *(f"student{number:02d}" for number in range(size))]
    found = [refused(names[0]), stopped(names[1]), unreadable(names[2]), missing(names[3]), interrupted(names[4])]
    found += [not_begun(names[5]), not_begun(names[6]), hostile(), racing(names[7])]
    found += [racing(names[8], renamed(SOURCE)), everything_right(names[9]), everything_right(names[10], 4.0)]
    for number, name in enumerate(names[11:]):
        own = SOURCE.replace("BLOCK // 2", f"BLOCK // 2 + {number} * 0")
        kind = rng.integers(0, 10)
        if kind < 4:
            found.append(racing(name, own))
        elif kind < 5:
            found.append(not_begun(name))
        else:
            found.append(everything_right(name, float(rng.choice([0.5, 1, 1, 1, 1.5, 2, 4, 32])), own))
    return found
