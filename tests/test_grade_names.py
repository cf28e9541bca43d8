"""File names for students are safe, and no two are alike."""

from hypothesis import given
from hypothesis import strategies as st

from gpukit.grading.names import safe_name


def test_plain_names_stay():
    assert [safe_name(name) for name in ("ada", "bob_smith", "c-3")] == ["ada", "bob_smith", "c-3"]


def test_names_that_differ_in_case_or_accents_alone_are_told_apart():
    names = [safe_name(name) for name in ("ada", "Ada", "Zoé", "Zoe", "zoe")]
    assert len({name.casefold() for name in names}) == 5


def test_no_name_leaves_its_folder():
    for student in (
        "../../x",
        "/etc/passwd",
        "C:\\x",
        "..",
        ".",
        "",
        ".hidden",
        "a/b",
        "con",
        "-rf",
        "x\ny",
        "x" * 300,
    ):
        name = safe_name(student)
        assert name and len(name) < 80
        assert not set(name) & set("/\\:\n\0") and not name.startswith((".", "-"))
        assert name.casefold() != "con"


@given(st.lists(st.text(max_size=80), unique=True, max_size=20))
def test_any_names(students):
    names = [safe_name(student) for student in students]
    assert len({name.casefold() for name in names}) == len(students)
    assert not any(set(name) & set('/\\:\0\n*?"<>|') for name in names)
