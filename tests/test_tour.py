"""`gpukit tour` as a user runs it: in time, with its tables and figures, and with the GPU's own numbers."""

import io
import re
import time
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from gpukit.errors import GpukitError
from gpukit.tour import matrix, run


@pytest.fixture(scope="module")
def tour(tmp_path_factory):
    """(folder, printed text, seconds)"""
    out = tmp_path_factory.mktemp("tour") / "new" / "folder"
    text = io.StringIO()
    began = time.perf_counter()
    run(out, Console(file=text, width=120))
    return out, text.getvalue(), time.perf_counter() - began


def test_it_ends_in_twenty_seconds(tour):
    assert tour[2] < 20


def test_the_figures_are_there_and_named(tour):
    out, text, _ = tour
    figures = sorted(path.name for path in out.iterdir())
    assert figures == ["1-divergence.png", "2-coalescing.png", "3-reduction.png", "4-sparse.png"]
    assert all((out / name).stat().st_size > 10_000 for name in figures)
    assert str(out) in text.replace("\n", "")


def test_the_reductions_are_the_hardwares(tour):
    text = tour[1]
    for number in ("227,328", "1,046,528", "114,688", "83,968", "272,384", "137,216"):
        assert text.count(number) >= 2  # ours and the H200's
    assert text.count("identical") == 3
    assert "differs" not in text


def test_the_broken_kernel_is_found_and_its_cure_is_clean(tour):
    text = tour[1]
    assert "race_shared" in text
    assert "no hazard" in text


def test_a_folder_that_cannot_be_made_is_one_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(GpukitError, match="--out"):
        run(tmp_path / "file" / "tour", Console(file=io.StringIO()))


def test_the_matrix_is_what_its_readme_says():
    words = matrix.load()
    assert (words.rows, words.nonzeros) == (6692, 89871)
    assert words.indptr[0] == 0 and words.indptr[-1] == words.nonzeros
    assert words.row_lengths.max() == 2774 and words.words[words.row_lengths.argmax()] == "the"
    assert np.median(words.row_lengths) == 5
    rows = np.repeat(np.arange(words.rows), words.row_lengths)
    place = rows * words.rows + words.indices
    assert (np.diff(place) > 0).all()  # columns ascend in each row, none twice
    assert words.indices.max() < words.rows and words.data.min() >= 1
    whale, white = words.words.index("whale"), words.words.index("white")
    row = slice(words.indptr[white], words.indptr[white + 1])
    assert whale in words.indices[row]


def test_the_readme_has_two_commands_one_screen_and_an_example_that_runs(capsys):
    readme = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    commands = [line.strip() for line in readme.splitlines() if line.startswith("    python")]
    assert commands == ["python -m pip install -e . && gpukit tour", 'python -m pip install -e ".[test]" && pytest']
    assert len(readme.splitlines()) <= 50
    (example,) = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
    exec(example, {})
    shown = capsys.readouterr().out
    assert "no hazards found" in shown and "data[start + 2 * tid]" in shown
