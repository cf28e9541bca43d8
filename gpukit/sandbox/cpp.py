"""CUDA C++ of a student: what its text may not hold, and its compilation in a limited child process.

A compiler reads whatever files its input names, and for a short input it may work without end, take all memory, or
crash. So the text is scanned for everything that names a file or steps out of the language, and NVRTC runs in a child
behind walls. What comes back is PTX, which the machine interprets like any other.

    refusals(source)                                    first
    gpukit.raw.load(path, compiler=compile_untrusted)   then: kernels as usual, compiled in the child
"""

from __future__ import annotations

import functools
import importlib.util
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from gpukit.compilers import diagnostics
from gpukit.compilers.nvrtc import DEFAULT_ARCHITECTURE, CompileError, CudaPtx, PassedOver
from gpukit.errors import GpukitError, UnsupportedFeature
from gpukit.sandbox import data
from gpukit.sandbox.policy import Refusal
from gpukit.sandbox.reading import oddity
from gpukit.sandbox.running import Limits, Outcome, run

_CHILD = Path(__file__).with_name("cpp_child.py")
LIMITS = Limits(seconds=20.0, cpu_seconds=20, memory_bytes=4 << 30, output_bytes=1 << 24)
_NO_ANSWER = "no complete answer came back from the CUDA C++ compiler"
_KEPT = 64  # compiled programs kept in memory

# --- what the text may not hold ------------------------------------------------------------------------------------

# Headers for kernels. CUB and Thrust are not among them: they hold what labs ask for.
_HEADER = re.compile(
    r"""cooperative_groups\.h | cooperative_groups/(memcpy_async|reduce|scan|details/partitioning)\.h
      | cuda_(runtime|fp16|bf16|fp8)\.h | cuda/std/[a-z_]+ | cuda/(atomic|barrier|pipeline|semaphore|latch|cmath)
      | c(assert|float|limits|math|stddef|stdint|stdio|stdlib|string)
      | (assert|float|limits|math|stddef|stdint|stdio|stdlib|string)\.h
      | type_traits | limits | utility""",
    re.VERBOSE,
)
_HEADERS = (
    "cooperative_groups.h, cuda_fp16.h, cuda/std/..., cuda/atomic, cuda/barrier and the C library's may be included"
)
_INCLUDE = re.compile(r"""\s*(?:<([^<>"]+)>|"([^<>"]+)")\s*""")
_DIRECTIVES = ("define", "undef", "if", "ifdef", "ifndef", "elif", "else", "endif", "error", "")
_PRAGMA = re.compile(r"\s*(?:unroll|nounroll)\b")
_TEXT = re.compile(
    r"""(?P<comment> //[^\n]* | /\*.*?\*/ )
      | (?P<open> /\*.* )
      | (?P<raw> \b(?:u8|[uUL])?R" )
      | (?P<number> \b\d(?:'?[\w.])* )
      | (?P<text> "(?:[^"\\\n]|\\[^\n])*" | '(?:[^'\\\n]|\\[^\n])*' )
      | (?P<quote> ["'] )""",
    re.DOTALL | re.VERBOSE,
)
_PLAIN = "write the kernel without it"
# Looked for where comments and texts are blanked.
_WORDS: tuple[tuple[re.Pattern[str], str, str], ...] = tuple(
    (re.compile(pattern), what, advice)
    for pattern, what, advice in (
        (r"\b(?:asm|__asm|__asm__)\b", "inline assembly", "write it in C++"),
        (r"##|%:", "`##`, which makes new words of two", "write the word"),
        (r"\b(?:__has_include\w*|__has_embed\w*|include_next|import)\b", "a look at files", _PLAIN),
        (
            r"\b(?:__FILE__|__BASE_FILE__|__DATE__|__TIME__|__TIMESTAMP__|__INCLUDE_LEVEL__)",
            "the name of a file or a time",
            _PLAIN,
        ),
        (r"\b(?:_Pragma|__pragma)\b", "`_Pragma`", "the only pragma is `#pragma unroll`"),
        (r"\b__nv\w*", "a name of the compiler's own", "use CUDA's documented functions"),
        (r"\\", "a backslash outside a text", "write the letter or the line as it is"),
        (r"[^\x00-\x7f]", "a letter that is not ASCII outside comments", "write it with a to z"),
    )
)
_SPLICE = re.compile(r"\\[ \t]*\n")
_TRIGRAPH = re.compile(r"\?\?[=/'()!<>-]")


def refusals(source: str) -> list[Refusal]:
    """What a student's CUDA C++ holds that it may not, in the order of lines; empty for text to go on with."""
    odd = oddity(source)
    if odd is not None:
        return [Refusal(*odd)]
    return sorted(set(_scan(source)))


def _scan(source: str) -> Iterator[Refusal]:
    def line(place: int) -> int:
        return source.count("\n", 0, place) + 1

    for found in _SPLICE.finditer(source):
        yield Refusal(line(found.start()), "a line that goes on in the next with `\\`", "write it on one line")
    for found in _TRIGRAPH.finditer(source):
        yield Refusal(line(found.start()), f"the trigraph `{found[0]}`", "write the sign itself")
    without_comments, code = list(source), list(source)
    for found in _TEXT.finditer(source):
        kind = found.lastgroup
        if kind in ("open", "raw", "quote"):
            whats = {
                "open": "a comment without end",
                "raw": 'a raw string, R"..."',
                "quote": "a quotation mark without end",
            }
            yield Refusal(line(found.start()), whats[kind], "close it" if kind != "raw" else _PLAIN)
            return  # what follows cannot be told apart
        if kind in ("comment", "text"):
            blank = [character if character == "\n" else " " for character in found[0]]
            code[found.start() : found.end()] = blank
            if kind == "comment":
                without_comments[found.start() : found.end()] = blank
    yield from _directives("".join(without_comments), "".join(code))
    blanked = "".join(code)
    for pattern, what, advice in _WORDS:
        for found in pattern.finditer(blanked):
            yield Refusal(line(found.start()), what, advice)


def _directives(with_texts: str, code: str) -> Iterator[Refusal]:
    for number, (shown, line) in enumerate(zip(with_texts.split("\n"), code.split("\n"), strict=True), 1):
        if not line.lstrip().startswith("#"):
            continue
        found = re.match(r"\s*#\s*(\w*)(.*)", shown)
        word, rest = (found[1], found[2]) if found else ("?", "")
        if word == "include":
            name = _INCLUDE.fullmatch(rest)
            if name is None or not _HEADER.fullmatch(name[1] or name[2]):
                yield Refusal(number, f"#include{rest.rstrip()[:80]}", _HEADERS)
        elif word == "pragma":
            if not _PRAGMA.match(rest):
                yield Refusal(number, f"#pragma{rest.rstrip()[:80]}", "the only one is `#pragma unroll`")
        elif word not in _DIRECTIVES:
            yield Refusal(number, f"#{word}", "a lab does not need it")


# --- compiling ------------------------------------------------------------------------------------------------------


def compile_untrusted(
    code: str,
    *,
    options: Sequence[str] = (),
    name: str = "kernel.cu",
    name_expressions: Sequence[str] = (),
    architecture: str = DEFAULT_ARCHITECTURE,
) -> CudaPtx:
    """`nvrtc.compile_cuda` in a child process that may read the compiler's headers and libraries and nothing else.

    The source is called by the last part of `name`. Its text is scanned by `refusals` before, by the caller.

    Raises:
        CompileError: it does not compile; or takes more than `LIMITS`; or the compiler crashed on it.
        UnsupportedFeature: NVRTC is not installed, or an option that it does not know.
    """
    made = _compile(code, tuple(options), os.path.basename(name), tuple(name_expressions), architecture)
    if isinstance(made, GpukitError):
        raise made.with_traceback(None)
    return made


@functools.lru_cache(_KEPT)
def _compile(
    code: str, options: tuple[str, ...], name: str, expressions: tuple[str, ...], architecture: str
) -> CudaPtx | GpukitError:
    """What came of it; errors are kept too, so that a program without end is waited for once."""
    message = data.pack((code, options, name, expressions, architecture))
    outcome = run([_CHILD], input=message, limits=LIMITS, readable=_compilers_files(), site=True)
    answer = _answer(outcome)
    if answer is None:
        return CompileError(_why(outcome), file=name)
    if answer["kind"] == "ptx":
        return _ptx(answer, code, name)
    if answer["kind"] == "unsupported":
        return UnsupportedFeature(answer["message"])
    error = CompileError(answer["message"], file=answer["file"], line=answer["line"])
    error.log = answer["log"]
    return error


def _compilers_files() -> list[Path]:
    spec = importlib.util.find_spec("nvidia")
    wheels = [Path(place) for place in (spec.submodule_search_locations or ())] if spec else []
    homes = [Path(os.environ[name]) for name in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(name)]
    return [*wheels, *homes]


# What the child may answer: kind -> the fields and their types.
_FIELDS: dict[str, dict[str, type | tuple[type, ...]]] = {
    "ptx": {"text": str, "lowered": list, "log": str, "architecture": str, "version": tuple,
            "passed_over": list, "machine_code": bytes},
    "error": {"message": str, "file": (str, type(None)), "line": (int, type(None)), "log": str},
    "unsupported": {"message": str},
}  # fmt: skip


def _answer(outcome: Outcome) -> dict[str, Any] | None:
    """The child's answer; None if there is none, or it is not as it should be."""
    try:
        answer = dict(data.unpack(outcome.output)) if outcome.status == "ok" else {}
    except (ValueError, TypeError):
        return None
    fields = _FIELDS.get(str(answer.get("kind")))
    if fields is None or set(answer) != {"kind", *fields}:
        return None
    return answer if all(isinstance(answer[field], kind) for field, kind in fields.items()) else None


def _ptx(answer: Mapping[str, Any], code: str, name: str) -> CudaPtx | CompileError:
    try:
        return CudaPtx(
            text=answer["text"],
            lowered={str(expression): str(mangled) for expression, mangled in answer["lowered"]},
            log=answer["log"],
            warnings=tuple(said for said in diagnostics.parse(answer["log"]) if said.severity == "warning"),
            name=name,
            architecture=answer["architecture"],
            version=answer["version"],
            sources={name: code},
            passed_over=tuple(PassedOver(*fields) for fields in answer["passed_over"]),
            machine_code=answer["machine_code"],
        )
    except (TypeError, ValueError):
        return CompileError(_NO_ANSWER, file=name)


def _why(outcome: Outcome) -> str:
    compiler = "the CUDA C++ compiler"
    match outcome.status:
        case "timeout":
            return f"{compiler} did not end within {LIMITS.seconds:g} s: look for templates or constexpr without end"
        case "memory":
            return f"{compiler} needs more than {LIMITS.memory_bytes >> 30} GiB for this: look for very large arrays"
        case "output":
            return f"{compiler} makes more than {LIMITS.output_bytes >> 20} MiB of this: unroll less"
        case "killed":
            return f"{compiler} crashed on this: look for code that is nested very deep or grows without end"
    return _NO_ANSWER
