"""The grader against those who would cheat it or break it: everything in `attacks` is handed in and graded, once.

Each attack says what it deserves and what the record must say about it; the rest is about what must not have happened.
See gpukit/grading/THREAT_MODEL.md.
"""

import csv
import re
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest
from attacks import folders, world

from gpukit.compilers import toolkit
from gpukit.errors import UnsupportedFeature

pytestmark = [
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="walls, links and orphans as Linux has them"),
    pytest.mark.timeout(600),
]
ATTACKS = world.attacks()
LABS = ("05", "01")


@dataclass
class Seen:
    """What came of the class with attackers (`hostile`) and of the same class without (`honest`), by lab."""

    place: world.World
    hostile: dict[str, world.Batch]
    honest: dict[str, world.Batch]
    before: dict
    after: dict
    running: list[str]
    called: bool


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    try:
        toolkit.nvrtc()
    except UnsupportedFeature as error:
        pytest.skip(str(error))
    with world.listening() as (port, called), world.guardian():
        place = world.World(tmp_path_factory.mktemp("class"), port)
        hostile = {lab: place.submissions(lab, hostile=True) for lab in LABS}
        honest = {lab: place.submissions(lab, hostile=False) for lab in LABS}
        watched = [place.labs, place.canary, place.home, place.temporary, *hostile.values(), *honest.values()]
        children = {child.pid for child in world.psutil.Process().children(recursive=True)}
        before = {str(folder): world.state(folder) for folder in watched}
        limit = ("--seconds", str(world.SECONDS))
        graded = {lab: place.grade(folder, lab, *limit) for lab, folder in hostile.items()}
        alone = {lab: place.grade_without_pages(folder, lab) for lab, folder in honest.items()}
        after = {str(folder): world.state(folder) for folder in watched}
        yield Seen(place, graded, alone, before, after, world.left_running(children), called())


def said(record):
    """All that a record tells its student."""
    parts = [record["reason"], *record["submission"]["notes"]]
    for item in record["items"]:
        parts += [item["message"], *(f"{h['kind']}: {h['message']}" for h in item["hazards"]), *item["counters"]]
    return "\n".join(parts)


def outcome(record):
    return f"{record['points']:g} points" if record["status"] == "graded" else record["status"]


def test_there_are_enough_of_them():
    assert len(ATTACKS) >= 150
    assert len({attack.name for attack in ATTACKS}) == len(ATTACKS)


@pytest.mark.parametrize("lab", LABS)
def test_the_batch_comes_to_its_end(seen, lab):
    done = seen.hostile[lab].done
    assert (done.returncode, done.stderr) == (0, "")
    assert "\x1b" not in done.stdout


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_it_gets_what_it_deserves_and_is_named(seen, attack):
    record = seen.hostile[attack.lab].records[seen.place.students[attack.name]]
    assert (outcome(record), record["complete"]) == (attack.deserves, True), said(record)[:3000]
    assert attack.says in said(record)
    assert record["status"] == "graded" or record["points"] == 0


@pytest.mark.parametrize("lab", LABS)
def test_honest_records_are_the_same_with_and_without_attackers(seen, lab):
    honest = seen.honest[lab].records
    assert honest
    for student, record in honest.items():
        assert record["points"] == record["max_points"] > 0
        assert seen.hostile[lab].bytes_of(student) == seen.honest[lab].bytes_of(student)


def test_nothing_was_changed_or_left_behind(seen):
    assert seen.after == seen.before
    for folder in (seen.place.canary, seen.place.home, seen.place.temporary):
        assert not list(folder.iterdir())


def test_outputs_are_where_they_belong(seen):
    made = {path.name for path in seen.place.folder.iterdir()}
    expected = {"labs", "canary", "home", "tmp", "matplotlib"}
    for lab in LABS:
        for kind in ("hostile", "honest"):
            expected |= {f"submissions-{lab}-{kind}", f"out-submissions-{lab}-{kind}"}
    assert made <= expected
    for lab, batch in seen.hostile.items():
        paths = list(batch.out.rglob("*"))
        assert not [path for path in paths if path.is_symlink()]
        assert len(list((batch.out / "records").iterdir())) == len(batch.records)
        attackers = [attack for attack in ATTACKS if attack.lab == lab]
        assert len(batch.records) == len(attackers) + len(seen.honest[lab].records)
        assert len({path.name.casefold() for path in (batch.out / "records").iterdir()}) == len(batch.records)
        assert all(path.name.isascii() and len(path.name) < 80 for path in (batch.out / "records").iterdir())


def test_no_process_is_left(seen):
    assert not seen.running


def test_nobody_was_called(seen):
    assert not seen.called


def outside_of_code(text):
    """Markdown without its fenced blocks and code spans, whose text is shown as it is."""
    kept, fence = [], ""
    for line in text.splitlines():
        marks = re.match(r" {0,3}(`{3,})", line)
        if fence:
            fence = "" if marks and len(marks[1]) >= len(fence) and not line.strip("` ") else fence
        elif marks:
            fence = marks[1]
        else:
            kept.append(re.sub(r"(`+)(?!`).+?(?<!`)\1(?!`)", "", line))
    return "\n".join(kept)


@pytest.mark.parametrize("lab", LABS)
def test_pages_and_tables_show_what_students_write_as_text(seen, lab):
    out = seen.hostile[lab].out
    pages = list(out.rglob("*.html"))
    assert len(pages) > len(ATTACKS) / 5
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert "<script>alert" not in text, page
        assert "\x1b" not in text, page
    for path in out.rglob("*.md"):
        text = path.read_text(encoding="utf-8")
        assert "\x1b" not in text, path
        assert "<script>alert" not in outside_of_code(text), path
    for path in out.rglob("*.csv"):
        with path.open(encoding="utf-8-sig", newline="") as stream:
            cells = [cell for row in csv.reader(stream) for cell in row]
        assert not [cell for cell in cells if cell.startswith(("=", "@", "+", "\t", "\r"))], path


def test_secrets_stay_with_the_instructor(seen):
    """Neither the surroundings nor what lies in the labs' folder is in anything that students get."""
    for batch in seen.hostile.values():
        for record in batch.records.values():
            text = said(record)
            assert "root:x:" not in text
            assert "SECRET_OF_THE_INSTRUCTOR" not in text
            assert str(seen.place.labs) not in text


def test_time_is_kept_and_the_honest_do_not_pay(seen, tmp_path):
    """Three seconds for each: what takes longer is ended with all that it started, and the next one is graded."""
    root = tmp_path / "late"
    root.mkdir()
    endless = (Path(world.HERE) / "host" / "endless.py").read_text()
    folders.submit(root, "a_endless", endless)
    folders.submit(
        root, "b_quick", "WARPS_IN_A_BLOCK = 8\nTHREADS_LAUNCHED = 256_000\nIDLE_THREADS = 124\nIDLE_WARPS = 3\n"
    )
    with world.guardian():
        children = {child.pid for child in world.psutil.Process().children(recursive=True)}
        batch = seen.place.grade(root, "01", "--seconds", "3", "--jobs", "1")
        running = world.left_running(children)
    assert batch.done.returncode == 0, batch.done.stderr
    late, quick = batch.records["a_endless"], batch.records["b_quick"]
    assert (late["status"], late["points"]) == ("stopped", 0)
    assert "took longer than 3 s" in late["reason"]
    assert quick["status"] == "graded" and quick["points"] > 0
    assert not running


def test_modules_in_the_folder_where_one_stands_are_not_imported(seen, tmp_path):
    """Submissions that are called like modules, and an instructor who grades in their folder."""
    root = tmp_path / "here"
    root.mkdir()
    (root / "honest.py").write_bytes((seen.place.labs / "01_execution" / "solution.py").read_bytes())
    modules = ("json", "numpy", "hashlib", "typing", "click", "rich", "scipy", "matplotlib", "ctypes", "tempfile")
    for name in (*modules, "torch", "sitecustomize", "usercustomize", "conftest"):
        (root / f"{name}.py").write_text(f"open({str(seen.place.canary / name)!r}, 'w').close()\n")
    batch = seen.place.grade(root, "01", here=root)
    assert (batch.done.returncode, batch.done.stderr) == (0, "")
    assert not list(seen.place.canary.iterdir())
    assert not (root / "__pycache__").exists()
    assert batch.records["honest"]["points"] == batch.records["honest"]["max_points"]
    assert {batch.records[name]["status"] for name in modules} == {"refused"}


def test_every_kind_of_end_was_seen(seen):
    """The suite would say little if all were refused at the door."""
    seen_ends = Counter(record["status"] for batch in seen.hostile.values() for record in batch.records.values())
    assert min(seen_ends[status] for status in ("graded", "refused", "unreadable", "missing")) >= 8
