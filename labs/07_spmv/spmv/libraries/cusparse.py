"""cuSPARSE's y = alpha A x + beta y with descriptors and a buffer of our own, so that a call is the library's alone.

cuSPARSE is reached through nvmath-python, which has the preprocessing step and sliced ELL, or else through what CuPy
uses itself, which has neither. Every product has one buffer, which no other matrix or algorithm touches: after
preprocessing it holds what the product needs (github.com/NVIDIA/CUDALibrarySamples/issues/212).

Source: NVIDIA, "cuSPARSE documentation" (docs.nvidia.com/cuda/cusparse), cusparseSpMV, cusparseSpMV_preprocess and
cusparseCreateSlicedEll; numbers of the enumerations from its header cusparse.h.
"""

from __future__ import annotations

import importlib
import importlib.util
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ..errors import MatrixError
from ..formats import Csr, SlicedEll
from ..formats.arrays import Array, xp_of

NVMATH, CUPY = "nvmath.bindings.cusparse", "cupy_backends.cuda.libs.cusparse"
INSTALL = "python -m pip install nvmath-python[cu13]"
DEFAULT, CSR_ALG1, CSR_ALG2, SELL_ALG1 = 0, 2, 3, 5  # cusparseSpMVAlg_t
_NON_TRANSPOSE, _BASE_ZERO = 0, 0  # cusparseOperation_t, cusparseIndexBase_t
_INDEX = {np.dtype(np.int32): 2, np.dtype(np.int64): 3}  # cusparseIndexType_t
_VALUE = {np.dtype(np.float32): 0, np.dtype(np.float64): 1}  # cudaDataType_t


class Library(Protocol):
    """The functions of cuSPARSE that a product takes. Pointers, descriptors and handles are ints; `alpha` and `beta`
    point to numbers of the host."""

    name: str
    version: int

    def use_stream(self, stream: int) -> None: ...

    def csr(self, rows: int, columns: int, nnz: int, *arrays_and_types: int) -> int: ...

    def sell(self, rows: int, columns: int, nnz: int, slots: int, height: int, *arrays_and_types: int) -> int: ...

    def vector(self, size: int, values: int, value_type: int) -> int: ...

    def buffer_size(self, *product: int) -> int: ...

    def preprocess(self, *product: int) -> None: ...

    def multiply(self, *product: int) -> None: ...

    def free(self, matrix: int, *vectors: int) -> None: ...


class Nvmath:
    """cuSPARSE by nvmath-python's bindings. Raises ImportError and what they raise where the library does not load."""

    name = "nvmath-python"

    def __init__(self) -> None:
        it = importlib.import_module(NVMATH)
        self._it, self._handle = it, it.create()
        self.version = int(it.get_version(self._handle))
        self.csr, self.sell, self.vector = it.create_csr, it.create_sliced_ell, it.create_dn_vec

    def use_stream(self, stream: int) -> None:
        self._it.set_stream(self._handle, stream)

    def buffer_size(self, *product: int) -> int:
        return int(self._it.sp_mv_buffer_size(self._handle, *product))

    def preprocess(self, *product: int) -> None:
        self._it.sp_mv_preprocess(self._handle, *product)

    def multiply(self, *product: int) -> None:
        self._it.sp_mv(self._handle, *product)

    def free(self, matrix: int, *vectors: int) -> None:
        self._it.destroy_sp_mat(matrix)
        for vector in vectors:
            self._it.destroy_dn_vec(vector)


class CupysOwn:
    """cuSPARSE by the bindings that CuPy uses itself: no preprocessing, no sliced ELL."""

    name = "CuPy"

    def __init__(self) -> None:
        it = importlib.import_module(CUPY)
        self._it, self._handle = it, it.create()
        self.version = int(it.getVersion(self._handle))
        self.csr, self.vector = it.createCsr, it.createDnVec

    def use_stream(self, stream: int) -> None:
        self._it.setStream(self._handle, stream)

    def buffer_size(self, *product: int) -> int:
        return int(self._it.spMV_bufferSize(self._handle, *product))

    def multiply(self, *product: int) -> None:
        self._it.spMV(self._handle, *product)

    def free(self, matrix: int, *vectors: int) -> None:
        self._it.destroySpMat(matrix)
        for vector in vectors:
            self._it.destroyDnVec(vector)

    def sell(self, *_: int) -> int:
        raise MatrixError(f"CuPy reaches no sliced ELL of cuSPARSE: {INSTALL}")

    def preprocess(self, *_: int) -> None:
        raise MatrixError(f"CuPy does not reach cuSPARSE's preprocessing: {INSTALL}")


_made: list[Library] = []  # the one of this process: a handle costs memory, and is never given back


def library() -> Library:
    """cuSPARSE, by the better of the bindings that work here. Raises MatrixError where none does."""
    if not _made:
        problems = []
        for make in (Nvmath, CupysOwn):
            try:
                _made.append(make())
                break
            except Exception as error:  # absent, or it finds no library, no driver: each has exceptions of its own
                problems.append(f"{make.name}: {first_line(error)}")
        else:
            raise MatrixError(f"cuSPARSE cannot be used here ({'; '.join(problems)})")
    return _made[0]


def has_nvmath() -> bool:
    """Whether nvmath-python is installed."""
    return importlib.util.find_spec("nvmath") is not None


def first_line(error: BaseException) -> str:
    """What an exception of a library says, in a line."""
    said = str(error).strip().splitlines()
    return f"{type(error).__name__}: {said[0]}" if said else type(error).__name__


# --- products --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SpMV:
    """A product that is ready: `run` queues it on the stream that was current when it was made.

    `keeps` are the arrays it reads and writes, which must live as long as it does.
    """

    run: Callable[[], None]
    buffer_bytes: int
    library: Library
    keeps: tuple[Any, ...]


def csr_product(
    csr: Csr, x: Array, y: Array, alpha: float, beta: float, algorithm: int, preprocess: bool = False
) -> SpMV:
    """y = alpha A x + beta y from the arrays of a Csr on a GPU.

    Raises MatrixError with cuSPARSE's reason where it refuses; it need not know a mixture of index types.
    """
    lib = library()
    types = _INDEX[np.dtype(csr.indptr.dtype)], _INDEX[np.dtype(csr.indices.dtype)], _BASE_ZERO, _VALUE[csr.dtype]
    arrays = _pointer(csr.indptr), _pointer(csr.indices), _pointer(csr.data)
    with _refusals():
        matrix = lib.csr(csr.rows, csr.columns, csr.nnz, *arrays, *types)
    return _product(lib, matrix, csr, x, y, alpha, beta, algorithm, preprocess)


def sell_product(form: SlicedEll, x: Array, y: Array, alpha: float, beta: float) -> SpMV:
    """The same from a sliced ELL whose rows are in their order (sigma 1): cuSPARSE knows no permutation.

    Raises MatrixError where the rows were sorted, or cuSPARSE refuses.
    """
    if form.sigma != 1:
        raise MatrixError(
            f"cuSPARSE's sliced ELL keeps rows in their order; make the format with sigma=1, not {form.sigma}"
        )
    lib = library()
    types = _INDEX[np.dtype(form.offsets.dtype)], _INDEX[np.dtype(form.columns.dtype)], _BASE_ZERO
    arrays = _pointer(form.offsets), _pointer(form.columns), _pointer(form.values)
    size = *form.shape, form.nnz, form.slots, form.height
    with _refusals():
        matrix = lib.sell(*size, *arrays, *types, _VALUE[np.dtype(form.values.dtype)])
    return _product(lib, matrix, form, x, y, alpha, beta, SELL_ALG1, False)


def _product(
    lib: Library,
    matrix: int,
    form: Any,
    x: Array,
    y: Array,
    alpha: float,
    beta: float,
    algorithm: int,
    preprocess: bool,
) -> SpMV:
    xp, dtype = xp_of(x), np.dtype(x.dtype)
    scalars = np.array([alpha, beta], dtype)
    at_alpha, at_beta = scalars[:1].ctypes.data, scalars[1:].ctypes.data
    made: list[int] = []
    with _refusals():
        made += [lib.vector(int(array.size), _pointer(array), _VALUE[dtype]) for array in (x, y)]
        lib.use_stream(_stream(xp))
        call = _NON_TRANSPOSE, at_alpha, matrix, made[0], at_beta, made[1], _VALUE[dtype], algorithm
        buffer = xp.empty(max(lib.buffer_size(*call), 1), np.uint8)
        if preprocess:
            lib.preprocess(*call, _pointer(buffer))
    product = SpMV(
        lambda: lib.multiply(*call, _pointer(buffer)), int(buffer.nbytes), lib, (form, x, y, buffer, scalars)
    )
    weakref.finalize(product, lib.free, matrix, *made)
    return product


def _pointer(array: Array) -> int:
    """Where an array lies, as an int."""
    return int(array.ctypes.data if isinstance(array, np.ndarray) else array.data.ptr)


def _stream(xp: Any) -> int:
    """CuPy's current stream, as an int."""
    return 0 if xp is np else int(xp.cuda.get_current_stream().ptr)


@contextmanager
def _refusals() -> Iterator[None]:
    """What cuSPARSE refuses, as a sentence."""
    try:
        yield
    except MatrixError:
        raise
    except Exception as error:  # cuSPARSEError of nvmath-python, CuSparseError of CuPy: modules that need not be here
        raise MatrixError(f"cuSPARSE refuses this product ({first_line(error)})") from None
