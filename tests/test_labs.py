"""All labs there are, found by their folders: solutions pass, skeletons are open, wrong answers are caught and why."""

import ast
import hashlib
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from family_runs import needs_compiler

import gpukit
from gpukit.labs import answers, find_labs, overlay, references, regions, release, running
from gpukit.labs.answers import Answer
from gpukit.labs.folders import Lab
from gpukit.labs.holes import cpp_functions
from gpukit.labs.references import Counted
from gpukit.labs.regions import CPP, PYTHON
from gpukit.labs.running import FAILED, NOT_STARTED, PASSED, Outcome
from gpukit.labs.session import Session
from gpukit.plugins import packages
from gpukit.sandbox import host

ROOT = Path(__file__).parents[1]
LABS = find_labs(ROOT / "labs")
ALTERNATIVES = ROOT / "tests" / "lab_alternatives"
FEWEST_LABS, FEWEST_WRONG = 7, 3
SEEDS = (1, 20260727)

FILES = {
    *("README.md", "solution.py", "solution.cu", "student.py", "student.cu", "given.py", "test_lab.py"),
    *("reference.json", "wrong"),
}
SECTIONS = ["Goal", "Not in this lab", "Before you start", "Tasks", "Go further"]
LONGEST_README = 70
# What students read of a lab: no answer may stand there, nor be imported there.
FOR_STUDENTS = ("student.py", "student.cu", "given.py", "test_lab.py")


@dataclass(frozen=True)
class Given:
    """A known answer: a solution, a wrong one, or an honest other one."""

    lab: Lab
    language: str
    path: Path

    def __str__(self):
        return f"{self.lab.name}-{self.path.stem}{'.cu' if self.language == CPP else ''}"


def given(paths):
    """Parameters of known answers; C++ ones want a compiler."""
    found = [Given(lab, regions.language_of(path.name), path) for lab, path in paths]
    marks = {CPP: [needs_compiler]}
    return [pytest.param(one, marks=marks.get(one.language, []), id=str(one)) for one in found]


SOLUTIONS = given((lab, lab.file("solution", language)) for lab in LABS for language in lab.languages)
WRONG = given((lab, path) for lab in LABS for path in lab.wrong.values())
HONEST = given((lab, path) for lab in LABS for path in sorted((ALTERNATIVES / lab.name).glob("*.*")))


@cache
def solution(lab: Lab, language: str) -> Answer:
    """A lab's solution, loaded once."""
    path = lab.file("solution", language)
    return Answer(path, lab.host)


@cache
def reference(lab: Lab, language: str) -> Counted:
    return _Remembered(solution(lab, language))


class _Remembered(Counted):
    """Counts the solution once for each launch: with one seed all answers are tested on the same inputs."""

    def __init__(self, solution: Answer):
        super().__init__(solution)
        self.known: dict = {}

    def counters(self, launch):
        key = (launch.test, launch.n)
        if key not in self.known:
            self.known[key] = super().counters(launch)
        return self.known[key]


@pytest.fixture(scope="module", autouse=True)
def host_code_runs_once():
    """Host code that is the same as in another answer is not run again: a child process for each call takes long."""
    known: dict = {}

    def call(source, file, function, calls, *, names, **options):
        key = code_of(source, PYTHON, function), function, bits(calls), repr(options)
        if key not in known:
            results = in_a_child(source, file, function, calls, names=names, **options)
            if any(result.error for result in results):
                return results
            known[key] = results
        return known[key]

    in_a_child = host.call
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(host, "call", call)
        yield


@pytest.fixture(scope="module", autouse=True)
def a_launch_runs_once():
    """A kernel that is the same as in another answer is not run again on the same arguments: all of a wrong answer is
    the solution's but for a function or two, and the given kernels are nobody's."""
    known: dict = {}
    codes: dict = {}  # identity of a kernel -> the kernel, and its code

    def kernel(answer, name):
        found = of_answer(answer, name)
        codes[id(found)] = found, code_of(answer.text, answer.language, name)
        return found

    def profile(kernel, grid, block, *args, **options):
        if id(kernel) not in codes:
            return run(kernel, grid, block, *args, **options)
        key = (codes[id(kernel)][1], *map(bits, args), repr((grid, block, options)))
        arrays = [arg for arg in args if isinstance(arg, np.ndarray)]
        if key not in known:
            known[key] = run(kernel, grid, block, *args, **options), [array.copy() for array in arrays]
        report, after = known[key]
        for array, left in zip(arrays, after, strict=True):
            array[...] = left
        return report

    def given(session, name, grid, block, *args):
        key = (session._lab.path, name, *map(bits, args), repr((grid, block)))
        if key not in known:
            known[key] = of_given(session, name, grid, block, *args), session._seen
        report, session._seen = known[key]
        return report

    of_answer, run, of_given = Answer.kernel, gpukit.profile, Session.given
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Answer, "kernel", kernel)
        patch.setattr(gpukit, "profile", profile)
        patch.setattr(Session, "given", given)
        yield


def bits(value):
    """What tells an argument, or a list of them, from others."""
    if isinstance(value, np.ndarray):
        return str(value.dtype), value.shape, value.strides, hashlib.sha256(value.tobytes()).digest()
    if isinstance(value, list | tuple):
        return tuple(map(bits, value))
    return type(value), repr(value)


@cache
def code_of(text, language, name):
    """The source of a kernel or a host function, with all that it uses of its file: functions, constants, imports."""
    parts = parts_of(text, language)
    found, waiting = {}, [name]
    while waiting:
        one = waiting.pop()
        if one in parts and one not in found:
            words, found[one] = parts[one]
            waiting += sorted(words)
    return language, repr(found)


@cache
def parts_of(text, language):
    """Name -> the names that its definition uses, and the definition."""
    if language == CPP:
        lines = regions.lines_of(text)
        parts = {each.name: (each.words, lines[each.first - 1 : each.last]) for each in cpp_functions(text)}
        constants = [line for line in lines if line.startswith("constexpr")]
        return parts | {line.partition("=")[0].split()[-1]: (frozenset(), [line]) for line in constants}
    parts = {}
    for node in ast.parse(text).body:
        used = frozenset(each.id for each in ast.walk(node) if isinstance(each, ast.Name))
        parts |= dict.fromkeys(names_of(node), (used, ast.dump(node)))
    return parts


def names_of(node):
    """What a statement at the top of a file defines."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        return {(alias.asname or alias.name).split(".")[0] for alias in node.names}
    if isinstance(node, ast.FunctionDef):
        return {node.name}
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}


def outcomes(lab: Lab, answer: Answer, seed: int = SEEDS[0]) -> dict[str, Outcome]:
    known = reference(lab, answer.language) if seed == SEEDS[0] else Counted(solution(lab, answer.language))
    return {test.name: running.run_test(lab, test, answer, known, seed) for test in lab.tests}


def told(outcome: Outcome) -> str:
    return f"{outcome.test.name} {outcome.status}: {outcome.finding or (outcome.hole and outcome.hole.prompt) or ''}"


def not_passed(found: dict[str, Outcome]) -> list[str]:
    return [told(outcome) for outcome in found.values() if outcome.status != PASSED]


def by_name(values):
    return [pytest.param(lab, id=lab.name) for lab in values]


# --- nothing passes because nothing is there -------------------------------------------------------------------------


def test_there_is_something_to_test():
    assert len(LABS) >= FEWEST_LABS
    assert [int(lab.number) for lab in LABS] == list(range(1, len(LABS) + 1))
    assert len(SOLUTIONS) > len(LABS), "some labs are in CUDA C++ too"
    assert len(WRONG) >= FEWEST_WRONG * len(LABS)
    assert HONEST


@pytest.mark.parametrize("lab", by_name(LABS))
def test_a_lab_has_wrong_answers_and_honest_others(lab):
    assert len(lab.wrong) >= FEWEST_WRONG
    assert list((ALTERNATIVES / lab.name).glob("*.*")), f"{lab.name} has no honest other answer"


# --- answers ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("one", SOLUTIONS)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_solution_passes_everything(one, seed):
    found = outcomes(one.lab, solution(one.lab, one.language), seed)
    assert found and not not_passed(found)
    assert sum(outcome.points for outcome in found.values()) == one.lab.max_points > 0


@pytest.mark.parametrize("one", SOLUTIONS)
def test_a_solution_passes_against_what_students_have_of_it(one):
    """The recorded reference, on the inputs that it was recorded with."""
    known = references.recorded(one.lab.path, one.language)
    answer = solution(one.lab, one.language)
    found = {
        t.name: running.run_test(one.lab, t, answer, known, SEEDS[1]) for t in one.lab.tests if t.name in known.tests
    }
    assert len(found) == len(known.tests) > 0 and not not_passed(found)


@pytest.mark.parametrize("one", SOLUTIONS)
def test_a_skeleton_is_not_started_and_no_more(one):
    with answers.answer(one.lab, answers.SKELETON, one.language) as skeleton:
        found = outcomes(one.lab, skeleton)
        assert found and {outcome.status for outcome in found.values()} == {NOT_STARTED}
        assert sum(outcome.points for outcome in found.values()) == 0
        tested = {outcome.test.task for outcome in found.values()}
        assert tested == set(one.lab.tasks) == {hole.task for hole in skeleton.holes}


@pytest.mark.parametrize("one", WRONG)
def test_a_wrong_answer_fails_exactly_the_tests_it_names_and_for_the_reason_it_names(one):
    fails = overlay.laid_over(one.path, one.lab.solution(one.language)).fails
    assert fails, f"{one.path} names no test that must fail"
    assert set(fails) <= {test.name for test in one.lab.tests}
    with answers.laid_over(one.lab, one.path) as answer:
        found = outcomes(one.lab, answer)
    failed = {name for name, outcome in found.items() if outcome.status != PASSED}
    assert failed == set(fails), "\n".join(not_passed(found)) or "nothing fails"
    for name, shown in fails.items():
        assert found[name].status == FAILED
        assert shown in str(found[name].finding), f"{name} does not say {shown!r}:\n{told(found[name])}"


@pytest.mark.parametrize("one", HONEST)
def test_an_honest_other_answer_passes_everything(one):
    with answers.laid_over(one.lab, one.path) as answer:
        assert not not_passed(outcomes(one.lab, answer))


# --- what students read ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lab", by_name(LABS))
def test_a_folder_holds_what_a_lab_may_hold(lab):
    topic = lab.name.partition("_")[2]
    found = {path.name for path in lab.path.iterdir() if path.name != "__pycache__"}
    assert found <= FILES | {topic}, found - FILES
    if topic in found:
        assert packages(ROOT / "labs")[topic] == lab.path, "a package for gpukit's commands; see gpukit.plugins"
    assert {"README.md", "solution.py", "test_lab.py", "wrong"} <= found
    inside = {path.suffix for path in (lab.path / "wrong").iterdir() if path.name != "__pycache__"}
    assert inside <= {".py", ".cu"}


@pytest.mark.parametrize("lab", by_name(LABS))
def test_a_readme_is_one_page_with_the_same_sections(lab):
    lines = lab.readme.splitlines()
    assert len(lines) <= LONGEST_README
    assert re.fullmatch(rf"# Lab {int(lab.number)}: \S.*", lines[0])
    assert [line.removeprefix("## ") for line in lines if line.startswith("## ")] == SECTIONS
    assert lab.readme_tasks == lab.tasks, "each task as in the solution's tags"
    tasks = lab.readme.partition("## Tasks")[2].partition("## ")[0]
    assert all(f"* **{task}** {prompt}\n" in tasks for task, prompt in lab.tasks.items())


@pytest.mark.parametrize("one", SOLUTIONS)
def test_both_languages_ask_the_same(one):
    file = str(one.path)
    assert regions.prompts(regions.regions(one.lab.solution(one.language), file), file) == one.lab.tasks


@pytest.mark.parametrize("lab", by_name(LABS))
def test_every_test_has_a_hint_that_asks_and_does_not_tell(lab):
    code = {line for language in lab.languages for line in code_lines(lab, language)}
    assert len(code) > 5
    for test in lab.tests:
        assert "?" in test.hint, f"{test.name}: the hint asks nothing"
        assert not [line for line in code if line in test.hint], f"{test.name}: the hint holds code of the solution"


def code_lines(lab, language):
    """The lines inside regions that say something."""
    for region in regions.regions(lab.solution(language), str(lab.file("solution", language))):
        for line in region.lines:
            text = line.strip().rstrip(":;{")
            if len(text) >= 12 and not text.startswith(("#", "//")):
                yield text


@pytest.mark.parametrize("lab", by_name(LABS))
def test_students_files_do_not_import_the_answers(lab):
    """gpukit.kernels holds the neighbours of what the labs ask for."""
    read = [lab.path / name for name in FOR_STUDENTS if (lab.path / name).is_file()]
    assert read
    for path in [*read, lab.file("solution")]:
        text = path.read_text(encoding="utf-8")
        assert "gpukit.kernels" not in text, path
        if path.suffix == ".py":
            assert not reaches_kernels(text), path


def reaches_kernels(text):
    """Whether a Python file imports gpukit.kernels, or reaches it as an attribute of gpukit."""
    tree = ast.parse(text)
    bound = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            names = {f"{node.module}.{alias.name}" for alias in node.names} | {node.module}
            if any(name == "gpukit.kernels" or name.startswith("gpukit.kernels.") for name in names):
                return True
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[:2] == ["gpukit", "kernels"]:
                    return True
                if alias.name.split(".")[0] == "gpukit":
                    bound.add((alias.asname or alias.name).split(".")[0])
    return any(
        isinstance(node, ast.Attribute)
        and node.attr == "kernels"
        and isinstance(node.value, ast.Name)
        and node.value.id in bound
        for node in ast.walk(tree)
    )


@pytest.mark.parametrize(
    ("text", "reached"),
    [
        ("from gpukit.kernels import reduction", True),
        ("from gpukit.kernels.reduction import naive", True),
        ("from gpukit import kernels", True),
        ("import gpukit.kernels.reduction as r", True),
        ("import gpukit\nx = gpukit.kernels.reduction", True),
        ("import gpukit as g\ndef f():\n    return g.kernels", True),
        ("from gpukit import cuda\nfrom gpukit.labs import points", False),
        ("import gpukit\nx = gpukit.cuda", False),
    ],
)
def test_the_search_for_kernels_finds_them(text, reached):
    assert reaches_kernels(text) is reached


@pytest.mark.parametrize("lab", by_name(LABS))
def test_tests_use_nothing_but_numpy_and_the_labs(lab):
    tree = ast.parse((lab.path / "test_lab.py").read_text(encoding="utf-8"))
    roots = {
        name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in ([node.module] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names])
    }
    assert not [name for name in roots if name.startswith("gpukit") and name != "gpukit.labs"]
    assert not roots & {"pytest", "os", "sys", "subprocess", "time"}


@pytest.mark.parametrize("lab", by_name(LABS))
def test_what_is_generated_is_there_and_up_to_date(lab):
    """`gpukit release` makes student.py, student.cu and reference.json; nobody edits them."""
    assert not list(release.faults_of(lab))


def test_labs_holds_labs_and_what_they_share():
    found = {path.name for path in (ROOT / "labs").iterdir() if path.name != "__pycache__"}
    assert found == {lab.name for lab in LABS} | {"AGENTS.md", "README.md", "conftest.py", "template"}


def test_a_python_solution_is_there_for_every_lab():
    assert all(PYTHON in lab.languages for lab in LABS)
