"""The study on German credit.

The page is what the record says, and its methods do what they say.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

pytest.importorskip("fairlearn")

from tests.benchmarks.um_german_credit import read
from tests.benchmarks.um_german_figures import FIGURES, PAIRS, Record, compared, fast, regions
from tests.benchmarks.um_german_methods import Ferm, Reweighed, columns
from tests.benchmarks.um_german_page import PAGE, page


@pytest.fixture(scope="module")
def record() -> Record:
    return Record(read())


@pytest.fixture(scope="module")
def figures() -> dict[str, Any]:
    return dict(json.loads(FIGURES.read_text(encoding="utf-8")))


def same(one: Any, other: Any) -> bool:
    """Equal, numbers to the digits of a file."""
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[k], other[k]) for k in one)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    return (
        one == other
        if isinstance(one, str) or one is None
        else one == pytest.approx(other, rel=1e-9, nan_ok=True)
    )


def test_page_is_its_figures() -> None:
    text = page()
    assert PAGE.read_text(encoding="utf-8") == text
    assert "{{" not in text


def test_truths_and_ratios_are_those_of_the_record(record: Record, figures: dict[str, Any]) -> None:
    assert same(json.loads(json.dumps(fast(record))), figures["fast"])


def test_a_drawn_probability_is_that_of_the_record(record: Record, figures: dict[str, Any]) -> None:
    """One of each target; all are recomputed where the figures are made."""
    found = figures["drawn"]["comparison|c"]["value"]
    k = found["cases"]["most probable"]
    for target in ("predictive", "parameter"):
        result = compared(record, PAIRS["c"], k, k, "ρ_rel↑", target, hdr=0.95)
        shares = {e.event: e.probability for e in result.events}
        assert shares == pytest.approx(
            found["found"]["most probable"][f"ρ_rel↑|{target}"], abs=1e-4
        )


@pytest.mark.slow
@pytest.mark.parametrize("method", ["LR", "LR + Hardt", "SVM"])
def test_regions_are_those_of_the_record(
    method: str, record: Record, figures: dict[str, Any]
) -> None:
    """The others, and the comparisons, are recomputed where the figures are made."""
    assert same(
        json.loads(json.dumps(regions(record, method))),
        figures["drawn"][f"regions|{method}"]["value"],
    )


def test_every_run_is_in_the_record(record: Record) -> None:
    """582 and 3,832 pieces were committed with runs 1 and 2."""
    runs = [piece["run"] for piece in record.pieces]
    assert (runs.count(1), runs.count(2)) == (582, 3_832)
    assert len({json.dumps([p["run"], p["key"]]) for p in record.pieces}) == len(runs)


def test_run_3_repeats_run_2(record: Record) -> None:
    """Linear SVM + Hardt was computed by both: the same counts."""
    own = {
        (p["run"], p["key"][2]): p
        for p in record.pieces
        if p["key"][:2] == ["cv", "Lin. SVM + Hardt"]
    }
    both = [k for run, k in own if run == 3 and (2, k) in own]
    assert len(both) >= 10
    for k in both:
        assert np.array_equal(np.sum(own[3, k]["folds"], axis=0), own[2, k]["cells"])


def test_ferm_is_fair_where_it_trained_and_reweighing_independent() -> None:
    """Witness: the constraint of Donini et al. with ε = 0, and weighted rates of Kamiran and
    Calders.
    """
    X, y, group = columns()
    for kernel in ("rbf", "linear"):
        scores = Ferm(kernel, C=0.1).fit(X, y, sensitive_features=group).decision_function(X)
        means = [scores[(group == g) & (y == 1)].mean() for g in ("older", "young")]
        assert means[0] == pytest.approx(means[1], abs=1e-9)  # rounding of sums over 1,000 rows

    class Weights:
        def get_params(self, deep: bool = True) -> dict[str, Any]:
            return {}

        def fit(self, X: Any, y: Any, sample_weight: Any) -> Any:
            self.seen = sample_weight
            return self

    weight = Reweighed(Weights()).fit(X, y, sensitive_features=group).estimator_.seen
    rates = [np.average(y[group == g], weights=weight[group == g]) for g in ("older", "young")]
    assert rates == pytest.approx([y.mean()] * 2, rel=1e-12)
