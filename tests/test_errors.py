"""Bad input of every kind: one sentence with a place and a way out, in time, and nothing of gpukit's inside shown."""

import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest

import gpukit
from gpukit import cuda
from gpukit.errors import GpukitError

ROOT = Path(__file__).parents[1]
SECONDS = 20


@cuda.jit
def forever(out):
    while True:
        out[0] = 1


@cuda.jit
def spin_lock(lock, out):
    while cuda.atomic.cas(lock, 0, 0, 1) != 0:
        pass
    out[0] += 1
    # Never released: the second thread waits for ever.


@cuda.jit
def waits_for_another_block(flag, out):
    if cuda.blockIdx.x == 0:
        while flag[0] == 0:
            pass
        out[0] = 1


@cuda.jit(device=True)
def downwards(n):
    return downwards(n - 1) + 1


@cuda.jit
def recursion_without_end(out):
    out[0] = downwards(5)


@cuda.jit
def huge_shared(out):
    s = cuda.shared.array(1_000_000_000, np.float32)
    s[0] = 1
    out[0] = s[0]


@cuda.jit
def huge_local(out):
    s = cuda.local.array(1_000_000_000, np.float64)
    s[0] = 1
    out[0] = s[0]


@cuda.jit
def twice(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] = 2 * x[i]


@cuda.jit
def half_an_index(x):
    x[0.5] = 1


@cuda.jit
def unknown_name(x):
    x[0] = no_such_thing  # noqa: F821


@cuda.jit
def unknown_attribute(x):
    x[0] = cuda.threadIdx.w


@cuda.jit
def comprehension(x):
    x[0] = sum([i + 1 for i in range(3)])


@cuda.jit
def with_try(x):
    try:
        x[0] = 1
    except ValueError:
        x[0] = 2


@cuda.jit
def adds_rows(x):
    x[0, 0] = x[0]


def ints(n=8):
    return np.zeros(n, np.int32)


def read_only():
    x = ints()
    x.flags.writeable = False
    return x


REFUSED = {
    "a loop without end": (forever, 1, 1, lambda: [ints()]),
    "a loop without end in many threads": (forever, 64, 256, lambda: [ints()]),
    "a lock that nobody gives back": (spin_lock, 1, 64, lambda: [ints(1), ints(1)]),
    "a flag that nobody sets": (waits_for_another_block, 2, 32, lambda: [ints(1), ints(1)]),
    "recursion without end": (recursion_without_end, 1, 1, lambda: [ints()]),
    "a shared array of 4 GB": (huge_shared, 1, 32, lambda: [ints()]),
    "a local array of 8 GB": (huge_local, 1, 32, lambda: [ints()]),
    "a missing argument": (twice, 1, 32, lambda: []),
    "an argument too many": (twice, 1, 32, lambda: [ints(), ints()]),
    "an argument that is no array": (twice, 1, 32, lambda: [3]),
    "an argument of a type GPUs do not know": (twice, 1, 32, lambda: ["text"]),
    "an array of objects": (twice, 1, 32, lambda: [np.array([None, {}])]),
    "an array of text": (twice, 1, 32, lambda: [np.array(["a", "b"])]),
    "a read-only array that is written": (twice, 1, 32, lambda: [read_only()]),
    "no blocks": (twice, 0, 32, lambda: [ints()]),
    "no threads": (twice, 1, 0, lambda: [ints()]),
    "a negative grid": (twice, -1, 32, lambda: [ints()]),
    "1,025 threads in a block": (twice, 1, 1025, lambda: [ints()]),
    "33 x 32 threads in a block": (twice, 1, (33, 32), lambda: [ints()]),
    "a block of 65 in z": (twice, 1, (1, 1, 65), lambda: [ints()]),
    "a grid too long in y": (twice, (1, 65536), 32, lambda: [ints()]),
    "a grid in four dimensions": (twice, (1, 1, 1, 1), 32, lambda: [ints()]),
    "a grid of a fraction": (twice, 1.5, 32, lambda: [ints()]),
    "a grid that is text": (twice, "1", 32, lambda: [ints()]),
    "an index that is no integer": (half_an_index, 1, 1, lambda: [ints()]),
    "a name that is not defined": (unknown_name, 1, 1, lambda: [ints()]),
    "a hardware value that does not exist": (unknown_attribute, 1, 1, lambda: [ints()]),
    "a list comprehension": (comprehension, 1, 1, lambda: [ints()]),
    "try": (with_try, 1, 1, lambda: [ints()]),
    "too few dimensions": (adds_rows, 1, 1, lambda: [ints()]),
    "no function": (42, 1, 1, lambda: [ints()]),
    "a function of C": (len, 1, 1, lambda: [ints()]),
}
# Where the fault is in the text of the kernel, the sentence must say where.
IN_THE_TEXT = {
    "a loop without end",
    "a loop without end in many threads",
    "a lock that nobody gives back",
    "a flag that nobody sets",
    "recursion without end",
    "a shared array of 4 GB",
    "a local array of 8 GB",
    "an index that is no integer",
    "a name that is not defined",
    "a hardware value that does not exist",
    "a list comprehension",
    "try",
    "too few dimensions",
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_with_one_sentence(name):
    kernel, grid, block, args = REFUSED[name]
    began = time.perf_counter()
    with pytest.raises(GpukitError) as caught:
        gpukit.profile(kernel, grid, block, *args())
    assert time.perf_counter() - began < SECONDS
    message = str(caught.value)
    assert len(message) > 20 and "Traceback" not in message
    if caught.value.file:  # the user's file, not ours
        assert not Path(caught.value.file).is_relative_to(Path(gpukit.__file__).parent)
    if name in IN_THE_TEXT:
        assert caught.value.file and Path(caught.value.file).name == "test_errors.py"
        assert f"test_errors.py:{caught.value.line}: " in message
    # Whoever prints the traceback sees the call and the sentence, and no chain of inner causes.
    assert caught.value.__cause__ is None or isinstance(caught.value.__cause__, GpukitError)
    assert caught.value.__context__ is None or caught.value.__suppress_context__


@pytest.mark.parametrize(
    "x",
    [
        np.arange(20, dtype=np.int32)[::2],
        np.arange(10, dtype=np.int32)[::-1],
        np.arange(12, dtype=np.int32).reshape(3, 4)[:, 1],
        np.arange(10, dtype=">i4"),
    ],
    ids=["every second", "backwards", "column", "big-endian"],
)
def test_arrays_that_cannot_be_copied_to_a_gpu_are_refused_unharmed(x):
    before = x.copy()
    with pytest.raises(GpukitError, match="`x`"):
        gpukit.profile(twice, 1, 32, x)
    np.testing.assert_array_equal(x, before)


@pytest.mark.parametrize(
    "x",
    [
        np.zeros(0, np.int32),
        np.zeros((0, 4), np.int32),
        np.arange(12, dtype=np.int32).reshape(3, 4).T,
        np.arange(10, dtype=np.int8),
        np.array(7, np.int64).reshape(1),
        np.arange(10) > 4,
    ],
    ids=["empty", "no rows", "by columns", "int8", "one element", "bool"],
)
def test_unusual_arrays_are_ordinary_arrays(x):
    @cuda.jit
    def copied(x, y):
        i, j = cuda.grid(2)
        if i < x.shape[0] and j < x.shape[1]:
            y[i, j] = x[i, j]

    x = x if x.ndim == 2 else x.reshape(-1, 1)
    y = np.zeros_like(x)
    report = gpukit.profile(copied, (1, 1), (16, 16), x, y)
    np.testing.assert_array_equal(y, x)
    assert report.errors == [] and report.warnings == []


def test_a_read_only_array_that_is_only_read_is_fine():
    @cuda.jit
    def copy(x, y):
        y[cuda.grid(1)] = x[cuda.grid(1)]

    y = ints()
    x = np.arange(8, dtype=np.int32)
    x.flags.writeable = False
    gpukit.profile(copy, 1, 8, x, y)
    assert (x == y).all()


def test_results_of_blocks_before_the_error_are_kept():
    """A stop is no reason to lose what the kernel already wrote: it is often what explains the stop."""

    @cuda.jit
    def marks_and_hangs(out):
        out[0] = 7
        while out[0] == 7:
            out[1] = 8

    out = ints()
    with pytest.raises(GpukitError):
        gpukit.profile(marks_and_hangs, 1, 1, out)
    assert out[:2].tolist() == [7, 8]


# --- functions without source --------------------------------------------------------------------------------------


def test_a_kernel_without_source_says_so():
    namespace = {"cuda": cuda}
    exec("def nameless(x):\n    x[cuda.grid(1)] = 1\n", namespace)
    with pytest.raises(GpukitError, match="source"):
        gpukit.profile(namespace["nameless"], 1, 8, ints())


def test_a_lambda_without_a_statement_of_its_own_is_refused():
    with pytest.raises(GpukitError):
        gpukit.profile(lambda x: x[0], 1, 8, ints())


# --- files ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "needle"),
    [
        ("def broken(x:\n    pass\n", "kernels.py:1"),
        ("from numba import cuda\n@cuda.jit\ndef k(x):\n  x[0] = 1\n   x[1] = 2\n", "kernels.py:5"),
        ("\0", "kernels.py"),
        ("x = '" + "a" * 10 + "\n", "kernels.py:1"),
    ],
)
def test_a_file_that_is_no_python_names_the_line(tmp_path, text, needle):
    path = tmp_path / "kernels.py"
    path.write_text(text)
    with pytest.raises(GpukitError) as caught:
        gpukit.load(path)
    assert needle in str(caught.value)


def test_a_missing_file_is_one_sentence(tmp_path):
    with pytest.raises(GpukitError, match="nowhere"):
        gpukit.load(tmp_path / "nowhere.py")


# --- the same through the command line: nothing but the sentence ----------------------------------------------------


@pytest.mark.parametrize(
    ("script", "needle"),
    [
        ("@cuda.jit\ndef k(x):\n    while True:\n        x[0] = 1\n\nk[1, 32](np.zeros(1))\n", "script.py:"),
        ("@cuda.jit\ndef k(x):\n    x[0] = undefined\n\nk[1, 32](np.zeros(1))\n", "script.py:6"),
        ("@cuda.jit\ndef k(x):\n    x[0] = 1\n\nk[1, 1025](np.zeros(1))\n", "1,024"),
        ("@cuda.jit\ndef k(x):\n    x[0] = 1\n\nk[1, 32]()\n", "script.py"),
    ],
    ids=["endless", "undefined name", "block too large", "missing argument"],
)
def test_a_script_that_fails_shows_no_frame_of_gpukit(tmp_path, script, needle):
    path = tmp_path / "script.py"
    path.write_text("import numpy as np\nfrom numba import cuda\n\n" + textwrap.dedent(script))
    done = subprocess.run(
        [sys.executable, "-m", "gpukit.cli", "run", str(path)], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert done.returncode != 0
    shown = done.stdout + done.stderr
    assert needle in shown
    assert f"gpukit{'/'}machine" not in shown and "launching.py" not in shown and "dispatcher.py" not in shown
