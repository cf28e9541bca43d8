"""The two levels: which one a kernel runs at, what differs between them and why, and what a person sees of it."""

from __future__ import annotations

import inspect
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from numba import cuda, float32

import gpukit
from gpukit.comparison import html, layout, reasons
from gpukit.comparison.accesses import Code, Executed, Site
from gpukit.comparison.reasons import Reasons
from gpukit.errors import LaunchError
from gpukit.launching import prepare
from gpukit.machine import executor

SAXPY = r"""
extern "C" __global__ void saxpy(float a, const float* x, float* y, int n) {
    int i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
"""
N = 512


# --- kernels that a compiler changes -------------------------------------------------------------------------------


@cuda.jit
def as_written(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = 2 * x[i]


@cuda.jit
def hoisted(x, scale, out, m):
    i = cuda.grid(1)
    total = float32(0)
    for j in range(m):
        total += x[i + j] * scale[0]
    out[i] = total


@cuda.jit
def unrolled(starts, x, out):
    i = cuda.grid(1)
    total = float32(0)
    for j in range(starts[i], starts[i + 1]):
        total += x[j]
    out[i] = total


@cuda.jit
def in_registers(x, out):
    i = cuda.grid(1)
    t = cuda.local.array(2, float32)
    t[0] = x[2 * i]
    t[1] = x[2 * i + 1]
    if t[0] > t[1]:
        s = t[0]
        t[0] = t[1]
        t[1] = s
    out[2 * i] = t[0]
    out[2 * i + 1] = t[1]


@cuda.jit
def selected(x, out):
    i = cuda.grid(1)
    v = x[i]
    if v < 0:
        v = v * v
    out[i] = v


@cuda.jit
def both_at_once(x, out, n):
    i = cuda.grid(1)
    if i > 0 and i < n:
        out[i] = x[i]


@cuda.jit
def dead_and_merged(x, y, out):
    i = cuda.grid(1)
    unused = y[i]  # noqa: F841
    a = x[i]
    b = x[i]
    out[i] = a + b


@cuda.jit
def two_ways(x, out):
    i = cuda.grid(1)
    if i % 2 == 0:
        out[i] = x[i] + 1
    else:
        out[i] = x[i] * 2


@cuda.jit
def rounds(x, out):
    i = cuda.grid(1)
    n = x[i]
    steps = 0
    while n > 0:
        n = n - 1 if n % 2 == 1 else n // 2
        steps += 1
    out[i] = steps


@cuda.jit
def largest(x, out):
    cuda.atomic.max(out, 0, x[cuda.grid(1)])


@cuda.jit
def squares(x, out):
    i = cuda.grid(1)
    out[i] = x[i] * x[i]


def at(kernel, text):
    """(file, number) of the one line of a kernel that has this text."""
    lines, first = inspect.getsourcelines(kernel.py_func)
    (offset,) = [i for i, line in enumerate(lines) if text in line]
    return __file__, first + offset


def random(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def compared(kernel, *args, grid=N // 128, block=128):
    return gpukit.compare_levels(kernel, grid, block, *args)


def differences(comparison, place):
    """counter -> kinds of its reasons, for what differs at a line."""
    (line,) = [line for line in comparison.lines if (line.file, line.number) == place]
    return {d.counter: {r.kind for r in d.reasons} for d in line.counters if not d.equal}


def numbers(comparison, place, counter):
    (line,) = [line for line in comparison.lines if (line.file, line.number) == place]
    (found,) = [(d.source, d.compiled) for d in line.counters if d.counter == counter]
    return found


# --- levels --------------------------------------------------------------------------------------------------------


def test_a_python_kernel_has_both_levels_and_source_is_the_default():
    for level, expected in ((None, "source"), ("source", "source"), ("compiled", "compiled")):
        x, out = random(N), np.zeros(N, np.float32)
        report = gpukit.profile(as_written, N // 128, 128, x, out, level=level)
        assert report.level == report.to_dict()["level"] == expected
        np.testing.assert_array_equal(out, 2 * x)
        assert report.counters["global_load_requests"] == N // 32


def test_every_way_to_launch_takes_a_level():
    x, out = random(N), np.zeros(N, np.float32)
    gpukit.launch(as_written, N // 128, 128, x, out, level="compiled")
    np.testing.assert_array_equal(out, 2 * x)
    report = gpukit.check(as_written, N // 128, 128, x, np.zeros(N - 1, np.float32), level="compiled", raise_=False)
    assert [hazard.kind for hazard in report.errors] == ["oob_global_write"]
    assert report.errors[0].line == at(as_written, "out[i]")[1]
    for way in (gpukit.profile, gpukit.check, gpukit.launch):
        with pytest.raises(LaunchError, match='level=\'ptx\' is not known; use "source" or "compiled"'):
            way(as_written, 1, 32, x, out, level="ptx")


def test_cuda_cpp_has_the_compiled_level_only():
    kernel = gpukit.RawKernel(SAXPY, "saxpy")
    x, y = random(N), np.ones(N, np.float32)
    for level in (None, "compiled"):
        y[:] = 1
        report = gpukit.profile(kernel, N // 128, 128, np.float32(2), x, y, N, level=level)
        assert report.level == "compiled"
        np.testing.assert_allclose(y, 2 * x + 1, rtol=1e-6)
    with pytest.raises(LaunchError, match="`saxpy` is CUDA C\\+\\+ or PTX, which has no source level: leave level out"):
        gpukit.profile(kernel, 1, 128, np.float32(2), x, y, N, level="source")
    with pytest.raises(LaunchError, match="there is no source level to compare with"):
        gpukit.compare_levels(kernel, 1, 128, np.float32(2), x, y, N)


def test_kernels_of_files_by_name(tmp_path):
    file = tmp_path / "kernels.cu"
    file.write_text(SAXPY + "template <int N> __global__ void fill(int* x) { x[threadIdx.x] = N; }\n")
    kernels = gpukit.load(file)
    assert list(kernels) == ["saxpy"]
    x = np.zeros(32, np.int32)
    gpukit.launch(kernels["fill<7>"], 1, 32, x)
    assert (x == 7).all()
    (tmp_path / "saxpy.ptx").write_text(gpukit.RawModule(code=SAXPY).ptx)
    y = np.zeros(32, np.float32)
    gpukit.launch(gpukit.load(tmp_path / "saxpy.ptx").saxpy, 1, 32, np.float32(1), np.ones(32, np.float32), y, 32)
    assert (y == 1).all()
    with pytest.raises(KeyError):
        kernels["absent"]


# --- reasons, on kernels that show them ----------------------------------------------------------------------------


def test_what_the_compiler_leaves_alone_is_equal():
    comparison = compared(as_written, random(N), np.zeros(N, np.float32))
    assert all(total.equal and not total.reasons for total in comparison.totals)
    assert layout.summary(comparison) == "both levels count the same"
    assert [result.differing for result in comparison.results] == [0]


def test_a_load_moved_out_of_a_loop():
    comparison = compared(hoisted, random(N + 8), random(1), np.zeros(N, np.float32), 8)
    loop = at(hoisted, "for j")[1]
    inside = at(hoisted, "scale[0]")
    assert differences(comparison, inside) == {"global_load_requests": {"hoisted"}, "global_load_sectors": {"hoisted"}}
    assert numbers(comparison, inside, "global_load_requests") == (2 * 8 * N // 32, 8 * N // 32)
    (reason,) = next(d for line in comparison.lines for d in line.counters if not d.equal and d.source).reasons
    assert reason.array == "scale"
    assert f"out of the loop of line {loop}, to line" in reason.text
    # The line where it stands now says where it came from.
    (new,) = [
        d for line in comparison.lines for d in line.counters if d.counter == "global_load_requests" and not d.source
    ]
    assert new.compiled == N // 32
    assert [reason.kind for reason in new.reasons] == ["hoisted"]


def test_an_unrolled_loop_whose_lanes_differ_in_their_rounds():
    lengths = np.random.default_rng(1).integers(0, 9, N)
    starts = np.concatenate(([0], np.cumsum(lengths))).astype(np.int32)
    comparison = compared(unrolled, starts, random(int(starts[-1])), np.zeros(N, np.float32))
    body = differences(comparison, at(unrolled, "+= x[j]"))
    assert body["global_load_sectors"] == {"unrolled"}
    assert differences(comparison, at(unrolled, "for j"))["branches"] == {"unrolled"}
    text = str(comparison)
    assert re.search(r"x: unrolled: \d+ loads instead of 1 in the loop of line \d+", " ".join(text.split()))


def test_a_local_array_in_registers_and_a_branch_that_is_none():
    comparison = compared(in_registers, random(2 * N), np.zeros(2 * N, np.float32))
    assert differences(comparison, at(in_registers, "t[0] = x")) == {"local_store_requests": {"in registers"}}
    test = differences(comparison, at(in_registers, "if t[0] > t[1]"))
    assert test["branches"] == test["divergent_branches"] == {"predicated"}
    assert comparison.compiled.counters["local_load_requests"] == 0


def test_a_value_that_is_selected():
    comparison = compared(selected, random(N), np.zeros(N, np.float32))
    place = at(selected, "if v < 0")
    assert differences(comparison, place)["branches"] == {"predicated"}
    assert numbers(comparison, place, "branches") == (N // 32, 0)


def test_two_tests_in_one_branch():
    comparison = compared(both_at_once, random(N), np.zeros(N, np.float32), N - 40)
    place = at(both_at_once, "if i > 0")
    assert differences(comparison, place)["branches"] == {"merged"}
    assert numbers(comparison, place, "branches") == (2 * N // 32, N // 32)


def test_what_nothing_uses_and_what_is_loaded_already():
    comparison = compared(dead_and_merged, random(N), random(N), np.zeros(N, np.float32))
    assert differences(comparison, at(dead_and_merged, "y[i]"))["global_load_requests"] == {"removed"}
    assert differences(comparison, at(dead_and_merged, "b = x[i]"))["global_load_requests"] == {"merged"}
    assert differences(comparison, at(dead_and_merged, "a = x[i]")) == {}
    assert differences(comparison, at(dead_and_merged, "out[i]")) == {}
    total = {d.counter: {r.kind for r in d.reasons} for d in comparison.totals}
    assert total["global_load_requests"] == {"removed", "merged"}
    assert total["global_store_requests"] == set()


def test_one_element_twice_in_a_line():
    comparison = compared(squares, random(N), np.zeros(N, np.float32))
    place = at(squares, "out[i]")
    assert differences(comparison, place)["global_load_requests"] == {"merged"}
    assert numbers(comparison, place, "global_load_requests") == (2 * N // 32, N // 32)


def test_one_access_in_place_of_several_lines():
    comparison = compared(two_ways, random(N), np.zeros(N, np.float32))
    assert differences(comparison, at(two_ways, "x[i] + 1"))["global_load_requests"] == {"at another line"}
    text = " ".join(str(comparison).split())
    lines = [at(two_ways, words)[1] for words in ("def two_ways", "x[i] + 1", "x[i] * 2")]
    assert "x: at another line: line {} has 1 load in place of the 2 of line {} and line {}".format(*lines) in text


def test_a_loop_without_accesses_is_known_by_its_tests():
    x = np.random.default_rng(3).integers(0, 50, N)
    comparison = compared(rounds, x, np.zeros(N, np.int64))
    kinds = differences(comparison, at(rounds, "while n > 0")).get("branches", {"unrolled"})
    assert kinds == {"unrolled"}
    assert reason("branches", code(), code(5, 32), array="", line=("k.py", 8)) == (
        "unrolled",
        "the loop's test stands 5 times in the compiled code",
    )
    assert reason("branches", code(), code(2, 32), array="", line=("k.py", 8))[0] == "differs"


def test_an_atomic_that_the_hardware_does_not_have():
    comparison = compared(largest, random(N), np.zeros(1, np.float32))
    place = at(largest, "atomic.max")
    assert differences(comparison, place)["global_atomics"] == {"by compare and swap"}
    assert [result.differing for result in comparison.results] == [0]


@cuda.jit
def tiles(x, out):
    s = cuda.shared.array((8, 8), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    s[ty, tx] = x[ty, tx]
    cuda.syncthreads()
    total = float32(0)
    for q in range(8):
        total += s[ty, q]
    out[ty, tx] = total


def test_shared_loads_that_the_assembler_merges():
    x, out = random(8, 8), np.zeros((8, 8), np.float32)
    comparison = compared(tiles, x, out, grid=1, block=(8, 8))
    place = at(tiles, "s[ty, q]")
    assert numbers(comparison, place, "shared_load_requests") == (8 * 2, 2 * 2)
    assert differences(comparison, place)["shared_load_requests"] == {"by the assembler"}
    assert "it makes 2 loads of 16 bytes a lane of the compiler's 8" in " ".join(str(comparison).split())


# --- reasons, on made evidence -------------------------------------------------------------------------------------

LINE = ("k.py", 9)


class Evidence:
    """What `Executed` has, made by hand."""

    def __init__(self, sites, **more):
        self.sites = sites
        self.selects = self.guards = self.compares = set()
        vars(self).update(more)

    def loop_lines(self):
        return {("k.py", 8)}


def reason(what, before, after, array="x", other=(), line=LINE):
    source = Evidence({Site(line, what, array): before} if before else {})
    compiled = Evidence({**({Site(line, what, array): after} if after else {}), **dict(other)})
    (found,) = Reasons(source, compiled).of(line, what)
    return found.kind, found.text


def code(instructions=1, requests=64, units=256, nbytes=8192, widths=(4,), loops=(), **more):
    return Code(instructions, requests, units, nbytes, set(widths), tuple(loops), **more)


def test_wider_and_narrower_requests():
    wide = code(requests=16, units=256, widths=(16,))
    assert reason("global loads", code(), wide) == ("vectorized", "16 bytes a lane in one load instead of 4")
    narrow = code(4, 256, 1024, widths=(1,))
    assert reason("global loads", code(), narrow) == ("split", "1 bytes a lane in one load instead of 4")
    # Fewer bytes in all are no vectors, whatever the width.
    assert reason("global loads", code(), code(requests=16, nbytes=4096, widths=(16,)))[0] == "differs"


def test_what_the_assembler_did_is_said_where_it_is_marked_alone():
    merged = code(4, 16, 16, widths=(16,), assembled=True, emitted=16)
    assert reason("shared loads", code(16, loops=(8,)), merged) == (
        "by the assembler",
        "it makes 4 loads of 16 bytes a lane of the compiler's 16",
    )
    dropped = code(0, 0, 0, 0, widths=(), assembled=True)
    assert reason("shared loads", code(), dropped)[0] == "by the assembler"
    assert reason("shared loads", code(), code(0, 0, 0, 0, widths=()))[0] == "removed"


def test_no_reason_is_invented():
    assert reason("global loads", code(), code(units=300))[0] == "differs"
    assert reason("global loads", code(), code(requests=32))[0] == "differs"
    # More instructions that run less often are not unrolling.
    assert reason("global loads", code(loops=(8,)), code(4, 32, loops=(8,)))[0] == "differs"
    # A load that is gone may have moved to any of several lines.
    elsewhere = {Site(("k.py", line), "global loads", "x"): code(2, 10, loops=(8,)) for line in (3, 4)}
    assert reason("global loads", code(), None, other=elsewhere.items())[0] == "differs"
    assert reason("branches", code(loops=(8,)), code(0, 0), array="")[0] == "differs"


def test_a_load_at_another_line_is_known_by_its_numbers():
    there = {Site(("k.py", 3), "global loads", "x"): code()}
    kind, text = reason("global loads", code(), None, other=there.items())
    assert (kind, text) == ("at another line", "the compiled code has this load at line 3")


def test_every_kind_of_reason_is_a_word_for_people():
    kinds = {value for name, value in vars(reasons).items() if name.isupper() and isinstance(value, str)}
    assert {"hoisted", "unrolled", "vectorized", "predicated", "in registers", "by the assembler", "differs"} <= kinds


# --- accesses to the same elements ---------------------------------------------------------------------------------


def same_lines(kernel, *args):
    """text of a line -> texts of the lines known to access the same elements, at source level."""
    made = prepare(kernel, 1, 32, args, 0)
    executed = Executed(made.program, executor.run(made, hazards=False), by_array=True)
    text = {(line.file, line.number): line.text.strip() for line in made.program.source}
    loads = {site.line: found.same for site, found in executed.sites.items() if site.what == "global loads"}
    return {text[line]: {text[other] for other in same} for line, same in loads.items()}


@cuda.jit
def moving(x, out):
    i = cuda.threadIdx.x
    out[0] = x[i]
    i += 1
    out[1] = x[i]
    out[2] = x[i]


@cuda.jit
def repeated(x, out):
    i = cuda.grid(1)
    out[3] = x[i + 1]
    out[4] = x[cuda.grid(1) + 1]
    for k in range(4):
        out[5] = x[i + 1]
        out[6] = x[i + k]


def test_an_index_that_changes_is_another_element():
    found = same_lines(moving, np.arange(64.0), np.zeros(8))
    assert found["out[0] = x[i]"] == set()
    assert found["out[1] = x[i]"] == {"out[2] = x[i]"}


def test_equal_expressions_are_one_element_within_the_same_loops():
    found = same_lines(repeated, np.arange(64.0), np.zeros(8))
    assert found["out[3] = x[i + 1]"] == {"out[4] = x[cuda.grid(1) + 1]"}
    assert found["out[6] = x[i + k]"] == set()


def test_lines_of_two_files(tmp_path, monkeypatch):
    (tmp_path / "picking.py").write_text(
        "from numba import cuda\n\n\n@cuda.jit(device=True)\ndef pick(x, i):\n"
        "    if i > 3:\n        return x[i]\n    return x[0]\n"
    )
    (tmp_path / "using.py").write_text(
        "from numba import cuda\nfrom picking import pick\n\n\n@cuda.jit\ndef k(x, out):\n"
        "    i = cuda.grid(1)\n    out[i] = pick(x, i) + 1\n"
    )
    monkeypatch.chdir(tmp_path)
    comparison = compared(gpukit.load("using.py")["k"], random(64), np.zeros(64, np.float32), grid=1, block=64)
    numbers_shown = [(line.file.rpartition("/")[2], line.number) for line in comparison.lines]
    assert len(set(numbers_shown)) == len(numbers_shown)  # no line twice under two paths
    text = " ".join(str(comparison).split())
    assert "line 8: load requests 0 -> 2, load sectors 0 -> 8; x: at another line: line 8 has 1 load" in text
    assert "in place of the 2 of picking.py:7 and picking.py:8" in text
    assert "picking.py:6: branches 2 -> 0, divergent branches 1 -> 0; predicated" in text
    assert text.count("--- picking.py") == 1


# --- inputs and results --------------------------------------------------------------------------------------------


@cuda.jit
def bump(x):
    x[cuda.grid(1)] += 1


@cuda.jit
def product_sum(x, y, out):
    i = cuda.grid(1)
    out[i] = x[i] * y[i] + out[i]


def test_inputs_are_as_before_and_both_levels_start_from_them():
    x = np.arange(N)
    comparison = compared(bump, x)
    np.testing.assert_array_equal(x, np.arange(N))
    assert [(r.array, r.differing) for r in comparison.results] == [("x", 0)]
    assert comparison.source.counters["global_store_sectors"] == N * 8 // 32


def test_inputs_are_as_before_when_a_level_fails(monkeypatch):
    x = np.arange(N)
    run = executor.run

    def fail_at_second(launch, **options):
        if launch.program.level == "compiled":
            raise LaunchError("broken")
        return run(launch, **options)

    monkeypatch.setattr(executor, "run", fail_at_second)
    with pytest.raises(LaunchError, match="broken"):
        compared(bump, x)
    np.testing.assert_array_equal(x, np.arange(N))


def test_results_that_differ_are_counted():
    # The compiler makes one rounding of x * y + out, the source has two.
    x = np.full(N, 1 + 2.0**-12, np.float32)
    out = -x * x
    comparison = compared(product_sum, x, x.copy(), out)
    (result,) = comparison.results
    assert (result.array, result.elements, result.differing) == ("out", N, N)
    assert result.largest == 2.0**-24
    assert "out: 512 of 512 elements differ, by at most 5.96e-08" in str(comparison)


# --- what a person sees --------------------------------------------------------------------------------------------


class Checker(HTMLParser):
    """Fails on tags that do not nest."""

    def __init__(self):
        super().__init__()
        self.open = []
        self.text = []

    def handle_starttag(self, tag, attributes):
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def test_a_comparison_in_text_html_and_json():
    comparison = compared(dead_and_merged, random(N), random(N), np.zeros(N, np.float32))
    text = str(comparison)
    assert max(map(len, text.splitlines())) <= 100
    for part in ("source level beside compiled level: 2 of 4 counters differ", "gone", "removed", "README.md"):
        assert part in " ".join(text.split()) or part == "gone"
    assert re.search(r"D1 line \d+: load requests 16 -> 0, load sectors 64 -> 0; y: removed", text)
    page = Checker()
    page.feed(html.page(comparison))
    assert page.open == []
    shown = " ".join("".join(page.text).split())
    assert "y: removed: the compiled code has no such load at any line" in shown
    assert "b = x[i]" in shown
    assert "gpukit-report" in comparison._repr_html_()
    data = json.loads(json.dumps(comparison.to_dict()))
    assert data["compiled"]["level"] == "compiled"
    total = next(d for d in data["totals"] if d["counter"] == "global_load_requests")
    assert (total["source"], total["compiled"]) == (3 * N // 32, N // 32)
    assert {r["kind"] for r in total["reasons"]} == {"removed", "merged"}


def test_a_compiled_report_says_what_it_is():
    report = gpukit.profile(as_written, N // 128, 128, random(N), np.zeros(N, np.float32), level="compiled")
    text = str(report)
    assert "Compiled level: what the hardware would count" in text
    assert re.search(r"global sectors +64 +64  l1tex__t_sectors_pipe_lsu_mem_global_op_ld\.sum", text)
    assert "The assembler has the last word" in text
    assert "shared requests" not in text
    assert "The assembler has the last word" in report._repr_html_()
    source = str(gpukit.profile(as_written, N // 128, 128, random(N), np.zeros(N, np.float32)))
    assert "assembler" not in source and "Compiled level" not in source


def test_cpp_in_a_report():
    kernel = gpukit.RawKernel(SAXPY, "saxpy")
    report = gpukit.profile(kernel, 4, 128, np.float32(2), random(N), random(N), N)
    (line,) = [line for line in report.lines if "y[i] = a" in line.text]
    assert line.text.strip() == "if (i < n) y[i] = a * x[i] + y[i];"
    assert (line.file, line.number) == (__file__, SAXPY_LINE + 3)
    assert line.counters["global_load_requests"] == 2 * N // 32
    assert '<span class="k">if</span>' in report._repr_html_()
    assert report.arguments[1]["name"] == "x"


SAXPY_LINE = next(
    number
    for number, line in enumerate(Path(__file__).read_text(encoding="utf-8").splitlines(), start=1)
    if line.startswith("SAXPY = ")
)


def test_numba_halves_are_added_by_functions_of_a_library():
    @cuda.jit
    def total(x, y, out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = x[i] + y[i]

    x, y, out = (
        np.linspace(0, 9, 40, dtype=np.float16),
        np.linspace(5, 1, 40, dtype=np.float16),
        np.zeros(40, np.float16),
    )
    report = gpukit.profile(total, 2, 32, x, y, out, level="compiled")
    assert out.tolist() == (x + y).tolist() and not report.hazards
    assert report.counters["global_load_requests"] == 4
