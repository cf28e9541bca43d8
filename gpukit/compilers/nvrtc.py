"""CUDA C++ to PTX through NVRTC, NVIDIA's compiler library. It needs no GPU."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, NoReturn

from gpukit.compilers import headers, options, toolkit
from gpukit.compilers.diagnostics import Diagnostic, parse, place_in
from gpukit.compilers.host_code import HostCode
from gpukit.compilers.sources import SourceFile, gather
from gpukit.errors import InternalError, KernelSyntaxError, UnsupportedFeature

DEFAULT_ARCHITECTURE = "compute_90"
_KEPT = 64  # compiled programs kept in memory
_UNDEFINED = re.compile(r'(?:identifier|name followed by "::" must be a class or namespace name:?) "?(\w+)"?')
_NO_FILE = re.compile(r'cannot open source file "([^"]+)"')
_DEBUG = ("-G", "--device-debug")  # has line information of its own


class CompileError(KernelSyntaxError):
    """CUDA C++ that does not compile. `log` is all the compiler said."""

    log: str = ""


@dataclass(frozen=True, slots=True)
class PassedOver:
    """A declaration of the source that was left out as the host's. `error` is why NVRTC rejects it ('' for a function,
    which it always rejects)."""

    name: str
    line: int
    error: str


@dataclass(frozen=True, slots=True)
class CudaPtx:
    """A compiled program.

    text: the PTX, with `.file` and `.loc` lines that lead to the source.
    lowered: name expression as given -> name in the PTX.
    log: all the compiler said; `warnings` its warnings as messages.
    name: the source's name, as errors and the PTX give it. `sources`: path in the PTX -> text of that file, for the
        source and for the user's own headers.
    version: of NVRTC.
    """

    text: str
    lowered: Mapping[str, str]
    log: str
    warnings: tuple[Diagnostic, ...]
    name: str
    architecture: str
    version: tuple[int, int]
    sources: Mapping[str, str] = field(repr=False)
    passed_over: tuple[PassedOver, ...] = ()


def compile_cuda(
    code: str,
    *,
    options: Sequence[str] = (),
    name: str = "kernel.cu",
    name_expressions: Sequence[str] = (),
    architecture: str = DEFAULT_ARCHITECTURE,
) -> CudaPtx:
    """Compile CUDA C++ text to PTX with line information.

    Args:
        code: a program of kernels. Host code in it (`main`, launches, standard containers) is passed over.
        options: as for NVRTC, nvcc or CuPy: -I, -D, -std, -arch (sm_90 means compute_90), --use_fast_math, ...
        name: what the source is called in messages; a path lets `#include "..."` find files beside it.
        name_expressions: C++ names, such as "scale<float>", whose names in the PTX are wanted (`lowered`).
        architecture: virtual GPU to compile for, unless the options say.

    Raises:
        CompileError: it does not compile; the compiler's first error with file and line, `.log` has the rest.
        UnsupportedFeature: NVRTC is not installed, or does not know the architecture.
    """
    version = toolkit.nvrtc()[1]
    given = _read_options(options, architecture)
    files = gather(code, name, given.folders)
    return _compile(files, given, tuple(name_expressions), version)


_read_options = options.read


@functools.lru_cache(_KEPT)
def _compile(
    files: tuple[SourceFile, ...], given: options.Options, expressions: tuple[str, ...], version: tuple[int, int]
) -> CudaPtx:
    compiler = toolkit.nvrtc()[0]
    _check_architecture(compiler, given.architecture, version)
    hosts = {file.spelled: HostCode(file.text) for file in files}
    if not given.default_is_device:
        for host in hosts.values():
            host.remove_functions()
    while True:
        texts = {file.spelled: hosts[file.spelled].text() for file in files}
        run = _run(compiler, texts, given, expressions, version[0])
        messages = parse(run.log)
        if run.ptx is not None:
            break
        errors = [message for message in messages if message.is_error]
        if given.default_is_device or not _remove_rejected(hosts, errors):
            _fail(errors, run.log, files, hosts)
    ptx, sources = _with_known_names(run.ptx, files)
    warnings = tuple(message for message in messages if message.severity == "warning")
    passed_over = tuple(PassedOver(r.name, r.first, r.error) for r in hosts[files[0].spelled].removed)
    return CudaPtx(
        ptx, run.lowered, run.log, warnings, files[0].shown, given.architecture, version, sources, passed_over
    )


def _remove_rejected(hosts: Mapping[str, HostCode], errors: Sequence[Diagnostic]) -> bool:
    """Blank the host's declarations that these errors are about; False if none of them is about one."""
    removed = False
    for file, host in hosts.items():
        places = [(line, error.text) for error in errors if (line := place_in(error, file)) is not None]
        removed |= host.remove_at(places)
    return removed


@dataclass(slots=True)
class _Outcome:
    ptx: str | None
    log: str
    lowered: dict[str, str]


def _run(
    compiler: ModuleType, texts: Mapping[str, str], given: options.Options, expressions: Sequence[str], major: int
) -> _Outcome:
    """One run of the compiler over the source (the first of `texts`) and the user's headers."""
    (name, source), *others = texts.items()
    uses_std = any(re.search(r"\bstd\b", text) for text in texts.values())
    named = {**headers.stand_ins(uses_std), **dict(others)}
    program = _ok(
        compiler,
        compiler.nvrtcCreateProgram(
            source.encode(),
            name.encode(),
            len(named),
            [text.encode() for text in named.values()],
            [header.encode() for header in named],
        ),
    )
    try:
        for expression in expressions:
            _ok(compiler, compiler.nvrtcAddNameExpression(program, expression.encode()))
        arguments = [
            f"--gpu-architecture={given.architecture}",
            *(() if any(o in given.passed for o in _DEBUG) else ("-lineinfo",)),
            *given.passed,
            *(f"-I{folder}" for folder in (*given.folders, *toolkit.include_folders(major))),
        ]
        status = compiler.nvrtcCompileProgram(program, len(arguments), [a.encode() for a in arguments])[0]
        log = _text(compiler, program, "ProgramLog")
        if status != compiler.nvrtcResult.NVRTC_SUCCESS:
            if not any(message.is_error for message in parse(log)):
                log += f"\nerror: {status.name}"
            return _Outcome(None, log.strip(), {})
        lowered = {}
        for expression in expressions:
            mangled = _ok(compiler, compiler.nvrtcGetLoweredName(program, expression.encode()))
            lowered[expression] = mangled.decode()
        return _Outcome(_text(compiler, program, "PTX"), log, lowered)
    finally:
        compiler.nvrtcDestroyProgram(program)


def _text(compiler: ModuleType, program: Any, what: str) -> str:
    size = _ok(compiler, getattr(compiler, f"nvrtcGet{what}Size")(program))
    buffer = b" " * size
    _ok(compiler, getattr(compiler, f"nvrtcGet{what}")(program, buffer))
    return buffer.decode(errors="replace").rstrip("\0 \n")


def _ok(compiler: ModuleType, answer: tuple) -> Any:
    """The value of a call that must not fail."""
    if answer[0] != compiler.nvrtcResult.NVRTC_SUCCESS:
        raise InternalError(f"NVRTC answered {answer[0].name}")
    return answer[1] if len(answer) > 1 else None


def _check_architecture(compiler: ModuleType, architecture: str, version: tuple[int, int]) -> None:
    known = list(_ok(compiler, compiler.nvrtcGetSupportedArchs()))
    found = re.fullmatch(r"compute_(\d+)[af]?", architecture)
    if found is None or int(found[1]) not in known:
        raise UnsupportedFeature(
            f"this NVRTC ({version[0]}.{version[1]}) compiles for compute_{known[0]} to compute_{known[-1]}, not for "
            f"{architecture}: leave -arch out, or ask for one of them"
        )


def _fail(
    errors: Sequence[Diagnostic], log: str, files: Sequence[SourceFile], hosts: Mapping[str, HostCode]
) -> NoReturn:
    """Raise the compiler's first error, at its place in the user's files."""
    first = errors[0]
    file = next((f for f in files if f.spelled == first.file), files[0])
    line = place_in(first, file.spelled)
    text = first.text.rstrip(".")
    missing, undefined = _NO_FILE.search(text), _UNDEFINED.search(text)
    if missing:
        text += f": {_advice_on_header(missing[1])}"
    elif undefined:
        owners = ((f, hosts[f.spelled].owner(undefined[1])) for f in files)
        owner = next(((f.shown, region.first) for f, region in owners if region is not None), None)
        if owner is not None:
            text += f" on the GPU: the one at {owner[0]}:{owner[1]} is host code, put __device__ in front of it"
    if first.file == "__nv_name_map":
        text += " (in a name expression)"
    elif line is None and first.file:
        text = f"{os.path.basename(first.file)}({first.line}): {text}"
    error = CompileError(f"the CUDA C++ compiler says: {text}", file=file.shown, line=line)
    error.log = log
    raise error


def _advice_on_header(name: str) -> str:
    if name.startswith("curand"):
        return "it comes with python -m pip install nvidia-curand"
    if name.startswith(("cuda/", "cub/", "thrust/", "cooperative_groups", "cuda_")):
        return f"CUDA's headers come with {toolkit.INSTALL}"
    return "give its folder with the option -I"


# --- names of files --------------------------------------------------------------------------------------------------

_FILE = re.compile(r'^(\s*\.file\s+\d+\s+")([^"]*)(".*)$', re.MULTILINE)


def _with_known_names(ptx: str, files: Sequence[SourceFile]) -> tuple[str, dict[str, str]]:
    """The PTX with the user's files called what people call them (NVRTC makes paths of their names), and the texts of
    those it names."""
    made = {os.path.normpath(os.path.join(os.getcwd(), file.spelled)): file for file in files}
    texts = {files[0].shown: files[0].text}

    def known(found: re.Match[str]) -> str:
        file = made.get(os.path.normpath(found[2].replace("\\\\", "\\")))
        if file is None:
            return found[0]
        texts[file.shown] = file.text
        return found[1] + file.shown.replace("\\", "\\\\") + found[3]

    return _FILE.sub(known, ptx), texts
