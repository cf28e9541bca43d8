"""The counters against an H200: every reading of data/results/h200.json that the source level claims to give.

Where the compiler hoists or merges accesses the source level gives a number of its own, kept with its derivation in
facts/source_level.json. Every kernel's result is checked too.
"""

import json
from pathlib import Path

import numpy as np
import pytest
from numba_readings import copy, grid_stride_shared_tree, shared_read
from sparse_products import pareto_matrix, row_per_warp_reading_the_end_in_every_test

import gpukit
from gpukit import cuda
from gpukit.kernels import coalescing, reduction, spmv
from gpukit.resources import data_file

H200 = json.loads(data_file("results/h200.json").read_text(encoding="utf-8"))
SOURCE = json.loads((Path(__file__).parent / "facts" / "source_level.json").read_text(encoding="utf-8"))

GLOBAL = ("global_load_requests", "global_load_sectors", "global_store_requests", "global_store_sectors")
N = 1 << 20


def reading(of: dict, *names: str) -> dict:
    """The counters among `of` (or those named), without remarks and without what only hardware can say."""
    wanted = names or [name for name in of if name.startswith(("global_load", "global_store", "shared_"))]
    return {name: of[name] for name in wanted if name in of}


def counted(kernel, grid, block, *args, like: dict) -> dict:
    """The counters named in `like` of a launch."""
    counters = gpukit.profile(kernel, grid, block, *args, hazards=False).counters
    return {name: counters[name] for name in like}


# --- the three reductions in place ---------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", [reduction.naive, reduction.compact, reduction.sequential], ids=lambda k: k.__name__)
class TestReductionInPlace:
    BLOCKS = N // 512

    def profile(self, kernel):
        partial = np.zeros(self.BLOCKS, np.int32)
        report = gpukit.profile(kernel, self.BLOCKS, 256, np.ones(N, np.int32), partial, hazards=False)
        assert (partial == 512).all()
        return report

    def test_requests_and_sectors_are_the_hardwares(self, kernel):
        expected = H200["reductions"][kernel.__name__]
        assert reading(self.profile(kernel).counters, *GLOBAL) == expected
        assert reading(H200["reductions_cuda_cpp_O3"][kernel.__name__], *GLOBAL) == expected

    def test_divergent_branches_are_those_counted_by_hand(self, kernel):
        per_block = SOURCE["divergent_branches_per_block_of_256"][kernel.__name__]
        assert self.profile(kernel).counters["divergent_branches"] == per_block * self.BLOCKS

    def test_lines_add_up_to_the_kernel(self, kernel):
        report = self.profile(kernel)
        for name in (*GLOBAL, "divergent_branches", "warp_instructions", "thread_instructions"):
            assert sum(line.counters.get(name, 0) for line in report.lines) == report.counters[name]

    def test_hazards_change_no_counter(self, kernel):
        args = np.ones(1 << 14, np.int32), np.zeros(32, np.int32)
        plain = gpukit.profile(kernel, 32, 256, *(a.copy() for a in args), hazards=False)
        checked = gpukit.profile(kernel, 32, 256, *args)
        assert checked.counters == plain.counters
        assert checked.hazards == []


# --- other launches read on the H200 from numba-cuda kernels -------------------------------------------------------


def test_grid_stride_sum_with_a_tree_in_shared_memory():
    out = np.zeros(1, np.int32)
    expected = reading(H200["grid_stride_shared_tree"], *GLOBAL) | reading(SOURCE["grid_stride_shared_tree"])
    assert expected["shared_load_requests"] == H200["grid_stride_shared_tree"]["shared_load_requests"]
    assert counted(grid_stride_shared_tree, 160, 256, np.ones(N, np.int32), out, like=expected) == expected
    assert out[0] == N


@pytest.mark.parametrize("stride", [2, 32])
def test_bank_conflicts_of_a_strided_read(stride):
    out = np.zeros(1024, np.int32)
    expected = reading(H200["shared_read"][f"stride_{stride}"])
    assert counted(shared_read, 1, 1024, out, stride, like=expected) == expected
    assert (out == np.arange(1024) * stride % 1024).all()


def test_copy_of_doubles():
    x = np.arange(1 << 18, dtype=np.float64)
    y = np.zeros_like(x)
    expected = reading(H200["copy_float64"])
    assert counted(copy, 1024, 256, x, y, like=expected) == expected
    assert (x == y).all()


@pytest.mark.parametrize("stride", [1, 2, 8, 33])
def test_strided_reads(stride):
    x = np.arange(N, dtype=np.float32)
    y = np.zeros(1 << 18, np.float32)
    expected = reading(H200["strided_read"][f"stride_{stride}"])
    assert counted(coalescing.strided, 1024, 256, x, y, stride, like=expected) == expected
    assert (y == x[np.arange(y.size) * stride % N]).all()


# --- sparse products, where the compiler reads less than the source says -------------------------------------------


@pytest.mark.parametrize(
    ("name", "kernel", "grid"),
    [
        ("row_per_thread", spmv.row_per_thread, 79),
        ("row_per_warp", row_per_warp_reading_the_end_in_every_test, 2500),
    ],
)
def test_sparse_products(name, kernel, grid):
    args, expected_y = pareto_matrix()
    y = np.zeros(expected_y.size, np.float32)
    stores = reading(H200["spmv"][name], "global_store_requests", "global_store_sectors")
    expected = reading(SOURCE["csr"][name]) | stores
    assert counted(kernel, grid, 256, *args, y, like=expected) == expected
    np.testing.assert_allclose(y, expected_y, rtol=1e-4)


# --- kernels read on the H200 in CUDA C++, written again in Python -------------------------------------------------


@cuda.jit
def tr_naive(a, b):
    x = cuda.blockIdx.x * 32 + cuda.threadIdx.x
    y = cuda.blockIdx.y * 32 + cuda.threadIdx.y
    for j in range(0, 32, 8):
        if x < a.shape[1] and y + j < a.shape[0]:
            b[x, y + j] = a[y + j, x]


@cuda.jit
def tr_tile(a, b):
    tile = cuda.shared.array((32, 32), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x, y = cuda.blockIdx.x * 32 + tx, cuda.blockIdx.y * 32 + ty
    for j in range(0, 32, 8):
        tile[ty + j, tx] = a[y + j, x]
    cuda.syncthreads()
    x, y = cuda.blockIdx.y * 32 + tx, cuda.blockIdx.x * 32 + ty
    for j in range(0, 32, 8):
        b[y + j, x] = tile[tx, ty + j]


@cuda.jit
def tr_pad(a, b):
    tile = cuda.shared.array((32, 33), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x, y = cuda.blockIdx.x * 32 + tx, cuda.blockIdx.y * 32 + ty
    for j in range(0, 32, 8):
        tile[ty + j, tx] = a[y + j, x]
    cuda.syncthreads()
    x, y = cuda.blockIdx.y * 32 + tx, cuda.blockIdx.x * 32 + ty
    for j in range(0, 32, 8):
        b[y + j, x] = tile[tx, ty + j]


@pytest.fixture(scope="module")
def random_square():
    return np.random.default_rng(3).random((512, 512), dtype=np.float32)


@pytest.mark.parametrize("kernel", [tr_naive, tr_tile, tr_pad], ids=lambda k: k.__name__)
def test_transpose(kernel, random_square):
    b = np.zeros_like(random_square)
    expected = reading(H200["cuda_cpp"][kernel.__name__])
    assert counted(kernel, (16, 16), (32, 8), random_square, b, like=expected) == expected
    assert (b == random_square.T).all()


@cuda.jit
def matmul(a, b, c):
    s = cuda.shared.array((16, 16), np.float32)
    t = cuda.shared.array((16, 16), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    row, column = cuda.blockIdx.y * 16 + ty, cuda.blockIdx.x * 16 + tx
    total = np.float32(0)
    for k in range(0, a.shape[1], 16):
        s[ty, tx] = a[row, k + tx]
        t[ty, tx] = b[k + ty, column]
        cuda.syncthreads()
        for q in range(16):
            total += s[ty, q] * t[q, tx]
        cuda.syncthreads()
    c[row, column] = total


def test_tiled_matrix_product():
    rng = np.random.default_rng(3)
    a, b = rng.random((256, 256), dtype=np.float32), rng.random((256, 256), dtype=np.float32)
    c = np.zeros_like(a)
    hardware = H200["cuda_cpp"]["matmul"]
    expected = reading(hardware, *GLOBAL, "shared_store_requests", "shared_store_wavefronts") | reading(
        SOURCE["matmul"]
    )
    assert counted(matmul, (16, 16), (16, 16), a, b, c, like=expected) == expected
    np.testing.assert_allclose(c, a @ b, rtol=1e-4)


@cuda.jit
def histogram(x, bins):
    s = cuda.shared.array(256, np.int32)
    tid = cuda.threadIdx.x
    s[tid] = 0
    cuda.syncthreads()
    for i in range(cuda.blockIdx.x * 256 + tid, x.size, cuda.gridDim.x * 256):
        cuda.atomic.add(s, x[i] & 255, 1)
    cuda.syncthreads()
    cuda.atomic.add(bins, tid, s[tid])


def test_histogram_with_shared_and_global_atomics():
    keys = np.random.default_rng(3).integers(0, N, 1 << 18).astype(np.int32)
    bins = np.zeros(256, np.int32)
    hardware = H200["cuda_cpp"]["hist"]
    expected = reading(hardware) | {
        "global_atomics": hardware["global_reduction_requests"],
        "global_atomic_sectors": hardware["global_reduction_sectors"],
        "shared_atomics": 8192,  # one a warp and key; the hardware has no counter of its own for them
    }
    assert counted(histogram, 64, 256, keys, bins, like=expected) == expected
    assert (bins == np.bincount(keys & 255, minlength=256)).all()


@cuda.jit
def daxpy(x, y, a):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = a * x[i] + y[i]


def test_daxpy():
    x, y = np.ones(1 << 18), np.ones(1 << 18)
    expected = reading(H200["cuda_cpp"]["daxpy"])
    assert counted(daxpy, 1024, 256, x, y, 2.5, like=expected) == expected
    assert (y == 3.5).all()


@cuda.jit
def rowsum(a, out):
    warp_sums = cuda.shared.array(8, np.float32)
    tid = cuda.threadIdx.x
    total = np.float32(0)
    for j in range(tid, a.shape[1], 256):
        total += a[cuda.blockIdx.x, j]
    offset = 16
    while offset > 0:
        total += cuda.shfl_down_sync(0xFFFFFFFF, total, offset)
        offset //= 2
    if tid % 32 == 0:
        warp_sums[tid // 32] = total
    cuda.syncthreads()
    if tid == 0:
        total = np.float32(0)
        for k in range(8):
            total += warp_sums[k]
        out[cuda.blockIdx.x] = total


def test_row_sums_with_shuffles(random_square):
    out = np.zeros(512, np.float32)
    hardware = H200["cuda_cpp"]["rowsum"]
    expected = reading(hardware, *GLOBAL, "shared_store_requests", "shared_store_wavefronts") | reading(
        SOURCE["rowsum"]
    )
    assert counted(rowsum, 512, 256, random_square, out, like=expected) == expected
    np.testing.assert_allclose(out, random_square.sum(1), rtol=1e-4)


# --- compute-sanitizer on an H200: what it finds must be found, and two things it misses ---------------------------


@cuda.jit
def reversed_without_barrier(out):
    s = cuda.shared.array(128, np.int32)
    t = cuda.threadIdx.x
    s[t] = t
    out[t] = s[127 - t]


@cuda.jit
def warp_tail_without_syncwarp(x, out):
    s = cuda.shared.array(64, np.int32)
    t = cuda.threadIdx.x
    s[t] = x[t]
    cuda.syncthreads()
    if t < 32:
        s[t] += s[t + 32]
        s[t] += s[t + 16]
        s[t] += s[t + 8]
        s[t] += s[t + 4]
        s[t] += s[t + 2]
        s[t] += s[t + 1]
    if t == 0:
        out[0] = s[0]


@cuda.jit
def barrier_for_some(out):
    t = cuda.threadIdx.x
    if t < 16:
        cuda.syncthreads()
    out[t] = t


@cuda.jit
def return_before_barrier(out):
    t = cuda.threadIdx.x
    if t >= 16:
        return
    cuda.syncthreads()
    out[t] = t


@cuda.jit
def write_past_the_end(out):
    out[cuda.threadIdx.x + 100] = 1


@cuda.jit
def lost_update(out):
    if cuda.threadIdx.x == 0:
        out[0] += 1


@cuda.jit
def unwritten_shared_read(out):
    s = cuda.shared.array(32, np.int32)
    out[cuda.threadIdx.x] = s[cuda.threadIdx.x]


@pytest.mark.parametrize(
    ("kernel", "grid", "block", "args", "kind", "severity"),
    [
        (reversed_without_barrier, 1, 128, lambda: [np.zeros(128, np.int32)], "race_shared", "error"),
        (
            warp_tail_without_syncwarp,
            1,
            64,
            lambda: [np.ones(64, np.int32), np.zeros(1, np.int32)],
            "race_shared",
            "error",
        ),
        (barrier_for_some, 1, 32, lambda: [np.zeros(32, np.int32)], "barrier_divergence", "error"),
        (return_before_barrier, 1, 32, lambda: [np.zeros(32, np.int32)], "barrier_with_exited_threads", "warning"),
        (write_past_the_end, 1, 64, lambda: [np.zeros(128, np.int32)], "oob_global_write", "error"),
        (lost_update, 2, 32, lambda: [np.zeros(1, np.int32)], "race_global_interblock", "error"),
        (unwritten_shared_read, 1, 32, lambda: [np.zeros(32, np.int32)], "uninit_shared_read", "error"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_what_compute_sanitizer_finds_and_misses(kernel, grid, block, args, kind, severity):
    report = gpukit.profile(kernel, grid, block, *args())
    assert (kind, severity) in {(hazard.kind, hazard.severity) for hazard in report.hazards}


def test_invalid_writes_are_counted_one_by_one():
    out = np.zeros(128, np.int32)
    report = gpukit.profile(write_past_the_end, 1, 64, out)
    assert [hazard.count for hazard in report.hazards if hazard.kind == "oob_global_write"] == [36]
    assert (out[100:] == 1).all() and not out[:100].any()
