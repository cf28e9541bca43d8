"""The parameters of `__global__` functions, read from C++ source for messages and for arguments by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpukit.cpp.tokens import DIRECTIVE, OPENING, WORD, Token, angle_end, group_end, macros_of, tokens

_QUALIFIERS = {"const", "volatile", "__restrict__", "__restrict", "restrict", "__grid_constant__", "register"}
_ELABORATED = {"struct", "class", "union", "enum", "typename"}
_BUILT_IN = {"void", "bool", "char", "short", "int", "long", "signed", "unsigned", "float", "double", "auto"}
_FIXED = {"char8_t", "char16_t", "char32_t", "wchar_t", "size_t", "ptrdiff_t"} | {
    f"{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64)
}
_TYPE_WORDS = _BUILT_IN | _FIXED


@dataclass(frozen=True, slots=True)
class Parameter:
    """A kernel's parameter. `type` is the C++ type without the name, `const` says that what a pointer points to (or
    the value itself) is const. `name` is '' if the source gives none."""

    name: str
    type: str
    pointer: bool
    const: bool


@dataclass(frozen=True, slots=True)
class Signature:
    """A `__global__` function. `name` holds its namespaces; `template` says that it needs template arguments;
    `c_name` that it stands under `extern "C"`, so that its name in PTX is the plain one."""

    name: str
    parameters: tuple[Parameter, ...]
    template: bool
    c_name: bool
    line: int


def kernels(code: str) -> list[Signature]:
    """Every `__global__` function of C++ text. Declarations without a body count if there is no definition."""
    return _Reader(code).read()


def find(found: Sequence[Signature], expression: str) -> Signature | None:
    """The kernel of a name expression such as "tools::scale<float, 4>" among `found`; None if there is no one such."""
    name = expression.split("<", 1)[0].strip().lstrip("&").lstrip(":")
    exact = [kernel for kernel in found if kernel.name == name]
    last = name.rsplit("::", 1)[-1]
    matching = exact or [kernel for kernel in found if kernel.name.rsplit("::", 1)[-1] == last]
    # A template and its specialisations have one name; the template's own declaration comes first.
    return matching[0] if len({kernel.name for kernel in matching}) == 1 else None


class _Reader:
    def __init__(self, code: str):
        self._code = code
        self._items = [token for token in tokens(code) if token.kind != DIRECTIVE]
        self._markers = {"__global__": "", **macros_of([code], ["__global__"])}
        self._defined: dict[tuple[str, tuple[str, ...]], Signature] = {}

    def read(self) -> list[Signature]:
        self._scope(0, len(self._items), (), False)
        return list(self._defined.values())

    def _scope(self, start: int, end: int, namespaces: tuple[str, ...], c_names: bool) -> None:
        """The declarations between two tokens."""
        i = begin = start
        while i < end:
            text = self._items[i].text
            if text == "{":
                inside = self._opened(begin, i)
                close = group_end(self._items, i)
                if inside is not None:
                    names, is_c = inside
                    self._scope(i + 1, close - 1, (*namespaces, *names), c_names or is_c)
                i = begin = close
            elif text in self._markers:
                after = self._kernel(begin, i, namespaces, c_names)
                i = begin = after
            elif text in OPENING:
                i = group_end(self._items, i)
            else:
                i += 1
                if text == ";":
                    begin = i

    def _opened(self, begin: int, brace: int) -> tuple[tuple[str, ...], bool] | None:
        """(namespaces, extern "C") of a `{` whose inside holds declarations; None for any other."""
        words = [token.text for token in self._items[begin:brace]]
        if "namespace" in words:
            return tuple(w for w in words[words.index("namespace") + 1 :] if w.isidentifier() and w != "inline"), False
        if words[-2:] == ["extern", '"C"']:
            return (), True
        return ((), False) if words[-2:] == ["extern", '"C++"'] else None

    def _kernel(self, begin: int, marker: int, namespaces: tuple[str, ...], c_names: bool) -> int:
        """Reads the function whose declaration starts at `begin` and says `__global__` at `marker`."""
        items = self._items
        before = [token.text for token in (*items[begin:marker], *tokens(self._markers[items[marker].text]))]
        i = marker + 1
        while i < len(items) and items[i].text not in (";", "{"):
            if items[i].kind == WORD:
                after = angle_end(items, i + 1) if i + 1 < len(items) and items[i + 1].text == "<" else i + 1
                if after < len(items) and items[after].text == "(":
                    close = group_end(items, after)
                    if self._is_declarator(close):
                        self._add(i, after, close, before, namespaces, c_names)
                        return self._behind(close)
                    i = close
                    continue
                i = after
            else:
                i = group_end(items, i) if items[i].text in OPENING else i + 1
        return i

    def _is_declarator(self, close: int) -> bool:
        """Whether a parenthesis that ends here held the parameters: a body or a semicolon comes next."""
        if close >= len(self._items):
            return True
        text = self._items[close].text
        return text in ("{", ";") or text in ("__launch_bounds__", "noexcept", "__attribute__")

    def _behind(self, close: int) -> int:
        while close < len(self._items) and self._items[close].text not in ("{", ";"):
            close += 1
        if close < len(self._items) and self._items[close].text == "{":
            return group_end(self._items, close)
        return close

    def _add(
        self, name: int, opening: int, close: int, before: list[str], namespaces: tuple[str, ...], c_names: bool
    ) -> None:
        found = tuple(_parameter(part) for part in _split(self._items[opening + 1 : close - 1]))
        full = "::".join((*namespaces, self._items[name].text))
        is_c = c_names or any(before[i : i + 2] == ["extern", '"C"'] for i in range(len(before)))
        line = self._code.count("\n", 0, self._items[name].start) + 1
        kernel = Signature(full, tuple(p for p in found if p is not None), "template" in before, is_c, line)
        key = (full, tuple(p.type for p in kernel.parameters))
        is_definition = self._behind(close) > close and self._items[self._behind(close) - 1].text == "}"
        if is_definition or key not in self._defined:
            self._defined[key] = kernel


def _split(items: Sequence[Token]) -> list[list[Token]]:
    """The parts between commas that stand in no bracket."""
    parts: list[list[Token]] = [[]]
    i = 0
    while i < len(items):
        text = items[i].text
        if text == ",":
            parts.append([])
            i += 1
            continue
        after = i + 1
        if text in OPENING:
            after = group_end(items, i)
        elif text == "<":
            after = max(angle_end(items, i), i + 1)
        parts[-1] += items[i:after]
        i = after
    return [part for part in parts if part]


def _parameter(items: list[Token]) -> Parameter | None:
    """One parameter's tokens as a Parameter; None for `void`."""
    texts = [token.text for token in items]
    for i, text in enumerate(texts):
        if text == "=":
            items, texts = items[:i], texts[:i]
            break
    if texts == ["void"] or not texts:
        return None
    function = _function_pointer(texts)
    if function is not None:
        return function
    array = "[" in texts
    if array:
        items = items[: texts.index("[")]
        texts = texts[: texts.index("[")]
    name = ""
    places = [i for i, token in enumerate(items) if token.kind == WORD and token.text not in _QUALIFIERS]
    if len(places) > 1 or (places and array):
        last = places[-1]
        alone = all(texts[i] in _ELABORATED for i in places[:-1])
        follows_scope = last > 0 and texts[last - 1] == "::"
        inside_template = ">" in texts[last:]
        if not (texts[last] in _TYPE_WORDS or follows_scope or inside_template or alone):
            name = texts[last]
            texts = texts[:last] + texts[last + 1 :]
    shown = [t for t in texts if t not in ("__restrict__", "__restrict", "restrict", "__grid_constant__", "register")]
    pointer = "*" in _outside_angles(shown) or array
    pointed = shown[: shown.index("*")] if "*" in shown else shown
    type_text = _join(shown) + ("*" if array else "")
    return Parameter(name, type_text, pointer, "const" in _outside_angles(pointed))


def _function_pointer(texts: list[str]) -> Parameter | None:
    for i in range(len(texts) - 2):
        if texts[i] == "(" and texts[i + 1] == "*":
            name = texts[i + 2] if texts[i + 2].isidentifier() else ""
            kept = [text for j, text in enumerate(texts) if not (j == i + 2 and name)]
            return Parameter(name, _join(kept), True, False)
    return None


def _outside_angles(texts: Sequence[str]) -> list[str]:
    depth, kept = 0, []
    for text in texts:
        depth += {"<": 1, ">": -1}.get(text, 0)
        if depth == 0:
            kept.append(text)
    return kept


def _join(texts: Sequence[str]) -> str:
    """Tokens as people write them: "const float*", "std::array<float, 4>"."""
    out = ""
    for text in texts:
        spaced = out and out[-1] not in "<:(&~" and text not in ("*", "&", "::", "<", ">", ",", ")", "[", "]", "...")
        out += (" " if spaced else "") + text
    return out
