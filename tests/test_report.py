"""The report: plain data, its answers, and its two views."""

import io
import json
import re
from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import pytest
from rich.console import Console

from gpukit.machine.hazards import Hazard
from gpukit.report import LineReport, Report, answers, html, layout, terminal
from gpukit.scripts import Alike, Launches

FILE = "reduce.py"
SOURCE = """\
    @cuda.jit
    def naive(x, partial):
        tid = cuda.threadIdx.x
        stride = 1
        while stride <= cuda.blockDim.x:
            if tid % stride == 0:
                x[base + 2 * tid] += x[base + 2 * tid + stride]
            cuda.syncthreads()
            stride *= 2
        if tid == 0 and "<b>" != '':  # <script>
            partial[cuda.blockIdx.x] = x[base]""".splitlines()


def hazard(kind, severity, line, message="something happened", **more):
    return Hazard(kind=kind, severity=severity, line=line, message=message, file=FILE, **more)


def line(offset, lanes=None, **counters):
    return LineReport(FILE, 10 + offset, SOURCE[offset], counters, lanes)


def naive(hazards=(), findings=(), **changes):
    """The in-place reduction with the H200's totals of facts/h200.json."""
    lines = [line(offset) for offset in range(len(SOURCE))]
    lines[2] = line(2, 32.0, warp_instructions=16384, thread_instructions=524288)
    lines[5] = line(5, 32.0, branches=147456, divergent_branches=96256, warp_instructions=294912)
    lines[6] = line(
        6,
        9.1,
        global_load_requests=225280,
        global_load_sectors=1044480,
        global_store_requests=112640,
        global_store_sectors=522240,
        warp_instructions=900000,
        thread_instructions=8190000,
    )
    lines[7] = line(7, 32.0, barriers=18432)
    fields = {
        "kernel": "naive",
        "file": FILE,
        "grid": (2048, 1, 1),
        "block": (256, 1, 1),
        "threads": 524288,
        "warps": 16384,
        "arguments": [{"name": "x", "dtype": "int32", "shape": (1048576,)}],
        "counters": {
            "global_load_requests": 227328,
            "global_load_sectors": 1046528,
            "global_store_requests": 114688,
            "global_store_sectors": 524288,
            "load_efficiency": 0.43,
            "branches": 327680,
            "divergent_branches": 98304,
            "active_lanes_per_instruction": 20.2,
            "barriers": 18432,
        },
        "lines": lines,
        "hazards": list(hazards),
        "findings": list(findings),
        "seconds": 0.18,
    }
    return Report(**{**fields, **changes})


FINDINGS = (
    hazard("uncoalesced", "note", 16, advice="make neighbouring threads touch neighbouring elements"),
    hazard("low_lane_utilisation", "note", 16),
    hazard("divergence", "note", 15),
)
RACE = hazard("race_global", "error", 16, "thread 0 reads x[1] while thread 1 writes it", lines=(16, 17), count=2048)
OVERFLOW = hazard("int_overflow", "warning", 20, "6,400,000,000 does not fit in int32")


def asked(report):
    return {answer.question: answer for answer in answers.answers(report)}


# --- data ------------------------------------------------------------------------------------------------------------


def test_to_dict_is_json_and_complete():
    report = naive([RACE], FINDINGS, counters={"branches": np.int64(3), "load_efficiency": np.float64(0.5)})
    data = json.loads(json.dumps(report.to_dict()))
    assert data["grid"] == [2048, 1, 1]
    assert data["counters"] == {"branches": 3, "load_efficiency": 0.5}
    assert data["arguments"] == [{"name": "x", "dtype": "int32", "shape": [1048576]}]
    assert data["occupancy"]["gpu"] == "H200"
    assert data["occupancy"]["resident_warps"] == 8448
    assert [entry["kind"] for entry in data["hazards"]] == ["race_global"]
    assert data["lines"][6]["counters"]["global_load_sectors"] == 1044480
    assert report.to_dict("T4")["occupancy"]["blocks_per_sm"] == 4


def test_severities_are_kept_apart():
    note = hazard("nonassociative_atomics", "note", 16)
    report = naive([OVERFLOW, note, RACE], FINDINGS)
    assert report.errors == [RACE]
    assert report.warnings == [OVERFLOW]
    assert report.notes == [note, *FINDINGS]


def test_identical_launches_fold_and_different_ones_do_not():
    other = naive(counters={"branches": 1})
    launches = Launches()
    for report in (naive(), naive(seconds=9.0), other, naive(), naive([RACE])):
        launches.add(report)
    assert [times for _, times in launches.reports] == [3, 1, 1]
    assert launches.reports[1][0] is other
    assert [group.example.errors for group in launches.groups] == [[RACE]]  # the broken one is the one to show


def test_launches_that_differ_without_end_are_counted_and_those_with_errors_kept():
    launches = Launches()
    for number in range(100):
        launches.add(naive(counters={"branches": number}))
    launches.add(naive([RACE]))
    assert launches.total == 101
    (group,) = launches.groups
    assert len(group.reports) == len(launches.reports) == Alike.LIMIT + 1
    assert group.example.errors == [RACE]
    assert "of 101" in group.note


def test_launches_with_other_types_are_shown_apart():
    launches = Launches()
    for dtype in ("float32", "float64", "float32"):
        launches.add(naive(arguments=[{"name": "x", "dtype": dtype, "shape": [4]}]))
    assert [group.launches for group in launches.groups] == [2, 1]
    assert launches.groups[0].note == "2 identical launches"


def test_the_overview_names_every_kernel_and_where_to_look():
    console = Console(file=io.StringIO(), width=100)
    terminal.show_overview([(naive([RACE]), 3), (naive(findings=[]), 1)], console)
    racy, fine = console.file.getvalue().splitlines()[1:]
    assert f"line {RACE.line}: the result is wrong or undefined (race_global)" in racy
    assert fine.split()[-2:] == ["1", "-"]


# --- answers ---------------------------------------------------------------------------------------------------------


def test_questions_come_in_order_and_only_where_they_can_be_answered():
    assert list(asked(naive())) == ["Enough parallelism?", "Coalesced?", "Divergent?", "Barriers?"]
    assert list(asked(naive(counters={}))) == ["Enough parallelism?"]


def test_a_bad_answer_names_the_line_and_the_number():
    answer = asked(naive(findings=FINDINGS))["Coalesced?"]
    assert (answer.verdict, answer.state, answer.place) == ("no", answers.LOOK, answers.Place(FILE, 16))
    assert "4.6 sectors per load request" in answer.proof
    assert "43% of loaded bytes used" in answer.proof


def test_stores_alone_are_judged_without_load_efficiency():
    counters = {"global_store_requests": 8, "global_store_sectors": 32, "load_efficiency": 0.0}
    assert asked(naive(counters=counters))["Coalesced?"].state == answers.OK


@pytest.mark.parametrize(
    ("sectors", "nbytes", "verdict"),
    [
        (800, 25_600, "yes"),  # 8-byte elements side by side
        (400, 12_790, "yes"),  # the array ends inside its last sector
        (800, 12_800, "not fully"),  # every other 4-byte element
    ],
)
def test_sectors_are_judged_by_the_bytes_they_serve(sectors, nbytes, verdict):
    counters = {"global_load_requests": 100, "global_load_sectors": sectors, "global_load_bytes": nbytes}
    report = naive(counters=counters | {"load_efficiency": nbytes / (32 * sectors)})
    assert asked(report)["Coalesced?"].verdict == verdict


def test_bytes_that_several_lanes_read_are_not_more_than_all():
    counters = {"global_load_requests": 8, "global_load_sectors": 8, "load_efficiency": 8.0}
    assert (
        asked(naive(counters=counters))["Coalesced?"].proof == "1.0 sectors per load request, each byte used 8.0 times"
    )


def test_divergence_points_at_the_branch_and_not_at_its_victims():
    assert asked(naive(findings=FINDINGS))["Divergent?"].place == answers.Place(FILE, 15)
    assert asked(naive(findings=FINDINGS[:2]))["Divergent?"].place == answers.Place(FILE, 16)


def test_of_several_lines_the_most_expensive_is_named():
    report = naive(findings=[hazard("uncoalesced", "note", 12), hazard("uncoalesced", "note", 16)])
    assert asked(report)["Coalesced?"].place == answers.Place(FILE, 16)


def test_without_a_finding_nothing_is_flagged():
    found = asked(naive())
    assert {answer.state for answer in found.values()} <= {answers.OK, answers.INFO}
    assert found["Coalesced?"].verdict == "not fully"
    assert found["Divergent?"].verdict == "costs little"


def test_a_perfect_kernel_is_all_ok():
    perfect = {
        "global_load_requests": 100,
        "global_load_sectors": 400,
        "load_efficiency": 1.0,
        "branches": 50,
        "divergent_branches": 0,
        "active_lanes_per_instruction": 32.0,
        "shared_load_requests": 10,
        "shared_load_wavefronts": 10,
        "shared_load_bank_conflicts": 0,
        "barriers": 2048,
    }
    found = asked(naive(counters=perfect, imbalance=1.0))
    assert len(found) == 6
    assert {answer.state for answer in found.values()} == {answers.OK}
    assert answers.look_first(naive(counters=perfect)) is None


@pytest.mark.parametrize(("blocks", "verdict"), [(1, "no"), (131, "no"), (132, "partly"), (1056, "yes")])
def test_parallelism_against_the_sms_of_an_h200(blocks, verdict):
    report = naive(grid=(blocks, 1, 1), threads=blocks * 256, warps=blocks * 8)
    assert asked(report)["Enough parallelism?"].verdict == verdict


def test_parallelism_says_what_limits_a_block():
    assert "limited by shared memory" in asked(naive(shared_bytes=100_000))["Enough parallelism?"].proof
    assert "does not fit" in asked(naive(shared_bytes=300_000))["Enough parallelism?"].proof


def test_bank_conflicts_are_counted_over_loads_and_stores():
    counters = {"shared_load_requests": 32, "shared_load_wavefronts": 64, "shared_load_bank_conflicts": 32}
    counters |= {"shared_store_requests": 1, "shared_store_wavefronts": 3, "shared_store_bank_conflicts": 2}
    answer = asked(naive(counters=counters))["Bank conflicts?"]
    assert answer.proof == "67 wavefronts for 33 shared requests, 34 of them conflicts"


def test_barriers_are_called_fine_only_when_they_were_checked():
    assert asked(naive())["Barriers?"].verdict == "fine"
    assert asked(naive(hazards_checked=False))["Barriers?"].verdict == "not checked"
    broken = asked(naive([hazard("barrier_divergence", "error", 17)]))["Barriers?"]
    assert (broken.verdict, broken.place) == ("broken", answers.Place(FILE, 17))


def test_look_first_puts_right_before_fast():
    assert answers.look_first(naive([OVERFLOW, RACE], FINDINGS))[0] == answers.Place(FILE, 16)
    assert answers.look_first(naive([OVERFLOW], FINDINGS))[0] == answers.Place(FILE, 20)
    assert answers.look_first(naive(findings=FINDINGS))[0] == answers.Place(FILE, 16)


# --- the terminal ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [60, 80, 100, 120, 200])
def test_no_line_is_wider_than_the_terminal(width):
    text = terminal.to_text(naive([RACE, OVERFLOW], FINDINGS), width)
    assert max(map(len, text.splitlines())) <= width
    assert "\x1b" not in text


def test_the_text_has_every_part():
    text = str(naive([RACE, OVERFLOW], FINDINGS, output=["sum", " 512\n"] + ["more\n"] * 25))
    for part in ("1 error and 1 warning", "Enough parallelism?", "Look first at line 16", "partial[cuda.blockIdx.x]"):
        assert part in text
    assert re.search(
        r"^E1 reduce.py:16: thread 0 reads x\[1\] while thread 1 writes it\. \[race_global, 2,048 times\]", text, re.M
    )
    assert text.index("Errors") < text.index("Warnings") < text.index("Findings") < text.index("Printed by the kernel")
    assert "\n  sum 512\n  more\n" in text
    assert text.endswith("... and 6 more lines")
    assert "Fix: make neighbouring threads" in " ".join(text.split())


def test_marks_tie_a_race_to_both_its_lines():
    rows = {
        int(found[2]): found[1].split() for found in re.finditer(r"^([EWN\d+ ]*?) +(\d\d) ", str(naive([RACE])), re.M)
    }
    assert rows[16] == ["E1"]
    assert rows[17] == ["E1"]
    assert rows[15] == []


def test_only_columns_with_data_are_shown():
    assert [column.heading[0] for column in layout.columns(naive())] == ["lanes", "global", "sectors", "split /"]
    assert layout.columns(naive(lines=[line(0)])) == []
    assert "conflicts" not in terminal.to_text(naive(), 120)


def test_wide_terminals_get_exact_numbers():
    assert "337,920" in terminal.to_text(naive(), 120)
    assert "338k" in terminal.to_text(naive(), 80)


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "0"), (9999, "9,999"), (96256, "96.3k"), (999_499, "999k"), (1_046_528, "1.05M"), (2e9, "2G")],
)
def test_compact_numbers(number, text):
    assert layout.compact(number) == text


def test_unchecked_is_not_clean():
    assert "no hazards found" in str(naive())
    assert "hazards not looked for" in str(naive(hazards_checked=False))


def test_long_lists_are_cut_and_counted():
    text = str(naive([hazard("race_global", "error", 16)] * 25))
    assert "E20" in text
    assert "... and 5 more" in text


def test_colour_only_repeats_what_words_say():
    coloured = Console(
        file=io.StringIO(), width=100, force_terminal=True, color_system="truecolor", legacy_windows=False
    )
    terminal.show(naive([RACE], FINDINGS), coloured)
    plain = re.sub(r"\x1b\[[0-9;]*m", "", coloured.file.getvalue())
    assert [text.rstrip() for text in plain.splitlines()] == str(naive([RACE], FINDINGS)).splitlines()


def test_hazards_only_leaves_out_counters_and_findings():
    console = Console(file=io.StringIO(), width=100)
    terminal.show(naive([RACE], FINDINGS), console, note="3 identical launches", hazards_only=True)
    text = console.file.getvalue()
    assert "race_global" in text
    assert "3 identical launches" in text
    assert "Coalesced?" not in text
    assert "uncoalesced" not in text


def test_a_kernel_without_source_lines_still_has_a_report():
    assert "Enough parallelism?" in str(naive(lines=[]))


def test_broken_source_is_still_shown():
    lines = [
        LineReport(FILE, 1, "def f(:"),
        LineReport(FILE, 2, "    '''never closed"),
        LineReport(FILE, 3, "\tx = 1 €"),
    ]
    tokens = layout.source_tokens(lines)
    assert ["".join(text for _, text in row) for row in tokens] == ["def f(:", "    '''never closed", "    x = 1 €"]


def test_lines_of_another_file_are_announced():
    helper = LineReport("helpers.py", 3, "return a + b", {"warp_instructions": 4}, 32.0)
    report = naive(
        lines=[line(0), helper],
        findings=[Hazard(kind="uncoalesced", severity="note", line=3, message="m", file="helpers.py")],
    )
    assert "--- helpers.py" in str(report)
    assert "look at helpers.py:3" in str(report)


def test_functions_are_set_apart_and_neighbours_are_not():
    report = naive(lines=[line(0), line(1), line(5)])
    assert layout.gaps(report) == [None, None, ""]


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("/home/me/reduce.py", "reduce.py"),
        ("<ipython-input-5-3f4de8c3c758>", "In[5]"),
        ("/tmp/ipykernel_4711/815.py", "cell"),
        ("<stdin>", "<stdin>"),
    ],
)
def test_files_are_named_as_their_reader_knows_them(file, name):
    assert layout.short_path(file) == name


def test_a_prompt_shows_a_line_and_ipython_the_report():
    assert repr(naive()).count("\n") == 0
    assert len(repr(naive())) < 100
    written = []
    naive()._repr_pretty_(SimpleNamespace(text=written.append), False)
    assert written == [str(naive())]


# --- the notebook ----------------------------------------------------------------------------------------------------


class Checker(HTMLParser):
    """Every tag closes, nothing is loaded and nothing runs."""

    def __init__(self):
        super().__init__()
        self.open = []
        self.text = []

    def handle_starttag(self, tag, attrs):
        assert tag not in ("script", "img", "link", "iframe")
        assert not any(name in ("src", "href") or name.startswith("on") for name, _ in attrs)
        if tag not in ("br", "hr", "meta"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.text.append(data)


def read(markup):
    checker = Checker()
    checker.feed(markup)
    assert checker.open == []
    return "".join(checker.text)


def test_the_notebook_view_is_whole_safe_and_small():
    report = naive([RACE, OVERFLOW], FINDINGS, output=["<i>sum</i>\n"])
    markup = report._repr_html_()
    text = read(markup)
    assert len(markup) < 20_000
    for part in (
        "1 error and 1 warning",
        "Look first at line 16",
        "337,920",
        "96,256/147,456",
        "<i>sum</i>",
        "# <script>",
    ):
        assert part in text


def test_styles_stay_inside_the_report():
    rules = re.sub(r"\{[^}]*\}", ";", html.STYLE)
    selectors = [selector.strip() for selector in re.split(r"[,;]", rules) if selector.strip()]
    assert len(selectors) > 20
    assert all(selector.startswith(".gpukit-report") for selector in selectors)


def test_a_page_is_a_whole_document():
    markup = html.page([(naive(), "")])
    assert markup.startswith("<!doctype html>")
    assert "naive - gpukit" in read(markup)


def test_a_page_of_several_launches_says_how_many_each_stands_for():
    markup = html.page([(naive(), "5 identical launches"), (naive([RACE]), "")])
    assert "(5 identical launches)" in read(markup)
    assert markup.count("<hr>") == 1
    assert markup.count("<style>") == 1


def test_heat_bars_are_shares_of_the_work():
    shares = layout.work_shares(naive())
    assert sum(share for share, _ in shares.values()) == pytest.approx(1)
    share, busy = shares[answers.Place(FILE, 16)]
    assert share == pytest.approx(900000 / (900000 + 294912 + 16384))
    assert busy == pytest.approx(9.1 / 32)


# --- the compiled level ----------------------------------------------------------------------------------------------


def compiled(**changes):
    """A reduction at compiled level, with accesses in a library's headers that the report does not list."""
    folded = [
        LineReport(
            "/cuda/include/block_reduce.cuh", 0, "34 lines", {"warp_instructions": 50, "local_load_requests": 7}, 8.0
        )
    ]
    counters = {
        "global_load_requests": 320,
        "global_load_sectors": 1280,
        "shared_store_requests": 64,
        "shared_store_wavefronts": 128,
        "shared_store_bank_conflicts": 64,
        "local_load_requests": 7,
        "global_atomics": 5,
    }
    return naive(**{"level": "compiled", "counters": counters, "folded": folded, "findings": FINDINGS, **changes})


def test_counters_of_the_compiled_level_have_nsights_names():
    rows = {row.label: (row.load, row.store) for row in layout.counter_rows(compiled())}
    assert rows == {
        "global requests": (320, 0),
        "global sectors": (1280, 0),
        "shared requests": (0, 64),
        "shared wavefronts": (0, 128),
        "bank conflicts": (0, 64),
        "local requests": (7, 0),
        "global atomics": (5, None),
    }
    text = terminal.to_text(compiled())
    assert re.search(r"^bank conflicts +0 +64  l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld\.sum$", text, re.M)
    assert "constant" not in text
    assert layout.COMPILED_HEADING not in terminal.to_text(naive())
    assert layout.COMPILED_HEADING not in terminal.to_text(compiled(), hazards_only=True)


def test_other_files_are_folded_to_a_row_each():
    report = compiled()
    text = terminal.to_text(report)
    (row,) = [line for line in text.splitlines() if "block_reduce.cuh" in line]
    assert row.split() == ["...", "block_reduce.cuh:", "34", "lines", "8.0", "7"]
    assert report.to_dict()["folded"][0]["counters"]["local_load_requests"] == 7
    page = html.fragment(report)
    assert "... block_reduce.cuh: 34 lines" in page
    assert layout.ASSEMBLER_NOTE in page
    # A kernel that is all in other files is shown too.
    assert "block_reduce.cuh" in terminal.to_text(compiled(lines=[]))


def test_cpp_in_a_string_of_a_python_file_is_read_as_cpp():
    lines = [LineReport("k.py", 3, "__global__ void f() {"), LineReport("k.py", 4, "    // a comment")]
    styles = [[style for style, _ in tokens] for tokens in layout.source_tokens(lines)]
    assert "comment" in styles[1]
    assert "comment" not in [style for style, _ in layout.source_tokens(lines[1:])[0]]
