"""Hostile submissions that are more than a text: what a student's folder, its names and its bytes may hold.

Each function makes one student's entry in a folder of submissions to lab 5, and returns its name. Its docstring has the
lines of an attack: what it deserves (N points, `refused`, `unreadable` or `missing`), and what the record says.
"""

import json
import os
import socket
import zipfile
from collections.abc import Callable
from pathlib import Path

# An honest answer to task 5.1, for entries whose text is not the trick: 4 points.
QUIZ = """\
STEPS = 8
COMPARISONS = 255
IDLE_THREADS = 112
DIVERGENT_BRANCHES = 24
LOAD_REQUESTS = 55
"""
Builder = Callable[[Path], str]
BUILDERS: list[Builder] = []


def attack(builder: Builder) -> Builder:
    BUILDERS.append(builder)
    return builder


def submit(root: Path, student: str, data: str | bytes, name: str = "student.py") -> str:
    folder = root / student
    folder.mkdir(parents=True)
    (folder / name).write_bytes(data.encode() if isinstance(data, str) else data)
    return student


# --- what is no file ---


@attack
def link_to_solution(root: Path) -> str:
    """Deserves: missing
    Named: student.py: is a link, which is not followed"""
    (root / "link_to_solution").mkdir()
    (root / "link_to_solution" / "student.py").symlink_to(root.parent / "labs" / "05_reduction" / "solution.py")
    return "link_to_solution"


@attack
def link_to_a_secret(root: Path) -> str:
    """Deserves: missing
    Named: this is a link; links are not followed"""
    (root / "link_to_a_secret.py").symlink_to("/etc/passwd")
    return "link_to_a_secret"


@attack
def linked_folder(root: Path) -> str:
    """Deserves: missing
    Named: this is a link; links are not followed"""
    (root / "linked_folder").symlink_to(root / "honest")
    return "linked_folder"


@attack
def folder_inside_linked_up(root: Path) -> str:
    """A link from a folder to the folder above it: a walk without an end.

    Deserves: 4 points
    Named: again: is a link, which is not followed"""
    submit(root, "folder_inside_linked_up", QUIZ)
    (root / "folder_inside_linked_up" / "again").symlink_to(root / "folder_inside_linked_up")
    return "folder_inside_linked_up"


@attack
def pipe(root: Path) -> str:
    """A reader waits for ever for what nobody writes.

    Deserves: missing
    Named: student.py: is no plain file"""
    (root / "pipe").mkdir()
    os.mkfifo(root / "pipe" / "student.py")
    return "pipe"


@attack
def socket_file(root: Path) -> str:
    """Deserves: missing
    Named: is no plain file"""
    (root / "s").mkdir()
    back = Path.cwd()
    os.chdir(root / "s")  # the path of a socket may be 108 bytes long
    with socket.socket(socket.AF_UNIX) as made:
        made.bind("student.py")
    os.chdir(back)
    return "s"


@attack
def folder_called_as_the_file(root: Path) -> str:
    """Deserves: missing
    Named: holds no file"""
    (root / "folder_called_as_the_file" / "student.py").mkdir(parents=True)
    return "folder_called_as_the_file"


@attack
def nothing_at_all(root: Path) -> str:
    """Deserves: missing
    Named: holds no file"""
    (root / "nothing_at_all").mkdir()
    return "nothing_at_all"


@attack
def deep_folders(root: Path) -> str:
    """Deserves: missing
    Named: lies deeper than 8 folders"""
    submit(root, "deep_folders/" + "/".join("d" * 40 for _ in range(60)), QUIZ)
    return "deep_folders"


@attack
def zip_bomb(root: Path) -> str:
    """A gigabyte of zeros in a megabyte.

    Deserves: missing
    Named: is an archive"""
    with zipfile.ZipFile(root / "zip_bomb.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as made:
        for i in range(64):
            made.writestr(f"{i}/student.py", bytes(1 << 18))
        made.writestr("../../written_by_a_zip.py", "x")
    return "zip_bomb"


@attack
def sparse_file(root: Path) -> str:
    """A terabyte on no disk at all.

    Deserves: unreadable
    Named: more than 200,000 bytes"""
    submit(root, "sparse_file", QUIZ)
    os.truncate(root / "sparse_file" / "student.py", 1 << 40)
    return "sparse_file"


# --- what lies beside it ---


@attack
def modules_beside(root: Path) -> str:
    """Modules that Python, pytest and NumPy's importers would run if they looked in the student's folder.

    Deserves: 4 points
    Named: graded student.py, not"""
    submit(root, "modules_beside", QUIZ)
    folder = root / "modules_beside"
    written = "open('/CANARY/written_by_a_neighbour', 'w').close()\n"
    for name in (
        *("conftest", "sitecustomize", "usercustomize", "numpy", "numba", "solution", "test_lab", "given", "json"),
        *("gpukit", "encodings", "os", "typing"),
    ):
        (folder / f"{name}.py").write_text(written)
    (folder / "gpukit").mkdir()
    (folder / "gpukit" / "__init__.py").write_text(written)
    (folder / "run.pth").write_text(f"import os; {written}")
    (folder / "pytest.ini").write_text("[pytest]\naddopts = --collect-only\n")
    (folder / "reference.json").write_text("{}")
    (folder / "__pycache__").mkdir()
    (folder / "__pycache__" / "student.cpython-311.pyc").write_bytes(bytes(64))
    return "modules_beside"


@attack
def record_beside(root: Path) -> str:
    """A finished record, in the places where a grader might put or look for one.

    Deserves: 0 points
    Named: there is no constant `STEPS`"""
    submit(root, "record_beside", '"""Nothing."""\n')
    made = {
        "format": "gpukit-grade/1",
        "student": "record_beside",
        "status": "graded",
        "points": 24.0,
        "complete": True,
    }
    for name in ("record.json", "records/record_beside.json", "results/results.json", "batch.json"):
        (root / "record_beside" / name).parent.mkdir(exist_ok=True)
        (root / "record_beside" / name).write_text(json.dumps(made))
    return "record_beside"


@attack
def many_files(root: Path) -> str:
    """Deserves: 4 points
    Named: and 1497 more"""
    submit(root, "many_files", QUIZ)
    for i in range(1500):
        (root / "many_files" / f"{i}.py").touch()
    return "many_files"


@attack
def other_lab(root: Path) -> str:
    """A lab's folder that is called as another, and a version number from the far future.

    Deserves: 4 points
    Named: graded 05_reduction/student.py"""
    submit(root, "other_lab/05_reduction", QUIZ)
    submit(root, "other_lab/01_execution", "STEPS = 1\n", "student (999999999).py")
    return "other_lab"


# --- bytes ---


@attack
def too_large(root: Path) -> str:
    """Deserves: unreadable
    Named: more than 200,000 bytes"""
    return submit(root, "too_large", QUIZ + "# x\n" * 60_000)


@attack
def utf_16(root: Path) -> str:
    """Deserves: unreadable
    Named: UTF-16"""
    return submit(root, "utf_16", QUIZ.encode("utf-16"))


@attack
def utf_7(root: Path) -> str:
    """An encoding in which a comment is code.

    Deserves: unreadable
    Named: its encoding is utf-7"""
    return submit(root, "utf_7", "# coding: utf-7\n# +AAo-import os\n" + QUIZ)


@attack
def rot_13(root: Path) -> str:
    """Deserves: unreadable
    Named: its encoding is rot13"""
    return submit(root, "rot_13", "# -*- coding: rot13 -*-\nvzcbeg bf\n")


@attack
def no_utf_8(root: Path) -> str:
    """Deserves: unreadable
    Named: is not UTF-8"""
    return submit(root, "no_utf_8", QUIZ.encode() + b"# \xff\xfe \xed\xa0\x80\n")


@attack
def nul_bytes(root: Path) -> str:
    """A reader in C stops at the first of them.

    Deserves: refused
    Named: the control character U+0000"""
    return submit(root, "nul_bytes", QUIZ.encode() + b"\0\nimport os\n")


@attack
def control_characters(root: Path) -> str:
    """Text that hides what was printed before it.

    Deserves: refused
    Named: the control character U+001B"""
    return submit(root, "control_characters", "# \x1b[2J\x1b[1;32mall passed\x1b[0m\n" + QUIZ)


@attack
def right_to_left(root: Path) -> str:
    """Code that is shown in another order than it is read.

    Deserves: refused
    Named: the control character U+202E"""
    return submit(root, "right_to_left", "# \u202e gnihtyna\n" + QUIZ)


@attack
def form_feed(root: Path) -> str:
    """A page break, after which some readers count columns anew, and others lines.

    Deserves: 4 points
    Named: there is no kernel"""
    return submit(root, "form_feed", "\f\n" + QUIZ)


@attack
def byte_order_mark(root: Path) -> str:
    """Honest: Windows' editors write it.

    Deserves: 4 points
    Named: there is no kernel"""
    return submit(root, "byte_order_mark", b"\xef\xbb\xbf" + QUIZ.encode())


@attack
def carriage_returns(root: Path) -> str:
    """Honest: Windows' ends of lines.

    Deserves: 4 points
    Named: there is no kernel"""
    return submit(root, "carriage_returns", QUIZ.replace("\n", "\r\n"))


# --- text that is hard to parse ---


@attack
def brackets(root: Path) -> str:
    """Deserves: refused
    Named: brackets nested more than 50 deep"""
    return submit(root, "brackets", "STEPS = " + "(" * 2400 + "8" + ")" * 2400 + "\n")


@attack
def signs(root: Path) -> str:
    """Deserves: refused
    Named: more than 2,000 words"""
    return submit(root, "signs", "STEPS = \\\n" + "- \\\n" * 40_000 + "8\n")


@attack
def dots(root: Path) -> str:
    """Deserves: refused
    Named: more than 2,000 words"""
    return submit(root, "dots", "STEPS = (a\n" + ".b\n" * 50_000 + ")\n")


@attack
def sum_of_many(root: Path) -> str:
    """Deserves: refused
    Named: more than 2,000 words"""
    return submit(root, "sum_of_many", "STEPS = (1\n" + "+1\n" * 50_000 + ")\n")


@attack
def nested_blocks(root: Path) -> str:
    """Deserves: refused
    Named: blocks nested more than 20 deep"""
    lines = ["from numba import cuda", "@cuda.jit", "def dot(a, b, partial):"]
    lines += [" " * (i + 1) + "if a[0] > 0:" for i in range(99)]
    return submit(root, "nested_blocks", "\n".join([*lines, " " * 100 + "pass"]) + "\n")


@attack
def many_branches(root: Path) -> str:
    """An else in an else in an else, without deeper lines.

    Deserves: refused
    Named: this cannot be read as Python"""
    text = "from numba import cuda\n\n\n@cuda.jit\ndef dot(a, b, partial):\n    if a[0] == 0:\n        pass\n"
    text += "".join(f"    elif a[0] == {i}:\n        pass\n" for i in range(3000))
    return submit(root, "many_branches", text)


@attack
def many_functions(root: Path) -> str:
    """Each line a function; the last one is the kernel.

    Deserves: 0 points
    Named: wrong answer"""
    text = "from numba import cuda\n"
    text += "".join(f"@cuda.jit(device=True)\ndef f{i}(x): return x + {i}\n" for i in range(1000))
    text += "@cuda.jit\ndef dot(a, b, partial): partial[cuda.blockIdx.x] = f999(a[0])\n"
    return submit(root, "many_functions", text)


@attack
def endless_digits(root: Path) -> str:
    """Deserves: refused
    Named: a line of"""
    return submit(root, "endless_digits", "STEPS = " + "9" * 150_000 + "\n")


@attack
def open_string(root: Path) -> str:
    """Deserves: refused
    Named: not valid Python"""
    return submit(root, "open_string", 'STEPS = """' + "a\n" * 1000)


@attack
def empty(root: Path) -> str:
    """Deserves: 0 points
    Named: there is no constant `STEPS`"""
    return submit(root, "empty", "")


@attack
def empty_cpp(root: Path) -> str:
    """Deserves: 0 points
    Named: there is no constant `STEPS`"""
    return submit(root, "empty_cpp", "", "student.cu")


@attack
def open_comment(root: Path) -> str:
    """Deserves: refused
    Named: a comment without end"""
    return submit(root, "open_comment", "constexpr int STEPS = 8;\n/* and so on", "student.cu")


# --- notebooks ---


@attack
def notebook_of_no_sense(root: Path) -> str:
    """Deserves: unreadable
    Named: nested more than 40 deep"""
    return submit(root, "notebook_of_no_sense", "{" * 1000, "student.ipynb")


@attack
def notebook_of_brackets(root: Path) -> str:
    """Deserves: unreadable
    Named: nested more than 40 deep"""
    return submit(root, "notebook_of_brackets", "[" * 150_000, "student.ipynb")


@attack
def notebook_of_other_types(root: Path) -> str:
    """Deserves: unreadable
    Named: notebook"""
    cells = [{"cell_type": "code", "source": {"a": 1}, "metadata": None}, 7, None]
    return submit(root, "notebook_of_other_types", json.dumps({"cells": cells, "nbformat": "x"}), "student.ipynb")


@attack
def notebook_with_a_shell(root: Path) -> str:
    """Commands for the shell and for IPython in an answer's cell.

    Deserves: refused
    Named: this is not valid Python"""
    source = ["%%task 5.1\n", "!touch /CANARY/written_by_a_shell\n", "%run /etc/passwd\n", QUIZ]
    cell = {"cell_type": "code", "source": source, "metadata": {}, "outputs": [], "execution_count": None}
    made = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    return submit(root, "notebook_with_a_shell", json.dumps(made), "student.ipynb")


# --- names of students ---


def named(student: str, why: str) -> None:
    """An honest answer by somebody of that name."""

    def builder(root: Path) -> str:
        return submit(root, student, QUIZ)

    builder.__name__ = f"name_{why}"
    builder.__doc__ = "Deserves: 4 points\nNamed: there is no kernel"
    attack(builder)


for _student, _why in (
    ("-rf", "of_an_option"),
    ("x\\..\\..\\y", "of_a_path_on_windows"),
    ("C:", "of_a_drive"),
    ("CON", "of_a_device"),
    ("a" * 250, "of_250_letters"),
    ("\N{PILE OF POO}" * 60, "of_60_emoji"),
    ("Zoe", "in_capitals"),
    ("zoe", "in_small_letters"),
    ("Zo\u00e9", "with_one_accent"),
    ("Zoe\u0301", "with_the_same_accent"),
    ("line\nbreak", "of_two_lines"),
    ("tab\tand \x1b[31mred", "of_a_terminal"),
    ("<script>alert(1)</script>".replace("/", "\\"), "of_a_page"),
    ("=1+1", "of_a_formula"),
    ("$(touch /CANARY.x)".replace("/", ""), "of_a_command"),
    ("student", "of_the_file"),
    (os.fsdecode(b"\xff\xfe"), "of_no_text"),
):
    named(_student, _why)
