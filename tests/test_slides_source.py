"""A deck's file: front matter, slides, comments; and what is said of one that is not as it should be."""

from pathlib import Path

import pytest

from gpukit.slides import source
from gpukit.slides.errors import SlidesError

FRONT = "---\nmarp: true\ntitle: T\n---\n\n"


def parsed(text):
    return source.parse(FRONT + text, Path("slides/01_t.md"), "slides/01_t.md")


def test_slides_are_parted_by_rules_and_know_their_lines():
    deck = parsed("# One\n\ntext\n\n---\n\n## Two\n")
    assert [(slide.text, slide.line) for slide in deck.slides] == [("# One\n\ntext", 6), ("## Two", 12)]
    assert deck.meta == {"marp": "true", "title": "T"} and deck.name == "01_t"


@pytest.mark.parametrize(
    "inside",
    ["```\n\n---\n\n```", "<!-- 1 min.\n\n---\n\nmore -->", "text\n---"],
    ids=["in a fence", "in a comment", "under text, where it makes a heading"],
)
def test_a_rule_elsewhere_parts_nothing(inside):
    assert len(parsed(f"# One\n\n{inside}\n\nend").slides) == 1


def test_comments_are_found_but_not_in_code():
    slide = parsed("# One\n\n<!-- a -->\n`<!-- b -->` <!--\nc\n-->\n\n```\n<!-- d -->\n```\n").slides[0]
    assert [(c.text, c.line) for c in source.comments(slide, "x")] == [("a", 8), ("c", 9)]


def test_a_comment_that_does_not_end_is_named():
    with pytest.raises(SlidesError, match=r"^slides/01_t.md:8: a comment begins here and does not end"):
        source.comments(parsed("# One\n\n<!-- a\n").slides[0], "slides/01_t.md")


def test_typed_code_is_found_with_its_length():
    slide = parsed("# One\n\n```python\na\nb\n```\n\n~~~\n~~~\n").slides[0]
    assert source.fences(slide) == [(8, 2, "python"), (13, 0, "")]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("# One", r":1: a deck begins with front matter"),
        ("---\nmarp: true\ntitle: T\n", r":1: the front matter does not end"),
        ("---\ntitle: T\n---\n", r":1: the front matter needs `marp: true`"),
        ("---\nmarp: true\n- a\n---\n", r":3: the front matter holds lines of `key: value`"),
    ],
)
def test_front_matter_that_is_none_is_refused(text, says):
    with pytest.raises(SlidesError, match="^slides/01_t.md" + says):
        source.parse(text, Path("slides/01_t.md"), "slides/01_t.md")


def test_a_file_that_cannot_be_read_is_one_sentence(tmp_path):
    with pytest.raises(SlidesError, match=r"^gone.md: this deck cannot be read: No such file"):
        source.read(tmp_path / "gone.md", tmp_path)
    (tmp_path / "bad.md").write_bytes(b"\xff\xfe\xff")
    with pytest.raises(SlidesError, match=r"^bad.md: this deck cannot be read"):
        source.read(tmp_path / "bad.md", tmp_path)
