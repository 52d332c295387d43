"""Do the posteriors of Uncertainty Matters cover?

Three studies in one table, column `study`:

* "hold-out": share of 95% shortest intervals that hold the true metric of the fitted model, which is known
  because the cell probabilities are; should lie in 93–97%.
* "cross-validation": share that hold the true metric of the algorithm at the training size (K−1)/K·n,
  averaged over training sets, for the four strategies: reported, not asked for.
* "pairing": standard deviation of the difference of two models' accuracies over test sets, beside the
  posterior's, paired and independent.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

import fairstats as fs
from fairstats.methods.um.effective import STRATEGIES, strategy_factors
from fairstats.methods.um.evaluation_counts import CELLS
from fairstats.methods.um.hdi import shortest_interval

__all__ = ["run"]

LEVEL = 0.95
#: Cell probabilities (tp, tn, fp, fn) of two groups.
TRUTH = np.array([[0.35, 0.40, 0.12, 0.13], [0.22, 0.45, 0.13, 0.20]])
SIZES = ((60, 40), (250, 150), (2_000, 1_000))
NAMES = ("accuracy", "equal_opportunity", "demographic_parity", "predictive_parity")


def true_values(sizes: tuple[int, int]) -> dict[str, float]:
    """The metrics of the cell probabilities."""
    counts = fs.um_posterior(counts=_named(TRUTH * np.array(sizes)[:, None]), rng=0, reference="a")
    frame = counts.to_frame(list(NAMES))
    return dict(frame.drop_duplicates("metric").set_index("metric")["observed"])


def _named(cells: np.ndarray) -> dict[str, dict[str, float]]:
    return {g: dict(zip(CELLS, map(float, row), strict=True)) for g, row in zip("ab", cells, strict=True)}


def hold_out(repeats: int, rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    """Coverage of the metrics of a fitted model."""
    for sizes in SIZES:
        truth = true_values(sizes)
        for prior in (1.0, 0.5):
            held, width = dict.fromkeys(NAMES, 0), dict.fromkeys(NAMES, 0.0)
            for i in range(repeats):
                cells = np.array([rng.multinomial(n, p) for n, p in zip(sizes, TRUTH, strict=True)])
                posterior = fs.um_posterior(
                    counts=_named(cells), prior=prior, draws=4_000, rng=i, reference="a"
                )
                for name, draws in posterior.metrics(NAMES).items():
                    low, high = shortest_interval(draws, LEVEL)
                    held[name] += low <= truth[name] <= high
                    width[name] += (high - low) / repeats
            for name in NAMES:
                yield {
                    "study": "hold-out", "n": f"{sizes[0]} + {sizes[1]}", "setting": f"prior {prior:g}",
                    "metric": name, "coverage": held[name] / repeats, "width": width[name],
                    "repeats": repeats,
                }  # fmt: skip


def population(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Four normal features, two groups, labels by a logistic model that differs by group."""
    group = (rng.random(n) < 0.3).astype(int)
    X = rng.normal(size=(n, 4))
    score = X[:, 0] + 0.5 * X[:, 1] - 0.6 * group + 0.8 * group * X[:, 2]
    return np.column_stack([X, group]), (rng.random(n) < 1 / (1 + np.exp(-score))).astype(int), group


def cross_validated(repeats: int, rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    """Coverage of the algorithm's metric at the training size."""
    from sklearn.base import clone
    from sklearn.linear_model import LogisticRegression
    from sklearn.tree import DecisionTreeClassifier

    X_new, y_new, g_new = population(100_000, rng)
    names = ("accuracy", "equal_opportunity")
    for title, model in (("LR", LogisticRegression()), ("tree", DecisionTreeClassifier(max_depth=6))):
        true = []
        for _ in range(100):
            X, y, _ = population(360, rng)
            predicted = clone(model).fit(X, y).predict(X_new)
            counts = fs.ConfusionCounts.from_arrays(y_new, predicted, sensitive_features=g_new)
            frame = fs.um_posterior(counts=counts, draws=100, rng=0, reference=0).to_frame(list(names))
            true.append(frame.drop_duplicates("metric").set_index("metric")["observed"])
        truth = pd.concat(true, axis=1).mean(axis=1)
        held = {(strategy, name): 0 for strategy in STRATEGIES for name in names}
        for i in range(repeats):
            X, y, g = population(400, np.random.default_rng([i, 5]))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = fs.um_cross_validate(
                    model, X, y, sensitive_features=g, rng=i, groups=[0, 1], reference=0, progress=False
                )
            folds = found.cross_validation
            if folds is None or folds.variance_ratio is None:
                raise RuntimeError("no variance ratio")
            ratio = np.nan_to_num(folds.variance_ratio.ratio, nan=1.0)
            total = folds.fold_cells.sum(axis=0)
            for strategy in STRATEGIES:
                factor, _ = strategy_factors(strategy, folds.folds, ratio)
                counts = replace(found.counts, cells=total * factor[:, None])
                posterior = replace(found, counts=counts, n_draws=4_000)
                for name, draws in posterior.metrics(names).items():
                    low, high = shortest_interval(draws, LEVEL)
                    held[strategy, name] += low <= truth[name] <= high
        for (strategy, name), count in held.items():
            yield {
                "study": "cross-validation", "n": "400", "setting": f"{title}, {strategy}", "metric": name,
                "coverage": count / repeats, "repeats": repeats,
            }  # fmt: skip


def pairing(repeats: int, rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    """The spread of a difference over test sets, and what either posterior says it is."""
    n, found, said = 2_000, [], []
    for i in range(repeats):
        y, group = rng.integers(0, 2, n), rng.integers(0, 2, n)
        a = np.where(rng.random(n) < 0.8, y, 1 - y)
        b = np.where(rng.random(n) < 0.92, a, 1 - a)
        found.append(float((a == y).mean() - (b == y).mean()))
        posteriors = [
            fs.um_posterior(y, p, sensitive_features=group, groups=[0, 1], draws=1_000, rng=i) for p in (a, b)
        ]
        said.append([fs.um_compare(*posteriors, rng=i, paired=p).delta_sd[0] for p in (True, False)])
    sds = np.mean(said, axis=0)
    rows = (("over test sets", np.std(found)), ("paired", sds[0]), ("independent", sds[1]))
    for setting, sd in rows:
        yield {
            "study": "pairing", "n": str(n), "setting": setting, "metric": "sd of Δ accuracy",
            "width": float(sd), "repeats": repeats,
        }  # fmt: skip


def run(replicates: int = 2_000, seed: int = 1) -> pd.DataFrame:
    """All studies.

    Parameters
    ----------
    replicates : int
        Simulated test sets per case; a quarter of them for the pairing, a tenth for the cross-validation.
    seed : int
    """
    rng = np.random.default_rng(seed)
    rows = [*hold_out(replicates, rng), *pairing(replicates // 4, rng)]
    return pd.DataFrame([*rows, *cross_validated(max(replicates // 10, 2), rng)])
