"""Tables 1 and 12.1 of Barrainkua et al. (2024): four strategies for ρ on German credit, age ≤ 25.

    python -m tests.benchmarks.um_german_credit [--minutes M] [--out FILE] [--table FILE]

Every finished piece is a line of JSON in FILE; a run that was broken off, or that used up its CPU minutes,
goes on where it stopped. One piece is a stratified 10-fold cross-validation of one method ("cv"), or the
variance ratio of one method over the reference from J = 5 half splits, on accuracy ("ratio") or the true
positive rate ("ratio tpr"). Post-processing is Hardt et al.'s equalised odds on hard predictions, with random
flips, as in AIF360. The table has, per method and strategy, the area of the 95% HDR of (accuracy, |equal
opportunity difference|) and %RES: the share of the repeated cross-validations *of the same data* inside it,
averaged over initial cross-validations — the paper's diagnostic, not coverage. A cross-validation's point is
the mean over its folds, as it is usually reported; the mean of |differences| of small groups exceeds the
|difference| of the summed counts, whose %RES stands beside it.
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
from fairstats.methods.um.definitions import parse_metric
from fairstats.methods.um.effective import STRATEGIES

HERE = Path(__file__).parent
FOLDS = 10
METRICS = ("accuracy", "equal_opportunity_absolute")
#: Above the table.
NOTE = """Made by `python -m tests.benchmarks.um_german_credit`; %RES is the share of repeated
cross-validations of the same data (means over folds) inside the 95% HDR of accuracy and |equal opportunity
difference|, which is no coverage. r is the variance ratio over the SVM, median over the initial
cross-validations (J = 5 half splits each). r on accuracy misses what post-processing makes unstable. With r
on the true positive rate the paper's ordering comes out for LR + Hardt and linear SVM + Hardt: the relative
correlation encloses more than 1/K, the relative range more than [0, 1/K]. For SVM + Hardt it does not: 1/K
encloses 99.7% already, and with J = 5 some r fall below 1. The paper's table 12.1 (10,000 repeats) has for
LR, SVM and linear SVM + Hardt: 1/K 90.3, 94.1, 92.9; [0, 1/K] 82.1, 88.7, 86.9; relative 99.0, 99.5, 100.0;
relative range 92.8, 95.8, 99.0."""
#: Metric, per group, that the variance ratio is computed on → kind of the piece.
RATIO_METRICS = {"accuracy": "ratio", "tpr": "ratio tpr"}
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
        return ThresholdOptimizer(estimator=estimator, constraints="equalized_odds", predict_method="predict")

    return plain | {name + HARDT: hardt(estimator) for name, estimator in plain.items()}


def cross_validated(
    method: str, seed: int, correlation: str, data: tuple[Any, ...], metric: str = "accuracy"
) -> dict[str, Any]:
    """Counts of one cross-validation, and its variance ratio where asked for."""
    X, y, group = data
    found = methods()
    result = fs.um_cross_validate(
        found[method], X, y, sensitive_features=group, cv=FOLDS, correlation=correlation, rng=seed,
        reference_estimator=found["SVM"], correlation_metric=metric, progress=False,
        groups=["older", "young"],
    )  # fmt: skip
    folds = result.cross_validation
    if folds is None:
        raise RuntimeError("no folds")
    answer = {"cells": folds.fold_cells.astype(int).tolist()}
    if folds.variance_ratio is not None:
        answer["ratio"] = folds.variance_ratio.ratio.tolist()
    return answer


def pieces(data: tuple[Any, ...]) -> Iterator[tuple[str, Callable[[], dict[str, Any]]]]:
    """Rounds of cross-validations, with a round of variance ratios after every ten."""
    for round_ in range(10_000):
        for method in methods():
            key = json.dumps(["cv", method, round_])
            yield key, lambda m=method, s=round_: cross_validated(m, s, "1/K", data)
        if round_ % 10 == 0:
            for method in methods():
                if method != "SVM":
                    for metric in RATIO_METRICS:
                        key = json.dumps([RATIO_METRICS[metric], method, round_])
                        yield (
                            key,
                            lambda m=method, s=round_, r=metric: cross_validated(m, s, "relative", data, r),
                        )


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
    rows = []
    for method in methods():
        cells = {
            seed: np.array(r["cells"])
            for (kind, m, seed), r in records.items()
            if (kind, m) == ("cv", method)
        }
        everyone = np.stack(list(cells.values()))  # repeat, fold, group, cell
        by_fold = np.stack([_points(folds).mean(axis=0) for folds in everyone])
        summed = _points(everyone.sum(axis=1))
        for metric, kind in RATIO_METRICS.items():
            ratios = {seed: r["ratio"] for (k, m, seed), r in records.items() if (k, m) == (kind, method)}
            if method == "SVM":  # the reference itself
                ratios = {seed: [1.0, 1.0] for seed in cells if seed % 10 == 0}
            for strategy in STRATEGIES:
                relative = strategy.startswith("relative")
                used = {seed: ratio for seed, ratio in ratios.items() if seed in cells}
                if not used or (metric != "accuracy" and not relative):
                    continue
                regions = [_region(cells[seed], ratio, strategy, seed) for seed, ratio in used.items()]
                medians = np.nanmedian(list(used.values()), axis=0)
                rows.append(
                    {
                        "method": method,
                        "strategy": f"{strategy}, r on {metric}" if relative else strategy,
                        "area": float(np.mean([r.area for r in regions])),
                        "%RES": float(100 * np.mean([r.contains(by_fold).mean() for r in regions])),
                        "%RES of sums": float(100 * np.mean([r.contains(summed).mean() for r in regions])),
                        "r older": float(medians[0]) if relative else float("nan"),
                        "r young": float(medians[1]) if relative else float("nan"),
                        "initial CVs": len(regions),
                        "repeated CVs": len(summed),
                    }
                )
    return pd.DataFrame(rows)


def _points(counts: np.ndarray) -> np.ndarray:
    """Accuracy and |equal opportunity difference| of counts (n, G, 4)."""
    return np.column_stack([parse_metric(name).values(counts, 0).reshape(len(counts)) for name in METRICS])


def _region(cells: np.ndarray, ratio: list[float], strategy: str, seed: int) -> Any:
    """The 95% HDR of accuracy and equal opportunity from one cross-validation."""
    from fairstats.methods.um.effective import strategy_factors
    from fairstats.methods.um.evaluation_counts import EvaluationCounts

    factor, _ = strategy_factors(strategy, FOLDS, np.nan_to_num(ratio, nan=1.0))
    total = cells.sum(axis=0)
    counts = EvaluationCounts(("older", "young"), total * factor[:, None], total.sum(axis=1))
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
