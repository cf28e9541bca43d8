"""What others make of y = alpha A x + beta y: SciPy on the processor; CuPy, cuSPARSE and PyTorch on a GPU.

reference = REFERENCES["cusparse_alg2_preprocessed"]
reference.why_not(device)                     # "" where it can be used
made = reference.prepare(csr, x, y)           # everything that is done once; `made.seconds` is what it took
made.run()                                    # queues the product, and nothing else
made.answer()                                 # y of the last run, on the device
"""

from __future__ import annotations

import importlib
import importlib.util
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from gpukit.devices import Device

from ..errors import MatrixError
from ..formats import Csr, SlicedEll, ell
from ..formats.arrays import Array, to_host, xp_of
from ..formats.csr import LARGEST_INT32
from . import cusparse

ON_GPU = "runs on an NVIDIA GPU only"
SELL_HEIGHTS = (16, 32, 64)
# Padding to more slots than so many times the entries moves more bytes than any CSR product; nobody waits for it.
MOST_PADDING = 8
# Entries that one thread walks, one after the other, in about a tenth of a second.
LONGEST_WALK = 100_000


@dataclass(frozen=True)
class Prepared:
    """A product that is ready to run.

    seconds: what was done once: copies, descriptors, conversion, preprocessing. notes: what a reader of its time must
    know, by name. nbytes: of the matrix as it is read.
    """

    run: Callable[[], Any]
    answer: Callable[[], Array]
    seconds: float = 0.0
    nbytes: int = 0
    notes: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Reference:
    """One library and how it is called.

    group: "scipy", "cupyx", "cusparse" or "torch". on: "gpu", or "host" for what the processor does.
    """

    name: str
    title: str
    group: str
    on: str
    why_not: Callable[[Device], str]
    made: Callable[[Csr, Array, Array, float, float], Prepared]

    def prepare(self, csr: Csr, x: Array, y: Array, alpha: float = 1.0, beta: float = 0.0) -> Prepared:
        """All that is done once. Arrays lie on the GPU, or on the host for what the processor does; `y` is written by
        what does not allocate its answer. Raises MatrixError for a matrix that the library, or patience, refuses."""
        xp = xp_of(x)
        _wait(xp)
        began = time.perf_counter()
        found = self.made(csr, x, y, alpha, beta)
        _wait(xp)
        return Prepared(found.run, found.answer, time.perf_counter() - began, found.nbytes, found.notes)


def _wait(xp: Any) -> None:
    if xp is not np:
        xp.cuda.Device().synchronize()


class _Latest:
    """A call that keeps what the last run returned, for libraries that allocate their answer."""

    def __init__(self, call: Callable[[], Array]) -> None:
        self._call, self.array = call, None

    def run(self) -> None:
        self.array = self._call()

    def answer(self) -> Array:
        return self.array


def _combined(product: Callable[[], Array], y: Array, alpha: float, beta: float) -> _Latest:
    """alpha * product + beta * y, as a user writes it: a factor that changes nothing is not written."""
    scaled = product if alpha == 1 else lambda: alpha * product()
    return _Latest(scaled if beta == 0 else lambda: scaled() + beta * y)


# --- SciPy -----------------------------------------------------------------------------------------------------------


def _no_scipy(device: Device) -> str:
    return "" if importlib.util.find_spec("scipy") else "needs SciPy: python -m pip install scipy"


def _scipy(csr: Csr, x: Array, y: Array, alpha: float, beta: float) -> Prepared:
    import scipy.sparse

    host, numbers, before = csr.on(np), to_host(x), to_host(y)
    matrix = scipy.sparse.csr_array((host.data, host.indices, host.indptr), shape=csr.shape)
    latest = _combined(lambda: matrix @ numbers, before, csr.dtype.type(alpha), csr.dtype.type(beta))
    return Prepared(latest.run, latest.answer, nbytes=host.nbytes)


# --- CuPy ------------------------------------------------------------------------------------------------------------


def _no_gpu(device: Device) -> str:
    return "" if device.name == "gpu" else ON_GPU


def _cupyx(csr: Csr, x: Array, y: Array, alpha: float, beta: float) -> Prepared:
    """`A @ x`. The first product sorts the entries of A in place and adds up duplicates, so A is a copy."""
    import cupyx.scipy.sparse

    matrix = cupyx.scipy.sparse.csr_matrix((csr.data, csr.indices, csr.indptr), shape=csr.shape, copy=True)
    latest = _combined(lambda: matrix @ x, y, csr.dtype.type(alpha), csr.dtype.type(beta))
    latest.run()
    arrays = matrix.data, matrix.indices, matrix.indptr
    notes = {"indices": str(matrix.indices.dtype), "row pointer": str(matrix.indptr.dtype)}
    return Prepared(latest.run, latest.answer, nbytes=sum(int(array.nbytes) for array in arrays), notes=notes)


# --- cuSPARSE --------------------------------------------------------------------------------------------------------


def _no_nvmath(device: Device) -> str:
    if device.name != "gpu":
        return ON_GPU
    return "" if cusparse.has_nvmath() else f"needs nvmath-python: {cusparse.INSTALL}"


def _cusparse_csr(
    algorithm: int, preprocess: bool, csr: Csr, x: Array, y: Array, alpha: float, beta: float
) -> Prepared:
    """From our own arrays; where cuSPARSE refuses int64 row pointers with int32 columns, from a copy of the columns in
    int64."""
    try:
        made = cusparse.csr_product(csr, x, y, alpha, beta, algorithm, preprocess)
    except MatrixError:
        if csr.indptr.dtype == csr.indices.dtype:
            raise
        csr = Csr(csr.shape, csr.indptr, csr.indices.astype(csr.indptr.dtype), csr.data)
        made = cusparse.csr_product(csr, x, y, alpha, beta, algorithm, preprocess)
    return _of_cusparse(made, y, csr.nbytes, {"columns": str(csr.indices.dtype)})


def _cusparse_sell(height: int, csr: Csr, x: Array, y: Array, alpha: float, beta: float) -> Prepared:
    lengths = csr.lengths
    why = too_long(int(lengths.max()) if csr.rows else 0) or too_padded(csr.nnz, ell.slots_of(lengths, height))
    if why:
        raise MatrixError(why)
    form = SlicedEll.from_csr(csr, height, 1)
    if form.slots <= LARGEST_INT32:  # a mixture of int64 offsets and int32 columns need not be known
        form = replace(form, offsets=form.offsets.astype(np.int32))
    made = cusparse.sell_product(form, x, y, alpha, beta)
    read = int(form.offsets.nbytes + form.columns.nbytes + form.values.nbytes)
    return _of_cusparse(made, y, read, {"padding": form.slots / max(form.nnz, 1)})


def _of_cusparse(made: cusparse.SpMV, y: Array, nbytes: int, notes: dict[str, Any]) -> Prepared:
    notes |= {"library": f"cuSPARSE {made.library.version} by {made.library.name}", "buffer bytes": made.buffer_bytes}
    return Prepared(made.run, lambda: y if made.keeps else None, nbytes=nbytes, notes=notes)


def too_padded(nnz: int, slots: int) -> str:
    """Why so many slots are too many for a competitor; "" if they are not."""
    if slots <= MOST_PADDING * max(nnz, 1):
        return ""
    return f"{nnz:,} entries would be padded to {slots:,} slots, more than {MOST_PADDING} times as many"


def too_long(longest: int, lanes: int = 1) -> str:
    """Why so long a row is too long for so many lanes; "" if it is not."""
    if longest <= LONGEST_WALK * lanes:
        return ""
    return f"a row of {longest:,} entries takes {'one thread' if lanes == 1 else f'{lanes} lanes'} too long"


# --- PyTorch ---------------------------------------------------------------------------------------------------------


def _no_torch(device: Device) -> str:
    if device.name != "gpu":
        return ON_GPU
    if importlib.util.find_spec("torch") is None:
        return "needs PyTorch: python -m pip install torch"
    torch = importlib.import_module("torch")

    return "" if torch.cuda.is_available() else "this PyTorch was built without CUDA: see pytorch.org for one with it"


def _torch(index: str, csr: Csr, x: Array, y: Array, alpha: float, beta: float) -> Prepared:
    """`A @ x` of a sparse CSR tensor, whose row pointer and columns are of one type."""
    torch = importlib.import_module("torch")

    def tensor(array: Array) -> Any:
        return torch.as_tensor(array, device="cuda" if xp_of(array) is not np else "cpu")

    indices = [tensor(array.astype(index)) for array in (csr.indptr, csr.indices)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that its sparse tensors are still in beta
        matrix = torch.sparse_csr_tensor(*indices, tensor(csr.data), size=csr.shape, check_invariants=False)
    vector, before = tensor(x), tensor(y)
    latest = _combined(lambda: matrix @ vector, before, alpha, beta)
    xp, nbytes = xp_of(x), int(csr.data.nbytes) + sum(int(part.numel() * part.element_size()) for part in indices)
    notes = {"indices": index, "library": f"torch {torch.__version__}"}
    return Prepared(latest.run, lambda: xp.asarray(latest.answer()), nbytes=nbytes, notes=notes)


# --- all of them -----------------------------------------------------------------------------------------------------


def _cusparse_references() -> list[Reference]:
    found = []
    algorithms = {"default": cusparse.DEFAULT, "alg1": cusparse.CSR_ALG1, "alg2": cusparse.CSR_ALG2}
    for name, algorithm in algorithms.items():
        for preprocess in (False, True):
            words = f"cuSPARSE CSR {name}{', preprocessed' if preprocess else ''}"
            key = f"cusparse_{name}{'_preprocessed' if preprocess else ''}"
            made = partial(_cusparse_csr, algorithm, preprocess)
            found.append(Reference(key, words, "cusparse", "gpu", _no_nvmath if preprocess else _no_gpu, made))
    for height in SELL_HEIGHTS:
        made = partial(_cusparse_sell, height)
        title = f"cuSPARSE sliced ELL, {height} rows"
        found.append(Reference(f"cusparse_sell_{height}", title, "cusparse", "gpu", _no_nvmath, made))
    return found


_ALL = (
    Reference("scipy", "SciPy on the processor", "scipy", "host", _no_scipy, _scipy),
    Reference("cupyx", "CuPy, A @ x", "cupyx", "gpu", _no_gpu, _cupyx),
    *_cusparse_references(),
    Reference("torch_int32", "PyTorch, int32 indices", "torch", "gpu", _no_torch, partial(_torch, "int32")),
    Reference("torch_int64", "PyTorch, int64 indices", "torch", "gpu", _no_torch, partial(_torch, "int64")),
)
REFERENCES: dict[str, Reference] = {reference.name: reference for reference in _ALL}
