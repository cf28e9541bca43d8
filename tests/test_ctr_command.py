"""`gpukit ctr` as it is typed: what it makes, what it says, and what it refuses."""

import importlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gpukit import cli, plugins

torch = pytest.importorskip("torch")
torch.set_num_threads(1)

plugins.load("ctr")
world = importlib.import_module("gpukit_labs.ctr.world")
command = importlib.import_module("gpukit_labs.ctr.command")
stepping = importlib.import_module("gpukit_labs.ctr.training.step")
experiment = importlib.import_module("gpukit_labs.ctr.experiment")
logs, loop, running = (
    importlib.import_module(f"gpukit_labs.ctr.{name}") for name in ("storage.log", "training.loop", "training.running")
)

ROOT = Path(__file__).parents[1]
TINY = world.Options(rows=6000, members=40, ads=12, campaigns=4, devices=3, countries=3, slots=4, shard_rows=2048)
QUICK = ["--epochs", "2", "--batch", "256", "--dim", "4"]


def gpukit(capfd, *words):
    """(exit code, standard output, standard error) of a command."""
    code = cli.main([str(word) for word in words])
    out, err = capfd.readouterr()
    return code, out, err


def refused(capfd, *words):
    """The one sentence of a command that does not do what it was told."""
    code, out, err = gpukit(capfd, *words)
    assert code in (1, 2), out
    assert "Traceback" not in err
    assert "bug in gpukit" not in err
    return err


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ctr") / "log"
    world.generate(folder, TINY)
    return folder


@pytest.fixture(scope="module")
def run(log, tmp_path_factory):
    """A whole run of the command, and what it printed."""
    folder = tmp_path_factory.mktemp("run") / "run"
    with pytest.MonkeyPatch.context() as patch:
        printed = []
        patch.setattr(command.click, "echo", lambda text, **_: printed.append(text))
        assert cli.main(["ctr", "train", str(log), "--out", str(folder), *QUICK]) == 0
    return folder, "\n".join(printed)


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def no_baselines(monkeypatch):
    """A run of the model alone, and without the seconds that exporting takes."""
    monkeypatch.setattr(experiment, "export", lambda network, path: None)


# --- train -----------------------------------------------------------------------------------------------------------


def test_a_run_writes_what_it_says(run):
    folder, printed = run
    said = [Path(line.removeprefix("wrote ")) for line in printed.splitlines() if line.startswith("wrote ")]
    assert said
    assert all(path.is_file() and path.stat().st_size for path in said)
    names = {path.name for path in folder.iterdir()}
    assert names >= {"checkpoint.pt", "model.pt2", "looks.csv", "looks.png", "tensorboard", "results.json"}
    found = json.loads((folder / "results.json").read_text())
    assert list(found["test"]) == [*experiment.BASELINES, experiment.OURS]
    assert found["test"][experiment.OURS]["bayes"]["regret"]["value"] > 0
    assert found["settings"]["batch"] == 256
    assert found["command"].startswith("gpukit ctr train")


def test_evaluate_prints_the_model_beside_bayes(log, run, capfd):
    code, out, _ = gpukit(capfd, "ctr", "evaluate", run[0], log)
    assert code == 0
    assert re.search(r"embeddings \+ MLP +0\.\d{4} 0\.\d{5}", out)
    assert "Bayes (true p)" in out
    assert "Leak test" in out
    found = json.loads((run[0] / "results.json").read_text())["test"][experiment.OURS]
    assert f"{found['auc']:.4f} {found['logloss']:.5f}" in out
    assert max(map(len, out.splitlines())) <= 100


def test_ids_that_training_never_had_are_unknown_to_the_model(log, run):
    opened = logs.open_log(log)
    train, test = opened.split("train"), opened.split("test")
    network, _ = running.best_network(run[0] / "checkpoint.pt")
    ids = np.array(test.ids)
    for column in range(ids.shape[1]):
        ids[~np.isin(ids[:, column], train.ids[:, column]), column] = 0
    changed = np.any(ids != test.ids, axis=1)
    assert 0 < changed.sum() < len(changed)
    np.testing.assert_array_equal(loop.predict(network, test), loop.predict(network, replace(test, ids=ids)))


def test_export_writes_the_network_again(run, capfd, here):
    code, out, _ = gpukit(capfd, "ctr", "export", run[0], here / "again.pt2")
    assert code == 0
    assert f"wrote {here / 'again.pt2'}" in out
    assert (here / "again.pt2").stat().st_size > 1000


def test_without_a_log_one_is_made_where_it_says(capfd, here, monkeypatch, no_baselines):
    monkeypatch.setattr(world, "DEFAULT", TINY)
    code, out, err = gpukit(capfd, "ctr", "train", "--no-baselines", *QUICK)
    assert code == 0, err
    assert f"Making a click log in {here / 'ctr-log'}" in err
    assert (here / "ctr-run" / "checkpoint.pt").is_file()
    assert "embeddings + MLP" in out
    code, _, err = gpukit(capfd, "ctr", "train", "--no-baselines", *QUICK)
    assert code == 0
    assert f"Training on the log in {here / 'ctr-log'}" in err
    assert (here / "ctr-run-2" / "checkpoint.pt").is_file(), "the first run stays"


def interrupt_after(monkeypatch, steps):
    real, done = stepping.Step.__call__, []

    def step(self, batch):
        done.append(1)
        if len(done) == steps:
            signal.raise_signal(signal.SIGINT)
        return real(self, batch)

    monkeypatch.setattr(stepping.Step, "__call__", step)
    return lambda: monkeypatch.setattr(stepping.Step, "__call__", real)


def test_a_run_that_was_interrupted_goes_on_to_the_same_bits(log, run, capfd, here, monkeypatch, no_baselines):
    mend = interrupt_after(monkeypatch, 20)
    code, out, err = gpukit(capfd, "ctr", "train", log, "--no-baselines", *QUICK)
    assert (code, out) == (130, "")
    assert f"stopped after step 20 (epoch 2): --resume goes on from there: gpukit ctr train {log} --resume --out" in err
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    mend()
    code, _, err = gpukit(capfd, "ctr", "train", log, "--no-baselines", "--resume")
    assert code == 0, err
    found = [(folder / "looks.csv").read_text() for folder in (run[0], here / "ctr-run")]
    without_seconds = [[line.split(",")[:2] + line.split(",")[3:] for line in text.splitlines()] for text in found]
    assert without_seconds[0] == without_seconds[1]


def test_a_second_interrupt_ends_the_run_at_once(log, capfd, monkeypatch):
    def step(self, batch):
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        raise AssertionError("the step went on")

    monkeypatch.setattr(stepping.Step, "__call__", step)
    code, _, err = gpukit(capfd, "ctr", "train", log, *QUICK)
    assert (code, err.strip()) == (130, "gpukit: stopped.")
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_interrupt_after_training_says_that_the_model_is_saved(log, capfd, here, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(experiment, "BASELINES", {"constant": interrupted})
    code, _, err = gpukit(capfd, "ctr", "train", log, "--out", "run", *QUICK)
    assert code == 130
    assert f"what was trained is saved, and goes on: gpukit ctr train {log} --resume --out run\n" in err


def test_resume_keeps_the_settings_of_the_run_and_refuses_others(log, run, capfd):
    said = refused(capfd, "ctr", "train", log, "--resume", "--out", run[0], "--batch", "512")
    assert "was trained with batch = 256, and not 512" in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--epochs", "0"], "0 is not in the range x>=1"),
        (["--batch", "many"], "'many' is not a valid integer"),
        (["--batch", "100000"], "a batch of 100,000 rows cannot be made of"),
        (["--device", "tpu"], "no device 'tpu'"),
        (["--resume"], "there is no run to go on with"),
        (["--momentum", "1"], "No such option"),
    ],
)
def test_train_refuses(log, capfd, here, words, said):
    assert said in refused(capfd, "ctr", "train", log, *words)
    assert list(here.iterdir()) == []


def spoiled(log, folder, name, spoil):
    """A copy of a log with one of its columns changed."""
    shutil.copytree(log, folder)
    column = {"ids.i32": np.int32, "dense.f32": np.float32, "label.u1": np.uint8}[name]
    values = np.memmap(folder / name, column, "r+")
    spoil(values)
    values.flush()
    return folder


@pytest.mark.parametrize(
    ("name", "spoil", "said"),
    [
        ("ids.i32", lambda ids: ids.__setitem__(-6, 41), "id 41 of field 'member' at row 5,999 is outside 0 to"),
        ("dense.f32", lambda dense: dense.__setitem__(-1, np.inf), "row 5,999 of"),
        ("label.u1", lambda labels: labels.__setitem__(slice(-1200, None), 0), "are not clicked"),
    ],
)
def test_rows_that_cannot_be_judged_are_refused_before_training(log, capfd, here, name, spoil, said):
    assert said in refused(capfd, "ctr", "train", spoiled(log, here / "log", name, spoil), "--out", "run", *QUICK)
    assert not (here / "run").exists()


def test_a_truth_that_was_cut_short_is_refused_before_training(log, capfd, here):
    shutil.copytree(log, here / "log")
    os.truncate(here / "log" / "truth" / "p.f64", 100)
    assert "it was cut short" in refused(capfd, "ctr", "train", here / "log", "--out", "run", *QUICK)
    assert not (here / "run").exists()


def test_a_log_that_is_not_there(capfd, here):
    assert "there is no folder nowhere: `gpukit ctr generate` makes a log" in refused(capfd, "ctr", "train", "nowhere")
    (here / "empty").mkdir()
    assert "no click log, or one that was not finished" in refused(capfd, "ctr", "train", "empty")
    assert "is a file" in refused(capfd, "ctr", "train", __file__)


def test_a_log_of_another_schema(run, capfd, here):
    gpukit(capfd, "ctr", "generate", here / "other", "--preset", "small", "--rows", "3000")
    said = refused(capfd, "ctr", "evaluate", run[0], here / "other")
    assert "was trained with another schema" in said
    assert "another schema" in refused(capfd, "ctr", "train", here / "other", "--resume", "--out", run[0])


def test_a_run_that_is_none(log, capfd, here):
    for words in (["evaluate", here, log], ["export", here]):
        assert "checkpoint.pt cannot be read" in refused(capfd, "ctr", *words)
    (here / "checkpoint.pt").write_bytes(b"cut short")
    for words in (["evaluate", here, log], ["export", here], ["train", log, "--resume", "--out", here]):
        assert "is no whole checkpoint" in refused(capfd, "ctr", *words)
    assert (here / "checkpoint.pt").read_bytes() == b"cut short"


@pytest.mark.parametrize("words", ["ctr train", "ctr evaluate run", "ctr export run", "bench ctr"])
def test_without_pytorch_a_sentence_says_how_to_install_it(monkeypatch, capfd, here, words):
    monkeypatch.setitem(sys.modules, "torch", None)
    said = refused(capfd, *words.split())
    assert 'training needs PyTorch (torch is missing): python -m pip install -e ".[ctr]"' in said
    assert list(here.iterdir()) == []


# --- generate and read -----------------------------------------------------------------------------------------------


def test_generate_makes_the_log_that_was_asked_for(capfd, here):
    words = ["--preset", "small", "--rows", "2000", "--seed", "7", "--set", "drift=0.5", "--set", "days=4"]
    code, out, _ = gpukit(capfd, "ctr", "generate", "made", *words)
    assert code == 0
    assert "wrote made: 2,000 rows" in out
    options = json.loads((here / "made" / "manifest.json").read_text())["about"]["options"]
    assert (options["rows"], options["seed"], options["drift"], options["days"]) == (2000, 7, 0.5, 4)
    assert "holds a log already" in refused(capfd, "ctr", "generate", "made", *words)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--preset", "smal"], "no preset 'smal'; did you mean small"),
        (["--set", "drfit=1"], "no option 'drfit'"),
        (["--set", "drift"], "'' is no number such as 0.1"),
        (["--set", "days=1.5"], "'1.5' is no number such as 10"),
        (["--rows", "0"], "rows=0 is not a whole number"),
        (["--workers", "0"], "0 is not in the range"),
    ],
)
def test_generate_refuses(capfd, here, words, said):
    assert said in refused(capfd, "ctr", "generate", "made", *words)
    assert not (here / "made").exists()


def criteo(rows):
    lines = []
    for row in range(rows):
        counts = [str((row * k) % 11) for k in range(13)]
        values = [f"{(row * k) % 5:08x}" for k in range(26)]
        lines.append("\t".join([str(int(row % 3 == 0)), *counts, *values]))
    return "\n".join(lines) + "\n"


def test_a_file_of_ones_own_is_read_and_trained_on(capfd, here, no_baselines):
    (here / "train.txt").write_text(criteo(2000))
    code, out, err = gpukit(capfd, "ctr", "read", "criteo", "train.txt", "--minimum", "1")
    assert code == 0, err
    assert "wrote ctr-log-criteo: 2,000 rows" in out
    words = ["--no-baselines", "--epochs", "1", "--batch", "64"]
    code, out, err = gpukit(capfd, "ctr", "train", "ctr-log-criteo", *words)
    assert code == 0, err
    assert "embeddings + MLP" in out
    assert "Bayes" not in out, "nobody knows the truth"


@pytest.mark.parametrize("kind", ["criteo", "avazu"])
def test_a_file_that_cannot_be_read_leaves_no_folder(capfd, here, kind):
    (here / "wrong.txt").write_text("nothing of this kind\n")
    assert "wrong.txt:1" in refused(capfd, "ctr", "read", kind, "wrong.txt")
    assert [path.name for path in here.iterdir()] == ["wrong.txt"]
    (here / "log").mkdir()
    refused(capfd, "ctr", "read", kind, "wrong.txt", "--out", "log")
    assert (here / "log").exists(), "it was there before"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["criteo"], "criteo needs a file; name it: gpukit ctr read criteo FILE"),
        (["movielens", "file"], "movielens reads no file"),
        (["csv", "file"], "'csv' is not one of"),
        (["criteo", "missing.txt"], "missing.txt"),
        (["parquet", "missing.parquet"], "missing.parquet"),
        (["parquet", "missing.parquet", "--minimum", "3"], "parquet has no --minimum"),
        (["movielens", "--limit", "3"], "movielens has no --limit"),
        (["criteo", "missing.txt", "--train", "2"], "training share of 2"),
    ],
)
def test_read_refuses(capfd, here, words, said):
    assert said in refused(capfd, "ctr", "read", *words)
    assert list(here.iterdir()) == []


# --- as a program ----------------------------------------------------------------------------------------------------


def program(*words, cwd):
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        [sys.executable, *words], cwd=cwd, env=environment, capture_output=True, text=True, timeout=120
    )


def test_the_package_is_a_script_too(here):
    done = program(
        ROOT / "labs" / "08_ctr" / "ctr", "generate", "made", "--preset", "small", "--rows", "1000", cwd=here
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "wrote made: 1,000 rows" in done.stdout
    done = program(ROOT / "labs" / "08_ctr" / "ctr", "train", "nowhere", cwd=here)
    assert (done.returncode, done.stdout) == (1, "")
    assert "there is no folder nowhere" in done.stderr


def test_help_imports_nothing_heavy(here):
    check = (
        "import sys; from gpukit import cli; cli.main(['ctr', '--help']);"
        "print(*{'torch', 'numpy', 'pyarrow', 'tensorboard'} & {*sys.modules}, file=sys.stderr)"
    )
    done = program("-c", f"import sys; sys.path.insert(0, {str(ROOT)!r}); {check}", cwd=here)
    assert done.returncode == 0
    assert "generate" in done.stdout
    assert "torch" not in done.stderr
