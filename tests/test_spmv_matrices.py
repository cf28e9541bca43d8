"""Where matrices come from: rules, twins of published matrices, real ones; and what is said of their row lengths."""

import importlib
import math

import numpy as np
import pytest
import scipy.sparse

from gpukit import plugins
from gpukit.errors import GpukitError

plugins.load("spmv")
errors, formats, matrices, generators, statistics, twins = (
    importlib.import_module(f"gpukit_labs.spmv.{name}")
    for name in (
        *("errors", "formats", "matrices", "matrices.generators", "matrices.statistics"),
        "matrices.twins",
    )
)
MatrixError = errors.MatrixError


def to_scipy(csr):
    return scipy.sparse.csr_array((csr.data, csr.indices, csr.indptr), shape=csr.shape)


def assert_canonical(csr):
    csr.checked()
    assert to_scipy(csr).has_canonical_format, "columns are sorted and unique within a row"


# --- generators: the published table of row lengths (min, median, mean, max), CV, empty share and fills --------------

TABLE = [
    ("poisson2d", lambda: generators.poisson2d(1000), (3, 5, 5.00, 5), 0.01, 0, (1.00, 1.00, 1.00)),
    ("poisson3d_7", lambda: generators.poisson3d(100), (4, 7, 6.94, 7), 0.03, 0, (1.003, 1.003, 1.00)),
    ("poisson3d_27", lambda: generators.poisson3d(64, 27), (8, 27, 26.17, 27), 0.10, 0, (1.01, 1.01, 1.00)),
    ("fem_blocks", lambda: generators.fem_blocks(24), (24, 81, 74.4, 81), 0.16, 0, (1.03, 1.03, 1.00)),
    ("banded", lambda: generators.banded(100_000), (65, 65, 65, 65), 0, 0, (1.00, 1.00, 1.00)),
    ("dense", lambda: generators.dense_in_sparse(2000), (2000, 2000, 2000, 2000), 0, 0, (1.008, 1.008, 1.008)),
    ("road_usa", lambda: generators.road(1000, 0.62), (0, 3, 2.48, 4), 0.39, 0.021, (1.61, 1.08, 1.00)),
    ("roadNet-TX", lambda: generators.road(1000, 0.69), (0, 3, 2.76, 4), 0.34, 0.009, (1.45, 1.07, 1.00)),
    ("arrow", lambda: generators.arrow(100_000), (2, 2, 3.0, 100_000), 105, 0, (11.3, 11.3, 11.3)),
    ("half_empty", lambda: generators.half_empty(100_000), (0, 4, 4.0, 8), 1.0, 0.5, (2.0, 1.12, 1.00)),
]


@pytest.mark.parametrize("make, lengths, cv, empty, fill", [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
def test_row_lengths_are_those_of_the_table(make, lengths, cv, empty, fill):
    found = make()
    assert_canonical(found)
    said = statistics.statistics(found)
    assert (said.shortest, said.median, said.longest) == (lengths[0], lengths[1], lengths[3])
    assert said.mean == pytest.approx(lengths[2], rel=0.002)
    assert said.cv == pytest.approx(cv, abs=max(0.006, 0.005 * cv))
    assert said.empty_share == pytest.approx(empty, abs=0.001)
    assert list(said.sliced_fill.values()) == pytest.approx(fill, abs=0.01, rel=0.004)


@pytest.mark.parametrize(
    "scale, edges, mean, longest, cv, empty, fill",
    [(18, 16, 29.0, 25_232, 6.5, 0.337, (17.3, 7.9, 1.08)), (16, 48, 74.2, 17_313, 4.2, 0.161, (14.4, 5.4, 1.08))],
)
def test_rmat_is_as_uneven_as_the_table_says(scale, edges, mean, longest, cv, empty, fill):
    found = generators.rmat(scale, edges)
    assert_canonical(found)
    said = statistics.statistics(found)
    assert said.mean == pytest.approx(mean, rel=0.005)
    assert said.longest == pytest.approx(longest, rel=0.03)  # of one draw
    assert said.cv == pytest.approx(cv, rel=0.02)
    assert said.empty_share == pytest.approx(empty, abs=0.003)
    assert list(said.sliced_fill.values()) == pytest.approx(fill, rel=0.03)
    pattern = to_scipy(found).astype(bool)
    assert (pattern != pattern.T).nnz == 0
    assert not pattern.diagonal().any()


@pytest.mark.parametrize("seed", range(3))
def test_zipf_follows_its_power_law(seed):
    found = generators.zipf(1_000_000, seed=seed)
    said = statistics.statistics(found)
    assert (said.shortest, said.median) == (1, 1)
    assert said.mean == pytest.approx(2.57, rel=0.01)
    assert 3000 < said.longest <= 4700
    assert said.cv == pytest.approx(5.3, rel=0.1)
    for length in (2, 4, 16):
        assert (found.lengths >= length).mean() == pytest.approx(length**-1.5, rel=0.03)


def test_stencils_are_laplacians():
    """Ones at the right places: rows of the 5-point and 7-point stencils count the neighbours on the grid."""
    path = scipy.sparse.diags_array([1.0, 1.0, 1.0], offsets=[-1, 0, 1], shape=(6, 6))
    line = path - scipy.sparse.eye_array(6)
    eye = scipy.sparse.eye_array(6)
    square = scipy.sparse.kron(eye, path) + scipy.sparse.kron(line, eye)
    assert (to_scipy(generators.poisson2d(6, values="ones")) != square.tocsr()).nnz == 0
    cube = scipy.sparse.kron(scipy.sparse.kron(path, path), path).tocsr()
    assert (to_scipy(generators.poisson3d(6, 27, values="ones")) != cube).nnz == 0
    blocks = scipy.sparse.kron(cube, np.ones((3, 3))).tocsr()
    assert (to_scipy(generators.fem_blocks(6, values="ones")) != blocks).nnz == 0


def test_a_road_goes_both_ways():
    matrix = to_scipy(generators.road(40, 0.5, values="ones"))
    assert (matrix != matrix.T).nnz == 0
    assert to_scipy(generators.road(3, 1.0, values="ones")).sum(axis=1).tolist() == [2, 3, 2, 3, 4, 3, 2, 3, 2]
    assert generators.road(3, 0.0).nnz == 0


def test_an_arrow_is_a_row_a_column_and_the_diagonal():
    assert to_scipy(generators.arrow(4, values="ones")).toarray().tolist() == [
        [1, 1, 1, 1],
        [1, 1, 0, 0],
        [1, 0, 1, 0],
        [1, 0, 0, 1],
    ]
    assert generators.arrow(1).nnz == 1


def test_a_stencil_is_the_same_in_one_chunk_and_in_many(monkeypatch):
    whole = {name: matrices.small(name) for name in ("poisson2d", "poisson3d_27", "fem_blocks", "road")}
    monkeypatch.setattr(generators, "CHUNK", 500)
    for name, matrix in whole.items():
        again = matrices.small(name)
        for part in ("indptr", "indices", "data"):
            assert np.array_equal(getattr(matrix, part), getattr(again, part)), (name, part)


# --- row lengths -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("run", [1, 1.4, 3, 50])
@pytest.mark.parametrize("window", [None, 1, 40, 10_000])
def test_from_lengths_gives_exactly_those_lengths(run, window, monkeypatch):
    monkeypatch.setattr(generators, "CHUNK", 1000)
    rng = np.random.default_rng(3)
    lengths = rng.integers(0, 40, 500)
    lengths[[0, 250, 499]] = 300, 0, 299
    found = generators.from_lengths(lengths, 300, window=window, run=run)
    assert np.array_equal(found.lengths, lengths)
    assert_canonical(found)
    if window == 40:
        said = [np.ptp(found.indices[a:b]) + 1 for a, b in zip(found.indptr, found.indptr[1:], strict=False) if b > a]
        assert max(np.array(said)[lengths[lengths > 0] <= 40]) <= 40


def test_a_window_lies_around_the_diagonal():
    square = generators.from_lengths(np.full(1000, 5), window=41)
    assert statistics.statistics(square).bandwidth <= 40  # at the corners the window moves inwards
    wide = generators.from_lengths(np.full(100, 5), 1000, window=41)
    middle = np.arange(5, 95)
    assert (abs(wide.indices.reshape(100, 5)[middle] - 10 * middle[:, None]) <= 21).all()


def test_from_lengths_puts_runs_side_by_side():
    found = generators.from_lengths(np.full(2000, 30), 100_000, run=5)
    assert statistics.statistics(found).neighbours == pytest.approx(2 - 2 / 5, abs=0.01)
    assert statistics.statistics(generators.from_lengths(np.full(2000, 30), 100_000)).neighbours < 0.01


@pytest.mark.parametrize(
    "call, said",
    [
        (
            lambda: generators.from_lengths(np.array([1, 5, 2]), 4),
            "row 1 is to have 5 entries, and there are 4 columns",
        ),
        (lambda: generators.from_lengths(np.array([1, -1]), 4), "row 1 is to have -1 entries"),
        (lambda: generators.from_lengths(np.array([1.0]), 4), "array of integers"),
        (lambda: generators.from_lengths(np.array([1]), 4, run=0.5), "both must be 1 or more"),
        (lambda: generators.from_lengths(np.array([1]), 4, window=0), "both must be 1 or more"),
        (lambda: generators.poisson2d(0), "side=0 makes no matrix"),
        (lambda: generators.poisson2d(50_000), "more than an int32"),
        (lambda: generators.poisson3d(4, 9), "7 or 27 points"),
        (lambda: generators.fem_blocks(210), "more than an int32 row pointer counts"),
        (lambda: generators.banded(64), "a band of 65 columns does not fit 64 rows"),
        (lambda: generators.dense_in_sparse(-1), "rows=-1 makes no matrix"),
        (lambda: generators.road(4, 1.5), "keep=1.5 is no probability"),
        (lambda: generators.rmat(31), "a scale from 1 to 30"),
        (lambda: generators.rmat(4, corners=(0.9, 0.2, 0.2)), "no probabilities"),
        (lambda: generators.zipf(10, exponent=1), "must be above 1"),
        (lambda: generators.uniform(8, 9), "row 0 is to have 9 entries"),
        (lambda: generators.uniform(8, 2, values="twos"), "choose 'ones', 'integers' or 'random'"),
        (lambda: generators.uniform(8, 2, dtype=np.float16), "values of float16"),
    ],
)
def test_what_makes_no_matrix_is_said(call, said):
    with pytest.raises(GpukitError) as caught:
        call()
    assert isinstance(caught.value, MatrixError)
    assert said in str(caught.value)


def test_more_entries_than_int32_counts_need_a_wider_row_pointer():
    lengths = np.full(3, 2**30)
    with pytest.raises(MatrixError, match="3,221,225,472 entries are more than an int32 row pointer counts"):
        generators.from_lengths(lengths, 2**30)


def test_values_are_of_the_kind_asked_for():
    assert set(generators.filled(1000, "ones").tolist()) == {1.0}
    assert set(generators.filled(1000, "integers").tolist()) == {1.0, 2.0, 3.0}
    drawn = generators.filled(100_000, "random", np.float64)
    assert -1 <= drawn.min() < -0.99 and 0.99 < drawn.max() < 1 and abs(drawn.mean()) < 0.01
    wide = generators.uniform(100, 4, dtype=np.float64, pointer=np.int64)
    assert (wide.data.dtype, wide.indptr.dtype, wide.indices.dtype) == (np.float64, np.int64, np.int32)


@pytest.mark.parametrize("name", ["road", "rmat", "zipf", "half_empty", "uniform", "webbase-1M", "circuit5M", "cant"])
def test_a_seed_makes_a_matrix_again_and_another_seed_another(name):
    one, again, other = (matrices.small(name, seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(one.indices, again.indices) and np.array_equal(one.data, again.data)
    assert not (one.indices.size == other.indices.size and np.array_equal(one.indices, other.indices))


# --- twins -----------------------------------------------------------------------------------------------------------

PUBLISHED_SKEW = {  # (max - mean) / mean, in the source of the table
    "webbase-1M": 1512.4339128576,
    "circuit5M": 120504.8496425602,
    "ASIC_680k": 69710.5639935502,
    "pwtk": 2.3714810462,
    "cant": 0.2155508969,
    "scircuit": 61.9471560146,
    "rail4284": 20.3295821919,
    "mac_econ_fwd500": 6.1352901588,
    "cop20k_A": 2.7405921738,
    "soc-LiveJournal1": 1424.8063304206,
    "roadNet-TX": 3.3505604529,
    "kron_g500-logn18": 607.8935788628,
}


@pytest.mark.parametrize("name", twins.TWINS)
def test_a_twin_has_the_lengths_that_are_published(name):
    model = twins.TWINS[name]
    lengths = twins.row_lengths(model)
    assert lengths.shape == (model.rows,)
    assert lengths.sum() == model.nnz
    assert lengths.max() == model.longest <= model.columns
    assert lengths.std() == pytest.approx(model.std, rel=twins.STD_WITHIN)
    assert (lengths == 0).sum() == model.empty


def test_the_table_of_twins_agrees_with_the_published_skew():
    for name, skew in PUBLISHED_SKEW.items():
        model = twins.TWINS[name]
        assert model.longest / model.mean - 1 == pytest.approx(skew, rel=1e-6), name


def test_the_standard_deviation_of_road_networks_follows_from_their_wedges():
    """The sum of d (d - 1) / 2 over vertices is the number of wedges (KONECT); of roadNet-TX both are published."""
    for name, wedges in (("roadNet-TX", 4_128_025), ("roadNet-CA", 5_995_090)):
        model = twins.TWINS[name]
        variance = (2 * wedges + model.nnz) / model.rows - model.mean**2
        assert model.std == pytest.approx(math.sqrt(variance), rel=1e-4)


@pytest.mark.parametrize("name", twins.TWINS)
@pytest.mark.parametrize("rows", [500, 4000])
def test_a_smaller_twin_keeps_mean_and_deviation(name, rows):
    model, full = twins.TWINS[name].at(rows), twins.TWINS[name]
    found = twins.twin(name, rows)
    assert_canonical(found)
    said = statistics.statistics(found)
    assert (said.rows, said.columns, said.nnz) == (rows, model.columns, model.nnz)
    assert said.longest == model.longest
    assert said.mean == pytest.approx(full.mean, rel=0.01)
    assert said.empty_share == pytest.approx(full.empty / full.rows, abs=0.002)
    assert model.std <= full.std * 1.001
    if full.family != twins.GIANTS:  # giants shrink with the columns, and their number is whole
        assert said.std == pytest.approx(model.std, rel=0.15)


@pytest.mark.parametrize("name, rows", [("cant", 62_451), ("scircuit", 170_998), ("cop20k_A", 121_192)])
def test_a_whole_twin_has_the_published_span_and_neighbours(name, rows):
    model = twins.TWINS[name]
    found = twins.twin(name, rows)
    assert_canonical(found)
    said = statistics.statistics(found)
    assert (said.rows, said.nnz, said.longest) == (model.rows, model.nnz, model.longest)
    assert said.span * (1 - said.empty_share) == pytest.approx(model.span, rel=0.02)
    assert said.neighbours == pytest.approx(model.neighbours, rel=0.02)


def test_a_twin_that_cannot_be_made_is_said():
    with pytest.raises(MatrixError, match="no twin of 'cants'; did you mean cant"):
        twins.twin("cants")
    with pytest.raises(MatrixError, match="100 rows are too few for a twin of mip1"):
        twins.twin("mip1", 100)


# --- the registry ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", matrices.MATRICES)
def test_every_matrix_has_a_small_size(name):
    named, found = matrices.MATRICES[name], matrices.small(name)
    found.checked()
    assert found.dtype == np.float32 and found.indptr.dtype == np.int32
    assert found.rows == pytest.approx(named.small, rel=0.06)
    assert found.nnz < 200_000


def test_generated_matrices_are_too_large_for_a_cache():
    """200 MB of entries, four times an H200's L2: the mean row of a smaller size times the rows of the full one."""
    for named in matrices.MATRICES.values():
        if named.kind == matrices.GENERATED and named.name != "dense_in_sparse":
            part = matrices.make(named.name, rows=min(named.rows, 32_768))
            assert part.nnz / part.rows * named.rows * 8 > 200e6, named.name


def test_a_matrix_is_made_by_name_scale_and_rows():
    assert matrices.make("poisson2d", scale=1e-4).rows == 900
    assert matrices.make("poisson2d", rows=100).shape == (100, 100)
    assert matrices.make("webbase-1M", rows=2000, values="ones").data.max() == 1
    assert matrices.make("minnesota").rows == 2642
    for call, said in (
        (lambda: matrices.make("poison2d"), "no matrix 'poison2d'; did you mean poisson2d"),
        (lambda: matrices.make("xyzzy"), "choose one of: poisson2d, "),
        (lambda: matrices.small("poison2d"), "did you mean poisson2d"),
        (lambda: matrices.make("banded", scale=0), "banded with 0 rows is no matrix"),
        (lambda: matrices.make("minnesota", scale=0.5), "comes in no other size"),
        (lambda: matrices.real("minesota"), "did you mean minnesota"),
    ):
        with pytest.raises(MatrixError) as caught:
            call()
        assert said in str(caught.value)


# --- real matrices ---------------------------------------------------------------------------------------------------

REAL = {  # rows, columns, entries, longest row, empty rows: as their collections state them
    "illc1850": (1850, 712, 8636, 5, 0),
    "minnesota": (2642, 2642, 6606, 5, 0),
    "bar": (600, 600, 23_402, 51, 0),
    "local_disc_galerkin": (966, 966, 35_338, 69, 0),
    "as-22july06": (22_963, 22_963, 96_872, 2390, 0),
    "polblogs": (1490, 1490, 19_090, 256, 425),
    "moby_words": (6692, 6692, 89_871, 2774, 1),
}


@pytest.mark.parametrize("name", REAL)
def test_real_matrices_are_whole(name):
    found = matrices.real(name).checked()
    said = statistics.statistics(found)
    assert (said.rows, said.columns, said.nnz, said.longest, said.empty) == REAL[name]
    ones = matrices.real(name, values="ones", dtype=np.float64, pointer=np.int64)
    assert np.array_equal(ones.indices, found.indices) and set(ones.data.tolist()) == {1.0}
    assert (ones.dtype, ones.indptr.dtype) == (np.float64, np.int64)


def test_real_values_are_those_of_their_packages():
    exact = np.load(scipy_test_data(), allow_pickle=True)["A_real"].item().tocsr()
    found = to_scipy(matrices.real("illc1850", dtype=np.float64))
    assert (found != exact).nnz == 0


def scipy_test_data():
    path = importlib.util.find_spec("scipy").submodule_search_locations[0]
    return f"{path}/sparse/linalg/tests/propack_test_data.npz"


def test_a_real_matrix_may_hold_duplicates():
    links = matrices.real("polblogs")
    added = to_scipy(links)
    added.sum_duplicates()
    assert links.nnz - added.nnz == 65


# --- statistics ------------------------------------------------------------------------------------------------------


def test_statistics_by_hand():
    csr = formats.csr_from_scipy(
        scipy.sparse.csr_array(np.array([[1, 1, 0, 0, 1], [0, 0, 0, 0, 0], [0, 1, 1, 1, 0.0]]))
    )
    said = statistics.statistics(csr, heights=(2,), sigmas=(1, 3))
    assert (said.rows, said.columns, said.nnz, said.mean, said.shortest, said.median, said.longest) == (
        3,
        5,
        6,
        2,
        0,
        3,
        3,
    )
    assert said.std == pytest.approx(math.sqrt(2)) and said.cv == pytest.approx(math.sqrt(0.5)) and said.skew == 0.5
    assert (said.empty, said.empty_share, said.bandwidth) == (1, 1 / 3, 4)
    assert said.span == pytest.approx((5 + 3) / 2 / 5)
    assert said.neighbours == pytest.approx((2 + 4) / 6)  # 0-1 beside each other; 1-2-3
    assert said.ell_fill == 9 / 6
    assert said.sliced_fill == {(2, 1): 12 / 6, (2, 3): 6 / 6}


def test_neighbours_are_of_one_row():
    """The last column of row 0 and the first of row 1 follow each other, and are none."""
    csr = formats.csr_from_scipy(scipy.sparse.csr_array(np.array([[0, 1.0, 0], [0, 0, 1]])))
    assert statistics.statistics(csr).neighbours == 0


def test_fills_are_the_slots_of_the_formats():
    csr = matrices.small("webbase-1M")
    assert statistics.ell_fill(csr.lengths) == formats.Ell.from_csr(csr).slots / csr.nnz
    for height, sigma in ((32, 1), (32, 256), (7, 100), (64, csr.rows)):
        sliced = formats.SlicedEll.from_csr(csr, height, sigma)
        assert statistics.sliced_fill(csr.lengths, height, sigma) == sliced.slots / csr.nnz


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0), (3, 3)])
def test_statistics_of_nothing(shape):
    said = statistics.statistics(formats.csr_from_scipy(scipy.sparse.csr_array(shape)))
    assert (said.nnz, said.mean, said.cv, said.longest, said.bandwidth, said.span) == (0, 0, 0, 0, 0, 0)
    assert math.isnan(said.ell_fill) and all(math.isnan(fill) for fill in said.sliced_fill.values())
