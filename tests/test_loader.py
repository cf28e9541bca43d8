"""Loading a file without executing it: what it finds, what stays unknown, and that nothing of it ever runs."""

from __future__ import annotations

import ast
import textwrap
from pathlib import Path

import numpy as np
import pytest

from gpukit.errors import GpukitError, KernelSyntaxError, KernelTypeError, UnsupportedFeature
from gpukit.machine import executor
from gpukit.machine.frontends.python import Source, bind, load
from gpukit.machine.memory import GlobalMemory

FRONT_END = Path(__file__).parent.parent / "gpukit" / "machine" / "frontends" / "python"


@pytest.fixture
def loaded(tmp_path):
    def write(text, name="student.py"):
        path = tmp_path / name
        path.write_text(textwrap.dedent(text))
        return load(path)

    return write


def out_of(kernel, *args, n=1, block=1, dtype=np.float64):
    out = np.zeros(n, dtype)
    executor.run(bind(kernel, (1, 1, 1), (block, 1, 1), (*args, out), 0, GlobalMemory()), hazards=False)
    return out.tolist()


def test_functions_are_attributes_and_items(loaded):
    module = loaded("""
        from numba import cuda

        @cuda.jit
        def kernel(out):
            out[0] = helper(2)

        def helper(x):
            return x + 1
        """)
    assert list(module) == ["kernel", "helper"]
    assert isinstance(module.kernel, Source) and module["kernel"] is module.kernel
    assert "kernel" in module and "nothing" not in module
    assert out_of(module.kernel) == [3]
    with pytest.raises(KernelTypeError, match="`nothing`"):
        module["nothing"]
    assert not hasattr(module, "nothing")


@pytest.mark.parametrize(
    "imports",
    [
        "from numba import cuda",
        "import numba.cuda as cuda",
        "from numba_cuda_mlir import cuda",
        "from gpukit import cuda",
        "import numba\ncuda = numba.cuda",
        "try:\n    from numba import cuda\nexcept ImportError:\n    cuda = None",
        "cuda = None\ndef bind(module=None):\n    global cuda\n    from numba import cuda as found\n    cuda = found",
    ],
)
def test_every_spelling_of_cuda(loaded, imports):
    module = loaded(f"{imports}\ndef kernel(out):\n    out[cuda.threadIdx.x] = cuda.blockDim.x\n")
    assert out_of(module.kernel, n=2, block=2) == [2, 2]


def test_constants_are_folded(loaded):
    module = loaded("""
        import math
        import numpy as np
        from numba import cuda, float32
        from enum import IntEnum, auto
        from typing import NamedTuple
        from collections import namedtuple

        LOG = 4
        WIDTH = 1 << LOG
        SHAPE = (WIDTH, WIDTH // 2 + 1)
        ROOT = int(math.sqrt(WIDTH)) if WIDTH > 3 else 0
        FACTOR: float = np.pi * 2
        KIND = np.dtype([("a", np.int32), ("b", "f8")])
        TABLE = np.array([1, 2, 3], dtype=np.float32)
        STEPS = np.arange(0, 10, 2)
        a, (b, c) = 1, (2, 3)
        c += 10
        LAST = SHAPE[-1]
        ELEMENT = float32
        WORD = "f" + "loat32"

        class Mode(IntEnum):
            OFF = 0
            ON = auto()

        class Pair(NamedTuple):
            x: int
            y: int

        Point = namedtuple("Point", "x y")
        ORIGIN = Point(5, 6)

        def kernel(out):
            tile = cuda.shared.array(SHAPE, ELEMENT)
            other = cuda.shared.array(3, WORD)
            records = cuda.shared.array(1, KIND)
            records[0].a = 4
            out[0] = tile.shape[1] + other.size
            out[1] = ROOT + FACTOR
            out[2] = TABLE[2] + STEPS[3]
            out[3] = a + b + c + LAST
            out[4] = Mode.ON + ORIGIN.y + Pair(7, 8).x
            out[5] = records[0].a
        """)
    expected = [12, 4 + 2 * np.pi, 9, 1 + 2 + 13 + 9, 1 + 6 + 7, 4]
    assert out_of(module.kernel, n=6) == pytest.approx(expected)
    assert module.WIDTH == 16 and module.SHAPE == (16, 9)


def test_what_is_not_known_matters_only_when_used(loaded):
    module = loaded("""
        import os
        import torch
        from numba import cuda

        SECRET = os.environ["HOME"]
        SIZE = torch.zeros(3).numel()
        for i in range(3):
            COUNT = i

        def fine(out):
            out[0] = 1

        def uses_size(out):
            out[0] = SIZE

        def uses_count(out):
            out[0] = COUNT

        def uses_module(out):
            out[0] = torch.sum(out)
        """)
    assert out_of(module.fine) == [1]
    for kernel, words, line in (("uses_size", "SIZE", 15), ("uses_count", "`for`", 18), ("uses_module", "torch", 21)):
        with pytest.raises(GpukitError, match=words) as caught:
            out_of(module[kernel])
        assert caught.value.file == module.__file__ and caught.value.line == line


def test_nothing_of_the_file_runs(loaded, tmp_path):
    trap = tmp_path / "ran"
    module = loaded(f"""
        import pathlib
        from numba import cuda

        pathlib.Path({str(trap)!r}).write_text("top level")

        class Meta(type):
            def __new__(cls, *args):
                open({str(trap)!r}, "w")

        class Evil(metaclass=Meta):
            X = open({str(trap)!r}, "w")

        def decorator(f):
            open({str(trap)!r}, "w")
            return f

        EAGER = open({str(trap)!r}, "w")
        INDEXED = [open({str(trap)!r}, "w")][0]
        BUILT = type("A", (), {{}})()
        DUNDER = (1).__class__.__base__.__subclasses__()
        EVALUATED = eval("open({str(trap)!r}, 'w')")

        @decorator
        def kernel(out, default=open({str(trap)!r}, "w")):
            out[0] = 2

        def uses(out):
            open({str(trap)!r}, "w")

        def uses_dunder(out):
            out[0] = DUNDER

        def climbs(out):
            out[0] = out.__class__
        """)
    out = np.zeros(1)
    executor.run(bind(module.kernel, (1, 1, 1), (1, 1, 1), (out, 0), 0, GlobalMemory()), hazards=False)
    assert out[0] == 2
    for name in ("uses", "uses_dunder", "climbs"):
        with pytest.raises(GpukitError):
            out_of(module[name])
    assert not trap.exists()


def test_large_values_are_not_computed(loaded):
    module = loaded("""
        import numpy as np
        A = 10 ** 10 ** 10
        B = 1 << 10 ** 12
        C = (0,) * 10 ** 10
        D = np.zeros(10 ** 12)
        E = np.arange(10 ** 12)
        F = "x" * 10 ** 12
        G = np.array([[0] * 1000] * 1_000_000)
        H = tuple(range(10 ** 12))
        def loop(n):
            return loop(n + 1)
        I = loop(0)
        OK = 2 ** 40
        """)
    assert [name for name in "ABCDEFGHI" if name in module] == []
    assert module.OK == 2**40


def test_closures_made_by_factories(loaded):
    module = loaded("""
        from numba import cuda

        def make(n, scale=2):
            size = n * scale

            @cuda.jit
            def kernel(out):
                tile = cuda.shared.array(size, "int32")
                out[0] = tile.size

            return kernel

        small = make(3)
        large = make(n=5, scale=10)
        plain = cuda.jit(lambda out: twice(out))

        @cuda.jit(device=True)
        def twice(out):
            out[0] = 7
        """)
    assert out_of(module.small) == [6]
    assert out_of(module.large) == [50]
    assert out_of(module.plain) == [7]


def test_modules_beside_the_file(loaded):
    loaded("from numba import cuda\nSIZE = 9\ndef helper(x):\n    return x * SIZE\n", "helpers.py")
    module = loaded("""
        import helpers
        from helpers import helper, SIZE as N

        def kernel(out):
            out[0] = helper(2) + N
            out[1] = helpers.helper(1) + helpers.SIZE
        """)
    assert out_of(module.kernel, n=2) == [27, 18]


def test_debug_of_the_decorator_decides_about_assertions(loaded):
    module = loaded("""
        from numba import cuda

        @cuda.jit(debug=True, opt=False)
        def loud(out):
            assert out[0] > 0

        @cuda.jit
        def quiet(out):
            assert out[0] > 0
        """)
    with pytest.raises(GpukitError, match=r"out\[0\] > 0"):
        out_of(module.loud)
    assert out_of(module.quiet) == [0]


def test_line_numbers_and_text_are_the_files(loaded):
    module = loaded("""
        # a comment

        def kernel(out):
            out[0] = missing
        """)
    assert module.kernel.first_line == 4
    assert module.kernel.text[5].strip() == "out[0] = missing"
    with pytest.raises(KernelTypeError, match=r"student\.py:5: the name `missing` is not defined"):
        out_of(module.kernel)


@pytest.mark.parametrize(
    ("text", "words", "line"),
    [
        ("def kernel(:\n", "not valid Python", 1),
        ("x = 1\n\x00", "null", None),
        ("def k():\n  a\n b\n", "not valid Python", 3),
    ],
)
def test_files_that_do_not_parse(loaded, text, words, line):
    with pytest.raises(KernelSyntaxError, match=words) as caught:
        loaded(text)
    assert line is None or caught.value.line == line


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(KernelSyntaxError, match="cannot be read"):
        load(tmp_path / "nothing.py")
    with pytest.raises(KernelSyntaxError, match="cannot be read"):
        load(tmp_path)
    (tmp_path / "bytes.py").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(KernelSyntaxError):
        load(tmp_path / "bytes.py")
    with pytest.raises(UnsupportedFeature):
        load(tmp_path / "kernel.cu")


def test_the_front_end_executes_no_source():
    """`eval` and imports by name stand in two known places: for our own templates, and for gpukit's own modules."""
    found = set()
    for path in FRONT_END.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call):
                name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
                if name in ("eval", "exec", "import_module", "__import__"):
                    found.add((path.name, name))
    assert found == {("builder.py", "eval"), ("inference.py", "import_module")}
