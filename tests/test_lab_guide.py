"""labs/README.md, the instructor's guide: its table, its commands and its figures are what is there."""

import json
import re
import shlex
import shutil
from pathlib import Path

import click
import pytest

from gpukit import cli
from gpukit.labs.folders import find_labs

ROOT = Path(__file__).parents[1]
GUIDE = (ROOT / "labs" / "README.md").read_text(encoding="utf-8")
LABS = find_labs(ROOT / "labs")
RECORDED = ROOT / "data" / "results"


def commands_in(text):
    """Commands in code spans and in indented lines, as they stand there; spans may go over the end of a line."""
    spans = re.findall(r"`((?:gpukit|pytest)\s[^`]+)`", text)
    lines = re.findall(r"^    ((?:gpukit|pytest) (?:.*\\\n)*.*)$", text, re.MULTILINE)
    return [" ".join(found.partition(" #")[0].replace("\\\n", " ").split()) for found in (*spans, *lines)]


def of_the_guide(word):
    return [command for command in commands_in(GUIDE) if command.split()[1] == word]


# --- what it says of the labs ----------------------------------------------------------------------------------------


def test_the_table_has_every_lab_and_the_minutes_that_it_says_itself():
    rows = re.findall(r"^\| \[(\w+)\]\(\1/README\.md\) \| (.+?) \| (\d+(?: to \d+)?) \| (\w+) \|$", GUIDE, re.MULTILINE)
    assert [row[0] for row in rows] == [lab.name for lab in LABS]
    for lab, (_, idea, minutes, gpu) in zip(LABS, rows, strict=True):
        said = minutes.replace(" ", r"\s+")
        assert re.search(rf"(?:takes|[Aa]bout)\s+{said}\s+minutes", lab.readme), f"{lab.name} says other minutes"
        assert idea and gpu == "no"


@pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.name)
def test_every_lab_has_its_session(lab):
    heading = f"### Lab {int(lab.number)}: {lab.title}\n"
    assert heading in GUIDE
    section = GUIDE.partition(heading)[2].partition("\n##")[0]
    assert re.findall(r"^\* \*\*([\w ]+)\*\*", section, re.MULTILINE) == ["Ask", "Show", "Stuck at", "Discuss"]
    for task in re.findall(r"\b(\d\.\d+)\b(?!e)", section):
        assert task in lab.tasks, task


def test_it_is_short_enough_to_be_read():
    assert 100 <= len(GUIDE.splitlines()) <= 170


def test_the_languages_it_names_are_there():
    *first, last = [str(int(lab.number)) for lab in LABS if len(lab.languages) > 1]
    assert f"Labs {', '.join(first)} and {last} can be done in CUDA C++ too" in GUIDE


# --- its commands ----------------------------------------------------------------------------------------------------


def test_every_command_exists_and_takes_the_options_it_is_given():
    found = [command for command in commands_in(GUIDE) if command.startswith("gpukit ")]
    assert len(found) > 20
    assert {"--notebooks", "--course"} <= {o for p in cli.cli.commands["release"].params for o in p.opts}
    for command in found:
        name, *arguments = shlex.split(command)[1:]
        known = cli.cli.commands.get(name)
        assert isinstance(known, click.Command), command
        if isinstance(known, click.Group):
            continue  # bench: what follows is a family's, and all of these are run below
        options = {option for parameter in known.params for option in (*parameter.opts, *parameter.secondary_opts)}
        assert {argument for argument in arguments if argument.startswith("--")} <= options, command


SHOWN = ("profile", "check", "bench", "list", "run")
DEMONSTRATIONS = sorted({c for word in SHOWN for c in of_the_guide(word) if len(c.split()) > 2})


@pytest.mark.parametrize("command", DEMONSTRATIONS)
def test_demonstrations_run(command, capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    code = cli.main(shlex.split(command)[1:])
    printed = capsys.readouterr()
    assert code == (1 if " check " in command else 0), printed.err
    assert printed.out and not printed.err


@pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.name)
def test_commands_of_the_labs_pages_run(lab, capsys, monkeypatch):
    """On the solution in the student's place; benches only where they are recorded, for they take long."""
    monkeypatch.chdir(ROOT)
    words = ("gpukit profile labs/", "gpukit run ", "gpukit list")
    found = [c for c in commands_in(lab.readme) if c.startswith(words) or "--recorded" in c]
    assert found
    for command in found:
        arguments = shlex.split(command.replace("student.", "solution."))[1:]
        assert cli.main(arguments) == 0, (command, capsys.readouterr().err)


def test_from_release_to_grades(tmp_path, capsys, monkeypatch):
    """The block of commands, one after the other, on one lab."""
    (tmp_path / "labs").mkdir()
    shutil.copy(ROOT / "labs" / "conftest.py", tmp_path / "labs")
    shutil.copytree(ROOT / "labs" / "02_divergence", tmp_path / "labs" / "02_divergence")
    (tmp_path / "submissions" / "ada").mkdir(parents=True)
    shutil.copy(ROOT / "labs" / "02_divergence" / "solution.py", tmp_path / "submissions" / "ada" / "student.py")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))  # for the processes that grade
    block = [*of_the_guide("release"), *(c for c in of_the_guide("grade") if "submissions" in c)]
    assert {c.split()[-1] for c in block} >= {"release", "--check", "course", "graded"}
    for command in dict.fromkeys(block):
        weak = ["--weak-sandbox"] if " grade " in command else []
        assert cli.main([*shlex.split(command)[1:], *weak]) == 0, (command, capsys.readouterr())
    assert (tmp_path / "course" / "labs" / "02_divergence" / "student.py").is_file()
    (record,) = (tmp_path / "graded" / "records").glob("*.json")
    assert json.loads(record.read_text())["points"] == find_labs(tmp_path / "labs")[0].max_points
    for name in ("summary.html", "look.md", "feedback"):
        assert (tmp_path / "graded" / name).exists() and f"graded/{name}" in GUIDE


def test_what_it_shows_of_tags_is_what_the_template_has():
    assert (ROOT / "labs" / "template").is_dir() and "cp -r labs/template labs/09_mine" in GUIDE
    assert (ROOT / "labs" / "template" / "wrong" / "off_by_one.py").is_file()


# --- its figures -----------------------------------------------------------------------------------------------------


def seconds(family):
    found = json.loads((RECORDED / f"bench_h200_{family}.json").read_text(encoding="utf-8"))
    return {rung["key"]: rung["timing"]["median_s"] for rung in found["rungs"] if rung["timing"]}


def test_figures_of_the_h200():
    execution, divergence, transpose = (seconds(family) for family in ("execution", "divergence", "transpose"))
    assert "170 times as long on an H200" in GUIDE
    assert 165 < execution["one_thread_per_block"] / execution["vector_add"] < 180
    assert "by_warp on the H200 is 7 % faster" in GUIDE
    assert round(100 * (1 - divergence["by_warp"] / divergence["by_lane"])) == 7
    assert transpose["cpp:padded"] < 0.6 * transpose["cpp:tiled"] and transpose["tiled"] > transpose["strided_reads"]
