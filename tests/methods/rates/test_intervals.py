"""Intervals of the public functions: log against statsmodels, one-sided ends, t quantiles, MOVER.

Witnesses: statsmodels' `confint_proportions_2indep` (1e-10), `scipy.stats` quantiles, closed forms.
"""

from __future__ import annotations

import warnings
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.stats import multivariate_normal, norm, t
from statsmodels.stats.proportion import confint_proportions_2indep, tost_proportions_2indep

import fairstats as fs
from fairstats.ground.errors import DataWarning, InsufficientEvidenceWarning
from fairstats.numerics.rates.score import (
    difference_score_statistic,
    difference_statistic,
    ratio_score_statistic,
    ratio_statistic,
)
from fairstats.results import SelectionCounts
from tests.numerics.rates.score_arrays import difference_score_interval

#: Tables are drawn with small cells, too, of which explicit methods warn.
pytestmark = pytest.mark.filterwarnings("ignore::fairstats.ground.errors.DataWarning")
LEVELS = st.sampled_from([0.8, 0.9, 0.95, 0.99, 0.999])
#: k₀, f₀, k₁, f₁ with no empty cell.
CELLS = st.tuples(*[st.integers(1, 5_000)] * 4)


@given(CELLS, LEVELS)
def test_log_interval_as_statsmodels(cells: tuple[int, int, int, int], level: float) -> None:
    k0, f0, k1, f1 = cells
    wanted = confint_proportions_2indep(
        k0, k0 + f0, k1, k1 + f1, method="log", compare="ratio", alpha=1 - level
    )
    result = fs.disparate_impact(
        counts={"a": (k0, f0), "b": (k1, f1)}, reference="b", method="log", confidence_level=level
    )
    np.testing.assert_allclose(tuple(result.confidence_interval), wanted, rtol=1e-10)
    assert result.comparisons[0].method == "log"


@given(CELLS, LEVELS)
def test_wald_difference_as_statsmodels(cells: tuple[int, int, int, int], level: float) -> None:
    k0, f0, k1, f1 = cells
    wanted = confint_proportions_2indep(
        k0, k0 + f0, k1, k1 + f1, method="wald", compare="diff", alpha=1 - level
    )
    result = fs.demographic_parity_difference(
        counts={"a": (k0, f0), "b": (k1, f1)}, reference="b", method="delta", confidence_level=level
    )
    np.testing.assert_allclose(tuple(result.confidence_interval), wanted, rtol=1e-10, atol=1e-12)


TABLES = st.tuples(
    st.integers(0, 60), st.integers(1, 60), st.integers(0, 60), st.integers(1, 60)
).map(lambda v: (float(min(v[0], v[1])), float(v[1]), float(min(v[2], v[3])), float(v[3])))


@given(
    TABLES,
    st.integers(-400, 400).map(lambda v: v / 100),
    st.integers(-999, 999).map(lambda v: v / 1000),
    st.booleans(),
)
def test_one_table_and_many_tables_have_the_same_statistics(
    table: tuple[float, float, float, float], log_ratio: float, difference: float, correction: bool
) -> None:
    """1e-7, because z has an infinite slope where a constrained rate meets 0 or 1."""
    ratio = float(np.exp(log_ratio))
    wanted = float(ratio_score_statistic(*table, ratio, correction=correction))
    assert ratio_statistic(table, ratio, correction) == pytest.approx(wanted, rel=1e-7, abs=1e-7)
    wanted = float(difference_score_statistic(*table, difference, correction=correction))
    assert difference_statistic(table, difference, correction) == pytest.approx(
        wanted, rel=1e-7, abs=1e-7
    )


# ---------------------------------------------------------------- one-sided alternatives

SMALL = {"a": (15, 85), "b": (28, 92)}
RATIO_METHODS = ("log", "delta", "score", "koopman", "bootstrap")
DIFFERENCE_METHODS = ("score", "delta", "mee", "bootstrap")


def ratio(method: str, **options: Any) -> fs.results.RatioResult:
    return fs.disparate_impact(counts=SMALL, reference="b", method=method, rng=1, **options)


def difference(method: str, **options: Any) -> fs.results.DifferenceResult:
    return fs.demographic_parity_difference(
        counts=SMALL, reference="b", method=method, rng=1, **options
    )


@pytest.mark.parametrize("level", [0.9, 0.95])
@pytest.mark.parametrize(
    ("infer", "method", "least", "most"),
    [(ratio, m, 0.0, np.inf) for m in RATIO_METHODS]
    + [(difference, m, -1.0, 1.0) for m in DIFFERENCE_METHODS],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_one_sided_intervals_end_where_the_two_sided_of_twice_alpha_ends(
    infer: Any, method: str, least: float, most: float, level: float
) -> None:
    # of exact tests a two-sided interval is of the two-sided test, and no pair of one-sided limits
    with mock.patch("fairstats.methods.rates.decision.needs_exact", return_value=False):
        low, high = infer(method, confidence_level=2 * level - 1).confidence_interval
        less = infer(method, alternative="less", confidence_level=level).confidence_interval
        greater = infer(method, alternative="greater", confidence_level=level).confidence_interval
    assert tuple(less) == pytest.approx((least, high), rel=1e-12)
    assert tuple(greater) == pytest.approx((low, most), rel=1e-12)
    assert less.confidence_level == greater.confidence_level == level


@pytest.mark.parametrize(
    ("infer", "method"),
    [(ratio, m) for m in RATIO_METHODS] + [(difference, m) for m in DIFFERENCE_METHODS],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_levels_are_nested(infer: Any, method: str) -> None:
    ends = [
        tuple(infer(method, confidence_level=level).confidence_interval)
        for level in (0.8, 0.9, 0.95, 0.99)
    ]
    lows, highs = zip(*ends, strict=True)
    assert list(lows) == sorted(lows, reverse=True)
    assert list(highs) == sorted(highs)


def test_statistics_against_a_threshold_as_statsmodels() -> None:
    """One-sided log and Wald tests, through statsmodels' TOST, whose two halves they are."""
    tests = difference("delta", margin=0.1).tests().set_index("alternative")
    tost = tost_proportions_2indep(15, 100, 28, 120, -0.1, 0.1, compare="diff", method="wald")
    assert tests.loc["equivalence", "pvalue"] == pytest.approx(tost.pvalue, rel=1e-10)
    log = ratio("log", threshold=0.8).tests().set_index("alternative")
    tost = tost_proportions_2indep(15, 100, 28, 120, 0.8, 1.25, compare="ratio", method="log")
    assert log.loc["equivalence", "pvalue"] == pytest.approx(tost.pvalue, rel=1e-10)


# ---------------------------------------------------------------- weights and clusters: Student's t


def test_weights_take_the_t_quantile(rng: np.random.Generator) -> None:
    """Equal variances and sizes in both groups: Satterthwaite's degrees of freedom are 2(m − 1),
    and a variance is that of survey without its factor u/(u − 1) of all units, divided by 1 − 2/m.
    """
    y = np.tile([1, 0, 1, 0, 0, 0], 20)
    group = np.repeat(["a", "b"], 60)
    weight = np.tile(np.repeat([1.0, 3.0], 6), 10)
    units = (12 * 1 + 12 * 3) ** 2 / (12 * 1 + 12 * 9) * 60 / 24
    for method in ("delta", "log"):
        result = fs.disparate_impact(
            y, sensitive_features=group, sample_weight=weight, method=method, reference="a"
        )
        low, high = result.confidence_interval
        reach = (
            t.ppf(0.975, 2 * (units - 1)) * result.std_error * np.sqrt(119 / 120 / (1 - 2 / units))
        )
        found = (high - low) / 2 if method == "delta" else np.log(high / low) / 2 * result.estimate
        assert found == pytest.approx(reach, rel=1e-10)
    clusters = fs.disparate_impact(
        y, sensitive_features=group, cluster=np.arange(120) // 4, method="delta", reference="a"
    )
    low, high = clusters.confidence_interval
    reach = t.ppf(0.975, 2 * 14) * clusters.std_error * np.sqrt(29 / 30 / (1 - 2 / 15))
    assert (high - low) / 2 == pytest.approx(reach, rel=1e-10)


# ---------------------------------------------------------------- average odds: MOVER of two score
# intervals


@pytest.mark.parametrize("method", ["score", "mee"])
def test_mover_is_its_formula(method: str) -> None:
    """Zou & Donner (2008): Σd/2 ∓ √Σ((d − l)/2)² with the score limits of the differences of TPR
    and FPR.
    """
    counts = {"a": (20, 9, 11, 30), "b": (25, 12, 7, 28)}
    result = fs.average_odds_difference(counts=counts, reference="b", method=method)
    parts = [(20, 31, 25, 32), (9, 39, 12, 40)]
    d = np.array([k0 / n0 - k1 / n1 for k0, n0, k1, n1 in parts])
    ends = np.array(
        [
            difference_score_interval(*p, norm.ppf(0.975), correction=method == "score")
            for p in parts
        ]
    )
    assert result.estimate == pytest.approx(d.mean(), rel=1e-13)
    low = d.mean() - np.sqrt(np.sum(((d - ends[:, 0]) / 2) ** 2))
    high = d.mean() + np.sqrt(np.sum(((ends[:, 1] - d) / 2) ** 2))
    assert tuple(result.confidence_interval) == pytest.approx((low, high), rel=1e-10)


def test_average_odds_delta_is_its_formula() -> None:
    """Var = ¼ Σ over groups of [TPR(1−TPR)/P + FPR(1−FPR)/N].

    The two rates rest on different rows.
    """
    counts = {"a": (20, 9, 11, 30), "b": (25, 12, 7, 28)}
    result = fs.average_odds_difference(counts=counts, reference="b", method="delta")
    variance = sum(k / n * (1 - k / n) / n for k, n in [(20, 31), (25, 32), (9, 39), (12, 40)])
    assert result.std_error == pytest.approx(np.sqrt(variance) / 2, rel=1e-12)
    low, high = result.confidence_interval
    assert (high - low) / 2 == pytest.approx(norm.ppf(0.975) * np.sqrt(variance) / 2, rel=1e-12)


def test_mover_p_value_agrees_with_its_interval() -> None:
    counts = {"a": (20, 19, 11, 20), "b": (25, 7, 7, 33)}
    result = fs.average_odds_difference(counts=counts, reference="b")
    at_the_edge = fs.average_odds_difference(
        counts=counts, reference="b", confidence_level=1 - result.pvalue
    )
    low, high = at_the_edge.confidence_interval
    assert min(abs(low), abs(high)) < 1e-7


# ---------------------------------------------------------------- where a method has to give way


@pytest.mark.parametrize("method", ["log", "delta", "bootstrap"])
@pytest.mark.parametrize(
    "counts",
    [{"a": (0, 20), "b": (7, 13)}, {"a": (20, 0), "b": (7, 13)}, {"a": (7, 13), "b": (20, 0)}],
    ids=str,
)
def test_a_method_that_is_not_defined_gives_no_answer(method: str, counts: dict[str, Any]) -> None:
    """Never another method in silence.

    An explicit one is obeyed, or says that it does not answer.
    """
    with pytest.warns(fs.FairstatsWarning, match=r"(a|b) has no (success|failure).*is not defined"):
        result = fs.disparate_impact(counts=counts, reference="b", method=method, rng=1)
    assert result.verdict == "insufficient evidence"
    assert np.isnan(tuple(result.confidence_interval)).all()
    assert result.comparisons[0].method.startswith(method)
    assert fs.disparate_impact(counts=counts, reference="b").verdict != "insufficient evidence"


@pytest.mark.parametrize("method", ["log", "delta", "bootstrap"])
@pytest.mark.filterwarnings("default::fairstats.ground.errors.DataWarning")
def test_an_explicit_method_is_obeyed_with_a_warning_where_a_cell_is_small(method: str) -> None:
    counts = {"a": (3, 40), "b": (30, 40)}
    with pytest.warns(fs.FairstatsWarning, match=f"the {method} method may be far off"):
        comparison = fs.disparate_impact(
            counts=counts, reference="b", method=method, rng=1
        ).comparisons[0]
    names = {comparison.method, comparison.bounds.method, comparison.confidence_interval.method}
    assert len(names) == 1
    tests = {test.method for test in comparison.tests if "TOST" not in test.method}
    assert tests <= {*names, "exact unconditional"}


@pytest.mark.parametrize(
    ("counts", "options", "note"),
    [
        (
            {"a": (0, 20), "b": (7, 13)},
            {"method": "log"},
            "a has no success: the log method is not defined.",
        ),
        (
            {"a": (20, 0), "b": (7, 13)},
            {"method": "delta"},
            "a has no failure: the delta method is not defined.",
        ),
        (
            {"a": (7, 13), "b": (20, 0)},
            {"method": "bootstrap"},
            "b has no failure: the bootstrap method is not defined.",
        ),
        ({"a": (0, 0), "b": (7, 13)}, {}, "a: no rows, so no selection rate."),
        (
            {"a": (0, 9), "b": (0, 13)},
            {},
            "a and b: selection rate 0 in both; 0/0 can be any ratio.",
        ),
        (
            {"a": (4, 40), "b": (30, 40)},
            {"method": "log"},
            (
                "a against b: fewer than 5 in a cell: the log method may be far off; by default the"
                " score method is used."
            ),
        ),
        ({"a": (5, 40), "b": (30, 40)}, {"method": "log"}, ""),
        (
            {"a": (30, 40), "b": (40, 4)},
            {"method": "delta"},
            (
                "a against b: fewer than 5 in a cell: the delta method may be far off; by default"
                " the score method is used."
            ),
        ),
    ],
)
def test_what_a_method_that_does_not_answer_says(
    counts: Any, options: dict[str, Any], note: str
) -> None:
    """The note of the row, and the warning, by hand.

    Which group lacks what, and for which method.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        (c,) = fs.disparate_impact(counts=counts, reference="b", rng=1, **options).comparisons
    assert c.note == note
    assert [str(w.message) for w in caught] == ([f"disparate_impact: {note}"] if note else [])
    assert (c.verdict == "insufficient evidence") == (bool(note) and "far off" not in note)
    kind = DataWarning if "far off" in note else InsufficientEvidenceWarning
    assert not caught or type(caught[0].message) is kind


@pytest.mark.parametrize(
    ("counts", "metric", "contrast", "note"),
    [
        ({"a": (3, 2, 2, 2), "b": (30, 10, 10, 30)}, "f1", "difference", "a: 9 rows"),
        ({"a": (3, 2, 2, 3), "b": (30, 10, 10, 30)}, "f1", "difference", ""),
        (
            {"a": (1, 8, 1, 9), "b": (30, 10, 10, 30)},
            "average_odds",
            "ratio",
            "a: 2 cases of one rate",
        ),
        ({"a": (2, 8, 1, 9), "b": (30, 10, 10, 30)}, "average_odds", "ratio", ""),
        (
            {"a": (1, 8, 1, 9), "b": (2, 1, 1, 1)},
            "average_odds",
            "ratio",
            "a: 2 cases of one rate and b: 5 rows",
        ),
    ],
)
def test_fewest_rows_and_cases_of_the_delta_method(
    counts: Any, metric: str, contrast: Any, note: str
) -> None:
    """Ten rows of each group, and three cases of each part of a mean, as the docstring says."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (c,) = fs.group_metric(
            metric=metric, contrast=contrast, counts=counts, reference="b"
        ).comparisons
    assert c.note == (f"{note}, too few for an interval by the delta method." if note else "")
    assert (c.verdict == "insufficient evidence") == bool(note)


def test_nothing_selected_in_both_groups() -> None:
    with pytest.warns(
        fs.FairstatsWarning, match="a and b: selection rate 0 in both; 0/0 can be any ratio"
    ):
        result = fs.disparate_impact(counts={"a": (0, 30), "b": (0, 40)}, reference="b")
    assert np.isnan(result.estimate)
    assert tuple(result.confidence_interval) == (0.0, np.inf)
    assert result.verdict == "insufficient evidence"
    difference_result = fs.demographic_parity_difference(
        counts={"a": (0, 30), "b": (0, 40)}, reference="b"
    )
    assert difference_result.estimate == 0


def test_everyone_selected_in_both_groups() -> None:
    with mock.patch("fairstats.methods.rates.decision.needs_exact", return_value=False):
        result = fs.disparate_impact(counts={"a": (30, 0), "b": (30, 0)}, reference="b")
    assert result.estimate == 1
    low, high = result.confidence_interval
    assert low == pytest.approx(29.5 / (29.5 + norm.ppf(0.975) ** 2), rel=1e-10)
    assert low * high == pytest.approx(1, rel=1e-10)
    assert result.pvalue == pytest.approx(1)


def test_one_selected_person_is_never_fair() -> None:
    """A group of one: the verdict stays open whatever the method, in both directions."""
    for method in RATIO_METHODS:
        for counts in ({"a": (1, 0), "b": (300, 300)}, {"a": (0, 1), "b": (300, 300)}):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", fs.FairstatsWarning)
                verdict = fs.disparate_impact(counts=counts, method=method, rng=1).verdict
                assert verdict in ("undecided", "insufficient evidence")


@pytest.mark.parametrize("weight", [1.0, 0.1, 1 / 3, [0.1, 0.3, 0.1, 0.3]], ids=str)
def test_clusters_that_are_all_alike(weight: Any) -> None:
    """Every cluster has the same rows.

    The linearised variance is 0, but for rounding, and says nothing.

    The score takes each cluster as a row: the same share of 10 against itself, by t with 9 degrees
    of freedom."""
    columns = {
        "sensitive_features": list("aabb") * 10,
        "cluster": np.repeat(np.arange(10), 4),
        "sample_weight": np.resize(weight, 40),
        "reference": "b",
    }
    for method in ("log", "delta"):
        with pytest.warns(fs.FairstatsWarning):
            result = fs.disparate_impact([1, 0, 1, 0] * 10, method=method, **columns)
        assert result.estimate == pytest.approx(1)
        assert result.verdict == "insufficient evidence"
    gap = fs.demographic_parity_difference(None, [1, 0, 1, 0] * 10, **columns)
    one_cluster = np.resize(weight, 4)
    share = one_cluster[0] / one_cluster[:2].sum()
    wanted = difference_score_interval(10 * share, 10.0, 10 * share, 10.0, float(t.ppf(0.975, 9)))
    assert tuple(gap.confidence_interval) == pytest.approx([float(end) for end in wanted], rel=1e-6)


def test_simultaneous_ratios_share_the_relative_error_of_their_reference() -> None:
    """The critical value is that of two contrasts of log rates.

    SciPy's bivariate normal gives it.
    """
    counts = SelectionCounts.from_counts({"ref": (10, 90), "a": (90, 10), "b": (90, 10)})
    found = fs.disparate_impact(counts=counts, reference="ref", method="log", simultaneous="max-z")
    # (1 − r)/k
    own = 0.1 / 90
    common = 0.9 / 10
    law = multivariate_normal(cov=[[1, common / (common + own)], [common / (common + own), 1]])

    def outside(c: float) -> float:
        return 1 - float(law.cdf([c, c], lower_limit=[-c, -c])) - 0.05

    critical = brentq(outside, 1.9, 2.3, xtol=1e-4)
    for c in found.comparisons:
        reach = np.log(c.confidence_interval.high / c.estimate) / np.sqrt(own + common)
        assert reach == pytest.approx(critical, abs=0.01), "drawn by 2^17 of the joint law"


@pytest.mark.parametrize(
    ("name", "options", "pairs"),
    [
        ("demographic_parity_difference", {"comparisons": "all"}, [(0, 1), (0, 2), (1, 2)]),
        ("demographic_parity_difference", {"reference": "c"}, [(0, 2), (1, 2)]),
        ("equalized_odds_difference", {"reference": "a"}, [(1, 0), (2, 0)]),
        ("equalized_odds_difference", {"comparisons": "all"}, [(0, 1), (0, 2), (1, 2)]),
    ],
)
@pytest.mark.parametrize("alternative", ["two-sided", "less"])
def test_simultaneous_limits_are_those_of_the_largest_of_all(
    name: str, options: dict[str, Any], pairs: list[tuple[int, int]], alternative: str
) -> None:
    """Reach over standard error is the 95% point of max|z| (one-sided 90%), by 400,000 draws of the
    rates.

    Rates of groups, and TPR and FPR of one group, are independent. The point is known to .005 (its
    density is about .15 there), and the package draws it as well: .02."""
    cells = {"a": (60, 30, 40, 170), "b": (35, 40, 15, 60), "c": (200, 90, 60, 300)}
    shares = {
        "demographic_parity_difference": [((0, 1), (0, 1, 2, 3))],
        "equalized_odds_difference": [((0,), (0, 2)), ((1,), (1, 3))],
    }[name]
    noise = np.random.default_rng(3).standard_normal((400_000, len(shares), 3))
    largest = np.zeros(400_000)
    errors = []
    for e, (success, case) in enumerate(shares):
        k, n = (
            np.array([sum(c[i] for i in own) for c in cells.values()]) for own in (success, case)
        )
        error = np.sqrt(k / n * (1 - k / n) / n)
        for i, j in pairs:
            errors.append(float(np.hypot(error[i], error[j])))
            z = (noise[:, e, i] * error[i] - noise[:, e, j] * error[j]) / errors[-1]
            largest = np.maximum(largest, np.abs(z))
    wanted = np.quantile(largest, 0.95 if alternative == "two-sided" else 0.9)
    found = getattr(fs, name)(
        counts=cells, method="delta", simultaneous="max-z", alternative=alternative, **options
    )
    reaches = [c.confidence_interval.high - c.estimate for c in found.comparisons]
    assert np.array(reaches) / errors == pytest.approx(np.full(len(errors), wanted), abs=0.02)
    plain = getattr(fs, name)(
        counts=cells, method="delta", simultaneous="bonferroni", alternative=alternative, **options
    )
    level = 1 - (0.05 if alternative == "two-sided" else 0.1) / len(errors) / 2
    reaches = [c.confidence_interval.high - c.estimate for c in plain.comparisons]
    assert np.array(reaches) / errors == pytest.approx(
        np.full(len(errors), norm.ppf(level)), rel=1e-9
    )
