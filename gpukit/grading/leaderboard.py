"""The leaderboard of a class: who needs the fewest sectors, wavefronts, barriers, under names that only they know.

Only submissions without a wrong answer are on it. They are ordered by the geometric mean of their counters over the
reference solution's (1.0: as good as the reference), test by test.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, log

from gpukit.grading import markdown, wording
from gpukit.grading.record import FAILED, NOT_STARTED, Cost, Record
from gpukit.grading.tables import csv_bytes

_ADJECTIVES = (
    "agile amber ample azure bold brave brief bright brisk calm civil clear clever cosmic crisp deft eager early "
    "fair fleet fond frank fresh gentle glad golden grand green happy hardy humble jolly keen kind lively loyal "
    "lucid lunar mellow merry mild modest neat nimble noble polite proud quick quiet rapid regal royal serene "
    "sharp silver solar solid steady sunny swift tidy vivid warm witty"
)
ADJECTIVES = _ADJECTIVES.split()
_ANIMALS = (
    "badger beaver bison bobcat camel cheetah condor cougar crane cricket dingo dolphin eagle egret elk falcon "
    "ferret finch fox gazelle gecko gibbon hare heron hornet ibex iguana jackal jaguar kestrel koala lemur "
    "leopard lion llama lynx magpie marmot marten moose newt ocelot octopus orca osprey otter owl panda panther "
    "pelican penguin pika puffin quail raven robin salmon seal stork swan tapir tiger toucan walrus"
)
ANIMALS = _ANIMALS.split()


@dataclass(frozen=True, slots=True)
class Place:
    """A line of a board: `mean` is the geometric mean of the counters' ratios; equals share a rank."""

    rank: int
    name: str
    mean: float
    counters: Mapping[str, Cost]


@dataclass(frozen=True, slots=True)
class Board:
    """The order of a cost test."""

    test: str
    task: str
    title: str
    places: tuple[Place, ...]


def is_right(record: Record) -> bool:
    """Whether nothing in it is wrong: every test passed, or measured a cost that was merely too high. A test measures
    only after answers and hazards were in order."""
    if not record.graded or not record.items:
        return False
    for item in record.items:
        errors = any(hazard.severity == "error" for hazard in item.hazards)
        if item.status == NOT_STARTED or errors or (item.status == FAILED and not item.counters):
            return False
    return True


def pseudonym(student: str, salt: bytes) -> str:
    """A name for the class to see, e.g. "amber-falcon-042". Whoever does not know the salt cannot tell whose it is, not
    even by trying all names of the class."""
    digest = int.from_bytes(hmac.new(salt, student.encode(), hashlib.sha256).digest())
    digest, adjective = divmod(digest, len(ADJECTIVES))
    digest, animal = divmod(digest, len(ANIMALS))
    return f"{ADJECTIVES[adjective]}-{ANIMALS[animal]}-{digest % 1000:03d}"


def pseudonyms(records: Sequence[Record], salt: bytes) -> dict[str, str]:
    """Student -> name. Should two get the same, both are told apart by more digits."""
    names = {record.student: pseudonym(record.student, salt) for record in records}
    taken = list(names.values())
    for student, name in names.items():
        if taken.count(name) > 1:
            names[student] = f"{name}-{hmac.new(salt, student.encode(), hashlib.sha256).hexdigest()[-8:]}"
    return names


def boards(records: Sequence[Record], salt: bytes) -> list[Board]:
    """A board per cost test, in the order of the tasks; tests that nobody may stand on are left out."""
    names = pseudonyms(records, salt)
    rows: dict[tuple[str, str], list[tuple[float, str, Mapping[str, Cost]]]] = {}
    titles = {}
    for record in filter(is_right, records):
        for item in record.items:
            if item.counters:
                key = (item.task, item.test)
                titles[key] = item.title
                rows.setdefault(key, []).append((_mean(item.counters), names[record.student], item.counters))
    found = []
    for task, test in sorted(rows, key=lambda key: (wording.task_order(key[0]), key[1])):
        order = sorted(rows[task, test], key=lambda row: row[:2])
        means = [mean for mean, _, _ in order]
        places = tuple(Place(means.index(mean) + 1, name, mean, counters) for mean, name, counters in order)
        found.append(Board(test, task, titles[task, test], places))
    return found


def _mean(counters: Mapping[str, Cost]) -> float:
    """Geometric mean of the ratios, rounded, so that equals are equal."""
    return round(exp(sum(log(max(cost.ratio, 1e-12)) for cost in counters.values()) / len(counters)), 4)


def to_markdown(found: Sequence[Board], title: str) -> str:
    """The boards for the class."""
    parts = [
        f"# {markdown.text(title)}: leaderboard",
        "Submissions without a wrong answer, by what they cost: the geometric mean of each counter over the reference "
        "solution's. 1.00 is as good as the reference, 2.00 twice as costly; where one of the two is 0, both count one "
        "more. Your name here is on your feedback.",
    ]
    if not found:
        parts.append("Nobody is on it yet: it needs a submission in which every answer is right.")
    for board in found:
        counters = board.places[0].counters
        rows = [
            [
                place.name,
                str(place.rank),
                f"{place.mean:.2f}",
                *(wording.number(place.counters[name].got) if name in place.counters else "" for name in counters),
            ]
            for place in board.places
        ]
        rows.append(["*reference*", "", "1.00", *(wording.number(cost.reference) for cost in counters.values())])
        header = ["name", "rank", "mean", *map(wording.counter, counters)]
        heading = markdown.text(f"{board.task} {board.title}")
        parts += [f"## {heading}", markdown.table(header, rows, right=len(header) - 1)]
    return "\n\n".join(parts) + "\n"


def to_csv(found: Sequence[Board]) -> bytes:
    """The boards for a program: a row per place and counter."""
    rows: list[list[str | int | float]] = [
        ["task", "test", "rank", "name", "mean", "counter", "got", "allowed", "reference", "way"]
    ]
    for board in found:
        for place in board.places:
            for name, cost in place.counters.items():
                head: list[str | int | float] = [board.task, board.test, place.rank, place.name, f"{place.mean:.4f}"]
                rows.append([*head, name, cost.got, cost.allowed, cost.reference, cost.way])
    return csv_bytes(rows)
