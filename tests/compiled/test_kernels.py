"""Whole C++ kernels at the compiled level: right results, no false alarm, and the counters of an H200 to the digit."""

from __future__ import annotations

import functools
import json
import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from compiled.kernels.launches import LAUNCHES, Launch, Near
from compiled.kernels.table import HERE, LADDER, i32
from numba_readings import copy, grid_stride_shared_tree, shared_read
from sparse_products import pareto_matrix, row_per_warp_reading_the_end_in_every_test

import gpukit
from gpukit import raw
from gpukit.kernels import coalescing, reduction, spmv
from gpukit.resources import data_file

H200 = json.loads(data_file("results/h200.json").read_text(encoding="utf-8"))
DATA = Path(__file__).parents[2] / "data"
NUMBA_READINGS = json.loads((DATA / "results" / "h200_numba_kernels.json").read_text())["launches"]
COMPILED = json.loads((DATA / "results" / "h200_compiled_kernels.json").read_text())["launches"]
N = 1 << 20


@functools.cache
def kernels(file: Path, options: tuple[str, ...] = ()) -> Mapping[str, gpukit.RawKernel]:
    """The kernels of a file, compiled once."""
    return raw.load(file, options)


# --- results and hazards -------------------------------------------------------------------------------------------


def assert_right(got: np.ndarray, expected: object) -> None:
    """Bit by bit, or within the bound; NaNs are equal."""
    if isinstance(expected, Near):
        value = np.asarray(expected.value)
        error = np.abs(got.reshape(value.shape).astype(np.result_type(got, np.float64)) - value)
        assert (error <= expected.bound).all(), f"off by {np.max(error / np.maximum(expected.bound, 1e-300))} bounds"
    else:
        np.testing.assert_array_equal(got, np.asarray(expected).astype(got.dtype).reshape(got.shape))


@pytest.mark.parametrize("launch", LAUNCHES.values(), ids=LAUNCHES.keys())
def test_launch(launch: Launch):
    before, args = launch.args(), launch.args()
    kernel = kernels(launch.file, launch.options)[launch.kernel]
    report = gpukit.profile(kernel, launch.grid, launch.block, *args, shared_bytes=launch.shared_bytes)
    with np.errstate(all="ignore"):
        expected = launch.expected(*launch.args())
    for position, contents in expected.items():
        assert_right(args[position], contents)
    for position, (old, new) in enumerate(zip(before, args, strict=True)):
        if position not in expected and isinstance(old, np.ndarray):
            np.testing.assert_array_equal(old, new)
    assert {hazard.kind for hazard in report.hazards} == ({launch.hazard} if launch.hazard else set())
    assert report.counters["warp_instructions"] > 0


def test_there_are_kernels_of_every_sort_and_all_are_launched():
    launched = {(launch.file, launch.kernel) for launch in LAUNCHES.values()}
    there = {(file, name) for file in (LADDER, *HERE.glob("*.cu")) for name in kernels(file)}
    assert there - launched == {(HERE / "language.cu", "insist")}  # stops the kernel: a test of its own
    assert len(launched) >= 100


RUNGS = (
    *("naive", "compact", "sequential", "shared_interleaved", "shared_strided", "shared_sequential", "first_add"),
    *("last_warp_volatile", "last_warp_syncwarp", "last_warp_shuffle", "unrolled", "shuffle", "grid_stride"),
    *("grid_stride_signed", "vectorized", "vectorized_unrolled"),
    *("finish_second_launch", "finish_atomic", "finish_last_block", "finish_grid_sync"),
)


FIXED_GRID = ("grid_stride", "grid_stride_signed", "vectorized", "vectorized_unrolled")


def test_the_ladder_has_its_rungs_in_order_and_only_the_volatile_one_is_flagged():
    assert tuple(kernels(LADDER)) == RUNGS
    assert {launch.kernel for launch in LAUNCHES.values() if launch.hazard} == {"last_warp_volatile"}


@functools.cache
def rung(name: str) -> dict:
    """Counters of a rung on 2^16 whole numbers with blocks of 256; grid-stride rungs with 32 blocks."""
    n, blocks = 1 << 16, dict.fromkeys(FIXED_GRID, 32).get(name)
    paired = name in ("naive", "compact", "sequential") or name in RUNGS[RUNGS.index("first_add") :]
    blocks = blocks or n // (512 if paired else 256)
    x, partial = np.ones(n, np.int32), np.zeros(blocks, np.int32)
    args = (x, partial) if name in RUNGS[:3] else (x, partial, np.uint32(n))
    report = gpukit.profile(kernels(LADDER)[name], blocks, 256, *args, shared_bytes=1024, hazards=False)
    assert partial.sum() == n
    return report.counters


@pytest.mark.parametrize(
    ("better", "worse", "counter", "ratio"),
    [
        ("compact", "naive", "divergent_branches", 0.2),
        ("compact", "naive", "global_load_requests", 0.4),
        ("sequential", "compact", "global_load_sectors", 0.27),
        ("shared_interleaved", "sequential", "global_store_requests", 0.1),
        ("shared_sequential", "shared_strided", "shared_load_bank_conflicts", 0.0),
        ("first_add", "shared_sequential", "barriers", 0.51),
        ("last_warp_syncwarp", "first_add", "barriers", 0.45),
        ("last_warp_shuffle", "last_warp_syncwarp", "shared_load_requests", 0.7),
        ("unrolled", "last_warp_shuffle", "warp_instructions", 0.9),
        ("shuffle", "unrolled", "barriers", 0.5),
        ("grid_stride", "shuffle", "barriers", 0.3),
        ("vectorized", "grid_stride", "global_load_requests", 0.26),
    ],
)
def test_every_rung_moves_the_counter_it_names(better: str, worse: str, counter: str, ratio: float):
    assert rung(worse)[counter] > 0
    assert rung(better)[counter] <= ratio * rung(worse)[counter]


def test_sectors_stay_where_a_rung_says_so():
    assert rung("compact")["global_load_sectors"] == rung("naive")["global_load_sectors"]
    assert rung("vectorized")["global_load_sectors"] == rung("grid_stride")["global_load_sectors"]


def test_output_of_threads(capsys):
    x = np.array([3, -4, 5, -7], np.int32)
    kernels(HERE / "language.cu")["talk"]((1,), (32,), (x, i32(4)))
    printed = capsys.readouterr().out.splitlines()
    assert printed == [f"x[{k}] = {x[k]}, half of it {x[k] / 2:5.2f}, negative" for k in (1, 3)]


def test_an_assertion_names_its_line_and_thread():
    kernel = kernels(HERE / "language.cu")["insist"]
    line = (HERE / "language.cu").read_text().splitlines().index("    assert(x[i] != 13);") + 1
    with pytest.raises(gpukit.KernelAssertion, match=r"x\[i\] != 13") as stopped:
        gpukit.profile(kernel, 1, 32, np.arange(20, dtype=np.int32), np.zeros(20, np.int32), i32(20))
    assert (Path(stopped.value.file).name, stopped.value.line) == ("language.cu", line)
    assert stopped.value.place == ((0, 0, 0), (13, 0, 0))


# --- counters read on an H200 --------------------------------------------------------------------------------------


def reading(of: Mapping[str, object]) -> dict:
    """The memory counters among those of a reading."""
    names = {"global_reduction_requests": "global_atomics", "global_reduction_sectors": "global_atomic_sectors"}
    found = {names.get(name, name): count for name, count in of.items()}
    return {name: n for name, n in found.items() if name.startswith(("global_", "shared_"))}


def counted(kernel: object, grid: object, block: object, *args: object, like: dict) -> dict:
    """The counters named in `like` of a launch at the compiled level."""
    report = gpukit.profile(kernel, grid, block, *args, hazards=False, level="compiled")
    assert report.level == "compiled"
    return {name: report.counters[name] for name in like}


@pytest.mark.parametrize("name", ["naive", "compact", "sequential"])
class TestReductionInPlace:
    def test_cuda_cpp(self, name: str):
        expected = reading(H200["reductions_cuda_cpp_O3"][name])
        self.check(kernels(LADDER)[name], expected)

    def test_numba(self, name: str):
        self.check(getattr(reduction, name), reading(H200["reductions"][name]))

    def check(self, kernel: object, expected: dict):
        partial = np.zeros(2048, np.int32)
        assert counted(kernel, 2048, 256, np.ones(N, np.int32), partial, like=expected) == expected
        assert (partial == 512).all()


def cuda_cpp_launches() -> dict[str, tuple]:
    """Name -> grid, block, arguments, right result (by position) of the readings under "cuda_cpp"."""
    rng = np.random.default_rng(3)
    a, b = rng.random((512, 512), dtype=np.float32), rng.random((512, 512), dtype=np.float32)
    keys = rng.integers(0, N, 1 << 18).astype(np.int32)
    half_a, half_b = a[:256, :256].copy(), b[:256, :256].copy()
    room, ones = np.zeros_like(a), np.ones(1 << 18)
    transposes = {
        name: ((16, 16), (32, 8), (a, room.copy(), i32(512)), (1, a.T)) for name in ("tr_naive", "tr_tile", "tr_pad")
    }
    return transposes | {
        "matmul": ((16, 16), (16, 16), (half_a, half_b, np.zeros_like(half_a), i32(256)), (2, half_a @ half_b)),
        "hist": (64, 256, (keys, np.zeros(256, np.int32), i32(1 << 18)), (1, np.bincount(keys & 255, minlength=256))),
        "daxpy": (1024, 256, (ones, ones.copy(), np.float64(2.5), i32(1 << 18)), (1, 3.5 * ones)),
        "rowsum": (512, 256, (a, np.zeros(512, np.float32), i32(512)), (1, a.sum(1))),
    }


@pytest.mark.parametrize("name", cuda_cpp_launches())
def test_cuda_cpp_reading(name: str):
    grid, block, args, (position, right) = cuda_cpp_launches()[name]
    kernel = kernels(Path(__file__).parent / "read_on_h200.cu")[name]
    expected = reading(H200["cuda_cpp"][name])
    assert counted(kernel, grid, block, *args, like=expected) == expected
    np.testing.assert_allclose(args[position], right, rtol=1e-4)


def test_numba_grid_stride_sum():
    out = np.zeros(1, np.int32)
    # The H200 counted two wavefronts more, conflicts that no address of the kernel explains (facts/source_level.json).
    expected = reading(H200["grid_stride_shared_tree"]) | {
        "shared_load_wavefronts": 4000,
        "shared_load_bank_conflicts": 0,
    }
    assert counted(grid_stride_shared_tree, 160, 256, np.ones(N, np.int32), out, like=expected) == expected
    assert out[0] == N


@pytest.mark.parametrize("stride", [2, 32])
def test_numba_bank_conflicts(stride: int):
    expected = reading(H200["shared_read"][f"stride_{stride}"])
    assert counted(shared_read, 1, 1024, np.zeros(1024, np.int32), stride, like=expected) == expected


def test_numba_copy_of_doubles():
    x, y = np.arange(1 << 18, dtype=np.float64), np.zeros(1 << 18)
    expected = reading(H200["copy_float64"])
    assert counted(copy, 1024, 256, x, y, like=expected) == expected
    assert (x == y).all()


@pytest.mark.parametrize("stride", [1, 2, 8, 33])
def test_numba_strided_reads(stride: int):
    x, y = np.arange(N, dtype=np.float32), np.zeros(1 << 18, np.float32)
    expected = reading(H200["strided_read"][f"stride_{stride}"])
    assert counted(coalescing.strided, 1024, 256, x, y, stride, like=expected) == expected


@pytest.mark.parametrize(("name", "grid"), [("row_per_thread", 79), ("row_per_warp", 2500)])
@pytest.mark.parametrize("language", ["numba", "cuda_cpp"])
def test_sparse_products(name: str, grid: int, language: str):
    """Irregular rows, where the source level is 1 to 18 % off: the compiled level is not. The C++ loop is unrolled,
    which makes more requests where lanes differ in their number of turns."""
    args, right = pareto_matrix()
    y = np.zeros(right.size, np.float32)
    if language == "numba":
        expected = reading(H200["spmv"][name])
        kernel = spmv.row_per_thread if name == "row_per_thread" else row_per_warp_reading_the_end_in_every_test
        assert counted(kernel, grid, 256, *args, y, like=expected) == expected
    else:
        called = {"row_per_thread": "csr_scalar", "row_per_warp": "csr_vector"}[name]
        expected = COMPILED[f"{called}, uneven rows"]["counters"]
        kernel = kernels(HERE / "sparse.cu")[called]
        assert counted(kernel, grid, 256, *args, y, i32(right.size), like=expected) == expected
    np.testing.assert_allclose(y, right, rtol=1e-4)


# --- numba kernels read on an H200: every one of them at the compiled level ----------------------------------------


@pytest.mark.parametrize("name", NUMBA_READINGS)
def test_numba_reading(probe, name: str):
    launch = probe.LAUNCHES[name]
    measured = dict.fromkeys(probe.METRICS, 0) | NUMBA_READINGS[name]["counters"]
    report = gpukit.profile(
        launch.kernel,
        launch.grid,
        launch.block,
        *launch.args(),
        shared_bytes=launch.shared_bytes,
        hazards=False,
        level="compiled",
    )
    assert {counter: report.counters[counter] for counter in probe.METRICS} == measured


# --- speed -----------------------------------------------------------------------------------------------------------


def seconds(kernel: gpukit.RawKernel, grid: object, block: object, *args: object) -> float:
    """Wall-clock time of a launch with counters."""
    started = time.perf_counter()
    gpukit.profile(kernel, grid, block, *args, hazards=False)
    return time.perf_counter() - started


def test_a_million_elements_take_less_than_a_second():
    partial = np.zeros(2048, np.int32)
    assert seconds(kernels(LADDER)["naive"], 2048, 256, np.ones(N, np.int32), partial) < 1
    assert (partial == 512).all()


def test_a_matrix_product_of_512_cubed_takes_less_than_a_minute():
    rng = np.random.default_rng(0)
    a, b = (rng.random((512, 512), dtype=np.float32) for _ in range(2))
    c = np.zeros_like(a)
    size = np.int32(512)
    assert seconds(kernels(HERE / "dense.cu")["matmul_tiled"], (32, 32), (16, 16), a, b, c, size, size, size) < 60
    np.testing.assert_allclose(c, a @ b, rtol=1e-4)
