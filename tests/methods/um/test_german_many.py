"""The many cross-validations of German credit are those of the slow study.

Witnesses: the committed counts of runs 2 and 3 for the same seeds; fairlearn's ThresholdOptimizer
for the post-processing of a hard prediction.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pytest

pytest.importorskip("fairlearn")

from tests.benchmarks import um_german_credit, um_german_many
from tests.benchmarks.um_german_figures import FROM_FILE
from tests.benchmarks.um_german_many import MACHINES, Study, equalised


@lru_cache(maxsize=1)
def study() -> Study:
    return Study(with_repair=False)


@lru_cache(maxsize=1)
def slow_sums() -> dict[tuple[str, int], np.ndarray]:
    found = {}
    for piece in um_german_credit.read():
        kind, method, seed = piece["key"]
        if kind == "cv" and piece["run"] > 1:
            cells = np.array(piece["folds"]).sum(axis=0) if "folds" in piece else piece["cells"]
            found[method, seed] = np.array(cells)[:, FROM_FILE]
    return found


@pytest.mark.parametrize("method", ["FERM", "LFERM", "SVM + Hardt", "Lin. SVM + Hardt"])
def test_counts_are_those_of_the_slow_study(method: str) -> None:
    fast = study().fold_cells(method, 5).sum(axis=0)
    assert np.array_equal(fast, slow_sums()[method, 5])


def test_cross_validations_of_both_records_are_the_same() -> None:
    """A row on the very edge may fall to the other side: the kernel's last digit differs."""
    lines = um_german_many.read()
    both = [line for line in lines if (line["method"], line["seed"]) in slow_sums()]
    assert len(both) >= 100
    differing = 0
    for line in both:
        slow = slow_sums()[line["method"], line["seed"]].ravel()
        changes = np.abs(np.array(line["cells"]) - slow)
        assert changes.max() <= 1, (line["method"], line["seed"])
        differing += int(changes.any())
    assert differing <= 0.02 * len(both)


def test_the_record_ends_by_the_clock_and_leaves_no_seed_out() -> None:
    by_method: dict[str, list[int]] = {}
    for line in um_german_many.read():
        by_method.setdefault(line["method"], []).append(line["seed"])
    for method, seeds in by_method.items():
        assert method in MACHINES
        assert sorted(seeds) == list(range(len(seeds)))
        assert len(seeds) >= um_german_many.FIRST
    assert set(by_method) == set(MACHINES)


@pytest.mark.parametrize("seed", range(6))
def test_post_processing_is_fairlearns(seed: int) -> None:
    from fairlearn.postprocessing import ThresholdOptimizer
    from sklearn.base import BaseEstimator, ClassifierMixin

    class Given(ClassifierMixin, BaseEstimator):
        """Predicts the only column."""

        def fit(self, X: np.ndarray, y: np.ndarray) -> Given:
            self.classes_ = np.unique(y)
            return self

        def predict(self, X: np.ndarray) -> np.ndarray:
            return np.asarray(X)[:, 0].astype(int)

    rng = np.random.default_rng(seed)
    group = rng.integers(0, 2, 300)
    label = rng.integers(0, 2, 300)
    # in some seeds the prediction of a group is no better than chance
    hard = np.where(rng.random(300) < 0.1 + 0.15 * seed * group, 1 - label, label)
    X = hard[:, None].astype(float)
    found = ThresholdOptimizer(
        estimator=Given(),
        constraints="equalized_odds",
        objective="balanced_accuracy_score",
        predict_method="predict",
    ).fit(X, label, sensitive_features=group)
    cases = np.array([[0.0], [1.0], [0.0], [1.0]])
    expected = found._pmf_predict(cases, sensitive_features=np.array([0, 0, 1, 1]))[:, 1]
    assert equalised(hard, label, group).ravel() == pytest.approx(expected, abs=1e-12)
