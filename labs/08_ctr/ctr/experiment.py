"""From a log to everything that is said of it: baselines and the model trained, judged on the test rows, written down.

RUN/checkpoint.pt      the run, to go on with, and its best weights
RUN/model.pt2          the network for inference
RUN/looks.csv          losses and learning rates at each look; tensorboard/ has the same
RUN/results.json       every number of the evaluation
RUN/looks.png, predictors.png, calibration.png
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gpukit import files
from gpukit.provenance import provenance

from .baselines import BASELINES
from .errors import CtrError
from .export import NAME as MODEL
from .export import export
from .figures import looks, quality
from .metrics import Evaluation, evaluate, logloss
from .model.network import Network
from .schema import difference
from .storage.log import ClickLog, Part
from .training.loop import Look, Say, predict
from .training.running import negative_rate, train
from .training.settings import Settings
from .training.stopping import on_signals
from .training.survey import survey
from .world import recalibrate, truth_of

OURS = "embeddings + MLP"
RESULTS = "results.json"


@dataclass(frozen=True)
class Outcome:
    """Evaluations on the test rows by predictor, in the order in which each must beat the one before; the looks of the
    run, seconds of each stage, and the files that were written."""

    evaluations: dict[str, Evaluation]
    looks: list[Look]
    seconds: dict[str, float]
    files: list[Path]


def run(
    log: ClickLog,
    settings: Settings,
    folder: Path,
    *,
    resume: bool = False,
    baselines: bool = True,
    command: str = "",
    say: Say = lambda what, done, total: None,
) -> Outcome:
    """Trains, judges, and writes to `folder`; `command`: as it was typed, for the record. Raises CtrError as
    `training.running.train` does. The model is trained before the baselines, so that nothing of it is lost when they
    are stopped."""
    seconds, began = {}, time.perf_counter()
    test = log.split("test")
    say("checking the rows", 0, 1)
    survey(test)  # what cannot be judged is said before the hours of training
    truth_of(log, test)
    with on_signals() as stop:
        result = train(log, settings, folder, resume=resume, say=say, stop=stop)
    seconds["training"] = time.perf_counter() - began
    predictions: dict[str, np.ndarray] = {}
    if baselines:
        parts, rate = (log.split("train"), log.split("validation")), negative_rate(log)
        for place, (name, fit) in enumerate(BASELINES.items()):
            say(f"baseline: {name}", place, len(BASELINES))
            began = time.perf_counter()
            predictions[name] = recalibrate(fit(*parts, settings.seed)(test), rate)
            seconds[name] = time.perf_counter() - began
    say("judging", 0, 1)
    predictions[OURS] = predict(result.network, test)
    evaluations = judge(log, test, predictions)
    began = time.perf_counter()
    say("exporting", 0, 1)
    export(result.network, folder / MODEL)
    seconds["export"] = time.perf_counter() - began
    written = [folder / MODEL, *_draw(log, evaluations, result.looks, folder)]
    _write(folder / RESULTS, log, settings, evaluations, result.looks, seconds, provenance(command))
    return Outcome(evaluations, result.looks, seconds, [*written, folder / RESULTS])


def judge(log: ClickLog, part: Part, predictions: dict[str, np.ndarray]) -> dict[str, Evaluation]:
    """Every predictor on one part of a log, against the truth where the log has it."""
    truth = truth_of(log, part)
    about: dict[str, Any] = {"schema": log.schema, "ids": part.ids, "p_true": truth, "train": log.split("train")}
    return {name: evaluate(part.labels, p, **about) for name, p in predictions.items()}


def check_schema(network: Network, log: ClickLog) -> None:
    """Raises CtrError where a network has learned other columns than a log has."""
    if network.schema != log.schema:
        raise CtrError(
            f"the model was trained with another schema than that of {log.folder} "
            f"({difference(network.schema, log.schema)}): give the log it was trained on, or one that was made with "
            "the same vocabulary"
        )


def _draw(log: ClickLog, evaluations: dict[str, Evaluation], seen: list[Look], folder: Path) -> list[Path]:
    validation = log.split("validation")
    truth = truth_of(log, validation)
    paths = [folder / name for name in (looks.NAME, quality.COMPARISON, quality.CALIBRATION)]
    looks.draw(seen, paths[0], None if truth is None else logloss(validation.labels, truth))
    quality.comparison(evaluations, paths[1])
    quality.calibration(OURS, evaluations[OURS], paths[2])
    return paths


def _write(
    path: Path,
    log: ClickLog,
    settings: Settings,
    evaluations: dict[str, Evaluation],
    seen: list[Look],
    seconds: dict[str, float],
    about: dict[str, Any],
) -> None:
    content = {
        "log": {"rows": log.rows, "splits": log.splits, "schema": log.schema.to_dict(), "about": log.about},
        "settings": settings.to_dict(),
        "test": {name: one.to_dict() for name, one in evaluations.items()},
        "looks": seen,
        "seconds": seconds,
        **about,
    }
    files.write_whole(path, json.dumps(content, indent=1) + "\n")
