"""Run in a child behind the walls: compiles CUDA C++ with NVRTC and writes what came of it as `data` packs it."""

import contextlib
import sys
from collections.abc import Sequence
from typing import Any

from gpukit.compilers import nvrtc, toolkit
from gpukit.errors import GpukitError, UnsupportedFeature
from gpukit.sandbox import data


def prepare(arguments: Sequence[str]) -> None:
    with contextlib.suppress(UnsupportedFeature):  # said below, where there is somebody to tell
        toolkit.nvrtc()  # loads the library


def main(arguments: Sequence[str]) -> None:
    code, options, name, expressions, architecture = data.unpack(sys.stdin.buffer.read())
    answer: list[tuple[str, Any]]
    try:
        made = nvrtc.compile_cuda(
            code, options=options, name=name, name_expressions=expressions, architecture=architecture
        )
    except nvrtc.CompileError as error:
        answer = [("kind", "error"), ("message", error.message), ("file", error.file), ("line", error.line)]
        answer.append(("log", error.log))
    except GpukitError as error:
        answer = [("kind", "unsupported"), ("message", error.message)]
    else:
        answer = [
            ("kind", "ptx"),
            ("text", made.text),
            ("lowered", [tuple(pair) for pair in made.lowered.items()]),
            ("log", made.log),
            ("architecture", made.architecture),
            ("version", made.version),
            ("passed_over", [(p.name, p.line, p.error) for p in made.passed_over]),
            ("machine_code", made.machine_code),
        ]
    sys.stdout.buffer.write(data.pack(answer, most=1 << 24))
    sys.stdout.buffer.flush()
