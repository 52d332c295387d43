"""Tables 1 and 12.1 of Barrainkua et al. (2024): four strategies for ρ on German credit, age ≤ 25.

    python -m tests.benchmarks.um_german_credit [--minutes M] [--out FILE] [--table FILE]

Every finished piece is a line of JSON in FILE; a run that was broken off, or that used up its CPU minutes,
goes on where it stopped. One piece is a stratified 10-fold cross-validation of one method, of all rows ("cv")
or of the two halves of a split ("halves"; the same halves for every method). The table has, per method and
strategy, the area of the 95% HDR of (accuracy, |equal opportunity difference|) and %RES: the share of the
repeated cross-validations *of the same data* inside it, averaged over initial cross-validations — the paper's
diagnostic, not coverage. A cross-validation's point is the mean over its folds, as it is usually reported;
the mean of |differences| of small groups exceeds the |difference| of the summed counts, whose %RES stands
beside it.

What was fixed before the run:

* Post-processing is Hardt et al.'s equalised odds on hard predictions with random flips. Its objective is the
  sum of FPR + FNR over the groups, that is balanced accuracy, as in AIF360's implementation, which the paper
  used; fairlearn's default is accuracy.
* r is the ratio of Var_over (equation 20) over the RBF SVM with all half splits of the run, per group the
  larger of r on accuracy and r on the true positive rate: the region is one of both metrics, and must be as
  wide as the less stable of them asks for. Each alone stands beside it, and so does the larger with the
  paper's J = 5 half splits.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import fairstats as fs
from fairstats.methods.um.metrics import parse_metric

HERE = Path(__file__).parent
FOLDS = 10
#: The record has the cells in the order tp, tn, fp, fn.
IN_FILE, FROM_FILE = [0, 3, 1, 2], [0, 2, 3, 1]
METRICS = ("accuracy", "equal_opportunity_absolute")
#: Above the table.
NOTE = """Made by `python -m tests.benchmarks.um_german_credit`; %RES is the share of repeated cross-
validations of the same data (means over folds) inside the 95% HDR of accuracy and |equal
opportunity difference|, which is no coverage. "relative" takes, per group, the larger variance
ratio of accuracy and true positive rate over the SVM, from all half splits; the rows below it
vary that. The ordering of the paper's table 1 comes out for every post-processed method: the
relative correlation encloses more than 1/K (LR 84.0 and 99.9%, SVM 99.86 and 99.92%, linear SVM
87.0 and 99.9%). For the SVM the margin is small, because 1/K encloses nearly everything
already, and with J = 5 or one metric alone it is gone. The paper's table 12.1 (10,000 repeats)
has for LR, SVM and linear SVM + Hardt: 1/K 90.3, 94.1, 92.9; [0, 1/K] 82.1, 88.7, 86.9;
relative 99.0, 99.5, 100.0; relative range 92.8, 95.8, 99.0."""
#: Metrics that the variance ratio is computed on.
RATIO_METRICS = ("accuracy", "tpr")
#: Half splits of the whole run, and of one ratio as in the paper.
SPLITS, FEW = 100, 5
#: Initial cross-validations, each with a region.
INITIAL = 40
#: Methods whose predictions are post-processed group by group (Hardt et al. 2016), and so unstable.
HARDT = " + Hardt"


def columns() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features (one-hot, standardised), good credit, and age group."""
    from sklearn.preprocessing import StandardScaler

    frame, _ = fs.datasets.load_german_credit()
    label = (frame["credit"] == "good").to_numpy().astype(int)
    group = np.where(frame["age"].to_numpy() <= 25, "young", "older")
    X = pd.get_dummies(frame.drop(columns=["credit"])).to_numpy(dtype=float)
    return StandardScaler().fit_transform(X), label, group


def methods() -> dict[str, Any]:
    from fairlearn.postprocessing import ThresholdOptimizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import SVC

    plain = {
        "LR": LogisticRegression(max_iter=1000),
        "SVM": SVC(kernel="rbf", C=1.0),
        "Lin. SVM": SVC(kernel="linear", C=0.1),
    }

    def hardt(estimator: Any) -> Any:
        return ThresholdOptimizer(
            estimator=estimator,
            constraints="equalized_odds",
            objective="balanced_accuracy_score",
            predict_method="predict",
        )

    return plain | {name + HARDT: hardt(estimator) for name, estimator in plain.items()}


def fold_cells(method: str, seed: int, data: tuple[Any, ...], rows: Any = slice(None)) -> np.ndarray:
    """Counts (fold, group, cell) of one cross-validation of these rows."""
    X, y, group = (part[rows] for part in data)
    result = fs.um_cross_validate(
        methods()[method], X, y, sensitive_features=group, cv=FOLDS, correlation="1/K", rng=seed,
        progress=False, groups=["older", "young"],
    )  # fmt: skip
    folds = result.cross_validation
    if folds is None:
        raise RuntimeError("no folds")
    return folds.fold_cells[..., IN_FILE]


def repeated(method: str, seed: int, data: tuple[Any, ...]) -> dict[str, Any]:
    """Summed counts (group, cell) of one cross-validation, and its point: the mean over the folds."""
    folds = fold_cells(method, seed, data)
    return {"cells": folds.sum(axis=0).tolist(), "point": _points(folds).mean(axis=0).round(6).tolist()}


def halves(method: str, seed: int, data: tuple[Any, ...]) -> dict[str, Any]:
    """Counts (half, group, cell) of the cross-validations of both halves of a split."""
    from sklearn.model_selection import train_test_split

    strata = np.char.add(data[2], data[1].astype(str))
    split = train_test_split(np.arange(len(strata)), test_size=0.5, stratify=strata, random_state=seed)
    return {"cells": [fold_cells(method, seed, data, rows).sum(axis=0).tolist() for rows in split]}


def pieces(data: tuple[Any, ...]) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Rounds of cross-validations, each with a half split while there are some to do."""
    for round_ in range(10_000):
        for method in methods():
            yield json.dumps(["cv", method, round_]), lambda m=method, s=round_: repeated(m, s, data)
            if round_ < SPLITS:
                yield json.dumps(["halves", method, round_]), lambda m=method, s=round_: halves(m, s, data)


def run(out: Path, minutes: float) -> None:
    """Compute pieces until the CPU minutes are used up."""
    done = {json.loads(line)["key"] for line in out.read_text().splitlines()} if out.exists() else set()
    data = columns()
    with out.open("a") as file:
        for key, piece in pieces(data):
            if key in done:
                continue
            if time.process_time() > 60 * minutes:
                return
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # clips and fairlearn's deprecations
                answer = piece()
            file.write(json.dumps({"key": key, **answer}) + "\n")
            file.flush()


def tabulate(out: Path) -> pd.DataFrame:
    """Area and %RES by method and strategy."""
    records = {tuple(json.loads(r["key"])): r for r in map(json.loads, out.read_text().splitlines())}

    def collected(kind: str, method: str, what: str) -> np.ndarray:
        return np.array([r[what] for (k, m, _), r in records.items() if (k, m) == (kind, method)])

    halves_of = {method: collected("halves", method, "cells") for method in methods()}
    splits = min(map(len, halves_of.values()))
    rows = []
    for method in methods():
        totals = collected("cv", method, "cells")
        by_fold, summed = collected("cv", method, "point"), _points(totals)
        squares = {
            m: _squares(halves_of[method][:splits], halves_of["SVM"][:splits], m) for m in RATIO_METRICS
        }
        for name, strategy, ratios in _strategies(squares):
            initial = range(min(INITIAL, len(totals)))
            regions = [_region(totals[i], ratios[i % len(ratios)], strategy, i) for i in initial]
            medians = np.median(ratios, axis=0) if strategy.startswith("relative") else (np.nan, np.nan)
            rows.append(
                {
                    "method": method,
                    "strategy": name,
                    "area": float(np.mean([r.area for r in regions])),
                    "%RES": float(100 * np.mean([r.contains(by_fold).mean() for r in regions])),
                    "%RES of sums": float(100 * np.mean([r.contains(summed).mean() for r in regions])),
                    "r older": float(medians[0]),
                    "r young": float(medians[1]),
                    "half splits": splits,
                    "initial CVs": len(regions),
                    "repeated CVs": len(summed),
                }
            )
    return pd.DataFrame(rows)


def _squares(method: np.ndarray, reference: np.ndarray, metric: str) -> np.ndarray:
    """(θ_j − θ_j^c)² of the reference and of the method, shape (2, J, G)."""
    rate = parse_metric(metric)
    values = [
        rate.by_group(cells.reshape(-1, 2, 4)[..., FROM_FILE]).reshape(-1, 2, 2)
        for cells in (reference, method)
    ]
    return np.stack([(v[:, 0] - v[:, 1]) ** 2 for v in values])


def _strategies(squares: dict[str, np.ndarray]) -> Iterator[tuple[str, str, np.ndarray]]:
    """Name, strategy, and the ratios (n, G) that the initial cross-validations use in turn."""

    def ratios(metric: str, few: int | None = None) -> np.ndarray:
        given = squares[metric]
        blocks = np.array_split(given, max(1, given.shape[1] // few), axis=1) if few else [given]
        return np.array([block[1].sum(axis=0) / block[0].sum(axis=0) for block in blocks])

    one = np.ones((1, 2))
    for strategy in ("1/K", "uniform"):
        yield strategy, strategy, one
    for strategy in ("relative", "relative-uniform"):
        yield strategy, strategy, np.maximum(*(ratios(m) for m in RATIO_METRICS))
        yield f"{strategy}, J = {FEW}", strategy, np.maximum(*(ratios(m, FEW) for m in RATIO_METRICS))
        for metric in RATIO_METRICS:
            yield f"{strategy}, r on {metric}", strategy, ratios(metric)


def _points(counts: np.ndarray) -> np.ndarray:
    """Accuracy and |equal opportunity difference| of counts (n, G, 4)."""
    cells = counts[..., FROM_FILE]
    return np.column_stack([parse_metric(name).values(cells, 0).reshape(len(cells)) for name in METRICS])


def _region(cells: np.ndarray, ratio: np.ndarray, strategy: str, seed: int) -> Any:
    """The 95% HDR of accuracy and equal opportunity from one cross-validation."""
    from fairstats.methods.um.effective import strategy_factors

    factor, _ = strategy_factors(strategy, FOLDS, ratio)
    rows = cells[:, FROM_FILE]
    counts = fs.ConfusionCounts(("older", "young"), rows * factor[:, None], rows)
    posterior = fs.um_posterior(counts=counts, rng=seed)
    return posterior.hdr(METRICS, 0.95, backend="scipy", support=[(0, 1), (0, 1)])


def main() -> None:
    """Parse the command line, compute, write the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.um_german_credit", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0, help="CPU minutes")
    parser.add_argument("--out", type=Path, default=HERE / "um_german_credit.jsonl")
    parser.add_argument("--table", type=Path, default=HERE / "um_german_credit.md")
    options = parser.parse_args()
    run(options.out, options.minutes)
    frame = tabulate(options.out)
    lines = [list(frame.columns), ["---"] * frame.shape[1]]
    lines += [[_text(value) for value in row] for row in frame.to_numpy().tolist()]
    text = "\n".join("| " + " | ".join(line) + " |" for line in lines)
    options.table.write_text(f"# German credit, age ≤ 25, 10-fold cross-validation\n\n{NOTE}\n\n{text}\n")


def _text(value: Any) -> str:
    if isinstance(value, float):
        return "" if np.isnan(value) else f"{value:.4g}"
    return str(value)


if __name__ == "__main__":
    main()
