"""The figures of data/gpus.toml against their own arithmetic and NVIDIA's headers; names of GPUs."""

import re
from collections import Counter
from importlib import metadata

import pytest

from gpukit.errors import GpukitError
from gpukit.gpus import all_gpus, find_gpu, gpu_called

CLOCKED = [gpu for gpu in all_gpus().values() if gpu.memory_mhz is not None]


def test_gpus_that_courses_meet_are_there():
    assert len(all_gpus()) >= 28
    assert len(CLOCKED) >= 25
    capabilities = {gpu.compute_capability for gpu in all_gpus().values()}
    assert capabilities == {"7.0", "7.5", "8.0", "8.6", "8.7", "8.9", "9.0", "10.0", "12.0"}


@pytest.mark.parametrize("gpu", CLOCKED, ids=lambda gpu: gpu.name)
def test_bandwidth_is_memory_clock_times_bus(gpu):
    assert gpu.bandwidth_gb_s == pytest.approx(2 * gpu.memory_mhz * gpu.bus_bits / 8 / 1000, rel=0.03)


@pytest.mark.parametrize("gpu", CLOCKED, ids=lambda gpu: gpu.name)
def test_fp32_is_lanes_times_clock(gpu):
    tflops = gpu.sms * gpu.fp32_lanes_per_sm * 2 * gpu.boost_mhz / 1e6
    assert gpu.fp32_tflops == pytest.approx(tflops, rel=0.03)


def test_the_published_h100_at_900_gb_s_is_a_v100():
    published = 900
    h100 = find_gpu("H100")
    assert h100.name == "H100 SXM" and h100.bandwidth_gb_s == 3350
    assert 2 * h100.memory_mhz * h100.bus_bits / 8 / 1000 == pytest.approx(3350, rel=0.03)  # so 900 cannot be right
    assert all(gpu.bandwidth_gb_s > 2 * published for gpu in all_gpus().values() if gpu.name.startswith("H100"))
    having = [gpu.name for gpu in all_gpus().values() if gpu.bandwidth_gb_s == published]
    assert having == ["V100 SXM2 16GB", "V100 SXM2 32GB"]


def traits() -> str:
    """NVIDIA's header of limits by architecture, of CCCL 3, where it is installed."""
    try:
        files = metadata.files("nvidia-cuda-cccl") or []
    except metadata.PackageNotFoundError:
        files = []
    found = [file for file in files if file.name == "arch_traits.h"]
    if not found:
        pytest.skip("nvidia-cuda-cccl is not installed")
    return found[0].locate().read_text(encoding="utf-8")


def test_limits_are_those_of_nvidias_header():
    text = traits()
    checked = set()
    for gpu in all_gpus().values():
        number = gpu.compute_capability.replace(".", "")
        body = text.partition(f"arch_traits<arch_id::sm_{number}>() noexcept")[2].partition("return")[0]

        def value(name, body=body):
            return re.search(rf"{name}\s*=\s*([0-9* ]+);", body)

        kib, blocks, threads = (
            value(f"max_{name}_per_multiprocessor") for name in ("shared_memory", "blocks", "threads")
        )
        assert kib and blocks and threads, gpu.name
        assert gpu.shared_per_sm_bytes == int(kib[1].split("*")[0]) * 1024
        assert gpu.max_blocks_per_sm == int(blocks[1])
        assert gpu.max_threads_per_sm == int(threads[1])
        assert gpu.shared_reserved_per_block_bytes == (1024 if int(number) >= 80 else 0)
        assert gpu.shared_per_block_optin_bytes == gpu.shared_per_sm_bytes - gpu.shared_reserved_per_block_bytes
        checked.add(number)
    assert len(checked) == 9


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        ("V100", "V100 SXM2 16GB"),
        ("T4", "T4"),
        ("A100", "A100 SXM 80GB"),
        ("a100 40gb", "A100 SXM 40GB"),
        ("A10", "A10"),
        ("L4", "L4"),
        ("H100", "H100 SXM"),
        ("H200", "H200"),
        ("GH200", "GH200 96GB"),
        ("rtx 4070", "RTX 4070"),
        ("5090", "RTX 5090"),
        ("A6000", "RTX A6000"),
        ("Orin", "Jetson AGX Orin 64GB"),
    ],
)
def test_short_names(asked, name):
    assert find_gpu(asked).name == name


def test_a_name_that_fits_several_lists_them():
    with pytest.raises(GpukitError, match="fits several GPUs; choose one of: A100 PCIe 40GB, A100 PCIe 80GB"):
        find_gpu("A100 PCIe")


@pytest.mark.parametrize(
    ("reported", "name"),
    [
        ("Tesla V100-SXM2-32GB", "V100 SXM2 32GB"),
        ("Tesla T4", "T4"),
        ("NVIDIA A100-SXM4-80GB", "A100 SXM 80GB"),
        ("NVIDIA A100-PCIE-40GB", "A100 PCIe 40GB"),
        ("NVIDIA A100 80GB PCIe", "A100 PCIe 80GB"),
        ("NVIDIA H100 80GB HBM3", "H100 SXM"),
        ("NVIDIA H100 PCIe", "H100 PCIe"),
        ("NVIDIA GH200 480GB", "GH200 96GB"),
        ("NVIDIA GeForce RTX 3080", "RTX 3080"),
        ("NVIDIA RTX 6000 Ada Generation", "RTX 6000 Ada"),
        ("NVIDIA L40S", "L40S"),
        ("NVIDIA H200", "H200"),
    ],
)
def test_names_that_cuda_reports(reported, name):
    assert gpu_called(reported).name == name


@pytest.mark.parametrize(
    "reported", ["", "NVIDIA GeForce RTX 3080 Laptop GPU", "NVIDIA H200 NVL", "NVIDIA A100X", "Orin"]
)
def test_another_gpu_is_not_taken_for_one_with_figures(reported):
    assert gpu_called(reported) is None


def test_no_name_stands_for_two():
    plain = [{re.sub("[^a-z0-9]", "", name.lower()) for name in (g.name, *g.aliases)} for g in all_gpus().values()]
    assert [name for name, times in Counter(name for names in plain for name in names).items() if times > 1] == []
