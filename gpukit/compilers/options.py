"""The compiler options people write, for NVRTC and nvcc, as NVRTC takes them."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gpukit.compilers.headers import OF_NVCC
from gpukit.errors import KernelSyntaxError

# Options of two words, and their form in one.
_JOINED = {
    **{"-I": "-I", "--include-path": "-I", "-D": "-D", "--define-macro": "-D", "-U": "-U", "--undefine-macro": "-U"},
    **{"-std": "--std=", "--std": "--std=", "-arch": "-arch=", "--gpu-architecture": "-arch=", "-code": "-code="},
    **{"-gencode": "-gencode=", "--generate-code": "-gencode=", "-maxrregcount": "--maxrregcount="},
    **{"--maxrregcount": "--maxrregcount=", "-include": "--pre-include=", "--pre-include": "--pre-include="},
    **{"-Xcompiler": "-Xcompiler=", "-Xptxas": "-Xptxas=", "-Xlinker": "-Xlinker=", "-ccbin": "-ccbin=", "-o": "-o="},
}
# What steers the assembler, the linker or the host's compiler: nothing that PTX depends on.
_OF_OTHER_STAGES = re.compile(
    r"-O\d?|-Xcompiler=.*|-Xptxas=.*|--ptxas-options=.*|-Xlinker=.*|-ccbin=.*|-o=.*|-code=.*|-c|-lineinfo|"
    r"--generate-line-info|-l\w+|-L.*|--resource-usage|-v|--compiler-options=.*|--x=cu|-w64|-m64"
)
_ARCHITECTURE = re.compile(r"(?:-arch|--gpu-architecture|-gencode|--generate-code)=(?:arch=)?(.*)")
_OLD_STANDARD = re.compile(r"-{1,2}std=(?:c|gnu)\+\+(?:03|11|14)")
_INT128 = ("--device-int128", "-device-int128")  # nvcc has __int128 on Linux
_NAMES_A_GPU = re.compile(r"(?:sm|compute|lto)_(\d+)([af]?)")


@dataclass(frozen=True, slots=True)
class Options:
    """`passed` goes to NVRTC as it is; `folders` are the user's include folders, in order."""

    architecture: str
    passed: tuple[str, ...]
    folders: tuple[Path, ...] = field(default=())

    @property
    def default_is_device(self) -> bool:
        """Whether functions that say nothing count as `__device__`."""
        return any(o in ("-default-device", "--device-as-default-execution-space") for o in self.passed)


def read(options: Sequence[str], architecture: str) -> Options:
    """Options as written -> for NVRTC. Options of the assembler, the linker and the host's compiler are dropped.

    C++11 and C++14 are compiled as C++17, the oldest that CUDA's own headers still take.

    Raises KernelSyntaxError for an option that asks for something other than PTX.
    """
    passed: list[str] = []
    folders: list[Path] = []
    standard = "--std=c++17"
    for option in _joined(options):
        if found := _ARCHITECTURE.fullmatch(option):
            architecture = _virtual(found[1].split(",")[0], architecture)
        elif option.startswith(("-I", "--include-path=")):
            folders.append(Path(option.removeprefix("--include-path=").removeprefix("-I").strip()))
        elif option.startswith(("-std=", "--std=")):
            standard = "--std=c++17" if _OLD_STANDARD.fullmatch(option) else option
        elif option in ("-dlto", "--dlink-time-opt", "-ltoir"):
            raise KernelSyntaxError(f"the option {option} asks for code that is not PTX: leave it out")
        elif not _OF_OTHER_STAGES.fullmatch(option):
            passed.append(option)
    return Options(architecture, (standard, *passed), tuple(folders))


def as_nvcc(options: Sequence[str]) -> tuple[str, ...]:
    """The options, and those that give NVRTC what nvcc has without being asked."""
    asked = any(option in _INT128 for option in options)
    wide = _INT128[:1] if sys.platform.startswith("linux") and not asked else ()
    return (*options, *wide, OF_NVCC)


def _joined(options: Sequence[str]) -> list[str]:
    """Each option as one string: ("-I", "folder") and "-I folder" as "-Ifolder"."""
    if isinstance(options, str):
        options = options.split()
    words = [word for option in options for word in (_halves(option.strip()) if option.strip() else ())]
    joined = []
    i = 0
    while i < len(words):
        if words[i] in _JOINED and i + 1 < len(words):
            joined.append(_JOINED[words[i]] + words[i + 1])
            i += 1
        else:
            joined.append(words[i])
        i += 1
    return joined


def _halves(option: str) -> list[str]:
    head, space, tail = option.partition(" ")
    return [head, tail.strip()] if space and head in _JOINED else [option]


def _virtual(name: str, otherwise: str) -> str:
    """The virtual architecture, whose code is PTX, of "sm_90a" or "compute_90"; `native` stands for the default."""
    name = name.strip("\"' ")
    found = _NAMES_A_GPU.fullmatch(name)
    if found:
        return f"compute_{found[1]}{found[2]}"
    if name in ("native", "all", "all-major"):
        return otherwise
    raise KernelSyntaxError(f"{name!r} is no GPU architecture: write one such as compute_90 or sm_90")
