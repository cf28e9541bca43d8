"""CUDA C++ to PTX through NVRTC, NVIDIA's compiler library. It needs no GPU."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

from gpukit.compilers import headers, options, toolkit
from gpukit.compilers.diagnostics import Diagnostic, parse, place_in
from gpukit.compilers.host_code import DEVICE_WORDS, HostCode, Region
from gpukit.compilers.sources import SourceFile, gather, includes
from gpukit.cpp.tokens import macros_of
from gpukit.errors import InternalError, KernelSyntaxError, UnsupportedFeature

DEFAULT_ARCHITECTURE = "compute_90"
_KEPT = 64  # compiled programs kept in memory
_UNDEFINED = re.compile(
    r'(?:identifier|name followed by "::" must be a class or namespace name:?|has no member) "?(\w+)"?'
    r'|no operator "(?P<operator>[^"]+)" matches'
)
_UNREAD = re.compile(r'attribute "__\w+__" does not apply here')  # the declaration that follows could not be read
_IN_HOST_MEMORY = "without memory space annotations"
_STANDARD = re.compile(r'namespace "std" has no member "(\w+)"')
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
    machine_code: a cubin for the GPU it was compiled for; empty where that was a virtual one.
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
    machine_code: bytes = field(default=b"", repr=False)


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
        architecture: virtual GPU to compile for, unless the options say; a real one, such as "sm_90", whatever the
            options say, to have machine code as well.

    Raises:
        CompileError: it does not compile; the compiler's first error with file and line, `.log` has the rest.
        UnsupportedFeature: NVRTC is not installed, or does not know the architecture.
    """
    version = toolkit.nvrtc()[1]
    given = _read_options(options, architecture.replace("sm_", "compute_"))
    if architecture.startswith("sm_"):
        given = replace(given, architecture=_on_the_gpu(given.architecture, architecture))
    files = gather(code, name, given.folders)
    return _compile(files, given, tuple(name_expressions), version)


_read_options = options.read


def _on_the_gpu(asked: str, gpu: str) -> str:
    """The real architecture to compile for: the GPU's, with what is special to it ("sm_90a") if that was asked for."""
    number = gpu.removeprefix("sm_")
    return f"sm_{asked.removeprefix('compute_')}" if asked.rstrip("af") == f"compute_{number}" else gpu


@functools.lru_cache(_KEPT)
def _compile(
    files: tuple[SourceFile, ...], given: options.Options, expressions: tuple[str, ...], version: tuple[int, int]
) -> CudaPtx:
    compiler = toolkit.nvrtc()[0]
    _check_architecture(compiler, given.architecture, version)
    attempt = _attempt(compiler, files, given, expressions, version[0], in_full=False)
    as_nvcc = headers.OF_NVCC in given.passed and _STANDARD.search(attempt.log)
    large = any(headers.is_large(name) for file in files for name in includes(file.text))
    if attempt.ptx is None and (large or as_nvcc):
        attempt = _attempt(compiler, files, given, expressions, version[0], in_full=True)
    messages = parse(attempt.log)
    if attempt.ptx is None:
        _fail([message for message in messages if message.is_error], attempt.log, files, attempt.hosts)
    ptx, sources = _with_known_names(attempt.ptx, files)
    warnings = tuple(message for message in messages if message.severity == "warning")
    passed_over = tuple(PassedOver(r.name, r.first, r.error) for r in attempt.hosts[files[0]].removed)
    return CudaPtx(
        ptx,
        attempt.lowered,
        attempt.log,
        warnings,
        files[0].path,
        given.architecture,
        version,
        sources,
        passed_over,
        attempt.machine_code,
    )


@dataclass(slots=True)
class _Attempt:
    """`ptx` is None where the program does not compile. `hosts`: the files that are not taken as they are."""

    ptx: str | None
    log: str
    lowered: dict[str, str]
    machine_code: bytes
    hosts: dict[SourceFile, HostCode]


def _attempt(
    compiler: ModuleType,
    files: Sequence[SourceFile],
    given: options.Options,
    expressions: Sequence[str],
    major: int,
    in_full: bool,
) -> _Attempt:
    """Compile, passing over ever more of the host's code until NVRTC takes the rest or rejects something else.

    `in_full`: whether headers such as <algorithm> hold what they should. Most programs include them for their host
    code only, and each takes a second.
    """
    macros = macros_of((file.text for file in files), DEVICE_WORDS)
    # Headers are left as they lie on the disk until NVRTC rejects something in one.
    hosts = {files[0]: HostCode(files[0].text, macros)}
    if not given.default_is_device:
        hosts[files[0]].remove_functions()
    while True:
        texts = {file: host.text() for file, host in hosts.items()}
        ptx, log, lowered, machine_code = _run(compiler, files, texts, given, expressions, major, in_full)
        errors = [message for message in parse(log) if message.is_error]
        if ptx is not None or given.default_is_device or not _remove_rejected(files, hosts, macros, errors):
            return _Attempt(ptx, log, lowered, machine_code, hosts)


def _remove_rejected(
    files: Sequence[SourceFile],
    hosts: dict[SourceFile, HostCode],
    macros: Collection[str],
    errors: Sequence[Diagnostic],
) -> bool:
    """Blank the host's declarations that these errors are about; False if none of them is about one."""
    removed = False
    for file in files:
        places = [(line, error.text) for error in errors if (line := place_in(error, file.is_named)) is not None]
        if places and file not in hosts:
            hosts[file] = HostCode(file.text, macros)
            hosts[file].remove_functions()
            removed = True
        removed |= bool(places) and hosts[file].remove_at(places)
    return removed


def _run(
    compiler: ModuleType,
    files: Sequence[SourceFile],
    changed: Mapping[SourceFile, str],
    given: options.Options,
    expressions: Sequence[str],
    major: int,
    in_full: bool,
) -> tuple[str | None, str, dict[str, str], bytes]:
    """One run of the compiler: (the PTX, or None; what it said; name expression -> name in the PTX; the machine code).

    `changed`: the text of the source, and of the headers that are not taken as they are.
    """
    name, source = files[0].spelled, changed[files[0]]
    named = {**headers.stand_ins(in_full), **{f.spelled: text for f, text in changed.items() if f is not files[0]}}
    for file in files[1:]:
        if file not in changed:
            named.pop(file.spelled, None)  # a file of the user's goes before a stand-in of its name
    beside = (Path(name).parent,) if Path(name).parent.is_dir() else ()
    folders = (*beside, *given.folders, *toolkit.include_folders(major))
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
            *(f"-I{folder}" for folder in folders),
        ]
        status = compiler.nvrtcCompileProgram(program, len(arguments), [a.encode() for a in arguments])[0]
        log = _text(compiler, program, "ProgramLog")
        if status != compiler.nvrtcResult.NVRTC_SUCCESS:
            if not any(message.is_error for message in parse(log)):
                log += f"\nerror: {status.name}"
            return None, log.strip(), {}, b""
        lowered = {}
        for expression in expressions:
            mangled = _ok(compiler, compiler.nvrtcGetLoweredName(program, expression.encode()))
            lowered[expression] = mangled.decode()
        real = given.architecture.startswith("sm_")
        machine_code = _bytes(compiler, program, "CUBIN") if real else b""
        return _text(compiler, program, "PTX"), log, lowered, machine_code
    finally:
        compiler.nvrtcDestroyProgram(program)


def _text(compiler: ModuleType, program: Any, what: str) -> str:
    return _bytes(compiler, program, what).decode(errors="replace").rstrip("\0 \n")


def _bytes(compiler: ModuleType, program: Any, what: str) -> bytes:
    size = _ok(compiler, getattr(compiler, f"nvrtcGet{what}Size")(program))
    # NVRTC writes into the bytes object, so it must be one of its own: Python shares those of a single byte.
    buffer = bytes(size + 1)
    _ok(compiler, getattr(compiler, f"nvrtcGet{what}")(program, buffer))
    return buffer[:-1]


def _ok(compiler: ModuleType, answer: tuple) -> Any:
    """The value of a call that must not fail."""
    if answer[0] != compiler.nvrtcResult.NVRTC_SUCCESS:
        raise InternalError(f"NVRTC answered {answer[0].name}")
    return answer[1] if len(answer) > 1 else None


def _check_architecture(compiler: ModuleType, architecture: str, version: tuple[int, int]) -> None:
    known = list(_ok(compiler, compiler.nvrtcGetSupportedArchs()))
    found = re.fullmatch(r"(?:compute|sm)_(\d+)[af]?", architecture)
    if found is None or int(found[1]) not in known:
        raise UnsupportedFeature(
            f"this NVRTC ({version[0]}.{version[1]}) compiles for compute_{known[0]} to compute_{known[-1]}, not for "
            f"{architecture}: leave -arch out, or ask for one of them"
        )


def _fail(
    errors: Sequence[Diagnostic], log: str, files: Sequence[SourceFile], hosts: Mapping[SourceFile, HostCode]
) -> NoReturn:
    """Raise the compiler's first error, at its place in the user's files."""
    first = errors[0]
    if _UNREAD.search(first.text):
        first = next((error for error in errors if _UNDEFINED.search(error.text)), first)
    file = next((f for f in files if place_in(first, f.is_named) is not None), files[0])
    line = place_in(first, file.is_named)
    text = first.text.rstrip(".")
    missing, owner = _NO_FILE.search(text), _owner(text, hosts)
    followed: set[int] = set()
    while owner is not None and not _needs_device(owner[1]) and id(owner[1]) not in followed:
        # It was taken for the host's since it is wrong: what is wrong with it is the news.
        followed.add(id(owner[1]))
        file, line, text = owner[0], owner[1].error_line, owner[1].error.rstrip(".")
        owner = _owner(text, hosts)
    if missing:
        text += f": {_advice_on_header(missing[1])}"
    elif owner is not None:
        text += f" on the GPU: the one at {owner[0].path}:{owner[1].first} is host code, put __device__ in front of it"
    elif standard := _STANDARD.search(text):
        text += f": device code cannot use std::{standard[1]}, or the header that has it is not included"
    if first.file == "__nv_name_map":
        text += " (in a name expression)"
    elif line is None and first.file:
        text = f"{os.path.basename(first.file)}({first.line}): {text}"
    error = CompileError(f"the CUDA C++ compiler says: {text}", file=file.path, line=line)
    error.log = log
    raise error


def _owner(text: str, hosts: Mapping[SourceFile, HostCode]) -> tuple[SourceFile, Region] | None:
    """The blanked declaration of what an error says is missing, and its file."""
    found = _UNDEFINED.search(text)
    if found is None:
        return None
    name = found[1] or f"operator{found['operator']}"
    owners = ((file, host.owner(name)) for file, host in hosts.items())
    return next(((file, region) for file, region in owners if region is not None), None)


def _needs_device(region: Region) -> bool:
    """Whether a blanked declaration is right but for its place: a function, or a variable in the host's memory."""
    return region.rejected or not region.error or _IN_HOST_MEMORY in region.error


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
    texts = {files[0].path: files[0].text}

    def known(found: re.Match[str]) -> str:
        path = found[2].replace("\\\\", "\\")
        file = next((file for file in files if file.is_named(path)), None)
        if file is None:
            return found[0]
        texts[file.path] = file.text
        return found[1] + file.path.replace("\\", "\\\\") + found[3]

    return _FILE.sub(known, ptx), texts
