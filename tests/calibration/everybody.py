"""Cells of a group beside everybody: odds ratios, functions of the cells, means over classes.

Shares of the groups are held fixed. The fair range ends at the truth, so that a verdict of either
kind is false, each one-sided at .05.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

import fairstats as fs
from fairstats.results import ClassCounts
from tests.calibration.contrasts import counted, nothing_wrong, shares_of
from tests.calibration.study import Cell, Counts


def cells_of(base_rate: float, tpr: float, fpr: float) -> np.ndarray:
    """Probabilities of tp, fp, fn, tn."""
    return np.array(
        [
            base_rate * tpr,
            (1 - base_rate) * fpr,
            base_rate * (1 - tpr),
            (1 - base_rate) * (1 - fpr),
        ]
    )


def _value(metric: str, cells: np.ndarray) -> float:
    tp, fp, fn, tn = cells
    if metric == "f1":
        return float(2 * tp / (2 * tp + fp + fn))
    if metric == "balanced_accuracy":
        return float((tp / (tp + fn) + tn / (tn + fp)) / 2)
    return float((tp + fp) / cells.sum())


def _edge(contrast: str, value: float, of_all: float) -> tuple[float, dict[str, Any]]:
    """The truth, and settings whose fair range ends there."""
    if contrast == "difference":
        truth = value - of_all
        return truth, {"margin": max(abs(truth), 1e-9)}
    truth = value / of_all
    if contrast == "odds_ratio":
        truth = value / (1 - value) * (1 - of_all) / of_all
    return truth, {"threshold": min(truth, 1 / truth)}


def _beside_all(
    metric: str,
    contrast: str,
    sizes: Sequence[int],
    laws: Sequence[tuple[float, float, float]],
    words: str,
    runs: int = 2_000,
    *,
    weights: float = 0.0,
    remark: str = "",
) -> Cell:
    """The first group against everybody; `weights`: their coefficient of variation, 0 for none;
    `remark`: why nothing is claimed, empty where something is.
    """
    probabilities = [cells_of(*law) for law in laws]
    of_all = np.array(sizes, dtype=float) @ np.array(probabilities)
    truth, options = _edge(contrast, _value(metric, probabilities[0]), _value(metric, of_all))
    group = np.repeat(np.arange(len(sizes)), sizes)
    spread = np.sqrt(np.log1p(weights**2))

    def compared(rng: np.random.Generator) -> Any:
        drawn = [rng.multinomial(size, law) for size, law in zip(sizes, probabilities, strict=True)]
        given: dict[str, Any] = {
            "counts": {place: tuple(map(int, cells)) for place, cells in enumerate(drawn)}
        }
        if weights:
            cell = np.concatenate([np.repeat(np.arange(4), cells) for cells in drawn])
            given = {
                "y_true": np.isin(cell, (0, 2)).astype(int),
                "y_pred": np.isin(cell, (0, 1)).astype(int),
                "sensitive_features": group,
                "sample_weight": rng.lognormal(0, spread, group.size),
            }
        return fs.group_metric(
            metric=metric,
            contrast=contrast,  # type: ignore[arg-type]
            comparisons="overall",
            adjust="none",
            **given,
            **options,
        )["0"]

    def simulate(rng: np.random.Generator, runs: int) -> Counts:
        wrong = nothing_wrong()
        answered = 0
        for _ in range(runs):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                row = compared(rng)
            if row.verdict != "insufficient evidence":
                answered += 1
                counted(row, truth, wrong)
        return shares_of(wrong, answered, runs)

    name = f"group_metric(metric={metric!r}, contrast={contrast!r}, comparisons='overall')"
    claim = "fails" if remark else "conservative"
    return Cell("rates", name, words, simulate, runs, claim, remark)


def _odds_ratios() -> Iterator[Cell]:
    for sizes, rates in (
        ((30, 150, 300), (0.1, 0.2, 0.25)),
        ((12, 60, 40), (0.15, 0.4, 0.5)),
        ((200, 20, 10), (0.7, 0.3, 0.2)),
        ((600, 300, 300), (0.5, 0.15, 0.6)),
    ):
        laws = [(0.5, rate, rate) for rate in rates]
        words = f"{', '.join(map(str, sizes))} rows, rates {', '.join(map(str, rates))}"
        yield _beside_all("selection_rate", "odds_ratio", sizes, laws, words)
    laws = [(0.5, rate, rate) for rate in (0.3, 0.4, 0.5)]
    words = "80, 200, 400 rows, rates .3, .4, .5, lognormal weights of CV .7"
    yield _beside_all("selection_rate", "odds_ratio", (80, 200, 400), laws, words, weights=0.7)


_FAIR = ((0.4, 0.8, 0.2), (0.5, 0.7, 0.3), (0.3, 0.6, 0.2))
_PERFECT = ((0.5, 0.97, 0.03), (0.5, 0.9, 0.1), (0.4, 0.9, 0.05))
_WORST_FIRST = ((0.2, 0.5, 0.1), (0.5, 0.9, 0.1), (0.4, 0.8, 0.1))


def _functions() -> Iterator[Cell]:
    for sizes, laws, words in (
        ((20, 60, 120), _FAIR, "20, 60, 120 rows, tpr .8 to .6"),
        ((200, 20, 15), _FAIR, "200 beside 20 and 15 rows, tpr .8 to .6"),
        ((30, 100, 300), _PERFECT, "30, 100, 300 rows, tpr .97 to .9"),
        ((40, 300, 60), _WORST_FIRST, "40, 300, 60 rows, base rate .2 to .5"),
    ):
        for contrast in ("difference", "ratio"):
            yield _beside_all("f1", contrast, sizes, laws, words)
        yield _beside_all("balanced_accuracy", "ratio", sizes, laws, words)
    words = "200, 400, 300 rows, tpr .8 to .6, lognormal weights of CV .7"
    yield _beside_all("f1", "difference", (200, 400, 300), _FAIR, words, weights=0.7)
    sizes = (60, 200, 300)
    words = "60, 200, 300 rows, tpr .8 to .6, lognormal weights of CV .7"
    remark = "few effective rows: limits are too near on one side; the result says so"
    yield _beside_all("f1", "difference", sizes, _FAIR, words, weights=0.7, remark=remark)


def _table(shares: Sequence[float], right: Sequence[float]) -> np.ndarray:
    """Probabilities of labels and predictions of several classes."""
    table = np.zeros((len(shares), len(shares)))
    for label, (share, correct) in enumerate(zip(shares, right, strict=True)):
        others = np.where(np.arange(len(shares)) == label, 0.0, shares)
        table[label] = share * (1 - correct) * others / others.sum()
        table[label, label] = share * correct
    return table


def _mean_over_classes(
    metric: str, sizes: Sequence[int], laws: Sequence[np.ndarray], words: str
) -> Cell:
    """The mean over three classes of the first group beside that of everybody."""
    n_classes = len(laws[0])

    def value(table: np.ndarray) -> float:
        tp, labels, predictions = np.diag(table), table.sum(axis=1), table.sum(axis=0)
        of_classes = {"tpr": tp / labels, "f1": 2 * tp / (labels + predictions)}[metric]
        return float(of_classes.mean())

    if metric == "tpr":
        # shares of the groups in the cases of each class are held fixed
        cases = np.array([n * law.sum(axis=1) for n, law in zip(sizes, laws, strict=True)])
        recalls = np.array([np.diag(law) / law.sum(axis=1) for law in laws])

        def truth_of(drawn: Sequence[np.ndarray]) -> float:
            held = np.array([table.sum(axis=1) for table in drawn])
            of_all = (held * recalls).sum(axis=0) / held.sum(axis=0)
            return float((recalls[0] - of_all).mean())

        margin = abs(float((recalls[0] - (cases * recalls).sum(axis=0) / cases.sum(axis=0)).mean()))
    else:
        everybody = sum(n * law for n, law in zip(sizes, laws, strict=True))
        margin = abs(value(laws[0]) - value(np.asarray(everybody)))

        def truth_of(drawn: Sequence[np.ndarray]) -> float:
            return value(laws[0]) - value(np.asarray(everybody))

    def simulate(rng: np.random.Generator, runs: int) -> Counts:
        wrong = nothing_wrong()
        answered = 0
        for _ in range(runs):
            drawn = []
            for size, law in zip(sizes, laws, strict=True):
                drawn.append(rng.multinomial(size, law.ravel()).reshape(n_classes, n_classes))
            truth = truth_of(drawn)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                row = fs.group_metric(
                    metric=metric,
                    counts=ClassCounts.from_tables(dict(enumerate(drawn))),
                    classes="macro",
                    comparisons="overall",
                    adjust="none",
                    margin=max(abs(truth), 1e-9) if metric == "tpr" else margin,
                ).comparisons[0]
            if row.verdict != "insufficient evidence":
                answered += 1
                counted(row, truth, wrong)
        return shares_of(wrong, answered, runs)

    name = f"group_metric(metric={metric!r}, classes='macro', comparisons='overall')"
    return Cell("rates", name, words, simulate, runs=2_000, claim="conservative")


def _of_classes() -> Iterator[Cell]:
    laws = [
        _table((0.5, 0.3, 0.2), (0.8, 0.7, 0.6)),
        _table((0.4, 0.3, 0.3), (0.9, 0.8, 0.7)),
        _table((0.6, 0.2, 0.2), (0.7, 0.7, 0.7)),
    ]
    for sizes in ((80, 200, 150), (300, 80, 70)):
        words = f"{', '.join(map(str, sizes))} rows, 3 classes right in .6 to .9"
        for metric in ("tpr", "f1"):
            yield _mean_over_classes(metric, sizes, laws, words)


CELLS = (*_odds_ratios(), *_functions(), *_of_classes())
