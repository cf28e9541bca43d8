"""Two tiny labs for the tests of everything that deals with labs.

01_start: a quiz question, a kernel with a cost test, host code. 02_sum: the same in Python and in CUDA C++, with a
device function that the kernel needs.
"""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from pathlib import Path

from gpukit.labs import Lab, answers, regions, running

LABS = Path(__file__).parents[1] / "labs"

FILES = {
    "01_start/README.md": """# Lab 1: Start

## Goal

One thread, one element.

## Not in this lab

Shared memory.

## Before you start

    gpukit profile labs/01_start/given.py:modulo --grid 1 --block 256 -a 'int32[256]'

## Tasks

* **1.1** how many warps has a block of 256 threads
* **1.2** keep each value between low and high
* **1.3** round the number of blocks up

## Go further

Two elements a thread.
""",
    "01_start/given.py": """from gpukit import cuda


@cuda.jit
def modulo(x):
    t = cuda.threadIdx.x
    if t % 2 == 0:
        x[t] = 1
""",
    "01_start/solution.py": '''"""Lab 1: Start."""

from gpukit import cuda

# BEGIN SOLUTION 1.1: how many warps has a block of 256 threads
WARPS = 8
# END SOLUTION


@cuda.jit
def clip(x, y, low, high):
    """y[i] = x[i] between low and high. x, y: (n,) float32. Cost: each element is read once, by neighbours."""
    # BEGIN SOLUTION 1.2: keep each value between low and high
    i = cuda.grid(1)
    if i < x.size:
        y[i] = min(max(x[i], low), high)
    # END SOLUTION


def blocks_for(n, threads):
    """How many blocks of `threads` threads cover n elements. n, threads: int. Returns: int."""
    # BEGIN SOLUTION 1.3: round the number of blocks up
    return (n + threads - 1) // threads
    # END SOLUTION
''',
    "01_start/test_lab.py": '''import numpy as np

from gpukit.labs import points

HOST = ("blocks_for",)


def launch(lab, n):
    x = lab.rng.integers(-8, 9, n).astype(np.float32)
    return {
        "grid": -(-n // 128),
        "block": 128,
        "args": {"x": x, "y": np.empty_like(x), "low": np.float32(-2), "high": np.float32(3)},
        "answers": {"y": np.clip(x, -2, 3)},
        "about": f"n = {n}",
    }


def test_1_1_warps(lab):
    """How many lanes has a warp?"""
    lab.quiz("WARPS", lab.given("modulo", 1, 256, np.zeros(256, np.int32)).counters["divergent_branches"])


@points(2)
def test_1_2_right(lab):
    """Which thread has nothing to do?"""
    for n in (1, 31, 33, 1000):
        lab.check("clip", **launch(lab, n))


def test_1_2_cost(lab):
    """Do neighbours read neighbours?"""
    lab.cost("clip", **launch(lab, 1024), at_most={"global_load_sectors": 1.0})


def test_1_3_blocks(lab):
    """What is left over?"""
    calls = [(1000, 256), (1024, 256), (1, 32)]
    for call, got in zip(calls, lab.host("blocks_for", calls), strict=True):
        lab.expect(f"blocks_for{call}", got, -(-call[0] // call[1]))
''',
    "01_start/wrong/no_guard.py": '''"""No guard: the last block goes past the end.

Fails:
    test_1_2_right: oob_global_read
"""

from gpukit import cuda


@cuda.jit
def clip(x, y, low, high):
    i = cuda.grid(1)
    y[i] = min(max(x[i], low), high)
''',
    "01_start/wrong/apart.py": '''"""Neighbours are 8 elements apart.

Fails:
    test_1_2_cost: global_load_sectors
"""

from gpukit import cuda


@cuda.jit
def clip(x, y, low, high):
    t = cuda.threadIdx.x
    i = cuda.blockIdx.x * 128 + t % 16 * 8 + t // 16
    if i < x.size:
        y[i] = min(max(x[i], low), high)
''',
    "01_start/wrong/quiz.py": '''"""Threads for warps, and a block too few.

Fails:
    test_1_1_warps: another number was counted
    test_1_3_blocks: wrong answer
"""

WARPS = 256


def blocks_for(n, threads):
    return n // threads
''',
    "02_sum/README.md": """# Lab 2: Sum

## Goal

One block, one number.

## Not in this lab

Speed.

## Before you start

Lab 1.

## Tasks

* **2.1** the lanes of a warp
* **2.2** add two numbers
* **2.3** sum a block's elements with one atomic each

## Go further

Fewer atomics.
""",
    "02_sum/solution.py": '''"""Lab 2: Sum."""

from gpukit import cuda

# BEGIN SOLUTION 2.1: the lanes of a warp
LANES = 32
# END SOLUTION


@cuda.jit(device=True)
def plus(a, b):
    """a + b."""
    # BEGIN SOLUTION 2.2: add two numbers
    return a + b
    # END SOLUTION


@cuda.jit
def add(x, y):
    """y[i] += x[i]. x, y: (n,) int32."""
    i = cuda.grid(1)
    if i < x.size:
        y[i] = plus(x[i], y[i])


@cuda.jit
def total(x, out):
    """out[0] += the sum of x. x: (n,) int32. out: (1,) int32."""
    # BEGIN SOLUTION 2.3: sum a block's elements with one atomic each
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.add(out, 0, x[i])
    # END SOLUTION
''',
    "02_sum/solution.cu": """// Lab 2: Sum.

// BEGIN SOLUTION 2.1: the lanes of a warp
constexpr int LANES = 32;
// END SOLUTION

// a + b
__device__ int plus(int a, int b) {
    // BEGIN SOLUTION 2.2: add two numbers
    return a + b;
    // END SOLUTION
}

// y[i] += x[i]
extern "C" __global__ void add(const int* x, int* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = plus(x[i], y[i]);
}

// out[0] += the sum of x
extern "C" __global__ void total(const int* x, int* out, int n) {
    // BEGIN SOLUTION 2.3: sum a block's elements with one atomic each
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(out, x[i]);
    // END SOLUTION
}
""",
    "02_sum/test_lab.py": '''import numpy as np


def test_2_1_lanes(lab):
    """How wide is a warp?"""
    lab.quiz("LANES", 32)


def test_2_2_add(lab):
    """What is 1 + 1?"""
    x = lab.rng.integers(0, 9, 100).astype(np.int32)
    args = {"x": x, "y": np.ones_like(x)}
    about = "the last block is partly filled"
    lab.check("add", 2, 64, args, {"y": x + 1}, sizes=(100,), accumulates=("y",), about=about)


def test_2_3_total(lab):
    """Who adds what, and when?"""
    x = lab.rng.integers(0, 9, 100).astype(np.int32)
    args = {"x": x, "out": np.zeros(1, np.int32)}
    expected = np.array([x.sum()], np.int32)
    lab.cost(
        "total",
        2,
        64,
        args,
        {"out": expected},
        sizes=(100,),
        accumulates=("out",),
        at_most={"global_atomics": 1.0, "global_load_sectors": 1.0},
    )
''',
    "02_sum/wrong/minus.py": '''"""Takes away.

Fails:
    test_2_2_add: wrong answer
"""

from gpukit import cuda


@cuda.jit(device=True)
def plus(a, b):
    return b - a
''',
    "02_sum/wrong/no_atomic.cu": """/* No atomic.

Fails:
    test_2_3_total: race_global
*/

// BEGIN SOLUTION 2.3
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[0] += x[i];
// END SOLUTION
""",
}


def write_labs(folder: Path, *names: str) -> Path:
    """The tiny labs, all or those named, in `folder`/labs, with students' files and the real conftest.py."""
    root = folder / "labs"
    for path, text in FILES.items():
        if not names or path.partition("/")[0] in names:
            target = root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
    for solution in root.glob("*/solution.*"):
        made = regions.skeleton(solution.read_text(encoding="utf-8"), str(solution))
        solution.with_name(f"student{solution.suffix}").write_text(made, encoding="utf-8")
    shutil.copy(LABS / "conftest.py", root)
    return root


def write_lab(folder: Path, name: str = "01_start") -> Lab:
    """One of the tiny labs."""
    return Lab(write_labs(folder, name) / name)


@contextmanager
def student(lab: Lab, text: str, language: str = regions.PYTHON):
    """An answer of this text in place of the student's file."""
    lab.file("student", language).write_text(text, encoding="utf-8")
    with answers.answer(lab, language=language) as answer:
        yield answer


def outcomes(lab: Lab, name: str = "student", language: str | None = None, seed: int = 1) -> dict[str, running.Outcome]:
    """What the tests of a lab say of an answer, by the name of the test."""
    with answers.answer(lab, name, language) as answer:
        return {outcome.test.name: outcome for outcome in running.run(lab, answer, seed)}
