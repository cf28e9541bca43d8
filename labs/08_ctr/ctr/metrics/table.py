"""Evaluations in a terminal (rich), 80 columns wide. Words carry the meaning, colour only repeats it."""

from __future__ import annotations

from collections.abc import Mapping

from rich.console import Group, RenderableType
from rich.text import Text

from gpukit.report.tables import fitting

from ..errors import CtrError
from .bayes import LEAK, leak_sentence
from .evaluation import Evaluation, Slice

WIDTH = 80


def comparison(found: Mapping[str, Evaluation]) -> RenderableType:
    """Predictors by name, one a row and all of the same rows of the same log, against the true probability."""
    if not found:
        raise CtrError("there is no evaluation to print: evaluate one predictor at least")
    first = next(iter(found.values()))
    headings = ["", "AUC", "logloss", "NE", *(["regret", "learned"] if first.bayes else []), "calib.", "ECE"]
    rows = [[name, *_numbers(one)] for name, one in found.items()]
    styles = ["bold red" if one.bayes and one.bayes.leaks else "" for one in found.values()]
    errors = {
        "AUC": max(one.auc_error for one in found.values()),
        "logloss": max(one.logloss_error for one in found.values()),
    }
    lines = [f"{first.rows:,} rows, click rate {first.click_rate:.4f}."]
    if first.bayes is not None:
        entropy = first.logloss / first.normalized_entropy
        least = first.bayes.empirical_logloss
        bayes = [f"{first.bayes.empirical_auc:.4f}", f"{least:.5f}", f"{least / entropy:.4f}", f"{0:.5f}", "100%"]
        rows.append(["Bayes (true p)", *bayes])
        styles.append("bold")
        errors["regret"] = max(one.bayes.regret.error for one in found.values() if one.bayes)
        lines += [
            f"Expected of Bayes: AUC {first.bayes.auc:.4f}, logloss {first.bayes.logloss:.5f}. Regret: logloss "
            "above Bayes on these rows. Learned: how far from the best constant to Bayes.",
            *_leaks(found),
        ]
    lines[0] += f" Standard errors, at most: {', '.join(f'{name} {error:.5f}' for name, error in errors.items())}."
    return Group(fitting(headings, rows, WIDTH, styles), *(Text(line) for line in lines))


def _numbers(one: Evaluation) -> list[str]:
    cells = [f"{one.auc:.4f}", f"{one.logloss:.5f}", f"{one.normalized_entropy:.4f}"]
    if one.bayes is not None:
        learned = "-" if one.bayes.learned is None else f"{round(100 * one.bayes.learned)}%"
        cells += [f"{one.bayes.regret.value:.5f}", learned]
    return [*cells, f"{one.calibration:.3f}", f"{one.ece:.4f}"]


def _leaks(found: Mapping[str, Evaluation]) -> list[str]:
    leaking = [
        leak_sentence(name, one.auc, one.bayes.expected_auc, one.bayes.leak) for name, one in found.items() if one.bayes
    ]
    return [f"Leak: {sentence}." for sentence in leaking if sentence is not None] or [
        f"Leak test: clean, no AUC is {LEAK:.0f} standard errors above what the true probabilities allow."
    ]


def details(one: Evaluation) -> RenderableType:
    """What else is known of one predictor: AUC by member, warm and cold rows, deciles, campaigns."""
    parts: list[RenderableType] = [Text(_ranked(one))]
    if one.slices:
        headings = ["", "rows", "share", "AUC", "logloss", "regret", "calib."]
        parts += [Text(), fitting(headings, [[name, *_slice(part)] for name, part in one.slices.items()], WIDTH)]
    bins = [
        ["predicted", *(f"{part.predicted:.3f}" for part in one.deciles)],
        ["clicked", *(f"{part.clicked:.3f}" for part in one.deciles)],
    ]
    headings = ["rows by predicted p", *(str(k) for k in range(1, len(one.deciles) + 1))]
    parts += [Text(), fitting(headings, bins, WIDTH), Text(_campaigns(one))]
    return Group(*parts)


def _ranked(one: Evaluation) -> str:
    said = f"PR-AUC {one.pr_auc:.4f} (random scores: {one.click_rate:.4f})."
    if one.gauc is not None and one.gauc.value is not None:
        said += (
            f" AUC by member {one.gauc.value:.4f}, weighted by impressions, without the {one.gauc.skipped:,} of "
            f"{one.gauc.groups:,} members who clicked on all or none ({one.gauc.skipped_share:.1%} of rows)."
        )
    return said


def _slice(part: Slice) -> list[str]:
    return [
        f"{part.rows:,}",
        f"{part.share:.1%}",
        "-" if part.auc is None else f"{part.auc:.4f}",
        f"{part.logloss:.5f}",
        "-" if part.regret is None else f"{part.regret.value:.5f} ± {part.regret.error:.5f}",
        "-" if part.calibration is None else f"{part.calibration:.3f}",
    ]


def _campaigns(one: Evaluation) -> str:
    """How far predicted and clicked differ by campaign, in standard errors: small campaigns have large ratios."""
    said = f"Calibration {one.calibration:.3f} ± {one.calibration_error:.3f}, ECE {one.ece:.4f}."
    ratios = {part.group: part.ratio for part in one.campaigns if part.ratio is not None}
    if len(ratios) > 1:
        low, high = min(ratios, key=ratios.__getitem__), max(ratios, key=ratios.__getitem__)
        far = sum(abs(part.predicted - part.clicked) > 3 * part.error for part in one.campaigns)
        said += (
            f" By campaign from {ratios[low]:.2f} (campaign {low}) to {ratios[high]:.2f} (campaign {high}); {far} of "
            f"{len(one.campaigns)} are off by more than 3 standard errors."
        )
    return said
