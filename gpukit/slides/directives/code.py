"""`code`: a function as it stands in the repository, so that a slide shows what runs."""

from __future__ import annotations

import ast
import difflib
import textwrap
from collections.abc import Sequence
from pathlib import Path

from gpukit.cpp import tokens
from gpukit.registry import nearest
from gpukit.slides import objects
from gpukit.slides.directives import Directive, Page
from gpukit.slides.errors import SlidesError

LANGUAGES = {".py": "python", ".cu": "cpp", ".cuh": "cpp"}
LONGEST = 16  # lines that a slide has room for
WIDEST = 80  # characters


def expand(it: Directive, page: Page) -> str:
    """A fence with the chosen lines of the function; `mark=` in its info string are lines counted in the fence."""
    it.allow("from", "to", "mark", "diff", "signature")
    path, name = objects.split(it.target)
    language = _language(path)
    lines = _shown(it, page, path, name)
    if "diff" not in it.attributes:
        lines = textwrap.dedent("\n".join(chosen(lines, it))).splitlines()
        return fence(lines, language, marked(lines, it), it)
    other = it.attributes["diff"]
    other_path, other_name = objects.split(other) if "::" in other else (path, other)
    lines = chosen(_diff(_shown(it, page, other_path, other_name), lines), it)
    indented = min((len(line) - len(line[2:].lstrip()) for line in lines if line[2:].strip()), default=2)
    lines = [line[:2] + line[indented:] for line in lines]
    return fence(lines, f"diff of={language}", marked(lines, it), it)


def _shown(it: Directive, page: Page, path: str, name: str) -> list[str]:
    """The lines of a function, without decorators and name where the directive says so."""
    lines = function_lines(page.root, path, name)
    return _body(lines, _language(path)) if it.attributes.get("signature") == "no" else lines


def function_lines(root: Path, path: str, name: str) -> list[str]:
    """The lines of a function, without docstring and registration. Raises SlidesError when it is not there.

    path: of a .py, .cu or .cuh file, from the repository's root. Of Python's decorators those of `cuda` stay, since a
    kernel is none without them; in CUDA C++ the comment above a kernel goes, as a docstring does.
    """
    language = _language(path)
    if Path(path).stem == "solution":
        raise SlidesError(f"{path} is a lab's solution, and students read the slides: show a kernel of the kit")
    text = objects.existing(root, path).read_text(encoding="utf-8")
    lines = _python(text, name, path) if language == "python" else _cpp(text, name, path)
    return textwrap.dedent("\n".join(lines)).splitlines()


def _language(path: str) -> str:
    suffix = Path(path).suffix
    if suffix not in LANGUAGES:
        raise SlidesError(f"{path} holds no code that slides show: name a file that ends in {', '.join(LANGUAGES)}")
    return LANGUAGES[suffix]


def _python(text: str, name: str, path: str) -> list[str]:
    nodes = [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.FunctionDef | ast.ClassDef)]
    node = next((n for n in nodes if n.name == name), None)
    if node is None:
        raise _missing(path, name, [n.name for n in nodes])
    lines = text.splitlines()
    kept = [one for one in node.decorator_list if ast.unparse(one).startswith("cuda.")]
    shown = [line for one in kept for line in lines[one.lineno - 1 : one.end_lineno]]
    first, rest = node.body[0], node.body[1:]
    documented = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and rest
    if documented:
        # Comments between the docstring and the first statement belong to the code.
        shown += lines[node.lineno - 1 : first.lineno - 1] + lines[first.end_lineno or 0 : node.end_lineno]
    else:
        shown += lines[node.lineno - 1 : node.end_lineno]
    return [line.rstrip() for line in shown]


def _cpp(text: str, name: str, path: str) -> list[str]:
    """The definition of a function: from the line that its declaration begins on to its closing brace."""
    items = tokens.tokens(text)
    known, begin, i = [], 0, 0
    while i < len(items):
        token = items[i]
        if token.kind == tokens.DIRECTIVE or token.text == ";":
            begin = i + 1
        elif token.text == "extern" and items[i + 1].kind == tokens.STRING and items[i + 2].text == "{":
            begin = i = i + 2  # a block of C linkage, whose functions stand for themselves
            begin += 1
        elif token.text == "(":
            after = tokens.group_end(items, i)
            function = items[i - 1].text if i else ""
            if after < len(items) and items[after].text == "{" and items[i - 1].kind == tokens.WORD:
                end = tokens.group_end(items, after)
                known.append(function)
                if function == name:
                    return text[items[begin].start : items[end - 1].end].splitlines()
                begin = i = end
                continue
            i = after
            continue
        elif token.text == "{":
            begin = i = tokens.group_end(items, i)
            continue
        i += 1
    raise _missing(path, name, known)


def _missing(path: str, name: str, known: Sequence[str]) -> SlidesError:
    return SlidesError(f"{path} has no {name}, which was renamed or removed{nearest(name, known)}")


def _body(lines: list[str], language: str) -> list[str]:
    """Without decorators and the line of the name: what happens, not what it is called."""
    if language == "python":
        start = next(i for i, line in enumerate(lines) if line.rstrip().endswith(":")) + 1
        return textwrap.dedent("\n".join(lines[start:])).splitlines()
    start = next(i for i, line in enumerate(lines) if line.rstrip().endswith("{")) + 1
    return textwrap.dedent("\n".join(lines[start:-1])).splitlines()


def _diff(before: Sequence[str], after: Sequence[str]) -> list[str]:
    """The whole of `after`, with what went marked by - and what came by +."""
    shown = []
    for what, i, j, k, m in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if what == "equal":
            shown += [f"  {line}" for line in after[k:m]]
        else:
            shown += [f"- {line}" for line in before[i:j]] + [f"+ {line}" for line in after[k:m]]
    return [line.rstrip() for line in shown]


# --- choosing and marking lines, as for `output` ---------------------------------------------------------------------


def chosen(lines: Sequence[str], it: Directive) -> list[str]:
    """From the first line that contains `from` to the next that contains `to`. Raises SlidesError for text not found.

    Lines are chosen by what they say: numbers would still point somewhere when the code has moved.
    """
    first, last = 0, len(lines) - 1
    if "from" in it.attributes:
        first = _find(lines, it.attributes["from"], 0, "from", it)
    if "to" in it.attributes:
        last = _find(lines, it.attributes["to"], first + ("from" in it.attributes), "to", it)
    return list(lines[first : last + 1])


def marked(lines: Sequence[str], it: Directive) -> list[int]:
    """Numbers, from 1, of the lines that contain one of the texts of `mark`."""
    found = []
    for text in filter(None, (part.strip() for part in it.attributes.get("mark", "").split(" | "))):
        _find(lines, text, 0, "mark", it)
        found += [number for number, line in enumerate(lines, 1) if text in line]
    return sorted(set(found))


def _find(lines: Sequence[str], text: str, start: int, attribute: str, it: Directive) -> int:
    for number in range(start, len(lines)):
        if text in lines[number]:
            return number
    raise it.error(f'{attribute}="{text}": no line of {it.target} contains this (any more)')


def fence(lines: Sequence[str], info: str, marks: Sequence[int], it: Directive) -> str:
    """A fence with its info string. Raises SlidesError for more than a slide has room for."""
    rows = sum(max(1, -(-len(line) // WIDEST)) for line in lines)  # the page folds what is wider
    if rows > LONGEST:
        raise it.error(
            f"{it.target} is {rows} lines here and a slide has room for {LONGEST}: choose some with from= and to="
        )
    ticks = "`" * max([3, *(len(line) - len(line.lstrip("`")) + 1 for line in lines)])
    info += f" mark={_ranges(marks)}" if marks else ""
    return "\n".join([f"{ticks}{info}", *lines, ticks])


def _ranges(numbers: Sequence[int]) -> str:
    """ "1,3-5" """
    parts: list[list[int]] = []
    for number in numbers:
        if parts and number == parts[-1][1] + 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in parts)
