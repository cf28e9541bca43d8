"""`gpukit list`, `gpukit bench FAMILY` and FAMILY.RUNG as a student meets them: output, files, exit codes."""

import json
import os
import re

import pytest

from gpukit import cli, registry, resources
from gpukit.bench import family as bench
from gpukit.progress import step_progress

SMALL = ("bench", "reduction", "--n", "4096", "--rung", "compact")


def run(capsys, *arguments):
    """(exit code, standard output, standard error)"""
    code = cli.main([*map(str, arguments)])
    printed = capsys.readouterr()
    assert "Traceback" not in printed.err
    return code, printed.out, printed.err


# --- list ------------------------------------------------------------------------------------------------------------


def test_list_shows_every_family_and_rung(capsys):
    code, out, err = run(capsys, "list")
    assert (code, err) == (0, "")
    assert max(map(len, out.splitlines())) <= 100
    for family in registry.families().values():
        assert re.search(rf"^{family.name}: ", out, re.MULTILINE)
        for rung in family.rungs.values():
            assert re.search(rf"^  {re.escape(rung.key)} +{re.escape(rung.language)} ", out, re.MULTILINE), rung.key


def test_list_of_one_family_says_what_changes_and_what_must_come_of_it(capsys):
    code, out, _ = run(capsys, "list", "reduction")
    text = " ".join(out.split())
    assert code == 0
    assert "reduction.compact numba, leaves a partial sum per block" in text
    assert "Versus: naive: " in text and "Expect: " in text and "There to show: race_shared" in text
    assert "reduction.cpp:vectorized CUDA C++" in text
    assert "coalescing" not in out


def test_list_as_json(capsys):
    found = json.loads(run(capsys, "list", "--json")[1])
    assert [family["family"] for family in found] == list(registry.families())
    compact = next(r for f in found for r in f["rungs"] if (f["family"], r["rung"]) == ("reduction", "compact"))
    assert compact["against"] == "naive" and compact["expect"] and compact["place"].endswith("reduction.py:compact")
    (one,) = json.loads(run(capsys, "list", "reduction", "--json")[1])
    assert one["family"] == "reduction"


def test_list_of_a_file_names_its_kernels_and_not_its_helpers(capsys, tmp_path):
    file = tmp_path / "own.py"
    file.write_text(
        "from numba import cuda\n\ndef plain(x):\n    x[0] = 0\n\n"
        "@cuda.jit(device=True)\ndef helper(x):\n    return x\n\n"
        "@cuda.jit\ndef first(x):\n    x[0] = helper(1)\n\n"
        "@cuda.jit('void(float32[:])')\ndef second(x):\n    x[0] = 1\n\n"
        "@cuda.jit(fastmath=True)\ndef third(x):\n    x[0] = 1\n\n"
        "fourth = cuda.jit(plain)\n"
    )
    names = ("plain", "first", "second", "third", "fourth")
    assert run(capsys, "list", file)[1].splitlines() == [f"{file}:{name}" for name in names]
    file.write_text(file.read_text().replace("fourth = cuda.jit(plain)\n", ""))
    assert run(capsys, "list", file)[1].splitlines() == [f"{file}:{name}" for name in ("first", "second", "third")]
    found = json.loads(run(capsys, "list", file, "--json")[1])
    assert found[0] == {"file": str(file), "kernel": "first"}
    kernels = run(capsys, "list", registry.KERNELS / "reduction.py")[1]
    assert "reduction.py:naive" in kernels and ":problem" not in kernels


def test_a_file_without_jit_still_lists_its_functions(capsys, tmp_path):
    file = tmp_path / "plain.py"
    file.write_text("def kernel(x):\n    x[0] = 1\n")
    assert run(capsys, "list", file)[1] == f"{file}:kernel\n"


def test_list_of_nothing_that_is_there(capsys):
    code, out, err = run(capsys, "list", "redution")
    assert (code, out) == (2, "")
    assert "no family, file or folder 'redution'; did you mean reduction" in err


# --- bench -----------------------------------------------------------------------------------------------------------


def test_bench_prints_the_table_and_the_log_and_writes_everything(capsys, tmp_path):
    file = tmp_path / "reduction.json"
    code, out, err = run(capsys, *SMALL, "--out", file, "--seed", "3", "--repeats", "2")
    assert (code, err) == (0, "")
    assert max(map(len, out.splitlines())) <= 100 and not re.search(r" +$", out, re.MULTILINE)
    assert "-> keep (counters only: they moved as expected)" in out
    result = json.loads(file.read_text())
    assert os.listdir(tmp_path) == ["reduction.json"]
    assert [entry["key"] for entry in result["rungs"]] == ["naive", "compact"]
    assert {"what", "format", "machine", "family", "n", "block", "ceilings", "rungs", "sweep"} <= result.keys()
    assert result["machine"]["command"] == (
        "gpukit bench reduction --n 4096 --rung compact --seed 3 --repeats 2 --out reduction.json"
    )
    for entry in result["rungs"]:
        assert {"version", "change", "hypothesis", "result", "time", "speed_up", "bandwidth", "decision", "why"} == (
            entry["log"].keys()
        )
        assert entry["timing"]["n"] == 2 and entry["counters"]["values"]["global_load_requests"] > 0


@pytest.mark.parametrize("size", ["2^12", "2**12", "1<<12", "4_096"])
def test_sizes_are_written_as_people_write_them(size):
    from gpukit.cli.families import Size

    assert Size().convert(size, None, None) == 4096


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["redution"], 1, "there is no family 'redution'; did you mean reduction; choose one of: "),
        (["nothing_like_it"], 1, "choose one of: "),
        (["reduction", "--n", "0"], 2, "leaves nothing to measure"),
        (["reduction", "--n", "-5"], 2, "leaves nothing to measure"),
        (["reduction", "--n", "many"], 2, "'many' is not a size"),
        (["reduction", "--n", "9^999999999"], 2, "is not a size"),
        (["reduction", "--n", "1.5"], 2, "'1.5' is not a size"),
        (["reduction", "--n", "2^60", "--rung", "naive"], 1, "need about"),
        (["reduction", "--block", "0"], 1, "a block of 0 threads cannot be"),
        (["reduction", "--block", "2000"], 1, "1 to 1,024"),
        (["reduction", "--rung", "compat"], 1, "has no rung 'compat'; did you mean compact"),
        (["reduction", "--seed", "-1"], 2, "--seed"),
        (["reduction", "--repeats", "0"], 2, "--repeats"),
        (["reduction", "--no-check"], 2, "No such option"),
        (["reduction", "--machine", "tpu"], 2, "'tpu' is not one of 'cpu', 'gpu'"),
        (["reduction", "--out", "no/such/folder/x.json"], 1, "there is no folder no/such/folder"),
        (["reduction", "--out", "."], 1, "it is a folder"),
    ],
)
def test_wrong_use_is_a_sentence(capsys, arguments, code, words):
    found = run(capsys, "bench", *arguments)
    assert found[:2] == (code, "")
    assert words in " ".join(found[2].split())


def test_a_block_that_no_rung_can_have_is_a_row_that_says_so(capsys):
    code, out, _ = run(capsys, *SMALL, "--block", "100")
    assert code == 0
    assert "Not run here: " in out and "power of two" in " ".join(out.split())


def test_what_cannot_be_written_is_refused_before_measuring(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(bench, "measure", lambda *args, **options: pytest.fail("measured first"))
    (tmp_path / "file").write_text("")
    assert run(capsys, *SMALL, "--out", tmp_path / "file" / "x.json")[0] == 1
    code, _, err = run(capsys, *SMALL, "--plot", tmp_path / "file")
    assert code == 1 and "name a folder" in err


def test_ctrl_c_leaves_the_file_as_it_was(capsys, tmp_path, monkeypatch):
    file = tmp_path / "out.json"
    file.write_text("before")

    def interrupted(*args, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(bench.timing, "benchmark", interrupted)
    code, out, err = run(capsys, *SMALL, "--out", file)
    assert (code, out, err.strip()) == (130, "", "gpukit: stopped.")
    assert file.read_text() == "before" and os.listdir(tmp_path) == ["out.json"]


def test_stopped_while_writing_nothing_is_half_written(tmp_path, monkeypatch):
    from gpukit import files

    file = tmp_path / "out.json"
    file.write_text("before")

    def interrupted(self, target):
        raise KeyboardInterrupt

    monkeypatch.setattr("pathlib.Path.replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        files.write_whole(file, "after")
    assert file.read_text() == "before" and os.listdir(tmp_path) == ["out.json"]


def test_without_a_gpu_the_sentence_says_why(capsys):
    from gpukit import gpu

    why = gpu.missing()
    if not why:
        pytest.skip("there is a GPU")
    code, out, err = run(capsys, "bench", "reduction", "--machine", "gpu")
    assert (code, out) == (1, "")
    assert err == f"gpukit: {why}\n"


def test_a_wrong_rung_makes_the_exit_code_1(capsys, monkeypatch):
    measured = bench.measure

    def with_a_wrong_one(*args, **options):
        result = measured(*args, **options)
        result["rungs"][0].update(status="WRONG", reason="got 1, expected 2")
        return result

    monkeypatch.setattr(bench, "measure", with_a_wrong_one)
    code, out, _ = run(capsys, *SMALL)
    assert code == 1 and "naive is WRONG: got 1, expected 2" in out


def test_published_figures_are_shown_on_request_with_their_gpu(capsys):
    assert "T4" not in run(capsys, *SMALL)[1]
    out = run(capsys, *SMALL, "--published")[1]
    assert "Published by others, on other GPUs" in out and "T4, n = 16,777,216" in " ".join(out.split())
    assert "1.635" in out


def test_figures_are_drawn_into_the_folder(capsys, tmp_path):
    folder = tmp_path / "a" / "figures"
    code, out, err = run(capsys, *SMALL, "--plot", folder)
    assert (code, err) == (0, "")
    names = {"ladder.png", "lanes.png", "sectors_naive.png", "sectors_compact.png"}
    assert set(os.listdir(folder)) == names
    assert {line.rpartition(os.sep)[2] for line in out.splitlines() if line.startswith("wrote ")} == names
    assert all((folder / name).read_bytes().startswith(b"\x89PNG") for name in names)


def test_bench_help_names_the_families(capsys):
    out = run(capsys, "bench", "--help")[1]
    assert re.search(r"^  machine +Time the CPU machine", out, re.MULTILINE)
    assert all(re.search(rf"^  {name} ", out, re.MULTILINE) for name in registry.families())
    out = run(capsys, "bench", "reduction", "--help")[1]
    assert "--rung NAME" in out and "Every rung is checked first" in out


def test_the_recordings_that_come_with_gpukit_can_be_shown():
    """Whatever lies in data/results as bench_*.json is complete."""
    for path in resources.data_files("results/bench_*.json"):
        made = json.loads(path.read_text(encoding="utf-8"))
        assert made["what"] == "gpukit bench" and made["family"] in registry.families(), path.name
        assert made["machine"]["date"] and made["device"] in ("cpu", "gpu"), path.name


# --- FAMILY.RUNG -----------------------------------------------------------------------------------------------------


def test_profile_of_a_rung_brings_its_own_arguments(capsys, tmp_path):
    file = tmp_path / "report.json"
    code, out, err = run(capsys, "profile", "reduction.naive", "--json", file)
    assert (code, err) == (0, "")
    assert "naive  reduction.py" in out and "grid 2,048, block 256" in out
    assert json.loads(file.read_text())["counters"]["global_load_requests"] == 227_328
    out = run(capsys, "profile", "reduction.naive", "--n", "2^12", "--block", "128")[1]
    assert "grid 16, block 128" in out


def test_profile_of_a_rung_at_the_compiled_level(capsys):
    out = run(capsys, "profile", "reduction.naive", "--n", "4096", "--level", "compiled")[1]
    assert "compiled level" in out or "NVRTC" in out


def test_check_of_a_rung_finds_the_race_by_its_exit_code(capsys):
    assert run(capsys, "check", "reduction.last_warp_syncwarp", "--n", "4096")[0] == 0
    code, out, _ = run(capsys, "check", "reduction.last_warp_volatile", "--n", "4096")
    assert code == 1 and "race_shared" in out


def test_every_launch_of_a_rung_is_reported(capsys):
    code, out, _ = run(capsys, "profile", "reduction.finish_second_launch", "--n", "65536")
    assert code == 0 and out.count("Coalesced?") == 2
    listed = json.loads(run(capsys, "profile", "reduction.finish_second_launch", "--n", "65536", "--json", "-")[1])
    assert [report["launches"] for report in listed] == [1, 1]


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["reduction.nave"], 1, "reduction has no rung 'nave'; did you mean naive"),
        (["redution.naive"], 1, "no family 'redution'; did you mean reduction"),
        (["reduction.numpy_sum"], 1, "is no kernel: it runs on the host"),
        (["reduction.naive", "--grid", "4"], 2, "brings its grid and arguments"),
        (["reduction.naive", "-a", "x=1"], 2, "brings its grid and arguments"),
        (["reduction.naive", "--n", "0"], 2, "leaves nothing to measure"),
        (["reduction.naive", "--n", "2^70"], 1, "need about"),
        (["reduction.naive", "--block", "8,8"], 2, "is one number of threads"),
        (["reduction.naive", "--block", "100"], 1, "power of two"),
        (["reduction.cpp:shuffle", "--level", "source"], 2, "has no source level"),
        (["k.py:naive", "--n", "5"], 2, "--n goes with FAMILY.RUNG"),
        (["something.else"], 1, "there is no file something.else"),
    ],
)
def test_mistakes_with_a_rung(capsys, arguments, code, words):
    found = run(capsys, "profile", *arguments)
    assert found[:2] == (code, "")
    assert words in " ".join(found[2].split())


# --- progress --------------------------------------------------------------------------------------------------------


class Stream:
    encoding = "utf-8"

    def __init__(self, is_terminal):
        self.is_terminal = is_terminal
        self.text = ""

    def isatty(self):
        return self.is_terminal

    def write(self, text):
        self.text += text

    def flush(self):
        pass


def test_progress_is_shown_on_a_terminal_alone(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    quiet, terminal = Stream(False), Stream(True)
    for stream in (quiet, terminal):
        with step_progress("bench reduction", stream) as say:
            say("naive: time", 3, 10)
    assert quiet.text == ""
    assert "naive: time" in terminal.text and "bench reduction" in terminal.text
    assert terminal.text.endswith("\x1b[2K")  # it is wiped away


def test_a_recording_is_shown_without_measuring_anything(capsys, tmp_path):
    code, out, err = run(capsys, "bench", "reduction", "--recorded", "--published", "--plot", tmp_path)
    assert (code, err) == (0, "")
    assert out.startswith("Recorded, not measured here: data/results/bench_h200_reduction.json")
    text = " ".join(out.split())
    assert "536,870,912 elements" in text and "Timed on NVIDIA H200, 2026-11-30" in text
    assert "CPU machine" not in text.split("Counters:")[0]  # no time is the CPU machine's
    assert "Published by others, on other GPUs" in text
    assert {"ladder.png", "roofline.png", "sweep.png"} <= set(os.listdir(tmp_path))


def test_a_recording_cannot_be_asked_for_otherwise_than_it_was_made(capsys):
    code, out, err = run(capsys, "bench", "reduction", "--recorded", "--n", "4096")
    assert (code, out) == (2, "") and "a recording is as it was made" in " ".join(err.split())
