"""Every kernel of the SpMV lab in both languages: right, without hazards, and refused what it cannot take."""

import importlib
from itertools import product as pairs

import numpy as np
import pytest

import gpukit
from gpukit import devices, plugins
from gpukit.compilers import numba_ptx, toolkit
from gpukit.registry import CPP, NUMBA

plugins.load("spmv")
checks = importlib.import_module("gpukit_labs.spmv.checks")
formats = importlib.import_module("gpukit_labs.spmv.formats")
kernels = importlib.import_module("gpukit_labs.spmv.kernels")
products = importlib.import_module("gpukit_labs.spmv.products")
MatrixError = importlib.import_module("gpukit_labs.spmv.errors").MatrixError

CPU = devices.device("cpu")
CSR_WAYS = ("csr_thread", "csr_warp", "csr_subwarp", "merge_path")
FACTORS = 0, 1, -1, 2.5
NO_COMPILER = toolkit.why_no_nvrtc()
NEEDS_COMPILER = pytest.mark.skipif(bool(NO_COMPILER), reason=str(NO_COMPILER))
LANGUAGES = [pytest.param(NUMBA, id="numba"), pytest.param(CPP, id="cpp", marks=NEEDS_COMPILER)]


def csr_of(lengths, columns, dtype=np.float32, pointer=np.int32, seed=0):
    """Rows of these lengths: any columns, some more than once, values of both signs."""
    rng = np.random.default_rng(seed)
    indptr = np.concatenate(([0], np.cumsum(lengths))).astype(pointer)
    indices = rng.integers(0, columns, indptr[-1], dtype=np.int32)
    return formats.Csr(
        (len(lengths), columns), indptr, indices, rng.uniform(-1, 1, indices.size).astype(dtype)
    ).checked()


def skewed(dtype=np.float32, pointer=np.int32):
    """77 rows: empty ones first, in the middle and last, and one of 700 entries."""
    lengths = np.random.default_rng(1).integers(0, 7, 77)
    lengths[[0, 1, 30, 31, 32, 75, 76]] = 0
    lengths[40] = 700
    return csr_of(lengths, 50, dtype, pointer)


def checked(way, language, **options):
    """What `checks` takes as a product: the way's launches, each with every check of the machine."""

    def multiply(csr, x, y, alpha, beta):
        made = products.product(way, csr, x, y, alpha, beta, language=language, **options)
        for launch in made.launches:
            report = gpukit.check(
                launch.kernel, launch.grid, launch.block, *launch.args, shared_bytes=launch.shared_bytes, raise_=False
            )
            found = [f"{hazard.kind}: {hazard.message}" for hazard in (*report.errors, *report.warnings)]
            assert not found, f"{launch.kernel}: {found}"

    return multiply


# --- right answers ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("way", products.WAYS)
def test_alpha_and_beta(way, language, dtype):
    for alpha, beta in pairs(FACTORS, FACTORS):
        trial = checks.as_stored(skewed(dtype), alpha, beta)
        assert not checks.faults_in(trial, checked(way, language)), (alpha, beta)


@pytest.mark.parametrize("pointer", [np.int32, np.int64])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("way", products.WAYS)
def test_types(way, language, dtype, pointer):
    csr = skewed(dtype, pointer)
    assert not checks.faults_of(checked(way, language), csr, 2.5, -1)
    assert not checks.faults_of(checked(way, language), csr)


SHAPES = {
    "no entries": ([0] * 40, 10),
    "one row": ([300], 40),
    "one column": ([1, 0, 1, 1] * 12, 1),
    "one entry": ([0] * 33 + [1], 5),
    "long first and last": ([150] + [1] * 62 + [150], 64),
    "even": ([5] * 96, 200),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("way", products.WAYS)
def test_shapes(way, language, shape):
    csr = csr_of(*SHAPES[shape])
    assert not checks.faults_of(checked(way, language), csr, 1, 0)
    assert not checks.faults_of(checked(way, language), csr, -1, 2.5)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("block", [32, 64, 1024])
@pytest.mark.parametrize("way", products.WAYS)
def test_blocks(way, block, language):
    assert not checks.faults_of(checked(way, language, block=block), skewed())


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("way, options", [
    *(("csr_subwarp", {"lanes": lanes}) for lanes in products.LANES),
    *(("sliced_ell", {"height": height, "sigma": sigma}) for height, sigma in ((1, 1), (8, 20), (32, 77), (33, 50))),
    *(("merge_path", {"items": items}) for items in (1, 3, 64, 400)),
])  # fmt: skip
def test_options(way, options, language):
    assert not checks.faults_of(checked(way, language, **options), skewed(), -1, 2.5)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("way", products.WAYS)
def test_the_same_bits_every_time(way, language):
    csr = skewed()
    x = np.random.default_rng(2).random(50, dtype=np.float32)
    answers = []
    for _ in range(2):
        y = np.empty(csr.rows, np.float32)
        products.product(way, csr, x, y, language=language).run(CPU)
        answers.append(y.tobytes())
    assert answers[0] == answers[1]


def test_a_sum_of_float32_stays_one():
    """2^24 + 1 + 1 is 2^24 in float32; a sum in float64 would give 2^24 + 2."""
    csr = formats.Csr((1, 3), np.array([0, 3], np.int32), np.arange(3, dtype=np.int32), np.ones(3, np.float32))
    x = np.array([2**24, 1, 1], np.float32)
    for way in ("csr_thread", "ell", "sliced_ell", "merge_path"):
        y = np.zeros(1, np.float32)
        products.product(way, csr, x, y).run(CPU)
        assert y[0] == 2**24, way


# --- what numba's compiler makes of them -----------------------------------------------------------------------------


def compiled(way, csr, x, y):
    """The PTX of a way's numba kernels, run at the compiled level for y = 2.5 A x - y."""
    pytest.importorskip("numba_cuda")
    if NO_COMPILER:
        pytest.skip(NO_COMPILER)
    texts = []
    for launch in products.product(way, csr, x, y, 2.5, -1).launches:
        what = launch.kernel, launch.grid, launch.block, *launch.args
        gpukit.profile(*what, shared_bytes=launch.shared_bytes, level="compiled")
        texts.append(numba_ptx.compile_numba(launch.kernel, launch.args).text)
    return texts


@pytest.mark.parametrize("dtype, pointer", [(np.float32, np.int32), (np.float64, np.int64)])
@pytest.mark.parametrize("way", products.WAYS)
def test_compiled_it_is_right_and_of_one_type(way, dtype, pointer):
    trial = checks.as_stored(skewed(dtype, pointer), 2.5, -1)
    y = trial.y.copy()
    for text in compiled(way, trial.csr, trial.x, y):
        assert (".f64" in text) == (dtype == np.float64), "a sum of float32 must not become one of float64"
    assert not checks.faults(trial.csr, trial.x, y, 2.5, -1, trial.y)


# --- the checks above can fail ---------------------------------------------------------------------------------------


def without_the_fix(csr, x, y, alpha, beta):
    path, _ = products.product("merge_path", csr, x, y, alpha, beta).launches
    CPU.launch(path)


def test_carries_between_warps_are_needed():
    assert not checks.faults_of(checked("merge_path", NUMBA), skewed())
    assert checks.faults_of(without_the_fix, skewed())


# --- what there is to launch -----------------------------------------------------------------------------------------


def test_no_rows_are_no_launch():
    empty = formats.Csr((0, 5), np.zeros(1, np.int32), np.zeros(0, np.int32), np.zeros(0, np.float32))
    for way in products.WAYS:
        made = products.product(way, empty, np.ones(5, np.float32), np.zeros(0, np.float32))
        assert made.launches == () and made.flops == 0


def test_no_columns():
    csr = formats.Csr((3, 0), np.zeros(4, np.int32), np.zeros(0, np.int32), np.zeros(0, np.float32))
    for way in products.WAYS:
        y = np.full(3, np.nan, np.float32)
        products.product(way, csr, np.zeros(0, np.float32), y).run(CPU)
        assert (y == 0).all(), way


def test_bytes_are_x_once_and_y_once_or_twice():
    csr = csr_of([2, 3], 7, np.float64, np.int64)
    matrix = 5 * (8 + 4) + 3 * 8
    assert csr.nbytes == matrix
    assert products.csr_bytes(csr) == matrix + 7 * 8 + 2 * 8
    assert products.csr_bytes(csr, beta=-1) == matrix + 7 * 8 + 2 * 2 * 8
    x, y = np.ones(7), np.zeros(2)
    for way in CSR_WAYS:
        made = products.product(way, csr, x, y, beta=1)
        assert made.bytes_moved == products.csr_bytes(csr, 1) and made.flops == 10
    made = products.product("ell", csr, x, y)
    assert made.bytes_moved == 6 * (8 + 4) + 7 * 8 + 2 * 8


@pytest.mark.parametrize("mean, lanes", [(0, 2), (3, 2), (15, 2), (16, 4), (27, 4), (60, 8), (127, 16), (5000, 32)])
def test_lanes_by_the_mean_length(mean, lanes):
    assert products.lanes_for(csr_of([mean] * 4, 100)) == lanes


def test_lanes_of_nothing():
    assert products.lanes_for(csr_of([], 1)) == 2


# --- refusals --------------------------------------------------------------------------------------------------------

REFUSED = {
    "no way": ({"way": "csr"}, "there is no way 'csr' to multiply; choose one of: csr_thread"),
    "no language": ({"language": "C"}, "no kernel is written in 'C'"),
    "part of a warp": ({"block": 48}, "a block has whole warps, 32 to 1,024 threads, not 48"),
    "no block": ({"block": 0}, "not 0"),
    "a large block": ({"block": 2048}, "not 2048"),
    "no option": ({"height": 4}, "csr_subwarp has no option 'height'; its options are: lanes"),
    "no lanes": ({"lanes": 3}, "a row gets 2, 4, 8, 16 or 32 lanes, not 3"),
    "no options": ({"way": "csr_warp", "lanes": 4}, "csr_warp has no option 'lanes'; it has none"),
    "no items": ({"way": "merge_path", "items": 0}, "a block of 128 takes 1 to 453 steps of the merge, not 0"),
    "too much shared": ({"way": "merge_path", "items": 454}, "1 to 453 steps of the merge, not 454"),
    "no height": ({"way": "sliced_ell", "height": 0}, "height of 0"),
    "too wide": ({"way": "ell", "most_bytes": 10}, "use a sliced format"),
    "short x": ({"x": np.ones(6, np.float32)}, r"x has the shape \(6,\); the matrix has 7 columns, so give it \(7,\)"),
    "long y": ({"y": np.ones(3, np.float32)}, r"y has the shape \(3,\); the matrix has 2 rows"),
    "a column": ({"y": np.ones((2, 1), np.float32)}, r"y has the shape \(2, 1\)"),
    "other type": ({"x": np.ones(7)}, "x is float64 and the matrix float32"),
    "every second": ({"x": np.ones(14, np.float32)[::2]}, "the elements of x do not lie side by side"),
    "backwards": ({"y": np.ones(2, np.float32)[::-1]}, "the elements of y do not lie side by side"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_in_a_sentence(case):
    given, sentence = REFUSED[case]
    given = {"way": "csr_subwarp", "x": np.ones(7, np.float32), "y": np.zeros(2, np.float32)} | given
    with pytest.raises(MatrixError, match=sentence):
        products.product(given.pop("way"), csr_of([2, 3], 7), given.pop("x"), given.pop("y"), **given)


def test_x_and_y_may_not_be_the_same():
    both = np.ones(9, np.float32)
    with pytest.raises(MatrixError, match="x and y share memory"):
        products.product("csr_thread", csr_of([2, 3], 7), both[:7], both[6:8])


# --- more than 32 bits -----------------------------------------------------------------------------------------------


class Warps:
    """The launch that a matrix of many rows would get, without its arrays."""

    def __init__(self, rows):
        self.rows, self.indptr, self.indices, self.data = rows, np.zeros(1, np.int32), None, np.zeros(0, np.float32)
        self.dtype = np.dtype(np.float32)


def test_a_grid_of_more_than_2_to_the_31_threads():
    rows = 100_000_000  # 32 lanes each: 3.2e9 threads
    launches = products.WAYS["csr_warp"].launches
    (launch,) = launches(Warps(rows), None, None, None, None, language=NUMBA, block=128, device=CPU)
    assert launch.grid == 25_000_000 and launch.grid * 128 > 2**31
