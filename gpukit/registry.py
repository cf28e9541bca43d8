"""Every kernel of the course says here what it is; the folder `gpukit/kernels` is the list, one module per family.

A family is a module of `gpukit.kernels` with a `FAMILY`, or what a lab brings (`gpukit.plugins`), and kernels that
register with it in the order of the ladder: each one a *rung*, which changes one thing against another. A rung knows
how to set itself up on a given problem (`plan`); from there anything can run it: the checks, the benchmark, a profile,
a test, a slide.
"""

from __future__ import annotations

import difflib
import importlib
import pkgutil
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from gpukit import plugins
from gpukit.errors import GpukitError

if TYPE_CHECKING:
    from gpukit.devices import Device

NUMBA, CPP, HOST = "numba", "CUDA C++", "host"
KERNELS = Path(__file__).with_name("kernels")
Array = Any  # numpy.ndarray on the CPU machine, cupy.ndarray on a GPU
K = TypeVar("K")


# --- what is computed ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Problem:
    """What all rungs of a family are given alike.

    `n` is the size, `kind` one of the family's kinds ("ones", "random"). `arrays` lie on the device and belong to the
    problem: a rung never writes to them. `expected` is the right answer, on the host, from a reference in higher
    precision; `bound` the largest |answer - expected| that is right, 0 where the answer is exact.
    """

    n: int
    kind: str
    arrays: Mapping[str, Array]
    expected: np.ndarray
    bound: float | np.ndarray = 0.0


@dataclass(frozen=True)
class Launch:
    """One launch of a kernel; grid and block as `gpukit.launch` takes them, `shared_bytes` of dynamic shared memory."""

    kernel: Any
    grid: int | tuple[int, ...]
    block: int | tuple[int, ...]
    args: tuple
    shared_bytes: int = 0


@dataclass(frozen=True)
class Plan:
    """A rung set up on a problem, ready to be run any number of times.

    answer: the answer as it stands after a run, on the host.
    launches: run in order. A rung of the host has none, and `call` instead.
    outputs: arrays that a run writes; they are poisoned before a check, so that nothing passes that was not written.
    restores: pairs (array, original or number): set before each run, because a run destroys the array or needs it that
        way. Not part of what is timed.
    bytes_moved: bytes of global memory that the rung must read and write at least; flops: its arithmetic operations.
    clock: what times a run on a GPU; "" leaves it to the rung. "device": events before and after. "host": the host's
        clock, until the device is synchronized, for a run that is more than what one stream of the device does: copies,
        several streams.
    """

    answer: Callable[[], np.ndarray]
    launches: tuple[Launch, ...] = ()
    call: Callable[[], Any] | None = None
    outputs: tuple[Array, ...] = ()
    restores: tuple[tuple[Array, Any], ...] = ()
    bytes_moved: int = 0
    flops: int = 0
    clock: str = ""


PlanOf = Callable[[Any, Problem, int, "Device"], Plan]  # kernel, problem, threads per block, device


# --- rungs -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rung:
    """One kernel of a family, or what the host does in its place.

    kernel: what `gpukit.profile` takes; a `CppKernel` for CUDA C++; None for the host.
    against: the rung it is compared with, "" for the first of a ladder.
    falls, rises, stays: counters that must move, or must not, against it (CPU machine, `Family.cpu_n` and `block`).
    hazard: the kind of hazard that the check must find, "" for a clean kernel.
    produces: what is left after a run ("one number", "a partial sum per block").
    machines: where it runs ("cpu", "gpu"). needs: Python modules besides ("torch",).
    """

    family: str
    name: str
    language: str
    planned: PlanOf
    document: str
    kernel: Any = None
    against: str = ""
    falls: tuple[str, ...] = ()
    rises: tuple[str, ...] = ()
    stays: tuple[str, ...] = ()
    hazard: str = ""
    produces: str = ""
    machines: tuple[str, ...] = ("cpu", "gpu")
    needs: tuple[str, ...] = ()

    def plan(self, problem: Problem, block: int, device: Device) -> Plan:
        """The rung on a problem, with `block` threads per block. Raises GpukitError for a block it cannot have."""
        return self.planned(self.kernel, problem, block, device)

    @property
    def key(self) -> str:
        """Its name, told apart from one of the same name in another language: "vectorized", "cpp:vectorized"."""
        return f"cpp:{self.name}" if self.language == CPP else self.name

    @cached_property
    def sections(self) -> dict[str, str]:
        """Its documentation: "effect" is the first sentence, then the sections by name ("versus", "expect", ...)."""
        return parse_document(self.document)

    @property
    def place(self) -> str:
        """Where its source is: FILE:KERNEL, as `gpukit profile` takes it; "" for what the host does."""
        if self.kernel is None:
            return ""
        if self.language == CPP:
            return f"{self.kernel.file}:{self.kernel.name}"
        function = self.kernel.py_func
        return f"{function.__code__.co_filename}:{function.__name__}"


@dataclass(frozen=True)
class Sweep:
    """The exercise of the grid size: the same rungs on the same problem with more and more blocks.

    plan: (kernel, problem, threads per block, device, blocks) -> Plan. rungs: keys of those that are swept.
    """

    plan: Callable[[Any, Problem, int, Device, int], Plan]
    rungs: tuple[str, ...]
    blocks: tuple[int, ...] = (64, 256, 1024, 4096, 16384)


@dataclass
class Family:
    """What the rungs of a family share; made at the top of its module, `FAMILY = Family(__name__, ...)`, whose name and
    documentation it has; that of a lab has its package's: `Family(__package__, ...)`.

    problem: (n, kind, rng, device) -> Problem, with arrays made by `device.xp`. Raises GpukitError for an n that the
        family cannot do.
    kinds: inputs that every rung must get right: the first is exact, the last is what is measured.
    lengths: sizes to check besides the one that is measured, awkward ones above all.
    blocks: threads per block to check; block: the one that is measured.
    cpu_n, gpu_n: sizes that are measured on the CPU machine and on a GPU (well past its L2).
    counters: those of `Report.counters` that tell this family's story, in the order of the table.
    size: what n counts ("elements", "rows of a square matrix").
    sweep: set at the end of the module by a family whose grid size is worth a look.
    """

    module: str
    problem: Callable[[int, str, np.random.Generator, Device], Problem]
    kinds: tuple[str, ...]
    lengths: tuple[int, ...]
    blocks: tuple[int, ...]
    counters: tuple[str, ...]
    block: int = 256
    cpu_n: int = 1 << 20
    gpu_n: int = 1 << 28
    size: str = "elements"
    sweep: Sweep | None = None
    rungs: dict[str, Rung] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.module.rpartition(".")[2]

    @property
    def document(self) -> str:
        """The module's docstring; its first line says what the family shows."""
        return importlib.import_module(self.module).__doc__ or ""

    def kernel(self, plan: PlanOf, name: str = "", document: str = "", **about: Any) -> Callable[[K], K]:
        """Register the decorated `@cuda.jit` kernel; `about` as in `Rung`. The kernel stays what it is.

        One kernel may be several rungs, which differ in how it is launched or in the order of its data: each has a
        `name` and a `document` of its own, in place of the function's.
        """

        def register(kernel: K) -> K:
            function = kernel.py_func  # type: ignore[attr-defined]
            text = document or function.__doc__ or ""
            self._add(Rung(self.name, name or function.__name__, NUMBA, plan, text, kernel, **about))
            return kernel

        return register

    def cpp(self, name: str, plan: PlanOf, file: str = "", kernel: str = "", document: str = "", **about: Any) -> None:
        """Register a kernel of kernels/cpp/FAMILY.cu, documented by the comment above it; `about` as in `Rung`.

        `kernel` is its name in the file where the rung has another, `document` what then stands for the comment.
        """
        path, kernel = KERNELS / "cpp" / (file or f"{self.name}.cu"), kernel or name
        text = document or comment_above(path, kernel)
        self._add(Rung(self.name, name, CPP, plan, text, CppKernel(path, kernel), **about))

    def host(self, plan: PlanOf, **about: Any) -> Callable[[K], K]:
        """Register what the host does in a kernel's place: a loop, a library, copies. The decorated function is what
        the plan is given as its kernel."""

        def register(function: K) -> K:
            name, text = function.__name__, function.__doc__ or ""  # type: ignore[attr-defined]
            self._add(Rung(self.name, name, HOST, lambda _, *rest: plan(function, *rest), text, **about))
            return function

        return register

    def _add(self, rung: Rung) -> None:
        if rung.key in self.rungs:
            raise GpukitError(f"the family {self.name} has a rung {rung.key} already: give this one another name")
        if rung.against and rung.against not in self.rungs:
            raise GpukitError(f"{rung.key} is compared with {rung.against}, which is no rung above it in {self.name}")
        self.rungs[rung.key] = rung


@dataclass(frozen=True)
class CppKernel:
    """A kernel of a .cu file, compiled when it is asked for."""

    path: Path
    name: str

    @property
    def file(self) -> str:
        return str(self.path)

    def compiled(self, *options: str) -> Any:
        """The kernel compiled with these options, a `gpukit.RawKernel`. Raises what the compiler says."""
        return _cpp_kernels(self.path, options)[self.name]


def launchable(kernel: Any, args: tuple, *sizes: int) -> tuple[Any, tuple]:
    """(kernel, arguments) of a launch: a kernel in Python as it is; one in C++ compiled, and told the sizes, which an
    array of numba's knows by itself, as ints behind its arrays."""
    if isinstance(kernel, CppKernel):
        return kernel.compiled(), (*args, *map(np.int32, sizes))
    return kernel, args


@cache
def _cpp_kernels(path: Path, options: tuple[str, ...]) -> Any:
    from gpukit import raw  # the compiler is an extra that Python kernels do without

    return raw.load(str(path), options)


# --- finding them ----------------------------------------------------------------------------------------------------


@cache
def own_families() -> dict[str, Family]:
    """gpukit's own families by name, in the order of the alphabet."""
    names = sorted(module.name for module in pkgutil.iter_modules([str(KERNELS)]) if not module.ispkg)
    modules = [importlib.import_module(f"gpukit.kernels.{name}") for name in names]
    return {module.FAMILY.name: module.FAMILY for module in modules if hasattr(module, "FAMILY")}


def families() -> dict[str, Family]:
    """Every family by name: gpukit's own, then those that the labs here bring, in the order of the labs.

    A lab's family that cannot be imported is not among them; `gpukit.plugins.families` says why.
    """
    brought, _ = plugins.families()
    return own_families() | {name: family for name, family in brought.items() if name not in own_families()}


def find_family(name: str) -> Family:
    """The family called `name`; the labs are looked at where gpukit has none. Raises GpukitError, naming those there
    are, when there is none, and for the lab's package of this name when it is broken."""
    own = own_families()
    if name in own:
        return own[name]
    known = families()
    if name in known:
        return known[name]
    if (plugin := plugins.named(name)) is not None:
        plugin.family()  # for its error: it has none, or it was found
    raise GpukitError(f"there is no family {name!r}{nearest(name, known)}; choose one of: {', '.join(known)}")


def find_rung(family: Family, key: str) -> Rung:
    """The rung of a family by its key ("naive", "cpp:naive"); the name alone is enough where only C++ has it.

    Raises GpukitError, naming those there are, when there is none.
    """
    for known in (key, f"cpp:{key}"):
        if known in family.rungs:
            return family.rungs[known]
    rest = nearest(key, family.rungs) or f"; choose one of: {', '.join(family.rungs)}"
    raise GpukitError(f"{family.name} has no rung {key!r}{rest}")


def nearest(name: str, known: Iterable[str]) -> str:
    """A guess at what a misspelt name was to be, to go into a message; "" without one."""
    near = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {near[0]}" if near else ""


# --- documentation ---------------------------------------------------------------------------------------------------

SECTIONS = ("Versus", "Expect", "Args", "Raises", "Source")
_SECTION = re.compile(rf"^({'|'.join(SECTIONS)}):\s*", re.MULTILINE)


def parse_document(text: str) -> dict[str, str]:
    """The parts of a rung's documentation, each as one paragraph.

    "effect" is what stands before the first blank line or section. Versus says what changed against the rung it is
    compared with, Expect which counter must move, Args the shapes, dtypes and units, Source where it is from.
    """
    lines = [line.strip() for line in text.strip().splitlines()]
    pieces = _SECTION.split("\n".join(lines))
    effect, *body = pieces[0].strip().split("\n\n")
    found = {"effect": " ".join(effect.split())}
    if body:
        found["body"] = " ".join(" ".join(body).split())
    for name, part in zip(pieces[1::2], pieces[2::2], strict=True):
        found[name.lower()] = part.strip() if name == "Args" else " ".join(part.split())
    return found


def comment_above(path: Path, kernel: str) -> str:
    """The comment right above a `__global__` function of a .cu file, without its slashes; "" if there is none."""
    lines = path.read_text(encoding="utf-8").splitlines()
    pattern = re.compile(rf"__global__\b.*\b{re.escape(kernel)}\s*\(")
    at = next((number for number, line in enumerate(lines) if pattern.search(line)), 0)
    first = at
    while first > 0 and lines[first - 1].startswith("//"):
        first -= 1
    return "\n".join(line.removeprefix("//").strip() for line in lines[first:at])
