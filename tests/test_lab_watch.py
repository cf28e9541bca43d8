"""`gpukit watch`, `gpukit hint`, `gpukit reset`: what they say, and what they leave of a student's work."""

import json
import os
import re
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import pytest
from lab_fixtures import write_lab, write_labs

from gpukit.cli import main
from gpukit.errors import GpukitError
from gpukit.labs import Lab, hints, resetting, runs, skeletons, watching
from gpukit.labs.errors import AnswerRefused, LabError
from gpukit.labs.regions import CPP, PYTHON

RIGHT_CLIP = "    i = cuda.grid(1)\n    if i < x.size:\n        y[i] = min(max(x[i], low), high)\n"
NO_GUARD = "    i = cuda.grid(1)\n    y[i] = min(max(x[i], low), high)\n"
HOLE = '    raise NotImplementedError("TODO 1.2: keep each value between low and high")\n'
WARPS_HOLE = "WARPS = ...  # TODO 1.1: how many warps has a block of 256 threads"
PATIENCE = 60


@pytest.fixture
def lab(tmp_path):
    return write_lab(tmp_path)


def student(lab: Lab) -> Path:
    return lab.file("student")


def edit(lab: Lab, old: str, new: str) -> None:
    text = student(lab).read_text()
    assert old in text
    student(lab).write_text(text.replace(old, new))


def as_given_to_students(lab: Lab) -> None:
    """The lab's folder without a solution, with what `gpukit release` records."""
    text = json.dumps({"seed": 1, "counters": {PYTHON: {}}, skeletons.KEY: skeletons.skeletons(lab)})
    for solution in lab.path.glob("solution.*"):
        solution.unlink()
    (lab.path / "reference.json").write_text(text)


# --- a run in a child process ----------------------------------------------------------------------------------------


def test_a_run_gives_every_verdict_those_of_the_task_first(lab):
    edit(lab, HOLE, NO_GUARD)
    run = runs.Run(lab, first="1.2", seed=1)
    while not run.done:
        run.poll()
        time.sleep(0.02)
    run.close()
    assert run.error == ""
    by_test = {verdict.test: verdict for verdict in run.verdicts}
    assert list(by_test)[:2] == ["test_1_2_right", "test_1_2_cost"]
    assert {v.test: v.status for v in run.verdicts} == {
        "test_1_1_warps": "not started",
        "test_1_2_right": "failed",
        "test_1_2_cost": "passed",
        "test_1_3_blocks": "not started",
    }
    assert "oob_global_read" in by_test["test_1_2_right"].text
    assert "student.py:5: task 1.1 is not started" in by_test["test_1_1_warps"].text


def test_a_file_that_does_not_parse_fails_every_test_with_its_line(lab):
    student(lab).write_text("from gpukit import cuda\n\n@cuda.jit\ndef clip x, y")
    found = runs.results(lab)
    assert {verdict.status for verdict in found} == {"failed"}
    assert all("student.py:4: this is not valid Python" in verdict.text for verdict in found)


def test_a_run_without_end_is_stopped(lab):
    tests = lab.path / "test_lab.py"
    tests.write_text(tests.read_text().replace('lab.quiz("WARPS"', 'exec("while True: pass"), lab.quiz("WARPS"'))
    edit(lab, WARPS_HOLE, "WARPS = 8")
    run = runs.Run(lab, limit=3)
    while not run.done:
        run.poll()
        time.sleep(0.05)
    run.close()
    assert run.error == "the tests were stopped after 3 s: is there a loop that never ends?"


def test_a_child_ends_itself_when_nobody_can_stop_it(lab, tmp_path):
    tests = lab.path / "test_lab.py"
    tests.write_text(tests.read_text().replace('lab.quiz("WARPS"', 'exec("while True: pass"), lab.quiz("WARPS"'))
    edit(lab, WARPS_HOLE, "WARPS = 8")
    job = {"lab": str(lab.path), "language": None, "machine": "cpu", "seed": 1, "first": "", "limit": 3}
    (tmp_path / "job").write_text(json.dumps(job))
    command = [sys.executable, "-m", "gpukit.labs.child", str(tmp_path / "job"), str(tmp_path / "results")]
    assert subprocess.run(command, timeout=PATIENCE, env=environment()).returncode == 1


def test_a_lab_that_breaks_says_so(lab):
    (lab.path / "test_lab.py").write_text("import nothing_of_that_name\n")
    with pytest.raises(GpukitError, match="the lab's tests cannot be imported: ModuleNotFoundError"):
        runs.results(lab)


def test_a_child_that_dies_says_its_last_words(lab):
    (lab.path / "test_lab.py").write_text("import os\nprint('out of memory', flush=True)\nos._exit(3)\n")
    with pytest.raises(GpukitError, match="the tests ended without a result: out of memory"):
        runs.results(lab)


def test_complete_is_what_has_no_hole_and_passes(lab):
    assert not runs.is_complete(lab)
    student(lab).write_text(solved(lab))
    assert runs.is_complete(lab)
    edit(lab, "WARPS = 8", "WARPS = 9")
    assert not runs.is_complete(lab)


def solved(lab: Lab) -> str:
    return "".join(line for line in lab.solution().splitlines(True) if " SOLUTION" not in line)


# --- the watch, without a file system or a clock ---------------------------------------------------------------------


class FakeRun:
    """A run whose verdicts the test gives."""

    made: ClassVar[list] = []

    def __init__(self, lab, language, machine, first):
        self.first, self.language = first, language
        self.verdicts, self.done, self.error, self.closed, self._new = [], False, "", False, False
        FakeRun.made.append(self)

    def say(self, done=False, error="", **statuses):
        for name, status in statuses.items():
            task = ".".join(name.split("_")[1:3])
            points = 1.0 if status == "passed" else 0.0
            text = f"task {task}, its prompt\nwhy {name} {status}"
            self.verdicts.append(runs.Verdict(name, task, status, points, 1.0, text, f"hint of {name}"))
        self.done, self.error, self._new = done, error, True

    def poll(self):
        new, self._new = self._new, False
        return new

    def close(self):
        self.closed = True


ALL = ("test_1_1_warps", "test_1_2_right", "test_1_2_cost", "test_1_3_blocks")


@pytest.fixture
def watch(lab):
    FakeRun.made = []
    now = [0.0]
    given = (f"hint {n}: number {n}" for n in range(1, 9))
    made = watching.Watch(lab, None, "cpu", lambda task: next(given), FakeRun, lambda: now[0])
    made.now = now
    return made


def text(watch) -> str:
    return "\n".join(line.text for line in watch.lines())


def begun(watch, **statuses):
    """After the first run, in which what is not named is not started."""
    watch.saved()
    FakeRun.made[-1].say(done=True, **(dict.fromkeys(ALL, "not started") | statuses))
    watch.tick()


def test_a_save_runs_the_tests_of_the_task_first(watch):
    begun(watch, test_1_1_warps="passed")
    assert watch.task == "1.2"
    edit(watch.lab, HOLE, NO_GUARD)
    assert watch.saved()
    assert FakeRun.made[-1].first == "1.2"
    assert "the tests run ..." in text(watch)


def test_the_verdict_is_shown_before_the_other_tasks_have_run(watch):
    begun(watch, test_1_1_warps="passed")
    edit(watch.lab, HOLE, NO_GUARD)
    watch.saved()
    FakeRun.made[-1].say(test_1_2_right="failed")
    assert not watch.tick()
    FakeRun.made[-1].say(test_1_2_cost="failed")
    assert watch.tick()
    assert "test_1_2_right failed\nwhy test_1_2_right failed\ntest_1_2_cost failed, too" in text(watch)
    assert "01_start [#x.] 1 of 5 points: Start" in text(watch)


def test_a_task_that_passes_is_followed_by_the_next_open_one(watch):
    begun(watch)
    assert watch.task == "1.1"
    edit(watch.lab, WARPS_HOLE, "WARPS = 8")
    watch.saved()
    FakeRun.made[-1].say(done=True, **dict.fromkeys(ALL, "not started") | {"test_1_1_warps": "passed"})
    watch.tick()
    assert watch.task == "1.2"
    assert "task 1.1 passes: how many warps has a block of 256 threads" in text(watch)


def test_behind_the_last_task_comes_the_first_that_is_still_open(watch):
    begun(watch, test_1_2_right="failed", test_1_1_warps="passed", test_1_2_cost="passed")
    watch.key("n")
    edit(watch.lab, HOLE, NO_GUARD)
    watch.saved()
    FakeRun.made[-1].say(done=True, **dict.fromkeys(ALL, "passed") | {"test_1_2_cost": "failed"})
    watch.tick()
    assert (watch.task, watch.finished) == ("1.2", False)


def test_the_lab_is_complete_when_all_tests_pass(watch):
    begun(watch)
    edit(watch.lab, HOLE, RIGHT_CLIP)
    watch.saved()
    FakeRun.made[-1].say(done=True, **dict.fromkeys(ALL, "passed"))
    assert watch.tick()
    assert watch.finished
    assert text(watch).splitlines() == [
        "01_start [###] 4 of 5 points: Start",
        "The lab is complete: every test passes.",
    ]


def test_a_save_during_a_run_stops_it(watch):
    begun(watch)
    for n in (1, 2):
        edit(watch.lab, WARPS_HOLE if n == 1 else "WARPS = 1", f"WARPS = {n}")
        watch.saved()
    first, second = FakeRun.made[-2:]
    assert (first.closed, second.closed) == (True, False)


def test_a_file_that_was_touched_but_is_the_same_is_not_run_again(watch):
    begun(watch)
    os.utime(student(watch.lab))
    assert not watch.saved()
    assert len(FakeRun.made) == 1


def test_r_runs_the_same_file_again(watch):
    begun(watch)
    assert watch.key("r")
    assert len(FakeRun.made) == 2


def test_a_file_that_is_gone_for_a_moment_is_being_saved(watch):
    begun(watch)
    kept = student(watch.lab).read_text()
    student(watch.lab).unlink()
    assert not watch.saved()
    watch.now[0] = 0.3
    assert not watch.tick()
    student(watch.lab).write_text(kept.replace(WARPS_HOLE, "WARPS = 8"))
    assert watch.saved()
    watch.now[0] = 2
    assert not watch.tick()


def test_a_file_that_stays_away_is_said_to_be_gone_and_may_come_back(watch):
    begun(watch)
    kept = student(watch.lab).read_text()
    student(watch.lab).unlink()
    watch.saved()
    watch.now[0] = 0.6
    assert watch.tick()
    assert "student.py is gone; save it again, or get a fresh one: gpukit reset 01" in text(watch)
    student(watch.lab).write_text(kept)
    assert watch.saved()
    assert "is gone" not in text(watch)


def test_n_and_p_look_at_other_tasks_and_stop_at_the_ends(watch):
    begun(watch)
    seen = []
    for key in "pnnnp":
        assert watch.key(key)
        seen.append(watch.task)
    assert seen == ["1.1", "1.2", "1.3", "1.3", "1.2"]


def test_h_adds_hints_which_leave_with_the_task(watch):
    begun(watch)
    watch.key("h")
    watch.key("h")
    assert text(watch).endswith("hint 1: number 1\nhint 2: number 2")
    watch.key("n")
    assert "number" not in text(watch)


def test_h_passes_over_the_hint_that_is_there(watch):
    watch.saved()
    FakeRun.made[-1].say(test_1_1_warps="failed")
    why = FakeRun.made[-1].verdicts[0]
    FakeRun.made[-1].verdicts[0] = replace(why, text=f"{why.text}\n  hint      number 1")
    watch.tick()
    watch.key("h")
    assert text(watch).endswith("hint 2: number 2")


def test_other_keys_do_nothing(watch):
    begun(watch)
    assert not any(watch.key(key) for key in ("x", "\x1b", "[", "A", "", "\n"))


def test_what_stops_the_tests_is_shown(watch):
    begun(watch)
    watch.key("r")
    FakeRun.made[-1].say(done=True, error="the tests were stopped after 60 s")
    assert watch.tick()
    assert "the tests were stopped after 60 s" in text(watch)


# --- gpukit watch ----------------------------------------------------------------------------------------------------


def environment() -> dict[str, str]:
    paths = os.pathsep.join(filter(None, (str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", ""))))
    return {**os.environ, "PYTHONPATH": paths, "COLUMNS": "100", "LINES": "40"}


COMMAND = [sys.executable, "-m", "gpukit", "watch"]


class Piped:
    """`gpukit watch` without a terminal; its output goes to a file."""

    def __init__(self, folder: Path, *arguments: str):
        self.out = folder / "out.txt"
        self.read = 0
        with self.out.open("wb") as stream:
            self.process = subprocess.Popen(
                [*COMMAND, *arguments], cwd=folder, stdout=stream, stderr=stream, stdin=subprocess.DEVNULL,
                env=environment(),
            )  # fmt: skip

    def until(self, wanted: str) -> str:
        """What it wrote since the last call, once `wanted` stands in it."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            found = self.out.read_text(encoding="utf-8")[self.read :]
            if wanted in found:
                self.read += len(found)
                return found
            assert self.process.poll() is None or wanted in self.out.read_text(encoding="utf-8")[self.read :], found
            time.sleep(0.05)
        raise AssertionError(f"waited for {wanted!r}, got {found!r}")


@pytest.fixture
def piped(tmp_path):
    begun = []

    def start(*arguments):
        begun.append(Piped(tmp_path, *arguments))
        return begun[-1]

    yield start
    for one in begun:
        one.process.kill()
        one.process.wait()


def test_without_a_terminal_a_lab_is_followed_to_its_end(lab, piped):
    watch = piped()
    watch.until("task 1.1 is not started")
    edit(lab, WARPS_HOLE, "WARPS = 9")
    assert "another number was counted than predicted" in watch.until("again")
    edit(lab, "WARPS = 9", "WARPS = 8")
    assert "[#..] 1 of 5 points" in watch.until("task 1.1 passes")
    # An editor that writes another file and renames it.
    new = lab.path / ".student.py.swp"
    new.write_text(solved(lab))
    os.replace(new, student(lab))
    found = watch.until("The lab is complete: every test passes.")
    assert "\x1b" not in found
    assert watch.process.wait(PATIENCE) == 0


def test_a_half_written_file_is_an_error_with_its_line_until_the_next_save(lab, piped):
    watch = piped("1")
    watch.until("task 1.1 is not started")
    whole = student(lab).read_text()
    student(lab).write_text(whole[: whole.index("def clip") + 9])
    assert "student.py:9: this is not valid Python: '(' was never closed" in watch.until("again")
    student(lab).write_text(whole)
    watch.until("task 1.1 is not started")


def test_a_file_that_is_deleted_and_comes_back(lab, piped):
    watch = piped("start")
    watch.until("task 1.1 is not started")
    whole = student(lab).read_text()
    student(lab).unlink()
    watch.until("student.py is gone")
    student(lab).write_text(whole)
    watch.until("task 1.1 is not started")


def test_without_a_name_it_is_the_first_lab_that_is_not_complete(tmp_path, piped):
    root = write_labs(tmp_path)
    first = Lab(root / "01_start")
    student(first).write_text(solved(first))
    assert "02_sum [...]" in piped().until("task 2.1 is not started")


def test_the_file_that_is_saved_says_the_language(tmp_path, piped):
    lab = write_lab(tmp_path, "02_sum")
    watch = piped()
    watch.until("student.py:5: task 2.1")
    cpp = lab.file("student", CPP)
    cpp.write_text(cpp.read_text().replace("// constexpr int LANES = ...;", "constexpr int LANES = 31; //"))
    watch.until("LANES = 31")


@pytest.mark.skipif(sys.platform == "win32", reason="pexpect has no terminal on Windows")
class TestTerminal:
    @pytest.fixture
    def terminal(self, lab):
        import pexpect

        child = pexpect.spawn(
            COMMAND[0], COMMAND[1:], cwd=str(lab.path.parents[1]), env=environment() | {"TERM": "xterm"},
            encoding="utf-8", timeout=PATIENCE, dimensions=(40, 100),
        )  # fmt: skip
        yield child
        child.close(force=True)

    def test_keys(self, lab, terminal):
        terminal.expect("task 1.1 is not started")
        terminal.expect("q quit")
        terminal.send("h")
        terminal.expect("that was the last hint; read")
        terminal.send("n")
        terminal.expect("task 1.2, keep each value")
        terminal.send("p")
        terminal.expect("task 1.1, how many warps")
        terminal.send("r")
        terminal.expect("the tests run")
        terminal.expect("q quit")
        terminal.send("q")
        terminal.wait()
        assert terminal.exitstatus == 0

    def test_ctrl_c_ends_it_and_leaves_the_terminal_as_it_was(self, lab, terminal):
        import termios

        before = termios.tcgetattr(terminal.child_fd)[3]
        terminal.expect("q quit")
        assert not termios.tcgetattr(terminal.child_fd)[3] & termios.ICANON
        terminal.sendintr()
        terminal.expect("gpukit: stopped.")
        assert termios.tcgetattr(terminal.child_fd)[3] == before
        terminal.wait()
        assert terminal.exitstatus == 130

    def test_the_screen_is_cleared_for_each_view(self, lab, terminal):
        terminal.expect("task 1.1 is not started")
        edit(lab, WARPS_HOLE, "WARPS = 8")
        terminal.expect("task 1.1 passes")
        assert "\x1b[2J" in terminal.before


def test_a_gpu_that_is_not_there_is_said_at_once(lab, monkeypatch, capsys):
    monkeypatch.setattr("gpukit.devices.device", no_gpu)
    assert main(["watch", "1", "--labs", str(lab.path.parent), "--machine", "gpu"]) == 1
    assert "no GPU here" in capsys.readouterr().err


def no_gpu(machine):
    raise GpukitError("no GPU here")


def test_no_labs_is_one_sentence(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["watch"]) == 1
    assert "there is no folder labs in" in capsys.readouterr().err


# --- gpukit hint -----------------------------------------------------------------------------------------------------


@pytest.fixture
def here(lab, monkeypatch):
    monkeypatch.chdir(lab.path.parents[1])
    return lab


def said(capsys, *arguments: str, code: int = 0) -> str:
    assert main(arguments) == code
    captured = capsys.readouterr()
    return captured.out + captured.err


def test_hints_escalate_to_the_place_to_read_and_no_further(here, capsys):
    found = [said(capsys, "hint", "1", "1.2") for _ in range(4)]
    assert found[0] == "task 1.2, keep each value between low and high\nhint 1 of 2: Which thread has nothing to do?\n"
    assert found[1].endswith("hint 2 of 2: Do neighbours read neighbours?\n")
    last = "that was the last hint; read labs/01_start/README.md:18, and what comes before it: keep each value between"
    assert last in found[2]
    assert found[3] == found[2]
    readme = here.readme.splitlines()
    assert readme[18 - 1] == "* **1.2** keep each value between low and high"


def test_a_hint_says_nothing_of_the_solution(here, capsys):
    everything = "".join(said(capsys, "hint", f"1.{k}") for k in (1, 2, 3) for _ in range(4))
    assert not re.search(r"= 8|min\(|x\.size|// threads", everything)


def test_without_a_task_it_is_the_next_open_one(here, capsys):
    assert "task 1.1" in said(capsys, "hint", "1")
    edit(here, WARPS_HOLE, "WARPS = 8")
    assert "task 1.2" in said(capsys, "hint", "start")


def test_a_complete_lab_has_no_next_hint(here, capsys):
    student(here).write_text(solved(here))
    assert said(capsys, "hint", "1") == "01_start is complete: there is nothing left to hint at.\n"


def test_a_task_may_be_named_in_short(here, capsys):
    assert "task 1.3" in said(capsys, "hint", "1", "3")
    assert "has no task '1.9'" in said(capsys, "hint", "1.9", code=1)
    assert "it has: 1.1, 1.2, 1.3" in said(capsys, "hint", "1", "nine", code=1)


def test_what_was_asked_is_kept_beside_the_labs(here, capsys):
    said(capsys, "hint", "1.1")
    kept = here.path.parents[1] / ".gpukit" / "progress.json"
    assert json.loads(kept.read_text()) == {"format": "gpukit-progress/1", "hints": {"01_start": {"1.1": 1}}}


@pytest.mark.parametrize(
    "damaged",
    ["", "[", "[]", "null", '{"format": "gpukit-progress/1", "hints": 3}', '{"format": "other", "hints": {}}',
     '{"format": "gpukit-progress/1", "hints": {"01_start": [1]}}', "[" * 100_000],
)  # fmt: skip
def test_a_damaged_state_begins_anew(here, capsys, damaged):
    kept = hints.state_file(here.path.parent)
    kept.parent.mkdir()
    kept.write_text(damaged)
    assert "hint 1 of 2" in said(capsys, "hint", "1.2")
    assert "hint 2 of 2" in said(capsys, "hint", "1.2")


def test_state_that_cannot_be_written_is_one_sentence(here, capsys):
    (here.path.parents[1] / ".gpukit").write_text("a file")
    assert "cannot write into" in said(capsys, "hint", "1.1", code=1)


# --- gpukit reset ----------------------------------------------------------------------------------------------------


@pytest.fixture(params=["with the solution", "as given to students"])
def worked_on(request, here):
    """A lab with work in student.py, in the instructor's tree and in a student's."""
    given = student(here).read_text()
    if request.param == "as given to students":
        as_given_to_students(here)
    edit(here, WARPS_HOLE, "WARPS = 8")
    edit(here, HOLE, NO_GUARD)
    return Lab(here.path), given


def test_a_whole_file_goes_back_and_the_old_one_stays(worked_on, capsys):
    lab, given = worked_on
    mine = student(lab).read_bytes()
    assert said(capsys, "reset", "1", "--yes") == (
        f"{Path('labs/01_start/student.py')} is as it was given out. "
        f"What was there is in {Path('labs/01_start/student.py.bak-1')}.\n"
    )
    assert student(lab).read_text() == given
    assert (lab.path / "student.py.bak-1").read_bytes() == mine


def test_one_task_goes_back_alone(worked_on, capsys):
    lab, given = worked_on
    said(capsys, "reset", "1", "1.2", "--yes")
    assert student(lab).read_text() == given.replace(WARPS_HOLE, "WARPS = 8")


def test_every_reset_keeps_what_was_there(worked_on, capsys):
    lab, _ = worked_on
    for n in (1, 2, 3):
        student(lab).write_text(f"# {n}\n")
        said(capsys, "reset", "1", "--yes")
    assert [(lab.path / f"student.py.bak-{n}").read_text() for n in (1, 2, 3)] == ["# 1\n", "# 2\n", "# 3\n"]


def test_it_asks_and_no_is_no(worked_on, capsys, monkeypatch):
    lab, _ = worked_on
    mine = student(lab).read_bytes()
    monkeypatch.setattr("click.confirm", refuse)
    assert main(["reset", "1"]) == 130
    assert student(lab).read_bytes() == mine
    assert not list(lab.path.glob("*.bak-*"))


def refuse(question, abort):
    import click

    assert question.startswith("Put labs")
    assert abort
    raise click.Abort


def test_a_missing_file_comes_back_without_a_question(worked_on, capsys):
    lab, given = worked_on
    student(lab).unlink()
    assert said(capsys, "reset", "1") == f"{Path('labs/01_start/student.py')} is as it was given out.\n"
    assert student(lab).read_text() == given


def test_what_is_as_given_is_left_alone(here, capsys):
    said(capsys, "reset", "1")
    assert not list(here.path.glob("*.bak-*"))


def test_of_a_file_that_does_not_parse_no_task_can_go_back(worked_on, capsys):
    lab, _ = worked_on
    student(lab).write_text("def (\n")
    assert "student.py:1: this is not valid Python, so one task cannot" in said(capsys, "reset", "1.2", "--yes", code=1)
    assert student(lab).read_text() == "def (\n"


def test_bytes_that_are_no_text_are_kept_too(worked_on, capsys):
    lab, given = worked_on
    student(lab).write_bytes(b"\xff\xfe\x00bad")
    said(capsys, "reset", "1", "--yes")
    assert student(lab).read_text() == given
    assert (lab.path / "student.py.bak-1").read_bytes() == b"\xff\xfe\x00bad"


def test_a_folder_that_lacks_what_was_given_out_says_so(here):
    as_given_to_students(here)
    (here.path / "reference.json").write_text("{}")
    with pytest.raises(LabError, match=r"reference.json: this does not hold the file as it was given out"):
        skeletons.skeleton(Lab(here.path), PYTHON)


SKELETON = """from gpukit import cuda

A = ...  # TODO 3.1: a
B = 2


@cuda.jit
def one(x):
    raise NotImplementedError("TODO 3.2: first")


@cuda.jit
def two(x):
    raise NotImplementedError("TODO 3.2: first")
"""


def test_own_functions_and_comments_survive_the_reset_of_a_task():
    mine = SKELETON.replace('raise NotImplementedError("TODO 3.2: first")', "x[0] = 1") + "\n\n# mine\nC = 3\n"
    mine = mine.replace("B = 2", "B = 5  # better")
    made, names = resetting.with_task_reset(mine, SKELETON, "3.2", "student.py", PYTHON)
    assert names == ["one", "two"]
    assert made == SKELETON.replace("B = 2", "B = 5  # better") + "\n\n# mine\nC = 3\n"


def test_what_was_deleted_comes_back():
    made, _ = resetting.with_task_reset("B = 2\n", SKELETON, "3.1", "student.py", PYTHON)
    assert made == "B = 2\n\n\nA = ...  # TODO 3.1: a\n"


def test_a_task_that_is_not_in_the_file():
    with pytest.raises(GpukitError, match=r"nothing in this file is asked for by task 3\.9"):
        resetting.with_task_reset(SKELETON, SKELETON, "3.9", "student.py", PYTHON)


@pytest.mark.parametrize("task", ["2.1", "2.2", "2.3"])
def test_tasks_in_cuda_cpp_go_back_one_by_one(tmp_path, task):
    lab = write_lab(tmp_path, "02_sum")
    given = skeletons.skeleton(lab, CPP)
    solution = "".join(line for line in lab.solution(CPP).splitlines(True) if " SOLUTION" not in line)
    made, names = resetting.with_task_reset(solution, given, task, "student.cu", CPP)
    assert f"TODO {task}" in made
    assert len(re.findall("TODO", made)) == 1
    assert names == {"2.1": ["LANES"], "2.2": ["plus"], "2.3": ["total"]}[task]
    for other in {"2.1", "2.2", "2.3"} - {task}:
        made, _ = resetting.with_task_reset(made, given, other, "student.cu", CPP)
    assert made == given


def test_a_cpp_function_that_is_gone_needs_a_whole_reset(tmp_path):
    lab = write_lab(tmp_path, "02_sum")
    with pytest.raises(AnswerRefused, match="`plus` is not in this file any more"):
        resetting.with_task_reset("// empty\n", skeletons.skeleton(lab, CPP), "2.2", "student.cu", CPP)
