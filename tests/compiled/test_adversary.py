"""Kernels that were written to break the machine, and did: each stands for a fault that is gone."""

from __future__ import annotations

import functools
import random
import re

import numpy as np
import pytest

import gpukit
from gpukit.compilers.nvrtc import compile_cuda


def profiled(code: str, grid: int, block: int, *args: object) -> gpukit.Report:
    return gpukit.profile(gpukit.RawKernel(code, "k"), grid, block, *args)


def kinds(report: gpukit.Report) -> list[str]:
    return [hazard.kind for hazard in report.hazards if hazard.severity != "note"]


def zeros(n: int, dtype: type = np.int32) -> np.ndarray:
    return np.zeros(n, dtype)


# --- lanes that wait for each other --------------------------------------------------------------------------------

QUEUE = """extern "C" __global__ void k(const int* in, int* out, volatile int* q, volatile int* head,
                                          volatile int* tail, int n, int producer, int consumer) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i == producer) {
        for (int j = 0; j < n; j++) {
            while (*head - *tail == 8);
            q[*head % 8] = in[j];
            __threadfence();
            *head = *head + 1;
        }
    } else if (i == consumer) {
        for (int j = 0; j < n; j++) {
            while (*head == *tail);
            __threadfence();
            out[j] = q[*tail % 8];
            __threadfence();
            *tail = *tail + 1;
        }
    }
}"""


@pytest.mark.parametrize("consumer", [32, 64], ids=["another warp", "another block"])
def test_a_full_queue_and_an_empty_one_wait_for_each_other(consumer: int):
    """The compiler gives a loop that waits and the loop around it one header."""
    data, out = np.arange(40, dtype=np.int32), zeros(40)
    report = profiled(
        QUEUE, 2, 64, data, out, zeros(8), zeros(1), zeros(1), np.int32(40), np.int32(0), np.int32(consumer)
    )
    np.testing.assert_array_equal(out, data)
    assert kinds(report) == []


def test_a_queue_in_shared_memory_passes_everything_on_in_order():
    code = """extern "C" __global__ void k(const int* in, int* out, int n) {
        __shared__ volatile int q[8];
        __shared__ int head, tail;
        if (threadIdx.x == 0) { head = 0; tail = 0; }
        __syncthreads();
        if (threadIdx.x == 0) {
            for (int j = 0; j < n; j++) {
                while (atomicAdd(&head, 0) - atomicAdd(&tail, 0) == 8);
                q[j % 8] = in[j];
                __threadfence_block();
                atomicAdd(&head, 1);
            }
        } else if (threadIdx.x == 32) {
            for (int j = 0; j < n; j++) {
                while (atomicAdd(&head, 0) == atomicAdd(&tail, 0));
                __threadfence_block();
                out[j] = q[j % 8];
                __threadfence_block();
                atomicAdd(&tail, 1);
            }
        }
    }"""
    data, out = np.arange(40, dtype=np.int32), zeros(40)
    profiled(code, 1, 64, data, out, np.int32(40))
    np.testing.assert_array_equal(out, data)


GRID_BARRIER = """extern "C" __global__ void k(int* out, int* arrived, int n) {
    int b = blockIdx.x;
    if (threadIdx.x == 0) {
        out[b] = b;
        __threadfence();
        atomicAdd(arrived, 1);
        while (atomicAdd(arrived, 0) < n);
        __threadfence();
        out[n + b] = out[(b + 1) % n];
    }
}"""


@pytest.mark.parametrize(("blocks", "threads"), [(200, 1024), (1000, 256)])
def test_a_handmade_grid_barrier_of_as_many_blocks_as_a_gpu_holds(blocks: int, threads: int):
    out = zeros(2 * blocks)
    report = profiled(GRID_BARRIER, blocks, threads, out, zeros(1), np.int32(blocks))
    np.testing.assert_array_equal(out[blocks:], (np.arange(blocks) + 1) % blocks)
    assert kinds(report) == []


def test_waiting_for_a_block_that_no_gpu_has_room_for_is_a_deadlock():
    with pytest.raises(gpukit.KernelDeadlock, match=r"kernel\.cu:\d+|test_adversary\.py:\d+"):
        profiled(GRID_BARRIER, 8000, 1024, zeros(16000), zeros(1), np.int32(8000))


# --- arrays ----------------------------------------------------------------------------------------------------------

COPY = """extern "C" __global__ void k(const int* a, int* out) {
    out[threadIdx.x] = a[threadIdx.x];
}"""


def test_a_null_pointer_is_called_one():
    report = profiled(COPY, 1, 32, None, zeros(32))
    assert kinds(report) == ["oob_global_read"]
    assert "null pointer" in report.errors[0].message


def test_a_read_only_array_can_be_read_but_not_written():
    frozen = np.full(32, 7, np.int32)
    frozen.flags.writeable = False
    out = zeros(32)
    profiled(COPY, 1, 32, frozen, out)
    assert (out == 7).all()
    with pytest.raises(gpukit.LaunchError, match="`out`, a read-only array"):
        profiled(COPY, 1, 32, out, frozen)


@pytest.mark.parametrize("space", ["__constant__", "__device__"])
def test_elements_of_the_modules_own_arrays_are_those_of_the_source(space: str):
    code = f"""{space} int c[4] = {{1, 2, 3, 4}};
extern "C" __global__ void k(int* out) {{
    out[threadIdx.x] = c[threadIdx.x];
}}"""
    report = profiled(code, 1, 8, zeros(8))
    assert "element 4 of c, which has 4" in report.errors[0].message


# --- PTX that is not quite right -------------------------------------------------------------------------------------


def test_a_jump_to_nowhere_is_named():
    with pytest.raises(gpukit.GpukitError, match="nowhere") as caught:
        profiled('extern "C" __global__ void k(int* x) {\n    asm("bra nowhere;");\n}', 1, 32, zeros(1))
    assert not isinstance(caught.value, gpukit.errors.InternalError)


VARIED = r"""
__constant__ float w[4] = {1, 2, 3, 4};
__device__ int g[3];
__device__ __noinline__ int factorial(int n) { return n < 2 ? 1 : n * factorial(n - 1); }
extern "C" __global__ void k(const float4* x, float* y, double d, short h, int n) {
    __shared__ float s[64];
    int l[4], i = threadIdx.x;
    float4 v = x[i & 7];
    s[i] = v.x * v.y + w[i & 3];
    l[i & 3] = factorial(i & 7);
    __syncthreads();
    unsigned b = __ballot_sync(~0u, i & 1);
    s[i] += __shfl_xor_sync(~0u, v.z, 1);
    atomicAdd(&g[i % 3], l[i & 3]);
    switch (i % 7) {
        case 0: d += 1; break;
        case 1: d *= 2; break;
        case 2: d = sqrt(d); break;
        case 3: printf("%d\n", n);
    }
    for (int j = 0; j < n; j++) { d += j * __popc(b) >> h; if (d > 1e6) break; }
    y[1 + i] = s[i] + (float)d + __umulhi(i, b) + (long long)d % (n + 7);
}"""
TOKEN = re.compile(r"[%$\w]+|\.\w+|[\[\]{}();,+@!|<>=-]")
WORDS = [
    "",
    "0",
    "-1",
    "4294967296",
    "04294967296",
    "0f7FFFFFFF",
    "%r1",
    "%p1",
    ".f64",
    ".b128",
    "v4",
    "%tid.x",
    "%nope",
]


@functools.cache
def lines_of_ptx() -> list[str]:
    return [line for line in compile_cuda(VARIED).text.split("\n") if not re.match(r"\s*(\.loc\s|//)", line)]


@pytest.mark.parametrize("seed", range(4))
def test_a_changed_word_of_ptx_runs_or_is_refused_with_a_sentence(seed: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("GPUKIT_MAX_STEPS", "5000")
    chance = random.Random(seed)
    words = WORDS + sorted({token for line in lines_of_ptx() for token in TOKEN.findall(line)})
    ran = 0
    for _ in range(40):
        lines = list(lines_of_ptx())
        number = chance.choice([i for i, line in enumerate(lines) if TOKEN.search(line)])
        place = chance.choice(list(TOKEN.finditer(lines[number])))
        lines[number] = lines[number][: place.start()] + chance.choice(words) + lines[number][place.end() :]
        try:
            kernel = gpukit.RawModule(code="\n".join(lines)).get_function("k")
            gpukit.profile(kernel, 2, 64, zeros(32, np.float32), zeros(65, np.float32), 2.0, np.int16(1), np.int32(5))
            ran += 1
        except gpukit.GpukitError as error:
            assert not isinstance(error, gpukit.errors.InternalError), f"{lines[number].strip()}: {error}"
    assert 0 < ran < 40
