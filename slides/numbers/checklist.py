"""Numbers and tables of the deck with the mental model, the nine questions and the lists to tick."""

from __future__ import annotations

from gpukit import gpus, roofline
from gpukit.slides import Table

SHEET = "data/gpus.toml"
ONE_OF_EACH = ("V100 SXM2 16GB", "T4", "A100 SXM 80GB", "RTX 4090", "H200", "B200")


def families() -> Table:
    """A GPU of each family: what it can do, by its data sheet."""
    rows = []
    for name in ONE_OF_EACH:
        gpu = gpus.all_gpus()[name]
        assert gpu.sms and gpu.bandwidth_gb_s and gpu.fp32_tflops
        l2 = f"{gpu.l2_bytes / 2**20:.0f} MiB" if gpu.l2_bytes else "not known"
        rows.append(
            [
                gpu.architecture,
                name.replace(" SXM2 16GB", "").replace(" SXM 80GB", ""),
                gpu.compute_capability,
                gpu.sms,
                f"{gpu.bandwidth_gb_s:,.0f}",
                f"{gpu.fp32_tflops:g}",
                l2,
                f"{roofline.ridge(gpu):.0f}",
            ]
        )
    header = ["family", "GPU", "capability", "SMs", "GB/s", "fp32 TFLOP/s", "L2", "ridge"]
    return Table(header, rows, [SHEET], numeric=[3, 4, 5, 6, 7])
