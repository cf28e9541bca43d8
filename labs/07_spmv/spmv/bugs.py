"""35 mistakes that kernels and libraries made in public, and what keeps each one away from here."""

from __future__ import annotations

from dataclasses import dataclass

from .matrices.edges import EDGES


@dataclass(frozen=True)
class Bug:
    """A mistake made in public. edges: matrices that would show it. tests: FILE.py::TEST in tests/ that would fail.
    not_ours: why it cannot be made here, where it cannot."""

    what: str
    where: str
    edges: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    not_ours: str = ""


_ON_EDGES = "test_spmv_edges.py::test_every_way_is_right_on_every_edge"
_FACTORS = "test_spmv_edges.py::test_alpha_and_beta"

BUGS: dict[int, Bug] = {
    1: Bug("no entries: y left unwritten", "ROCm/rocSPARSE#234", ("no_entries",), (_ON_EDGES,)),
    2: Bug("no columns: y left unwritten", "ROCm/rocSPARSE#246", ("no_columns",), (_ON_EDGES,)),
    3: Bug("no entries: the entry nnz - 1 is read", "NVIDIA/cub#659", ("no_entries",), (_ON_EDGES,)),
    4: Bug("no columns: a division by them", "ginkgo, csr_kernels", ("no_columns",), (_ON_EDGES,)),
    5: Bug(
        "no rows: a division by them", "CUSP, Kokkos-Kernels, CSR5", ("no_rows", "no_rows_and_no_columns"), (_ON_EDGES,)
    ),
    6: Bug("far fewer entries than rows: a grid of no blocks", "NVIDIA/cub#280", ("few_entries",), (_ON_EDGES,)),
    7: Bug(
        "many empty rows first or last",
        "hypre-space/hypre#300, rocSPARSE adaptive",
        ("empty_rows_first", "empty_rows_last"),
        (_ON_EDGES,),
    ),
    8: Bug(
        "rows without entries",
        "libxsmm/libxsmm#782",
        ("empty_rows_between", "no_entries"),
        (_ON_EDGES, "test_spmv_checks.py::test_a_wrong_product_is_stopped_by_its_gate"),
    ),
    9: Bug(
        "reads past the end of a row pointer that fills its allocation",
        "cupy/cupy#3822",
        tuple(EDGES),
        ("test_spmv_edges.py::test_every_way_is_right_on_every_edge",),
    ),
    10: Bug(
        "coordinates that are not sorted by row",
        "CUDALibrarySamples#170, cupy#3620",
        (),
        ("test_spmv_formats.py::test_coordinates_need_no_order",),
    ),
    11: Bug(
        "columns that repeat or fall",
        "cupy#7713, scipy#5807, pytorch#60277",
        ("unsorted_and_repeated",),
        (_ON_EDGES, "test_spmv_cases.py::test_repeated_columns_add_up_in_every_format"),
    ),
    12: Bug(
        "the first product sorts the matrix in place",
        "cupy#3430",
        ("unsorted_and_repeated",),
        (
            "test_spmv_formats.py::test_the_matrix_that_is_converted_stays_as_it_is",
            "test_spmv_checks.py::test_an_input_that_changed_is_told",
        ),
    ),
    13: Bug(
        "more than 2^31 entries wrapped to int32",
        "cupy#9490",
        (),
        (
            "test_spmv_formats.py::test_more_entries_than_an_int32_row_pointer_counts_are_refused",
            "test_spmv_checks.py::test_a_row_pointer_wrapped_to_32_bits_is_stopped",
            "test_spmv_edges.py::test_row_pointers_past_32_bits",
        ),
    ),
    14: Bug(
        "just below 2^31 entries: a size rounded up wraps",
        "CUDA.jl#2555",
        (),
        ("test_spmv_edges.py::test_row_pointers_past_32_bits",),
    ),
    15: Bug(
        "nnz that overflows",
        "pytorch#102520, scipy#12340",
        (),
        ("test_spmv_formats.py::test_more_entries_than_an_int32_row_pointer_counts_are_refused",),
    ),
    16: Bug(
        "the number of a thread wraps at 32 bits",
        "rocm-libraries#12313",
        (),
        ("test_spmv_edges.py::test_numbers_of_threads_are_64_bits_wide",),
    ),
    17: Bug(
        "rows on y of the grid, which ends at 65,535",
        "cupy#9850, ginkgo#432",
        (),
        ("test_spmv_edges.py::test_rows_are_on_x_of_the_grid",),
    ),
    18: Bug(
        "padding of column 0 and value 0: 0 * inf",
        "ginkgo#1018",
        ("unused_columns", "one_row_past_a_slice"),
        (_ON_EDGES, "test_spmv_checks.py::test_a_wrong_product_is_stopped_by_its_gate"),
    ),
    19: Bug(
        "padding read out of bounds",
        "NVPL Sparse 0.6.0, release notes",
        ("one_row_past_a_slice", "slices_of_every_width"),
        (_ON_EDGES,),
    ),
    20: Bug(
        "NaN and Inf where nothing is stored, and where a zero is",
        "scipy#7532",
        ("stored_zeros_meet_inf", "unused_columns", "infinite_values"),
        (_ON_EDGES,),
    ),
    21: Bug("beta = 0 times a NaN in y", "kokkos-kernels#2166, #2188", ("ragged",), (_ON_EDGES, _FACTORS)),
    22: Bug(
        "beta = 1 ignored, or one row or column, with CSR_ALG2",
        "NVIDIA/cuopt#1856",
        ("one_row", "one_column"),
        (_ON_EDGES, _FACTORS),
    ),
    23: Bug("beta = -1 as a case of its own", "kokkos-kernels#947", ("ragged",), (_FACTORS,)),
    24: Bug(
        "no entries: beta * y lost", "cupyx/cusparse.py, spmv", ("no_entries", "no_columns"), (_FACTORS, _ON_EDGES)
    ),
    25: Bug(
        "vectors that are not contiguous",
        "cupy#4666, ginkgo#1212",
        (),
        (
            "test_spmv_edges.py::test_vectors_with_gaps_are_refused_or_right",
            "test_spmv_formats.py::test_arrays_with_gaps_are_refused",
        ),
    ),
    26: Bug("y that is not aligned to 16 bytes", "kokkos-kernels#1889", tuple(EDGES), (_ON_EDGES,)),
    27: Bug(
        "one buffer for several matrices",
        "CUDALibrarySamples#212",
        (),
        ("test_spmv_edges.py::test_products_share_no_memory",),
    ),
    28: Bug(
        "a transposed or conjugated product that is not",
        "kokkos-kernels#650, #1048",
        not_ours="the products here have no such mode, and complex matrices are refused",
    ),
    29: Bug(
        "rows and columns exchanged",
        "ddemidov/vexcl#9",
        ("wide", "tall", "one_row", "one_column"),
        (_ON_EDGES, "test_spmv_checks.py::test_a_wrong_product_is_stopped_by_its_gate"),
    ),
    30: Bug(
        "rows longer than the lanes that share them",
        "rocSPARSE#32, #231",
        ("more_than_64_each", "around_the_sizes_of_groups", "imbalanced"),
        (_ON_EDGES,),
    ),
    31: Bug(
        "other last digits in every run",
        "CUDA.jl#2582, cupy#9323, ginkgo#983",
        ("imbalanced",),
        ("test_spmv_edges.py::test_a_product_has_the_same_bits_every_time",),
    ),
    32: Bug(
        "slices as wide as the mean of all",
        "kokkos-kernels#2911",
        ("slices_of_every_width", "imbalanced"),
        (_ON_EDGES, "test_spmv_cases.py::test_offsets_of_slices_are_running_sums"),
    ),
    33: Bug(
        "a barrier that not every thread reaches",
        "MAGMA, zgesellptmv2d",
        ("one_row_past_a_slice", "ragged"),
        (_ON_EDGES,),
    ),
    34: Bug("a shuffle without a mask", "CSR5, CUSP", ("ragged", "one_row_past_a_slice"), (_ON_EDGES,)),
    35: Bug(
        "a column out of range, and entries past the last row's",
        "CUDALibrarySamples#106",
        (),
        (
            "test_spmv_formats.py::test_malformed_arrays_are_refused",
            "test_spmv_formats.py::test_entries_past_the_last_row_are_left_out",
        ),
    ),
}
