"""Figures of GPUs that labs pass to the student's functions are those of data/gpus.toml."""

from pathlib import Path

import pytest

from gpukit.gpus import find_gpu
from gpukit.labs import find_lab

LABS = Path(__file__).parent.parent / "labs"


@pytest.mark.parametrize("name", ["T4", "H200"])
def test_the_roofline_lab_has_the_data_sheets_figures(name):
    gpu = find_gpu(name)
    assert getattr(find_lab(LABS, "1").module, name) == {"gb_s": gpu.bandwidth_gb_s, "tflops": gpu.fp32_tflops}
