"""Occupancy against an H200's own answers and against values worked out by hand; the GPU figures and their sources."""

import json
from pathlib import Path

import pytest

from gpukit.errors import GpukitError, LaunchError
from gpukit.gpus import all_gpus, find_gpu
from gpukit.occupancy import occupancy

H200 = json.loads((Path(__file__).parent / "facts" / "occupancy_h200.json").read_text(encoding="utf-8"))


def test_every_answer_of_an_h200():
    rows = [tuple(row) for row in H200["rows"]]
    assert len(rows) == 1053
    assert len({row[2] for row in rows}) == 9  # register counts
    wrong = [row for row in rows if occupancy(row[0], row[1], row[2], "H200").blocks_per_sm != row[3]]
    assert wrong == []


def test_h200_figures_are_the_ones_the_driver_gives():
    read = H200["attributes"]
    gpu = find_gpu("H200")
    assert gpu.sms == read["sms"]
    assert gpu.l2_bytes == read["l2_bytes"]
    assert gpu.max_threads_per_sm == read["max_threads_per_sm"]
    assert gpu.max_blocks_per_sm == read["max_blocks_per_sm"]
    assert gpu.registers_per_sm == read["registers_per_sm"]
    assert gpu.shared_per_sm_bytes == read["shared_per_sm"]
    assert gpu.shared_per_block_bytes == read["shared_per_block"]
    assert gpu.shared_per_block_optin_bytes == read["shared_per_block_optin"]
    assert gpu.shared_reserved_per_block_bytes == read["shared_reserved_per_block"]
    assert gpu.compute_capability == f"{read['cc_major']}.{read['cc_minor']}"
    peak = 2 * read["memory_clock_khz"] * 1e3 * read["bus_bits"] / 8 / 1e9
    assert gpu.bandwidth_gb_s == pytest.approx(peak, rel=0.005)
    assert gpu.fp32_tflops == pytest.approx(read["sms"] * 128 * 2 * read["clock_khz"] * 1e3 / 1e12, rel=0.005)


@pytest.mark.parametrize(
    ("gpu", "block", "shared", "registers", "blocks", "limited_by"),
    [
        ("T4", 256, 0, None, 4, ("threads",)),  # 32 warps an SM, 8 a block
        ("T4", 32, 0, None, 16, ("blocks",)),  # 16 blocks at most, so half the warps
        ("T4", 256, 20_000, None, 3, ("shared memory",)),  # 65,536 / 20,224
        ("A100 SXM 80GB", 1024, 0, None, 2, ("threads",)),
        ("A100 SXM 80GB", 256, 0, 64, 4, ("registers",)),  # 65,536 / (64 x 256)
        ("A100 SXM 80GB", 128, 49_152, None, 3, ("shared memory",)),  # 167,936 / (49,152 + 1,024)
        ("RTX 4090", 1024, 0, None, 1, ("threads",)),  # 48 warps, so one block of 32: 67 %
        ("H200", 1000, 0, None, 2, ("threads",)),  # 32 warps a block, the last one partial
        ("H200", 256, 300_000, None, 0, ("shared memory",)),  # over the 227 KiB a block may have
        ("H200", 1024, 0, 72, 0, ("registers",)),  # 73,728 registers
    ],
)
def test_by_hand(gpu, block, shared, registers, blocks, limited_by):
    fits = occupancy(block, shared, registers, gpu)
    assert fits.blocks_per_sm == blocks
    assert fits.limited_by == limited_by
    assert fits.warps_per_sm == blocks * -(-block // 32)
    assert fits.occupancy == fits.warps_per_sm / find_gpu(gpu).max_warps_per_sm


def test_resident_warps_of_the_whole_gpu():
    assert occupancy(256, gpu="H200").resident_warps == 132 * 64
    assert occupancy(256, gpu="H200").to_dict()["limited_by"] == ["threads"]


@pytest.mark.parametrize(
    ("block", "shared", "registers"), [(0, 0, None), (1025, 0, None), (32, -1, None), (32, 0, 256)]
)
def test_impossible_launches_are_errors(block, shared, registers):
    with pytest.raises(LaunchError):
        occupancy(block, shared, registers)


def test_every_figure_has_a_source():
    gpus = all_gpus()
    assert {"T4", "A100 SXM 80GB", "H100 SXM", "H200", "B200", "RTX 4090"} <= set(gpus)
    for gpu in gpus.values():
        clocks = ("boost_mhz", "memory_mhz", "bus_bits")
        figures = ("sms", "fp32_tflops", "bandwidth_gb_s", "l2_bytes", "copy_gb_s", *clocks)
        known = {name for name in figures if getattr(gpu, name) is not None}
        assert known == set(gpu.sources), gpu.name
        assert all(gpu.sources.values()), gpu.name
        assert gpu.max_threads_per_sm % 32 == 0
        json.dumps(gpu.to_dict())


def test_gpus_are_found_by_any_sensible_spelling():
    assert find_gpu("h200").name == "H200"
    assert find_gpu("NVIDIA H200").name == "H200"
    assert find_gpu("rtx4090").name == "RTX 4090"
    assert find_gpu("a100").name == "A100 SXM 80GB"
    for bad in ("", "200", "Voodoo 2"):
        with pytest.raises(GpukitError, match="H200"):
            find_gpu(bad)
