"""Generated kernels give what numba's simulator gives, and no false alarm.

Hypothesis writes small kernels as source text: arithmetic, branches, loops with break and continue, device functions,
shared memory between barriers, atomics. They are free of races by construction and keep to what the simulator computes
as numba on a GPU does: int64 and float64 (its narrow integers do not widen), no warp functions (it has none).

The simulator needs a process of its own, and one start for all kernels: it answers one JSON line with another.
"""

import json
import os
import queue
import subprocess
import sys
import threading

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import gpukit
from gpukit.machine import analysis, executor
from gpukit.machine.program import LANE

pytest.importorskip("numba_cuda")

SERVER = """
import json, math, sys
import numpy as np
from numba import config, cuda

assert config.ENABLE_CUDASIM
for line in sys.stdin:
    request = json.loads(line)
    arrays = {name: np.array(values, dtype) for name, (dtype, values) in request["arrays"].items()}
    try:
        names = {"cuda": cuda, "math": math, "np": np}
        exec(request["source"], names)
        with np.errstate(all="ignore"):
            names["kernel"][tuple(request["grid"]), tuple(request["block"])](*arrays.values())
        answer = {name: array.tolist() for name, array in arrays.items()}
    except BaseException as error:
        answer = {"error": f"{type(error).__name__}: {error}"}
    print(json.dumps(answer), flush=True)
"""


class Simulator:
    """numba's simulator in a process of its own."""

    def __init__(self) -> None:
        environment = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1"}
        self.process = subprocess.Popen(
            [sys.executable, "-c", SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        self.answers: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.answers.put(line)

    def run(self, source: str, grid, block, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        packed = {name: (array.dtype.str, array.tolist()) for name, array in arrays.items()}
        request = {"source": source, "grid": grid, "block": block, "arrays": packed}
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.answers.get(timeout=60))
        assert "error" not in answer, f"{answer['error']}\n{source}"
        return {name: np.array(answer[name], array.dtype) for name, array in arrays.items()}

    def close(self) -> None:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait(timeout=30)
        self.process.stdout.close()


@pytest.fixture(scope="module")
def simulator():
    made = Simulator()
    yield made
    made.close()


# --- a grammar of kernels ------------------------------------------------------------------------------------------

THREADS = 48  # one and a half warps
INTS = ("a", "b", "c")
FLOATS = ("f", "g")


def _pick(draw, *choices):
    return draw(st.sampled_from(choices))


@st.composite
def integer(draw, depth: int = 2) -> str:
    """An int64 expression. Variables hold less than 1,001 either way, so nothing overflows."""
    if depth == 0 or draw(st.integers(0, 3)) == 0:
        return _pick(draw, *INTS, "t", "i", str(draw(st.integers(-9, 9))))
    left, right = draw(integer(depth - 1)), draw(integer(depth - 1))
    signs = ("+", "-", "*", "//", "%", "&", "|", "^", "<<", ">>")
    form = _pick(draw, *signs, "min", "max", "abs", "if", "neg", "not", "call")
    divisor = draw(st.integers(1, 17))
    match form:
        case "//" | "%":
            return f"({left} {form} {divisor})"
        case "<<" | ">>":
            return f"({left} {form} {draw(st.integers(0, 4))})"
        case "min" | "max":
            return f"{form}({left}, {right})"
        case "abs":
            return f"abs({left})"
        case "neg":
            return f"(-{left})"
        case "not":
            return f"(~{left})"
        case "if":
            return f"({left} if {draw(condition(depth - 1))} else {right})"
        case "call":
            return f"helper({left}, {right})"
    return f"({left} {form} {right})"


@st.composite
def real(draw, depth: int = 2) -> str:
    """A float64 expression; a variable holds no NaN and nothing large."""
    if depth == 0 or draw(st.integers(0, 3)) == 0:
        return _pick(draw, *FLOATS, "1.5", "-0.25", "x[i]")
    left, right = draw(real(depth - 1)), draw(real(depth - 1))
    form = _pick(draw, "+", "-", "*", "/", "min", "max", "sqrt", "int", "round trip", "if", "mixed")
    match form:
        case "/":
            return f"({left} / (1.0 + abs({right})))"
        case "min" | "max":
            return f"{form}({left}, {right})"
        case "sqrt":
            return f"math.sqrt(abs({left}))"
        case "int":
            return f"float({draw(integer(depth - 1))})"
        case "round trip":
            return f"math.floor({left})"
        case "if":
            return f"({left} if {draw(condition(depth - 1))} else {right})"
        case "mixed":
            return f"({left} * {draw(integer(depth - 1))})"
    return f"({left} {form} {right})"


@st.composite
def condition(draw, depth: int = 1) -> str:
    """A test that depends on the lane, more often than not."""
    form = _pick(draw, "compare", "compare", "chain", "and", "or", "not", "real") if depth > 0 else "compare"
    sign = _pick(draw, "<", "<=", ">", ">=", "==", "!=")
    match form:
        case "chain":
            return f"({draw(integer(1))} < {draw(integer(1))} <= {draw(integer(1))})"
        case "and" | "or":
            return f"({draw(condition(depth - 1))} {form} {draw(condition(depth - 1))})"
        case "not":
            return f"(not {draw(condition(depth - 1))})"
        case "real":
            return f"({draw(real(1))} {sign} {draw(real(1))})"
    return f"({draw(integer(1))} % {draw(st.integers(1, 5))} {sign} {draw(integer(1))})"


def indent(lines: list[str]) -> list[str]:
    return ["    " + line for line in lines]


@st.composite
def statement(draw, depth: int, in_loop: bool, whole_block: bool) -> list[str]:
    """Lines of one statement. Only where the whole block comes (`whole_block`) may it hold a barrier."""
    forms = ["set", "set", "set real", "atomic", "store"]
    if depth:
        forms += ["if", "if else", "for", "while"]
    if in_loop:
        forms += ["break", "continue"]
    if whole_block:
        forms += ["exchange", "exchange"]

    def body(loop: bool, whole: bool = False) -> list[str]:
        return indent(draw(statements(depth - 1, loop, whole)))

    name = f"k{depth}"
    match _pick(draw, *forms):
        case "set":
            return [f"{_pick(draw, *INTS)} = ({draw(integer())}) % 2001 - 1000"]
        case "set real":
            return [f"{_pick(draw, *FLOATS)} = min(max({draw(real())}, -1000.0), 1000.0)"]
        case "atomic":
            action = _pick(draw, "add", "max", "min")
            return [f"cuda.atomic.{action}(cells_{action}, ({draw(integer(1))}) % 4, ({draw(integer())}) % 1000)"]
        case "store":
            return [f"out[i] += ({draw(integer(1))}) % 1000"]
        case "if":
            return [f"if {draw(condition())}:", *body(in_loop)]
        case "if else":
            return [f"if {draw(condition())}:", *body(in_loop), "else:", *body(in_loop)]
        case "for":
            same_for_all = whole_block and draw(st.booleans())
            if same_for_all:
                trips = draw(st.integers(0, 3))
                return [f"for {name} in range({trips}):", *indent([f"a += {name}"]), *body(False, True)]
            ends = f"({draw(integer(1))}) % 5"
            loop = [f"for {name} in range({ends}):", *indent([f"a += {name}"]), *body(True)]
            return [*loop, "else:", *body(in_loop)] if draw(st.booleans()) else loop
        case "while":
            start = f"{name} = ({draw(integer(1))}) % 6"
            return [start, f"while {name} > 0 and {draw(condition())}:", *indent([f"{name} -= 1"]), *body(True)]
        case "break":
            return [f"if {draw(condition())}:", *indent(["break"])]
        case "continue":
            return [f"if {draw(condition())}:", *indent(["continue"])]
    value, number = draw(integer(1)), draw(st.integers(0, 50))
    if draw(st.booleans()):
        return [
            f"tile[t] = {value}",
            "cuda.syncthreads()",
            f"b = (tile[(5 * t + {number}) % {THREADS}] + c) % 2001 - 1000",
            "cuda.syncthreads()",
        ]
    return [
        f"grid_tile[t // 8, t % 8] = {draw(real(1))}",
        "cuda.syncthreads()",
        f"g = min(max(grid_tile[(t + {number}) % 6, (t // 8 + {number}) % 8], -1000.0), 1000.0)",
        "cuda.syncthreads()",
    ]


@st.composite
def statements(draw, depth: int, in_loop: bool, whole_block: bool) -> list[str]:
    count = draw(st.integers(1, 3))
    return [line for _ in range(count) for line in draw(statement(depth, in_loop, whole_block))]


@st.composite
def kernels(draw) -> str:
    helper = [
        "@cuda.jit(device=True)",
        "def helper(p, q):",
        f"    if p % {draw(st.integers(1, 4))} == 0:",
        "        return q % 101",
        f"    for k in range({draw(st.integers(0, 4))}):",
        "        if q + k > p:",
        "            return k - q % 13",
        "    return p % 17",
    ]
    start = [
        f"tile = cuda.shared.array({THREADS}, np.int64)",
        "grid_tile = cuda.shared.array((6, 8), np.float64)",
        "t = cuda.threadIdx.x + cuda.threadIdx.y * cuda.blockDim.x",
        f"i = t + {THREADS} * cuda.blockIdx.x",
        "a = n[i] % 100",
        f"b = {draw(st.integers(-5, 5))}",
        "c = t * 3",
        "f = x[i]",
        "g = 0.5",
    ]
    body = draw(statements(2, False, True))
    end = [
        f"if {draw(condition())}:",
        "    out[i] += a",
        "    return",
        "out[i] += b + 3 * c",
        "real[i] = f + g",
    ]
    signature = "def kernel(n, x, out, real, cells_add, cells_max, cells_min):"
    lines = ["import math", "", "import numpy as np", "from numba import cuda", "", "", *helper, "", "", "@cuda.jit"]
    return "\n".join([*lines, signature, *indent([*start, *body, *end])]) + "\n"


def arguments(blocks: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(11)
    threads = blocks * THREADS
    return {
        "n": rng.integers(-500, 500, threads),
        "x": rng.normal(size=threads).round(3),
        "out": np.zeros(threads, np.int64),
        "real": np.zeros(threads),
        "cells_add": np.zeros(4, np.int64),
        "cells_max": np.full(4, -5000),
        "cells_min": np.full(4, 5000),
    }


@given(kernels(), st.sampled_from([((2, 1), (THREADS, 1)), ((1, 1), (8, 6)), ((3, 1), (16, 3))]))
@settings(max_examples=60)
def test_generated_kernels_agree_with_the_simulator(simulator, tmp_path_factory, source, shape):
    grid, block = shape
    path = tmp_path_factory.mktemp("generated") / "generated.py"
    path.write_text(source)
    expected = simulator.run(source, grid, block, arguments(grid[0]))
    assume(all(np.isfinite(array).all() for array in expected.values()))

    ours = arguments(grid[0])
    report = gpukit.profile(gpukit.load(path)["kernel"], grid, block, *ours.values())
    for name, array in ours.items():
        np.testing.assert_array_equal(array, expected[name], err_msg=f"{name}\n{source}")
    alarms = [h for h in report.hazards if h.severity in ("error", "warning")]
    assert not alarms, f"{[(h.kind, h.line, h.message) for h in alarms]}\n{source}"

    again = arguments(grid[0])
    plain = gpukit.profile(gpukit.load(path)["kernel"], grid, block, *again.values(), hazards=False)
    assert plain.counters == report.counters  # hazards watch, and change nothing
    for name, array in again.items():
        np.testing.assert_array_equal(array, ours[name])


@given(kernels(), st.sampled_from([((2, 1), (THREADS, 1)), ((3, 1), (16, 3))]))
@settings(max_examples=60)
def test_computing_shared_values_once_changes_nothing(tmp_path_factory, source, shape):
    """The same kernel with every register kept per lane, one block a wave, and lanes never taken to be in step."""
    grid, block = shape
    path = tmp_path_factory.mktemp("generated") / "generated.py"
    path.write_text(source)
    runs = []
    for careful in (False, True):
        with pytest.MonkeyPatch.context() as patch:
            if careful:
                patch.setattr(analysis, "levels", lambda blocks, n, live: [LANE] * n)
                patch.setattr(executor, "WAVE_LANES", 1)
                begin = executor.WaveRun.push

                def push(wave, target, lanes, begin=begin):
                    wave.leave_lockstep()
                    begin(wave, target, lanes)

                patch.setattr(executor.WaveRun, "push", push)
            arrays = arguments(grid[0])
            report = gpukit.profile(gpukit.load(path)["kernel"], grid, block, *arrays.values())
            # Which tests count as branches depends on what is known to be shared.
            counters = {name: value for name, value in report.counters.items() if "branches" not in name}
            runs.append((arrays, counters, [h.to_dict() for h in report.hazards]))
    (first, counters, hazards), (second, careful_counters, careful_hazards) = runs
    for name, array in first.items():
        np.testing.assert_array_equal(array, second[name], err_msg=f"{name}\n{source}")
    assert counters == careful_counters
    assert hazards == careful_hazards
