"""SciPy, CuPy, cuSPARSE and PyTorch as references of the SpMV lab: each is called as its library wants it.

cuSPARSE is played by a library that reads the very addresses it is given, as C does, and multiplies with NumPy.
"""

from __future__ import annotations

import ctypes
import importlib
import sys
import types

import numpy as np
import pytest
import scipy.sparse

from gpukit import GpukitError, plugins
from gpukit.devices import CpuMachine

plugins.load("spmv")
formats, ell, references, cusparse, checks, errors = (
    importlib.import_module(f"gpukit_labs.spmv.{name}")
    for name in ("formats", "formats.ell", "libraries.references", "libraries.cusparse", "checks", "errors")
)
GPU = types.SimpleNamespace(name="gpu")
INDEX, VALUE = {2: np.int32, 3: np.int64}, {0: np.float32, 1: np.float64}


def at(address, count, dtype):
    """What lies at an address of the host."""
    raw = (ctypes.c_char * (count * np.dtype(dtype).itemsize)).from_address(address)
    return np.frombuffer(raw, dtype)


class FakeCusparse:
    """cuSPARSE on host memory. `log` has the calls in order; `mixed` says whether it takes int64 row pointers with
    int32 columns."""

    name, version = "a fake", 12600

    def __init__(self, mixed=True):
        self.mixed, self.log, self.made, self.freed = mixed, [], {}, []

    def use_stream(self, stream):
        self.log.append(("stream", stream))

    def _new(self, what):
        self.made[len(self.made) + 1] = what
        return len(self.made)

    def csr(self, rows, columns, nnz, offsets, indices, values, offset_type, index_type, base, value_type):
        assert base == 0
        if not self.mixed and offset_type != index_type:
            raise RuntimeError("CUSPARSE_STATUS_NOT_SUPPORTED (10)\nmore")
        indptr = at(offsets, rows + 1, INDEX[offset_type])
        arrays = at(values, nnz, VALUE[value_type]), at(indices, nnz, INDEX[index_type]), indptr
        return self._new(scipy.sparse.csr_array(arrays, shape=(rows, columns)))

    def sell(self, rows, columns, nnz, slots, height, offsets, indices, values, offset_type, index_type, base, kind):
        assert base == 0
        starts = at(offsets, -(-rows // height) + 1, INDEX[offset_type])
        column, value = at(indices, slots, INDEX[index_type]), at(values, slots, VALUE[kind])
        place = np.arange(slots)
        slice_of = np.searchsorted(starts, place, side="right") - 1
        row, used = slice_of * height + (place - starts[slice_of]) % height, column >= 0
        assert used.sum() == nnz and (value[~used] == 0).all()
        return self._new(scipy.sparse.coo_array((value[used], (row[used], column[used])), shape=(rows, columns)))

    def vector(self, size, values, value_type):
        return self._new(at(values, size, VALUE[value_type]))

    def buffer_size(self, operation, alpha, matrix, x, beta, y, compute, algorithm):
        assert (operation, compute in VALUE) == (0, True)
        self.log.append(("buffer_size", algorithm))
        return 64 + algorithm

    def preprocess(self, operation, alpha, matrix, x, beta, y, compute, algorithm, buffer):
        self.log.append(("preprocess", algorithm, buffer))

    def multiply(self, operation, alpha, matrix, x, beta, y, compute, algorithm, buffer):
        kind = VALUE[compute]
        alpha, beta = at(alpha, 1, kind)[0], at(beta, 1, kind)[0]
        self.log.append(("multiply", algorithm, buffer))
        at(buffer, 64 + algorithm, np.uint8)[:] = 1  # it may write all of it
        out, product = self.made[y], alpha * (self.made[matrix] @ self.made[x])
        out[:] = product if beta == 0 else product + beta * out

    def free(self, matrix, *vectors):
        self.freed += [matrix, *vectors]


@pytest.fixture
def fake(monkeypatch):
    """A cuSPARSE that multiplies on the host, in place of the real one."""
    library = FakeCusparse()
    monkeypatch.setattr(cusparse, "_made", [library])
    return library


def matrix(rows=70, columns=50, dtype=np.float32, pointer=np.int32, seed=0):
    """A matrix with rows of 0 to 40 entries, columns in no order."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, 12, rows)
    lengths[3], lengths[10] = 40, 0
    indices = np.concatenate([rng.choice(columns, length, replace=False) for length in lengths])
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(pointer)
    return formats.Csr(
        (rows, columns), indptr, indices.astype(np.int32), rng.uniform(-1, 1, indices.size).astype(dtype)
    )


def vectors(csr, seed=1):
    rng = np.random.default_rng(seed)
    return rng.uniform(-1, 1, csr.columns).astype(csr.dtype), rng.uniform(-1, 1, csr.rows).astype(csr.dtype)


def assert_right(name, csr, alpha=1.0, beta=0.0):
    """A reference multiplies twice; both answers are right."""
    x, before = vectors(csr)
    y = before.copy() if beta else np.full_like(before, np.nan)
    made = references.REFERENCES[name].prepare(csr, x, y, alpha, beta)
    made.run()
    assert checks.faults(csr, x, np.asarray(made.answer()), alpha, beta, before) == []
    y[...] = before if beta else np.nan
    made.run()
    assert checks.faults(csr, x, np.asarray(made.answer()), alpha, beta, before) == []
    return made


ON_A_GPU = [name for name, one in references.REFERENCES.items() if one.on == "gpu"]
OF_CUSPARSE = [name for name, one in references.REFERENCES.items() if one.group == "cusparse"]


# --- where they run --------------------------------------------------------------------------------------------------


def test_scipy_runs_anywhere_and_the_others_need_a_gpu():
    cpu = CpuMachine()
    why = {name: one.why_not(cpu) for name, one in references.REFERENCES.items()}
    assert why.pop("scipy") == ""
    assert set(why) == set(ON_A_GPU) and set(why.values()) == {"runs on an NVIDIA GPU only"}


def test_preprocessing_and_sliced_ell_need_nvmath(monkeypatch):
    monkeypatch.setattr(cusparse, "has_nvmath", lambda: False)
    lacking = {name for name in OF_CUSPARSE if "nvmath" in references.REFERENCES[name].why_not(GPU)}
    assert lacking == {name for name in OF_CUSPARSE if "sell" in name or "preprocessed" in name}
    assert all(not references.REFERENCES[name].why_not(GPU) for name in set(OF_CUSPARSE) - lacking)
    monkeypatch.setattr(cusparse, "has_nvmath", lambda: True)
    assert not any(references.REFERENCES[name].why_not(GPU) for name in OF_CUSPARSE)


def test_torch_says_what_is_missing(monkeypatch):
    reference = references.REFERENCES["torch_int32"]
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert reference.why_not(GPU) == "needs PyTorch: python -m pip install torch"
    torch = types.SimpleNamespace(cuda=types.SimpleNamespace(is_available=lambda: False))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: torch)
    monkeypatch.setitem(sys.modules, "torch", torch)
    assert "without CUDA" in reference.why_not(GPU)


# --- right answers ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("alpha, beta", [(1.0, 0.0), (2.5, 0.0), (1.0, 1.0), (-1.0, 2.5)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ["scipy", *OF_CUSPARSE])
def test_a_reference_is_right(fake, name, dtype, alpha, beta):
    assert_right(name, matrix(dtype=dtype), alpha, beta)


def test_cupyx_multiplies_a_copy_which_it_may_sort(monkeypatch):
    sparse = types.ModuleType("cupyx.scipy.sparse")

    class SortingMatrix(scipy.sparse.csr_matrix):
        def __matmul__(self, other):
            self.sum_duplicates()
            return super().__matmul__(other)

    sparse.csr_matrix = SortingMatrix
    for name, module in (("cupyx", types.ModuleType("cupyx")), ("cupyx.scipy", types.ModuleType("cupyx.scipy"))):
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setitem(sys.modules, "cupyx.scipy.sparse", sparse)
    sys.modules["cupyx"].scipy, sys.modules["cupyx.scipy"].sparse = sys.modules["cupyx.scipy"], sparse
    csr = matrix()
    before = csr.indices.copy()
    made = assert_right("cupyx", csr)
    assert_right("cupyx", csr, 2.5, -1.0)
    assert (csr.indices == before).all() and not (np.diff(before) >= 0).all()
    assert made.notes == {"indices": "int32", "row pointer": "int32"} and made.nbytes == csr.nbytes


@pytest.mark.parametrize("name", ["int32", "int64"])
def test_torch_is_given_indices_of_one_type(monkeypatch, name):
    seen = {}

    class Tensor(np.ndarray):
        def numel(self):
            return self.size

        def element_size(self):
            return self.itemsize

    def as_tensor(array, device):
        return np.asarray(array).view(Tensor)

    def sparse_csr_tensor(crow, columns, values, size, check_invariants):
        seen["types"] = crow.dtype, columns.dtype
        return scipy.sparse.csr_array((values, columns, crow), shape=size)

    torch = types.SimpleNamespace(as_tensor=as_tensor, sparse_csr_tensor=sparse_csr_tensor, __version__="2")
    monkeypatch.setitem(sys.modules, "torch", torch)
    csr = matrix()
    made = assert_right(f"torch_{name}", csr)
    assert_right(f"torch_{name}", csr, 2.5, -1.0)
    assert seen["types"] == (np.dtype(name), np.dtype(name))
    assert made.nbytes == csr.data.nbytes + (csr.rows + 1 + csr.nnz) * np.dtype(name).itemsize


@pytest.mark.parametrize("name", ["scipy", "cusparse_default", "cusparse_sell_32"])
def test_a_matrix_without_entries_or_rows(fake, name):
    for rows in (5, 0):
        empty = np.zeros(0, np.float32)
        csr = formats.Csr((rows, 4), np.zeros(rows + 1, np.int32), empty.astype(np.int32), empty)
        assert_right(name, csr)


# --- cuSPARSE --------------------------------------------------------------------------------------------------------


def test_the_steps_of_a_product_in_order(fake):
    csr = matrix()
    x, y = vectors(csr)
    plain = references.REFERENCES["cusparse_alg2"].prepare(csr, x, y)
    assert fake.log == [("stream", 0), ("buffer_size", cusparse.CSR_ALG2)]
    plain.run()
    assert [step[0] for step in fake.log[2:]] == ["multiply"]  # nothing else is in the time
    fake.log.clear()
    prepared = references.REFERENCES["cusparse_alg1_preprocessed"].prepare(csr, x, y)
    prepared.run()
    names = [step[0] for step in fake.log]
    assert names == ["stream", "buffer_size", "preprocess", "multiply"]
    assert fake.log[2][2] == fake.log[3][2]  # what was preprocessed lies in the buffer of the product


def test_every_product_has_a_buffer_of_its_own(fake):
    csr = matrix()
    x, y = vectors(csr)
    made = [references.REFERENCES[name].prepare(csr, x, y) for name in OF_CUSPARSE]
    for one in made:
        one.run()
    buffers = [step[2] for step in fake.log if step[0] == "multiply"]
    assert len(set(buffers)) == len(OF_CUSPARSE)


def test_descriptors_are_freed_with_the_product_and_not_before(fake):
    csr = matrix()
    x, y = vectors(csr)
    made = cusparse.csr_product(csr, x, y, 1, 0, cusparse.DEFAULT)
    made.run()
    assert fake.freed == []
    del made
    assert sorted(fake.freed) == sorted(fake.made)


def test_a_prepared_reference_keeps_its_product(fake):
    csr = matrix()
    x, y = vectors(csr)
    made = references.REFERENCES["cusparse_default"].prepare(csr, x, y)
    assert fake.freed == []
    made.run()
    del made
    assert sorted(fake.freed) == sorted(fake.made)


def test_wide_row_pointers_take_wide_columns_where_cusparse_wants_that(monkeypatch):
    csr = matrix(pointer=np.int64)
    monkeypatch.setattr(cusparse, "_made", [FakeCusparse(mixed=True)])
    assert assert_right("cusparse_default", csr).notes["columns"] == "int32"
    monkeypatch.setattr(cusparse, "_made", [FakeCusparse(mixed=False)])
    made = assert_right("cusparse_default", csr)
    assert made.notes["columns"] == "int64" and made.nbytes == csr.nbytes + 4 * csr.nnz


def test_a_refusal_is_a_sentence(fake, monkeypatch):
    def refuses(*_):
        raise RuntimeError("CUSPARSE_STATUS_NOT_SUPPORTED (10)\nthe rest")

    monkeypatch.setattr(fake, "buffer_size", refuses)
    csr = matrix()
    with pytest.raises(errors.MatrixError) as caught:
        references.REFERENCES["cusparse_default"].prepare(csr, *vectors(csr))
    assert str(caught.value) == ("cuSPARSE refuses this product (RuntimeError: CUSPARSE_STATUS_NOT_SUPPORTED (10))")


def test_sorted_rows_are_refused(fake):
    csr = matrix()
    with pytest.raises(errors.MatrixError, match="sigma=1, not 64"):
        cusparse.sell_product(formats.SlicedEll.from_csr(csr, 32, 64), *vectors(csr), 1, 0)


def test_padding_and_long_rows_are_refused_before_they_are_made(fake, monkeypatch):
    lengths = np.zeros(3200, np.int64)
    lengths[::32] = 100  # each slice is padded 32 times
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    indices = np.tile(np.arange(100, dtype=np.int32), 100)
    csr = formats.Csr((3200, 100), indptr, indices, np.ones(indices.size, np.float32))
    with pytest.raises(errors.MatrixError, match="10,000 entries would be padded to 320,000 slots"):
        references.REFERENCES["cusparse_sell_32"].prepare(csr, *vectors(csr))
    monkeypatch.setattr(references, "LONGEST_WALK", 30)
    with pytest.raises(errors.MatrixError, match="a row of 40 entries takes one thread too long"):
        references.REFERENCES["cusparse_sell_32"].prepare(matrix(), *vectors(matrix()))
    assert not fake.made


@pytest.mark.parametrize("height, sigma", [(32, 1), (16, 1), (32, 64), (7, 70)])
def test_padded_counts_the_slots_of_the_format(height, sigma):
    csr = matrix()
    assert ell.slots_of(csr.lengths, height, sigma) == formats.SlicedEll.from_csr(csr, height, sigma).slots


# --- the bindings ----------------------------------------------------------------------------------------------------


def test_nvmath_is_preferred_and_cupy_is_what_remains(monkeypatch):
    calls = []

    def binding(name, **functions):
        module = types.SimpleNamespace(create=lambda: 77, **functions)
        monkeypatch.setitem(sys.modules, name, module)
        for parent in (name.split(".")[0], ".".join(name.split(".")[:2]), ".".join(name.split(".")[:3])):
            if parent != name:
                monkeypatch.setitem(sys.modules, parent, types.ModuleType(parent))

    def record(name):
        return lambda *args: calls.append((name, args)) or 5

    names = ("create_csr", "create_sliced_ell", "create_dn_vec", "set_stream", "sp_mv_buffer_size")
    names += ("sp_mv_preprocess", "sp_mv", "destroy_sp_mat", "destroy_dn_vec")
    binding(cusparse.NVMATH, get_version=lambda handle: 12603, **{name: record(name) for name in names})
    theirs = ("createCsr", "createDnVec", "setStream", "spMV_bufferSize", "spMV", "destroySpMat", "destroyDnVec")
    binding(cusparse.CUPY, getVersion=lambda handle: 12603, **{name: record(name) for name in theirs})
    monkeypatch.setattr(cusparse, "_made", [])
    library = cusparse.library()
    assert (library.name, library.version) == ("nvmath-python", 12603) and cusparse.library() is library
    library.multiply(*range(9))
    library.preprocess(*range(9))
    library.free(1, 2, 3)
    assert calls == [
        ("sp_mv", (77, *range(9))),
        ("sp_mv_preprocess", (77, *range(9))),
        ("destroy_sp_mat", (1,)),
        ("destroy_dn_vec", (2,)),
        ("destroy_dn_vec", (3,)),
    ]
    calls.clear()
    monkeypatch.setitem(sys.modules, cusparse.NVMATH, None)  # importing it fails
    monkeypatch.setattr(cusparse, "_made", [])
    library = cusparse.library()
    assert library.name == "CuPy" and library.buffer_size(*range(8)) == 5
    library.multiply(*range(9))
    library.free(1, 2, 3)
    assert [name for name, _ in calls] == ["spMV_bufferSize", "spMV", "destroySpMat", "destroyDnVec", "destroyDnVec"]
    for lacking in (library.sell, library.preprocess):
        with pytest.raises(errors.MatrixError, match="pip install nvmath-python"):
            lacking(1)


def test_without_any_binding_it_is_said_why(monkeypatch):
    monkeypatch.setattr(cusparse, "_made", [])
    for name in (cusparse.NVMATH, cusparse.CUPY):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(GpukitError, match="cuSPARSE cannot be used here"):
        cusparse.library()
