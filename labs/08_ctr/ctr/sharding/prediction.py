"""How long a step of two GPUs should take, before it is measured.

Everything is counted a sample and a GPU, with the model of model/facts.py: 13 numbers, embeddings of 32, a network of
205-256-128-1. With W processes, each of which has n samples, `L` sharded lookups a sample, and embeddings of e bytes:

    out      reduce-scatter of the embeddings of W n samples: (W - 1) / W of them leave a GPU, (W - 1) L e a sample
    back     all-gather of the gradients: as many bytes arrive
    ids      all-gather, 4 bytes a lookup

so two GPUs send 768 + 768 + 24 bytes a sample in float32 with all six fields sharded (L e = 6 x 32 x 4), half as many
in bfloat16, and half of that again with the three small fields in every process. At 450 GB/s each way, of which a ring
of NCCL without multicast reaches about 80% (an assumption), 1,560 bytes are 4.3 ns. One GPU needs about 18 ns a sample:

    network     6 x 85,376 multiplications and additions at 50 TFLOP/s of float32      10.2 ns
    activations written and read forward and backward, about 10 kB at 4.2 TB/s          2.4 ns
    embeddings  13 passes over L e in gather, sums, state, weights: 10 kB at 4.2 TB/s   2.4 ns
    atomics, routing of lookups (int64), the loss                                       about 3 ns

Large batches therefore: 2 x 18 / (18 + 4.3 + 1.5) = 1.5 times one GPU in float32, and 1.7 with bfloat16 or with the
small fields in every process, 1.8 with both; 1.5 ns are the zeros and copies of twice as many partial rows. Small
batches are another matter: an eager step is host-bound, 2.1 ms for PyTorch's sparse SGD at 256 and at 65,536 samples,
perhaps 3 ms here. Two processes have two hosts, which add the dispatch of three DTensors, an assumed
0.3 ms: 2 x 3 / 3.3 = 1.8 times, up to the batch where the GPU becomes the slower one (about 150,000). As a CUDA graph
the step of 8,192 samples has 0.15 ms of work and about 0.1 ms of latency of four collectives, which is 1.0 to 1.1 times
one GPU; that of 65,536 is at 1.4 to 1.7.

Source: a copy at 4.25 TB/s and eager steps at 124,000 and 28.8 million samples a second (256 and 65,536), both measured
on an H200; NVIDIA's figure of 900 GB/s of NVLink for it, both ways together; the rest as marked.
"""

from __future__ import annotations

from dataclasses import dataclass

LINK_GB_S, LINK_SHARE = 450.0, 0.8  # of one direction, and what of it a collective reaches
HBM_GB_S = 4200.0
FP32_TFLOPS = 50.0
ACTIVATIONS_KB = 10.0
PASSES = 13
OTHER_NS = 3.0
COLLECTIVE_US, COLLECTIVES = 25.0, 4  # ids, embeddings, gradients, the dense network's
HOST_MS, HOST_EXCHANGE_MS = 3.0, 0.3


@dataclass(frozen=True, slots=True)
class Model:
    """fields: sharded ones, of `dim` numbers; macs of the dense network."""

    fields: int = 6
    dim: int = 32
    macs: int = 205 * 256 + 256 * 128 + 128


def exchanged_bytes(model: Model, count: int, element: int) -> int:
    """What a GPU sends for each of its samples; it receives as much."""
    return (count - 1) * model.fields * (2 * model.dim * element + 4)


def step_seconds(model: Model, batch: int, count: int, element: int, *, eager: bool) -> float:
    """Of `batch` samples in each of `count` GPUs; `element` bytes a number on the way."""
    rows = model.fields * model.dim * 4
    alone = 6 * model.macs / FP32_TFLOPS / 1e3 + (ACTIVATIONS_KB * 1e3 + PASSES * rows) / HBM_GB_S + OTHER_NS
    link = exchanged_bytes(model, count, element) / (LINK_GB_S * LINK_SHARE)
    copies = 0.0 if count == 1 else 8 * model.fields * model.dim * element * count / 2 / HBM_GB_S
    latency = 0.0 if count == 1 else COLLECTIVES * COLLECTIVE_US * 1e-6
    device = batch * (alone + link + copies) * 1e-9 + latency
    host = (HOST_MS + (HOST_EXCHANGE_MS if count > 1 else 0.0)) * 1e-3
    return max(device, host) if eager else device


def scaling(model: Model, batch: int, count: int, element: int, *, eager: bool) -> float:
    """How many times the samples of one GPU."""
    one, many = (step_seconds(model, batch, processes, element, eager=eager) for processes in (1, count))
    return count * one / many
