"""Where the time of a step goes, kernel by kernel, as PyTorch's profiler reads it from the GPU."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import torch

STEPS = 20

# The first that a kernel's name fits. What is in none of them is a pass over activations.
GROUPS = (
    ("gather", r"\bbatch<|[Ii]ndexSelect|gather_kernel|gpu_index_kernel"),
    ("update", r"rowwise_adagrad|coalesce|UniqueByKey|AdjacentDifference|indexFunc|index_put|embedding_backward"),
    ("sort", r"[Ss]ort|[Rr]adix|onesweep|fill_reverse_indices|sort_postprocess"),
    ("matrix products", r"gemm|cutlass|nvjet|cublas|xmma|gemv|splitK|dot_kernel|mma_"),
    ("Adam", r"[Aa]dam|multi_tensor"),
    ("copies", r"[Mm]emcpy|[Mm]emset"),
)
REST = "elementwise passes"
# Not kernels: stretches of time that PyTorch marks on the device, with kernels in them.
MARKED = re.compile(r"Optimizer\.|ProfilerStep|Torch-Compiled|## ")


def group(kernel: str) -> str:
    return next((name for name, pattern in GROUPS if re.search(pattern, kernel)), REST)


def profile(step: Callable[[], Any]) -> dict[str, Any]:
    """Microseconds of a step by group and by kernel. Kernels that run side by side count each for itself, so the sum
    may pass what a step takes."""
    from torch.profiler import ProfilerActivity

    torch.cuda.synchronize()
    with torch.profiler.profile(activities=[ProfilerActivity.CUDA, ProfilerActivity.CPU]) as found:
        for _ in range(STEPS):
            step()
        torch.cuda.synchronize()
    kernels: dict[str, dict[str, float]] = {}
    for event in found.key_averages():
        device_us = getattr(event, "self_device_time_total", 0)
        if event.device_type == torch.autograd.DeviceType.CUDA and device_us > 0 and not MARKED.match(event.key):
            kernels[event.key] = {"us": device_us / STEPS, "launches": event.count / STEPS}
    groups: dict[str, dict[str, float]] = {}
    for name, kernel in kernels.items():
        total = groups.setdefault(group(name), {"us": 0.0, "launches": 0.0})
        for key in total:
            total[key] += kernel[key]
    ranked = sorted(kernels.items(), key=lambda item: -item[1]["us"])
    return {
        "steps": STEPS,
        "us_of_kernels": sum(kernel["us"] for kernel in kernels.values()),
        "launches": sum(kernel["launches"] for kernel in kernels.values()),
        "groups": groups,
        "kernels": [{"name": name, "group": group(name), **kernel} for name, kernel in ranked],
    }
