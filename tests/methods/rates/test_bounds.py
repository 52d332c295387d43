"""Worst-case bounds; the witness is every completion of the missing values, one by one.

Of the intervals around them: the equation of the paper, scipy's chi square, R
(`tests/report/crosscheck`), simulated coverage."""

from __future__ import annotations

import importlib
import math
import sys
import warnings
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2_contingency, norm

import fairstats as fs
from fairstats.methods.rates.bounds import imbens_manski
from fairstats.methods.rates.limits import Score
from fairstats.results import SelectionCounts

COMPLETE = [
    (1, 1, "a"),
    (0, 0, "a"),
    (1, 0, "a"),
    (0, 1, "b"),
    (1, 1, "b"),
    (0, 0, "b"),
    (1, 0, "b"),
]
ROWS = st.lists(
    st.tuples(
        st.sampled_from([0, 1, None]),
        st.sampled_from([0, 1, None]),
        st.sampled_from(["a", "b", None]),
    ),
    min_size=1,
    max_size=4,
).filter(lambda rows: any(None in row for row in rows))
METRICS: dict[str, Any] = {
    "DI": lambda y, p, **k: fs.disparate_impact(p, **k),
    "CA1": lambda y, p, **k: fs.conditional_accuracy(y, p, label=1, **k),
    "CA0": lambda y, p, **k: fs.conditional_accuracy(y, p, label=0, **k),
    "CU1": lambda y, p, **k: fs.conditional_use_accuracy(y, p, prediction=1, **k),
    "CU0": lambda y, p, **k: fs.conditional_use_accuracy(y, p, prediction=0, **k),
    "DP": fs.demographic_parity_difference,
    "EO": fs.equal_opportunity_difference,
    "PP": fs.predictive_parity_difference,
}


def value(metric: str, rows: list[tuple[int, int, str]]) -> float:
    """The contrast of group a against b, by counting."""
    rate = []
    for g in "ab":
        part = [(y, p) for y, p, h in rows if h == g]
        cases, successes = {
            "DI": (part, [r for r in part if r[1]]),
            "DP": (part, [r for r in part if r[1]]),
            "CA1": ([r for r in part if r[0]], [r for r in part if r == (1, 1)]),
            "EO": ([r for r in part if r[0]], [r for r in part if r == (1, 1)]),
            "CA0": ([r for r in part if not r[0]], [r for r in part if r == (0, 0)]),
            "CU1": ([r for r in part if r[1]], [r for r in part if r == (1, 1)]),
            "PP": ([r for r in part if r[1]], [r for r in part if r == (1, 1)]),
            "CU0": ([r for r in part if not r[1]], [r for r in part if r == (0, 0)]),
        }[metric]
        rate.append(len(successes) / len(cases) if cases else np.nan)
    if metric in {"DP", "EO", "PP"}:
        return rate[0] - rate[1]
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.divide(rate[0], rate[1]))


def completions(rows: list[tuple[Any, Any, Any]]) -> Any:
    options = [
        list(
            product(
                *[
                    (v,) if v is not None else every
                    for v, every in zip(row, ((0, 1), (0, 1), ("a", "b")), strict=True)
                ]
            )
        )
        for row in rows
    ]
    return product(*options)


@pytest.mark.parametrize("metric", METRICS)
@settings(max_examples=40)
@given(rows=ROWS)
def test_the_range_over_all_completions(metric: str, rows: list[tuple[Any, Any, Any]]) -> None:
    whole = [*COMPLETE, *rows]
    y, p, g = (np.array(column, dtype=object) for column in zip(*whole, strict=True))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fs.FairstatsWarning)
        result = METRICS[metric](y, p, sensitive_features=g, missing="drop", reference="b")
    if (
        metric == "DI"
    ):  # the label is not looked at: only rows without prediction or group are left out
        rows = [(0, *row[1:]) for row in rows]
    values = [value(metric, [*COMPLETE, *filled]) for filled in completions(rows)]
    frame = result.worst_case_bounds()
    assert frame.loc[0, "low"] == pytest.approx(np.nanmin(values), abs=1e-12)
    assert frame.loc[0, "high"] == pytest.approx(np.nanmax(values), abs=1e-12)
    assert (
        frame.loc[0, "n_missing"]
        == sum(None in (row[1:] if metric in {"DI"} else row) for row in rows)
        or metric == "DP"
    )


def test_nothing_missing_is_the_estimate() -> None:
    result = fs.disparate_impact(counts={"a": (5, 6), "b": (7, 5), "c": (3, 3)}, reference="b")
    frame = result.worst_case_bounds()
    np.testing.assert_allclose(frame["low"], frame["estimate"], rtol=1e-14)
    np.testing.assert_allclose(frame["high"], frame["estimate"], rtol=1e-14)
    assert (frame["n_missing"] == 0).all()


def test_bounds_contain_the_estimate_with_many_missing_rows(rng: np.random.Generator) -> None:
    n = 20_000
    y, p = (rng.integers(0, 2, n).astype(object) for _ in range(2))
    g = rng.choice(["a", "b", "c"], n).astype(object)
    for column in (y, p, g):
        column[rng.random(n) < 0.1] = None
    for metric in METRICS:
        with pytest.warns(fs.FairstatsWarning, match="rows left out"):
            result = METRICS[metric](y, p, sensitive_features=g, missing="drop", reference="c")
        frame = result.worst_case_bounds()
        assert (frame["low"] < frame["estimate"]).all()
        assert (frame["estimate"] < frame["high"]).all()


def test_average_odds_range_is_the_mean_of_its_parts() -> None:
    y, p, g = (
        np.array(c, dtype=object)
        for c in zip(*COMPLETE, (None, 1, "a"), (1, None, "b"), strict=True)
    )
    options = {"sensitive_features": g, "missing": "drop", "reference": "b"}
    with pytest.warns(fs.FairstatsWarning, match="2 of 9 rows left out"):
        odds = fs.average_odds_difference(y, p, **options).worst_case_bounds()
    with pytest.warns(fs.FairstatsWarning, match="2 of 9 rows left out"):
        both = fs.equalized_odds_difference(y, p, **options).worst_case_bounds()
    assert odds.loc[0, "low"] == pytest.approx(both["low"].mean())
    assert odds.loc[0, "high"] == pytest.approx(both["high"].mean())


def test_refusals() -> None:
    weighted = fs.disparate_impact(
        [1, 0] * 100, sensitive_features=["a"] * 100 + ["b"] * 100, sample_weight=[1, 2, 3, 4] * 50
    )
    with pytest.raises(fs.InputError, match="worst_case_bounds.*with weights"):
        weighted.worst_case_bounds()
    smooth = fs.group_metric(metric="f1", counts={"a": (5, 5, 5, 5), "b": (6, 5, 5, 5)})
    with pytest.raises(fs.InputError, match="worst_case_bounds"):
        smooth.worst_case_bounds()


# ---------------------------------------------------------------- sampling error on top of the
# bounds


@pytest.mark.parametrize(("width", "n"), [(2.5, 100), (3.0, 10_000), (8.0, 50)])
def test_the_critical_value_solves_imbens_and_manski(width: float, n: int) -> None:
    """Equation 6 of the paper, by scipy's normal."""
    c = imbens_manski(width, 0.9, n=n)
    assert norm.cdf(c + width) - norm.cdf(-c) == pytest.approx(0.9, abs=1e-12)


def test_bounds_that_meet_have_the_two_sided_value_and_far_ones_the_one_sided() -> None:
    assert imbens_manski(0.0, 0.95, n=100) == pytest.approx(norm.ppf(0.975), abs=1e-14)
    assert imbens_manski(1.0, 0.95, n=100) == pytest.approx(norm.ppf(0.975), abs=1e-14), (
        "shrunk to 0"
    )
    assert imbens_manski(99.0, 0.95, n=100) == pytest.approx(norm.ppf(0.95), abs=1e-14)


def test_an_interval_that_ends_at_one_is_yates_test() -> None:
    """Witness: scipy's chi square with Yates' correction, times (N − 1)/N as in Miettinen and
    Nurminen.
    """
    table = (12.0, 40.0, 25.0, 50.0)
    cells = [[12, 28], [25, 25]]
    yates = chi2_contingency(cells, correction=True).statistic * 89 / 90
    for contrast, equal in (("ratio", 1.0), ("difference", 0.0)):
        score = Score(math.inf, table, contrast, correction=True, continuity=True)  # type: ignore[arg-type]
        assert score.statistic(equal) ** 2 == pytest.approx(yates, rel=1e-12)
        assert score.limits(math.sqrt(yates))[1] == pytest.approx(equal, abs=1e-9)


def test_the_interval_is_that_of_the_extreme_tables() -> None:
    """Six people of unknown group.

    All selected of them in the other group, all others in this one.
    """
    counts = SelectionCounts.from_counts(
        {"a": (30, 70), "b": (60, 90)}, left_out={(None, 1): 40, (None, 0): 50}
    )
    found = fs.disparate_impact(counts=counts, reference="b").worst_case_bounds().loc[0]
    assert found["low"] == pytest.approx((30 / 150) / (100 / 190))
    assert found["high"] == pytest.approx((70 / 140) / (60 / 200))
    z = norm.ppf(0.95)  # far apart: one-sided each
    low = (30, 150, 100, 190)
    high = (70, 140, 60, 200)
    for (k0, n0, k1, n1), end, side in ((low, found["ci_low"], 1), (high, found["ci_high"], -1)):
        score = Score(math.inf, (k0, n0, k1, n1), "ratio", correction=True, continuity=True)
        assert score.statistic(end) == pytest.approx(side * z, abs=1e-4), (
            "c is z to 1e-5 at these widths"
        )
    assert found["ci_low"] < found["low"] < found["estimate"] < found["high"] < found["ci_high"]


def test_a_mean_of_rates_of_which_one_is_known_has_the_two_sided_value() -> None:
    """Only predictions of label 0 are missing.

    The bounds of the TPR meet, so that c is z at 97.5% for both.

    Against MOVER by hand over the score limits of each part's own extreme table.
    """
    cells = {"a": (30, 40, 20, 110), "b": (60, 30, 40, 170)}
    counts = fs.ConfusionCounts.from_counts(
        cells, left_out={("a", 0, None): 60, ("b", 0, None): 50}
    )
    found = fs.average_odds_difference(counts=counts, reference="b").worst_case_bounds().loc[0]
    z = norm.ppf(0.975)
    tpr = (30, 50, 60, 100)
    for side, fpr, name in ((-1, (40, 210, 80, 250), "low"), (1, (100, 210, 30, 250), "high")):
        parts = [
            Score(math.inf, part, "difference", correction=True, continuity=True)
            for part in (tpr, fpr)
        ]
        differences = [k0 / n0 - k1 / n1 for k0, n0, k1, n1 in (tpr, fpr)]
        reach = [score.limit(z, side) - d for score, d in zip(parts, differences, strict=True)]
        assert found[name] == pytest.approx(sum(differences) / 2)
        assert found[f"ci_{name}"] == pytest.approx(
            sum(differences) / 2 + side * math.hypot(*reach) / 2
        )


def test_counts_with_what_is_known_of_the_left_out_equal_the_rows() -> None:
    rows = (
        [(1, 1, "a")] * 30
        + [(0, 1, "a")] * 12
        + [(1, 0, "b")] * 9
        + [(1, 1, "b")] * 20
        + [(0, 0, "b")] * 7
    )
    rows += [(0, 0, "a")] * 8 + [(1, None, "a")] * 3 + [(None, 1, "b")] * 2 + [(0, 1, None)] * 4
    y, p, g = (np.array(column, dtype=object) for column in zip(*rows, strict=True))
    with pytest.warns(fs.FairstatsWarning, match="9 of 95 rows left out"):
        of_rows = fs.conditional_accuracy(y, p, sensitive_features=g, missing="drop", reference="a")
    counts = fs.ConfusionCounts.from_counts(
        {"a": (30, 12, 0, 8), "b": (20, 0, 9, 7)},
        left_out={("a", 1, None): 3, ("b", None, 1): 2, (None, 0, 1): 4},
    )
    of_counts = fs.conditional_accuracy(counts=counts, reference="a")
    assert of_counts.worst_case_bounds().equals(of_rows.worst_case_bounds())
    assert counts.missing.n_dropped == 9


def test_a_number_alone_says_nothing_but_how_many() -> None:
    counts = SelectionCounts.from_counts({"a": (5, 5), "b": (6, 4)}, left_out=7)
    assert counts.missing.patterns == ((-1, -1, -1, 7),)
    assert counts.missing.n_rows == 27


@pytest.mark.parametrize(
    "left_out",
    [{("a", 1): 3}, {(None,): 3}, {(None, 2): 1}, {(None, 1): -1}, {("c", None): 1}, 1.5, "x"],
)
def test_what_cannot_have_been_left_out(left_out: Any) -> None:
    with pytest.raises(fs.InputError, match="left_out"):
        SelectionCounts.from_counts({"a": (5, 5), "b": (6, 4)}, left_out=left_out)


@pytest.mark.parametrize("cell", [0, 13, 26, 39, 47, 58])
def test_the_interval_holds_the_worst_point_of_the_identified_set(cell: int) -> None:
    """A part of the published study (4,000 runs).

    At 300 runs .945 less three Monte Carlo errors is .905.
    """
    root = str(Path(__file__).resolve().parents[3])
    if root not in sys.path:
        sys.path.append(root)
    study, tools = (
        importlib.import_module(f"tests.calibration.{name}") for name in ("bounds", "study")
    )
    held, answered = tools.run_cell(study.CELLS[cell], runs=300)["measures"]["coverage"]
    assert held / answered >= 0.905
