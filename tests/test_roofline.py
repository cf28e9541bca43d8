"""The roofline and Amdahl's law against figures worked out by hand."""

import doctest
import json
import math

import pytest

from gpukit import roofline
from gpukit.errors import GpukitError
from gpukit.gpus import all_gpus, find_gpu
from gpukit.machine.hazards.findings import ridge_intensity
from gpukit.roofline import (
    amdahl,
    amdahl_table,
    floor_seconds,
    fraction,
    intensity,
    part_made_faster,
    point,
    ridge,
    roof,
)


def test_the_examples_in_the_documentation():
    done = doctest.testmod(roofline)
    assert done.attempted == 6 and done.failed == 0


def test_intensity_of_what_courses_count():
    assert intensity(1 << 24, 4 << 24) == 0.25  # a float32 sum
    assert intensity(2 << 20, 12 << 20) == pytest.approx(1 / 6)  # y = a x + y
    n = 1024
    assert intensity(2 * n**3, 3 * 4 * n**2) == pytest.approx(n / 6)  # a matrix product, each matrix moved once
    assert intensity(5, 0) == math.inf
    assert intensity(0, 5) == 0


@pytest.mark.parametrize(
    ("gpu", "flops_per_byte"),
    [("H200", 67000 / 4800), ("T4", 8100 / 320), ("A100", 19500 / 2039), ("V100", 15700 / 900)],
)
def test_the_ridge_is_peak_over_bandwidth(gpu, flops_per_byte):
    assert ridge(gpu) == pytest.approx(flops_per_byte)
    assert ridge(find_gpu(gpu)) == ridge(gpu)


def test_the_findings_of_a_profile_use_the_same_ridge():
    gpu = find_gpu("H200")
    assert ridge("H200") == ridge_intensity(gpu.fp32_tflops, gpu.bandwidth_gb_s)


def test_a_sum_is_memory_bound_on_every_gpu():
    assert all(ridge(gpu) > 0.25 for gpu in all_gpus().values())


def test_the_floor_is_the_longer_of_the_two_times():
    assert floor_seconds(4.8e9, 0, "H200") == pytest.approx(1e-3)
    assert floor_seconds(0, 67e9, "H200") == pytest.approx(1e-3)
    assert floor_seconds(4.8e9, 67e9, "H200") == pytest.approx(1e-3)  # they overlap: not the sum
    assert floor_seconds(4.8e9, 2 * 67e9, "H200") == pytest.approx(2e-3)
    # Published: 2^24 int32 on a T4 at 206.8 GB/s take 0.325 ms, 65 % of the peak.
    published = fraction(4 * 2**24 / 206.8e9, 4 * 2**24, gpu="T4")
    assert published.of_peak == pytest.approx(0.646, abs=0.001)


def test_fractions_of_peak_and_of_a_measured_ceiling():
    found = fraction(1e-3, 2.4e9, gpu="H200", ceiling_gb_s=4000)
    assert (found.of_peak, found.of_ceiling, found.limit) == (pytest.approx(0.5), pytest.approx(0.6), "memory")
    assert fraction(1e-3, 2.4e9, gpu="H200").of_ceiling is None
    busy = fraction(2e-3, 1e6, 67e9, "H200", ceiling_gb_s=4000)
    assert (busy.of_peak, busy.of_ceiling, busy.limit) == (pytest.approx(0.5), pytest.approx(0.5), "arithmetic")


def test_a_sum_may_pass_a_copy_but_not_the_peak():
    nbytes = 4 * 2**29
    found = fraction(nbytes / 4650e9, nbytes, 2**29, "H200", ceiling_gb_s=4251)
    assert found.of_peak == pytest.approx(4650 / 4800)
    assert found.of_ceiling == pytest.approx(4650 / 4251) and found.of_ceiling > 1


def test_roof_and_points():
    made = roof("H200", ceiling_gb_s=4251)
    assert made.to_dict() == {
        "gpu": "H200",
        "fp32_tflops": 67,
        "bandwidth_gb_s": 4800,
        "ridge": ridge("H200"),
        "ceiling_gb_s": 4251,
    }
    assert made.tflops(made.ridge) == pytest.approx(67)
    assert made.tflops(made.ridge / 2) == pytest.approx(33.5)
    assert made.tflops(1000) == 67
    where = point("sum", 1e-3, 4e9, 1e9, made)
    assert where.flops_per_byte == 0.25
    assert where.tflops == pytest.approx(1.0)
    assert where.bandwidth_gb_s == pytest.approx(4000)
    assert where.roof_tflops == pytest.approx(1.2)
    json.dumps([made.to_dict(), where.to_dict()])


def test_amdahls_table():
    rows = {(row["parallel_fraction"], row["speedup"]): row["overall"] for row in amdahl_table()}
    expected = {
        (0.50, 10): 20 / 11,
        (0.50, 40): 80 / 41,
        (0.50, math.inf): 2,
        (0.90, 10): 100 / 19,
        (0.90, 40): 400 / 49,
        (0.90, math.inf): 10,
        (0.99, 10): 1000 / 109,
        (0.99, 40): 4000 / 139,
        (0.99, math.inf): 100,
    }
    assert rows.keys() == expected.keys()
    assert all(rows[key] == pytest.approx(expected[key]) for key in expected)


def test_amdahl_at_its_ends():
    assert amdahl(0, 1000) == 1
    assert amdahl(1, 40) == pytest.approx(40)
    assert amdahl(1, math.inf) == math.inf
    assert amdahl(0.5, 0.5) == pytest.approx(1 / 1.5)  # a slow-down


def test_the_forty_times_trap():
    whole = part_made_faster(80, 20, 40)
    assert (whole.before_seconds, whole.after_seconds) == (100, 22)
    assert whole.speedup == pytest.approx(100 / 22) == pytest.approx(amdahl(0.8, 40))
    assert f"{whole.speedup:.1f}" == "4.5"
    assert part_made_faster(80, 20, math.inf).speedup == pytest.approx(5)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda: intensity(-1, 4), "flops cannot be -1"),
        (lambda: intensity(0, 0), "No FLOP and no byte"),
        (lambda: floor_seconds(-4), "bytes_moved cannot be -4"),
        (lambda: floor_seconds(float("nan")), "bytes_moved cannot be nan"),
        (lambda: floor_seconds(4, gpu="Voodoo"), "Voodoo"),
        (lambda: fraction(0, 4), "cannot take 0 s"),
        (lambda: fraction(1, 4, ceiling_gb_s=0), "ceiling of 0"),
        (lambda: point("empty", 1, 0, 0, roof()), "empty has no place"),
        (lambda: amdahl(90, 10), "0 to 1, not 90"),
        (lambda: amdahl(0.9, 0), "speed-up of 0"),
        (lambda: part_made_faster(0, 0, 2), "0 s"),
        (lambda: part_made_faster(1, -1, 2), "rest_seconds cannot be -1"),
        (lambda: part_made_faster(1, 1, -2), "speed-up of -2"),
    ],
)
def test_nonsense_is_one_sentence(wrong, said):
    with pytest.raises(GpukitError, match=said):
        wrong()


def test_a_gpu_without_figures_has_no_roof():
    from dataclasses import replace

    with pytest.raises(GpukitError, match="peaks of X1 are not known"):
        ridge(replace(find_gpu("H200"), name="X1", fp32_tflops=None))
