"""The compiled level's part of `gpukit bench machine`: CUDA C++ through NVRTC on the CPU machine."""

from __future__ import annotations

import time
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np

import gpukit
from gpukit.compilers import toolkit

REDUCTION = 1 << 20  # elements
MATRIX, TILE = 512, 16

_MATMUL = r"""
extern "C" __global__ void tiled_product(const float* a, const float* b, float* c, int n) {
    __shared__ float left[16][16], right[16][16];
    int x = threadIdx.x, y = threadIdx.y, column = blockIdx.x * 16 + x, row = blockIdx.y * 16 + y;
    float sum = 0;
    for (int k = 0; k < n; k += 16) {
        left[y][x] = a[row * n + k + x];
        right[y][x] = b[(k + y) * n + column];
        __syncthreads();
        for (int q = 0; q < 16; ++q) sum += left[y][q] * right[q][x];
        __syncthreads();
    }
    c[row * n + column] = sum;
}
"""


def missing() -> str:
    """Why the compiled level cannot be measured here; "" if it can."""
    return toolkit.why_no_nvrtc()


def measure(quick: bool = False) -> dict[str, Any]:
    """Seconds of profiled launches, compilation left out, with counters alone and with hazards; peak bytes allocated
    during one. `quick`: small inputs."""
    elements, size = (1 << 14, 128) if quick else (REDUCTION, MATRIX)
    naive = gpukit.load(Path(gpukit.__file__).with_name("kernels") / "cpp" / "reduction.cu")["naive"]
    product = gpukit.RawKernel(_MATMUL, "tiled_product")

    def reduction(hazards: bool) -> None:
        blocks = elements // 512
        data, sums = np.ones(elements, np.int32), np.zeros(blocks, np.int32)
        gpukit.profile(naive, blocks, 256, data, sums, hazards=hazards)

    def matrices(hazards: bool) -> None:
        rng = np.random.default_rng(0)
        a, b = (rng.random((size, size), dtype=np.float32) for _ in range(2))
        tiles = size // TILE
        c = np.zeros_like(a)
        gpukit.profile(product, (tiles, tiles), (TILE, TILE), a, b, c, np.int32(size), hazards=hazards)

    result: dict[str, Any] = {}
    for name, run in ((f"naive_reduction_{elements}", reduction), (f"tiled_product_{size}", matrices)):
        result[name] = {}
        for key, hazards in (("counters", False), ("hazards", True)):
            run(hazards)  # compiles
            began = time.perf_counter()
            run(hazards)
            seconds = time.perf_counter() - began
            tracemalloc.start()
            try:
                run(hazards)
                peak = tracemalloc.get_traced_memory()[1]
            finally:
                tracemalloc.stop()
            result[name][key] = {"seconds": seconds, "peak_bytes": peak}
    return result
