"""Host code in a CUDA file: NVRTC takes device code only, so what the host alone can use is blanked out.

A declaration without `__global__`, `__device__`, `__constant__`, `__shared__` or `__managed__` is the host's. Most of
them (constants, types) are fine for NVRTC and are left alone; one that it rejects is replaced by spaces, so that lines
keep their numbers. A kernel that needs what was blanked does not compile, and is told why.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

from gpukit.cpp.tokens import DIRECTIVE, OPENING, WORD, Token, angle_end, directives, group_end, tokens

DEVICE_WORDS = {"__global__", "__device__", "__constant__", "__shared__", "__managed__"}
_TYPES = {"struct", "class", "union"}
_BEFORE_A_TYPE = {"alignas", "decltype", "__attribute__", "__align__", "__declspec", "_Pragma"}
_PLAIN_SPECIFIERS = {"__host__", "__forceinline__", "__inline__", "__inline", "__noinline__", "__restrict__", "__cdecl"}
_BEHIND_PARAMETERS = {"noexcept", "const", "volatile", "override", "final", "try", "__attribute__"}


@dataclass(eq=False, slots=True)
class Region:
    """A declaration of the host: characters `start` to `end`, lines `first` to `last`.

    `constexpr` is where that word stands, None if it is no constexpr function. `rejected`: it is a function, which
    NVRTC rejects for sure. `error`, at line `error_line`, is why NVRTC rejects it, once that
    is known.
    """

    start: int
    end: int
    first: int
    last: int
    name: str
    constexpr: int | None = None
    rejected: bool = False
    error: str = ""
    error_line: int | None = None


@dataclass
class HostCode:
    """The host's declarations in a file, and the file without some of them."""

    code: str
    device_macros: Collection[str] = ()  # macros that stand for one of DEVICE_WORDS
    regions: list[Region] = field(default_factory=list)
    removed: list[Region] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._device = DEVICE_WORDS | set(self.device_macros)
        self._directives = directives(self.code)
        self._items = [token for token in tokens(self.code) if token.kind != DIRECTIVE]
        self._scope(0, len(self._items), members=False)

    def remove_functions(self) -> None:
        """Blank the host's functions, `main` among them, and make constexpr ones the device's too."""
        self._remove(region for region in self.regions if region.rejected)

    def remove_at(self, errors: Iterable[tuple[int, str]]) -> bool:
        """Blank the innermost declarations of the host at these lines; False if there is nothing left to blank."""
        wanted = []
        for line, text in errors:
            here = [r for r in self.regions if r.first <= line <= r.last and r not in self.removed]
            inner = [r for r in here if not any(o is not r and r.start <= o.start and o.end <= r.end for o in here)]
            for region in inner:
                if not region.error:
                    region.error, region.error_line = text, line
            wanted += inner
        return self._remove(wanted)

    def owner(self, name: str) -> Region | None:
        """The blanked declaration that a name belonged to."""
        return next((r for r in self.removed if r.name == name and r.constexpr is None), None)

    def text(self) -> str:
        """The file without what was removed; constexpr functions are made the device's too, as nvcc can."""
        out = list(self.code)
        insert: list[int] = []
        for region in self.removed:
            if region.constexpr is not None:
                insert.append(region.constexpr)
                continue
            kept = [range(d.start, d.end) for d in self._directives if region.start <= d.start < region.end]
            for i in range(region.start, region.end):
                if out[i] != "\n" and not any(i in span for span in kept):
                    out[i] = " "
        for place in sorted(insert, reverse=True):
            out[place:place] = "__host__ __device__ "
        return "".join(out)

    def _remove(self, regions: Iterable[Region]) -> bool:
        new = [region for region in dict.fromkeys(regions) if region not in self.removed]
        self.removed += new
        return bool(new)

    # --- finding them ------------------------------------------------------------------------------------------------

    def _scope(self, begin: int, end: int, members: bool) -> None:
        """The declarations between two tokens: of a namespace, or the members of a type."""
        while begin < end:
            after = self._declaration_end(begin, end)
            self._declaration(begin, after, members)
            begin = after

    def _declaration_end(self, begin: int, end: int) -> int:
        """Index behind a declaration: behind its `;`, or behind the body of a function, namespace or `extern "C"`."""
        i = begin
        while i < end:
            text = self._items[i].text
            if text == ";":
                return i + 1
            if text == ":" and i == begin + 1 and self._items[begin].text in ("public", "private", "protected"):
                return i + 1
            close = group_end(self._items, i) if text in OPENING else i + 1
            if text == "(" and i == begin + 1 and self._is_macro_call(begin, close, end):
                return close
            if text == "{" and not self._goes_on(begin, i, close):
                return min(close, end)
            i = close
        return end

    def _is_macro_call(self, begin: int, close: int, end: int) -> bool:
        """Whether `NAME(...)` stands for itself, such as a macro that makes a kernel: another declaration follows."""
        if self._items[begin].kind != WORD or self._items[begin].text in _BEFORE_A_TYPE:
            return False
        return close >= end or (self._items[close].kind == WORD and self._items[close].text not in _BEHIND_PARAMETERS)

    def _goes_on(self, begin: int, brace: int, close: int) -> bool:
        """Whether a declaration goes on behind a `{...}`: a type or a variable ends with a semicolon."""
        head = [token.text for token in self._items[begin:brace]]
        if "=" in head and "operator" not in head:
            return True
        if "namespace" in head or (head and head[-1] in ('"C"', '"C++"')):
            return False
        if any(word in head for word in (*_TYPES, "enum")) and ("(" not in head or head[-1] != ")"):
            return True
        # A member initialiser or a variable in braces: `A() : x{1} {}`, `float x{1};`
        return close < len(self._items) and self._items[close].text in ("{", ",", ";") and "(" not in head[-1:]

    def _declaration(self, begin: int, end: int, members: bool) -> None:
        items = self._items[begin:end]
        brace = next((i for i, token in enumerate(items) if token.text == "{"), None)
        head = [token.text for token in items[:brace]]
        if brace is not None and ("namespace" in head or head[-1:] in (['"C"'], ['"C++"'])):
            self._scope(begin + brace + 1, end - 1, members=False)
            return
        words = {token.text for token in items if token.kind == WORD}
        head_words = set(_outside_template(items[:brace]))
        if head_words & self._device:
            return
        is_type = bool(head_words & _TYPES) and brace is not None and head[-1] != ")"
        if is_type:
            assert brace is not None
            close = group_end(self._items, begin + brace)
            self._scope(begin + brace + 1, close - 1, members=True)
            # Without a specialisation, a kernel would take the template it specialises, and nobody would notice.
            if words & self._device or _is_specialisation(head):
                return
        elif members and not _is_function(items):
            return
        self.regions.append(self._region(items, head_words))

    def _region(self, items: Sequence[Token], head: set[str]) -> Region:
        start, end = items[0].start, items[-1].end
        constexpr = next((t.start for t in items if t.text in ("constexpr", "consteval")), None)
        is_function = _is_function(items) and not head & _TYPES
        texts = [token.text for token in items]
        rejected = (
            is_function
            and not head & {"friend", "typedef", "using"}
            and texts[-3:-1] not in (["=", "default"], ["=", "delete"])
            and not any(_may_be_macro(text) for text in texts[: texts.index("(")])
        )
        return Region(
            start,
            end,
            self.code.count("\n", 0, start) + 1,
            self.code.count("\n", 0, end) + 1,
            _declared_name(items),
            constexpr if is_function and "constexpr" in head else None,
            rejected,
        )


def _outside_template(items: Sequence[Token]) -> list[str]:
    """The words of a declaration's head up to the value it is given, without the list of template parameters."""
    start = 0
    if len(items) > 1 and items[0].text == "template" and items[1].text == "<":
        start = angle_end(items, 1)
    words: list[str] = []
    for token in items[start:]:
        if token.text == "=":
            break
        if token.kind == WORD:
            words.append(token.text)
    return words


def _is_specialisation(head: Sequence[str]) -> bool:
    """Whether the head of a type is that of `template <> struct Size<float>`, full or partial."""
    return any(word in _TYPES and head[i + 2 : i + 3] == ["<"] for i, word in enumerate(head))


def _may_be_macro(word: str) -> bool:
    """Whether a word may be a macro of a header, which could say `__device__`."""
    return (len(word) > 1 and word.isupper()) or (word.startswith("_") and word not in _PLAIN_SPECIFIERS)


def _declared_name(items: Sequence[Token]) -> str:
    """The name a declaration declares: the last word before its parameters, its value, its body or its bases."""
    name = ""
    for i, token in enumerate(items):
        if token.text in ("=", "{", ";", "[", ":") or (token.text == "(" and name):
            break
        if token.text == "operator":
            parameters = next((j for j in range(i + 2, len(items)) if items[j].text == "("), i + 1)
            return "".join(item.text for item in items[i:parameters])
        if token.kind == WORD and not (i and items[i - 1].text == "<"):
            name = token.text
    return name


def _is_function(items: Sequence[Token]) -> bool:
    """Whether a declaration has a name followed by parameters before any value."""
    for i, token in enumerate(items[:-1]):
        if token.text in ("=", "{", ";") and not (i and items[i - 1].text == "operator"):
            return False
        if items[i + 1].text == "(" and (token.kind == WORD or (i and items[i - 1].text == "operator")):
            return token.text not in _BEFORE_A_TYPE and (i > 0 or items[0].text == "operator")
    return False
