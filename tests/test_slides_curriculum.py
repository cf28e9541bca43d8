"""Every row of slides/curriculum.toml is on a slide of the decks, with the words that belong to it.

Pictures are not drawn here: what a row must say stands in text, numbers, tables, output or notes, or in what is said of
a picture to those who do not see it.
"""

from collections import Counter
from pathlib import Path

import pytest

import gpukit.cli
from gpukit.slides import commands, source
from gpukit.slides.checks import curriculum
from gpukit.slides.directives import fig, stepper
from gpukit.slides.expand import expand
from gpukit.slides.html import site

ROOT = Path(__file__).parents[1]
FILE = ROOT / curriculum.FILE
ROWS = curriculum.read(FILE)
SECTIONS = ("why", "apod", "divergence", "memory", "reduction", "warp", "spmv", "ctr", "model", "corrections")


def picture(it, page):
    return f"![{fig.alt_of(it)}](figures/none.svg)"


@pytest.fixture(scope="module")
def decks():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fig, "expand", picture)
        patch.setattr(stepper, "expand", picture)
        run = commands.runner(gpukit.cli.main, ROOT)
        return [expand(source.read(path, ROOT), ROOT, run) for path in site.deck_files(ROOT)]


def test_the_decks_of_the_course_are_there(decks):
    assert [deck.name[:2] for deck in decks] == [f"{number:02}" for number in range(14)]


def test_the_curriculum_has_all_sections():
    count = Counter(name.partition(".")[0] for name in ROWS)
    assert list(count) == list(SECTIONS)
    assert min(count.values()) >= 5
    assert len(ROWS) >= 160


def test_rows_are_meant_for_decks_that_are_there(decks):
    assert {row.deck for row in ROWS.values()} <= {deck.name for deck in decks}


@pytest.mark.parametrize("row", ROWS.values(), ids=lambda row: row.id)
def test_a_row_is_taught(row, decks):
    found = curriculum.check(decks, {row.id: row}, FILE)
    assert not [finding.shown(ROOT) for finding in found if "is no row of" not in finding.sentence]


def test_slides_cover_nothing_but_rows(decks):
    assert not list(curriculum.unknown(decks, ROWS))


def test_the_deck_that_a_row_is_meant_for_carries_it(decks):
    """Others may say it, too."""
    carried = {deck.name: {name for slide in deck.slides for name in slide.covers} for deck in decks}
    assert not [f"{row.id}: {row.deck}" for row in ROWS.values() if row.id not in carried[row.deck]]
