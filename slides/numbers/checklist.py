"""Numbers and tables of the deck with the mental model, the nine questions and the lists to tick."""

from __future__ import annotations

from gpukit import roofline
from gpukit.slides import Table, gpu

ONE_OF_EACH = ("V100 SXM2 16GB", "T4", "A100 SXM 80GB", "RTX 4090", "H200", "B200")


def families() -> Table:
    """A GPU of each family: what it can do, by its data sheet."""
    rows = []
    for name in ONE_OF_EACH:
        one = gpu(name)
        assert one.sms and one.bandwidth_gb_s and one.fp32_tflops
        l2 = f"{one.l2_bytes / 2**20:.0f} MiB" if one.l2_bytes else "not known"
        rows.append(
            [
                one.architecture,
                name.replace(" SXM2 16GB", "").replace(" SXM 80GB", ""),
                one.compute_capability,
                one.sms,
                f"{one.bandwidth_gb_s:,.0f}",
                f"{one.fp32_tflops:g}",
                l2,
                f"{roofline.ridge(one):.0f}",
            ]
        )
    header = ["family", "GPU", "capability", "SMs", "GB/s", "fp32 TFLOP/s", "L2", "ridge"]
    return Table(header, rows, numeric=[3, 4, 5, 6, 7])
