"""Standardised differences, R² and selection rates by quantile.

Witnesses: the variance of a standardised difference of normal samples (Hedges and Olkin 1985),
scikit-learn's `r2_score`, derivatives by differences, the nested bootstrap of `group_metric`,
`disparate_impact` at every cut-off, and our own twin in base R.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.metrics import r2_score

import fairstats as fs
from fairstats.ground.errors import DataWarning, InputError, InsufficientEvidenceWarning
from fairstats.methods.rates.numbers.bootstrap import NO_DRAWS, BootstrapContrast
from fairstats.numerics.means.resampling import Draws
from fairstats.numerics.means.smooth import (
    DeterminationDifference,
    StandardisedDifference,
    UnitTable,
    contrast_with_variance,
    sample_totals,
)

SIZES = (300, 120, 100)


def loans(seed: int = 1) -> dict[str, Any]:
    """Amounts of three groups, predictions of them, weights, and pairs of rows of one household."""
    rng = np.random.default_rng(seed)
    group = np.repeat(["m", "f", "d"], SIZES)
    amount = rng.lognormal(3 - 0.2 * (group == "f"), 0.5)
    return {
        "amount": amount,
        "predicted": 0.8 * amount + rng.normal(4, 4, amount.size),
        "group": group,
        "weight": rng.uniform(0.5, 1.5, amount.size),
        "household": np.arange(amount.size) // 2,
    }


def standardised(rows: dict[str, Any], **options: Any) -> Any:
    return fs.means(
        rows["amount"],
        sensitive_features=rows["group"],
        contrast="standardised_difference",
        **{"rng": 1, **options},
    )


def determination(rows: dict[str, Any], **options: Any) -> Any:
    return fs.prediction_errors(
        rows["amount"],
        rows["predicted"],
        sensitive_features=rows["group"],
        metric="r_squared",
        **{"rng": 1, **options},
    )


@pytest.mark.parametrize(
    "contrast",
    [StandardisedDifference(), DeterminationDifference(), DeterminationDifference(single=True)],
)
def test_gradients_are_derivatives(contrast: Any) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(1, 2, (2, 50))
    weight = rng.random((2, 50))
    columns = [weight, weight * x, weight * x**2, weight * rng.normal(size=x.shape) ** 2]
    totals = np.stack(columns[: contrast.n_columns], axis=-1).sum(axis=1)
    gradient = contrast.gradient(totals)
    for place in np.ndindex(*totals.shape):
        step = np.zeros_like(totals)
        step[place] = 1e-5
        slope = (contrast.value(totals + step) - contrast.value(totals - step)) / 2e-5
        assert gradient[place] == pytest.approx(slope, abs=1e-8)


def test_variance_of_a_standardised_difference_of_normal_samples() -> None:
    """1/n₁ + 1/n₀ + d²/8·(1/n₁ + 1/n₀), large samples of equal variance (Hedges, Olkin 1985)."""
    samples = [stats.norm.ppf((np.arange(n) + 0.5) / n) for n in (4_000, 9_000)]
    samples[0] = samples[0] + 1.2
    tables = [UnitTable.of(np.stack([x**0, x, x**2], axis=1)) for x in samples]
    value, variance = contrast_with_variance(
        StandardisedDifference(), sample_totals(tables), np.eye(2)
    )
    assert float(value) == pytest.approx(1.2, rel=1e-3)
    expected = (1 / 4_000 + 1 / 9_000) * (1 + 1.2**2 / 8)
    assert float(variance) == pytest.approx(expected, rel=5e-3)


def test_the_standardised_difference_is_what_it_says() -> None:
    rows = loans()
    result = standardised(rows, reference="m")
    for name in ("f", "d"):
        group = rows["amount"][rows["group"] == name]
        reference = rows["amount"][rows["group"] == "m"]
        deviation = np.sqrt((group.var() + reference.var()) / 2)
        assert result[name].estimate == pytest.approx(
            (group.mean() - reference.mean()) / deviation, rel=1e-12
        )
        assert result[name].rate == pytest.approx(group.mean(), rel=1e-12)
    assert "in standard deviations" in result.sentences()[0]


def test_r_squared_is_scikit_learns_with_weights_too() -> None:
    rows = loans()
    for weight in (None, rows["weight"]):
        result = determination(rows, sample_weight=weight, reference="m")
        for name in ("f", "d"):
            own = rows["group"] == name
            expected = r2_score(
                rows["amount"][own],
                rows["predicted"][own],
                sample_weight=None if weight is None else weight[own],
            )
            assert result[name].rate == pytest.approx(expected, rel=1e-12)


def test_limits_are_those_of_the_nested_bootstrap() -> None:
    """`group_metric` draws a variance for each resample; here it is by the delta method."""
    rows = loans()
    two = rows["group"] != "d"
    small = {name: column[two] for name, column in rows.items()}

    def share_predicted(y_true: Any, y_pred: Any) -> float:
        return float(1 - ((y_true - y_pred) ** 2).sum() / ((y_true - y_true.mean()) ** 2).sum())

    here = determination(small, reference="m", n_resamples=1_999)
    there = fs.group_metric(
        small["amount"],
        small["predicted"],
        metric=share_predicted,
        sensitive_features=small["group"],
        reference="m",
        n_resamples=199,
        n_permutations=0,
        rng=1,
    )
    assert here.estimate == pytest.approx(there.estimate, rel=1e-12)
    width = there.confidence_interval.high - there.confidence_interval.low
    assert here.confidence_interval.low == pytest.approx(
        there.confidence_interval.low, abs=0.25 * width
    )
    assert here.confidence_interval.high == pytest.approx(
        there.confidence_interval.high, abs=0.25 * width
    )


def test_the_standard_error_of_r_squared_is_the_jackknifes() -> None:
    """Leave out one unit after the other, and compute R² of the rows that remain."""
    rows = loans()
    result = determination(rows, cluster=rows["household"], reference="m")
    variance = 0.0
    for name in ("d", "m"):
        own = rows["group"] == name
        households = np.unique(rows["household"][own])
        values = []
        for household in households:
            kept = own & (rows["household"] != household)
            values.append(r2_score(rows["amount"][kept], rows["predicted"][kept]))
        deviations = np.array(values) - np.mean(values)
        variance += (deviations**2).sum() * (households.size - 1) / households.size
    assert result["d"].std_error == pytest.approx(np.sqrt(variance), rel=1e-9)


def test_limits_of_r_squared_are_the_wider_of_both_laws() -> None:
    rng = np.random.default_rng(4)
    draws = Draws(
        value=0.3,
        variance=0.04,
        values=0.3 + 0.2 * rng.exponential(size=999),
        variances=np.full(999, 0.04),
        changes=np.zeros(0),
    )
    limits = {}
    for symmetric in (False, True):
        contrast = BootstrapContrast(
            group=draws,
            reference=NO_DRAWS,
            logarithms=False,
            studentised=True,
            symmetric=symmetric,
        )
        limits[symmetric] = contrast.limits(1.96)
        for end, name in zip(limits[symmetric], ("above", "below"), strict=True):
            # a limit is where the test of its side just rejects
            statistic = getattr(contrast.statistics(end), name)
            assert abs(statistic) == pytest.approx(1.96, abs=0.1)
    # T* is positive, so that 2.5% of it lie above its quantile of .975, and 2.5% of both signs of
    # |T*| below its quantile of .05 turned round; quantiles of 999 values, between two neighbours
    statistics = (draws.values - 0.3) / 0.2
    below_estimate = 0.2 * np.quantile(statistics, 0.975)
    above_estimate = 0.2 * np.quantile(statistics, 0.95)
    assert limits[True][0] == limits[False][0] == pytest.approx(0.3 - below_estimate, abs=0.01)
    assert limits[True][1] == pytest.approx(0.3 + above_estimate, abs=0.01)
    assert limits[True][1] > 0.3 > limits[False][1]


@pytest.mark.parametrize("compare", [standardised, determination])
def test_repeated_rows_in_one_cluster_are_a_row_with_its_weight(compare: Any) -> None:
    rows = loans()
    times = np.arange(rows["amount"].size) % 3 + 1
    repeated = {name: np.repeat(column, times) for name, column in rows.items()}
    by_weight = compare(rows, sample_weight=times)
    by_cluster = compare(repeated, cluster=np.repeat(np.arange(times.size), times))
    for one, other in zip(by_weight, by_cluster, strict=True):
        assert one.estimate == pytest.approx(other.estimate, rel=1e-9)
        assert one.std_error == pytest.approx(other.std_error, rel=1e-9)
        assert tuple(one.confidence_interval) == pytest.approx(
            tuple(other.confidence_interval), rel=1e-9
        )


@pytest.mark.parametrize("compare", [standardised, determination])
def test_units_do_not_matter(compare: Any) -> None:
    rows = loans()
    other = {**rows, "amount": 1e4 * rows["amount"] + 1e6}
    other["predicted"] = 1e4 * rows["predicted"] + 1e6
    for here, there in zip(compare(rows), compare(other), strict=True):
        assert here.estimate == pytest.approx(there.estimate, rel=1e-8)
        assert tuple(here.confidence_interval) == pytest.approx(
            tuple(there.confidence_interval), rel=1e-6
        )


@pytest.mark.parametrize("compare", [standardised, determination])
@pytest.mark.parametrize("comparisons", ["all", "rest", "overall"])
def test_every_comparison(compare: Any, comparisons: str) -> None:
    rows = loans()
    result = compare(rows, comparisons=comparisons)
    assert len(result) == 3
    for row in result:
        low, high = row.confidence_interval
        assert low < row.estimate < high
    if comparisons == "rest":
        own = rows["group"] == "d"
        joined = {**rows, "group": np.where(own, "d", "others")}
        alone = compare(joined, reference="others")
        assert result["d"].estimate == pytest.approx(alone.estimate, rel=1e-9)
        assert result["d"].std_error == pytest.approx(alone.std_error, rel=1e-9)
    assert fs.results.Result.from_dict(result.to_dict()).to_dict() == result.to_dict()


def test_few_rows_and_numbers_that_do_not_vary_are_not_answered() -> None:
    rows = loans()
    few = np.r_[0:300, 300:330]
    with pytest.warns(InsufficientEvidenceWarning):
        result = standardised({name: column[few] for name, column in rows.items()})
    assert "needs 40" in result["f"].note
    constant = {**rows, "amount": np.where(rows["group"] == "f", 7.0, rows["amount"])}
    with pytest.warns(InsufficientEvidenceWarning):
        result = determination(constant)
    assert result["f"].verdict == "insufficient evidence"
    assert "do not vary" in result["f"].note


@pytest.mark.parametrize(
    ("options", "argument"),
    [
        ({"statistic": "median"}, "contrast"),
        ({"n_resamples": 20}, "n_resamples"),
        ({"simultaneous": "max-z"}, "simultaneous"),
        ({"quantiles": [0.5]}, "quantiles"),
    ],
)
def test_what_has_no_meaning_is_refused_by_name(options: Any, argument: str) -> None:
    with pytest.raises(InputError, match=f"`{argument}`"):
        standardised(loans(), **options)


def test_moments_hold_no_rows_to_draw() -> None:
    table = pd.DataFrame({name: loans()[name] for name in ("amount", "predicted", "group")})
    tally = fs.tally(table, outcome="amount", predicted="predicted", sensitive_features="group")
    with pytest.raises(InputError, match="bootstrap"):
        fs.means(counts=tally, contrast="standardised_difference")
    with pytest.raises(InputError, match="bootstrap"):
        fs.prediction_errors(counts=tally, metric="r_squared")
    with pytest.raises(InputError, match="both signs"):
        determination(loans(), contrast="ratio")


def by_quantile(rows: dict[str, Any], **options: Any) -> Any:
    return fs.means(
        rows["amount"],
        sensitive_features=rows["group"],
        statistic="selection_rate",
        **options,
    )


@pytest.mark.parametrize("larger_is_better", [True, False])
def test_a_cut_off_is_an_impact_ratio(larger_is_better: bool) -> None:
    rows = loans()
    result = by_quantile(
        rows, contrast="ratio", quantiles=[0.8, 0.2, 0.5], larger_is_better=larger_is_better
    )
    expected_cutoffs = np.quantile(rows["amount"], [0.2, 0.5, 0.8], method="inverted_cdf")
    assert [row.cutoff for row in result.curve_of("f")] == pytest.approx(expected_cutoffs)
    for cutoff in expected_cutoffs:
        selected = rows["amount"] >= cutoff if larger_is_better else rows["amount"] <= cutoff
        alone = fs.disparate_impact(selected, sensitive_features=rows["group"])
        for group in ("f", "d"):
            assert result[group, cutoff].estimate == pytest.approx(alone[group].estimate)
            assert result[group, cutoff].rate == pytest.approx(alone[group].rate)
            # one family: no verdict and no limit is nearer than of the cut-off alone
            assert result[group, cutoff].pvalue_adjusted >= alone[group].pvalue_adjusted
            assert result[group, cutoff].confidence_interval.low <= (
                alone[group].confidence_interval.low
            )
    assert "0.5 (" in result.notes()[-2]


def test_a_cut_off_against_all_others_is_the_impact_ratio_against_them() -> None:
    rows = loans()
    result = by_quantile(rows, contrast="ratio", quantiles=[0.3, 0.6], comparisons="rest")
    assert len(result) == 6
    for row in result:
        selected = rows["amount"] >= row.cutoff
        alone = fs.disparate_impact(selected, sensitive_features=rows["group"], comparisons="rest")[
            row.group
        ]
        assert row.reference == alone.reference
        assert row.estimate == pytest.approx(alone.estimate, rel=1e-12)
        assert row.std_error == pytest.approx(alone.std_error, rel=1e-12)
        assert tuple(row.value_interval) == pytest.approx(tuple(alone.value_interval))
        others = tuple(alone.value_reference_interval)
        assert tuple(row.value_reference_interval) == pytest.approx(others)
    with pytest.raises(InputError, match="`reference`"):
        by_quantile(rows, comparisons="rest", reference="m")
    for row in by_quantile(rows, comparisons="overall"):
        selected = rows["amount"] >= row.cutoff
        alone = fs.demographic_parity_difference(
            y_pred=selected, sensitive_features=rows["group"], comparisons="overall"
        )[row.group]
        assert row.reference == alone.reference
        assert row.estimate == pytest.approx(alone.estimate, rel=1e-12)
        assert row.std_error == pytest.approx(alone.std_error, rel=1e-12)


def test_one_cut_off_has_the_verdict_of_the_ratio() -> None:
    rows = loans()
    two = {name: column[rows["group"] != "d"] for name, column in rows.items()}
    row = next(iter(by_quantile(two, contrast="ratio", quantiles=[0.5])))
    alone = fs.disparate_impact(two["amount"] >= row.cutoff, sensitive_features=two["group"])
    assert tuple(row.confidence_interval) == pytest.approx(tuple(alone.confidence_interval))
    assert row.verdict == alone.verdict
    assert row.pvalue_verdict == pytest.approx(alone["f"].pvalue_verdict)


def test_a_tally_of_scores_says_the_same() -> None:
    rows = loans()
    score = rows["amount"] / rows["amount"].max()
    label = np.arange(score.size) % 2
    table = pd.DataFrame({"score": score, "group": rows["group"], "label": label})
    tally = fs.tally(table, y_true="label", score="score", sensitive_features="group")
    here = by_quantile({**rows, "amount": score}, contrast="ratio")
    stored = fs.Tally.from_json(tally.to_json(exact=True))
    for counts in (tally, stored):
        there = fs.means(counts=counts, statistic="selection_rate", contrast="ratio")
        pd.testing.assert_frame_equal(here.to_frame(), there.to_frame())
    with pytest.warns(DataWarning, match="merged"):
        merged = fs.Tally.from_json(tally.to_json())
    with pytest.raises(InputError, match="merged"):
        fs.means(counts=merged, statistic="selection_rate")


@pytest.mark.parametrize("quantiles", [[0.0, 0.5], [1.2], "half"])
def test_orders_lie_between_0_and_1(quantiles: Any) -> None:
    with pytest.raises(InputError, match="`quantiles`"):
        by_quantile(loans(), quantiles=quantiles)


@pytest.mark.r
@pytest.mark.parametrize("design", [(), ("sample_weight", "cluster")])
@pytest.mark.parametrize("kind", ["standardised", "r_squared", "quantile"])
def test_r_computes_the_same(kind: str, design: tuple[str, ...]) -> None:
    rows = loans()
    columns = {"sample_weight": rows["weight"], "cluster": rows["household"]}
    options = {name: columns[name] for name in design}
    if kind == "standardised":
        result = standardised(rows, comparisons="overall", margin=0.1, n_resamples=299, **options)
    elif kind == "r_squared":
        result = determination(rows, comparisons="rest", n_resamples=299, **options)
    else:
        result = by_quantile(
            rows, contrast="ratio", larger_is_better=False, quantiles=[0.25, 0.5], **options
        )
    data = {
        "y": rows["amount"],
        "y_true": rows["amount"],
        "y_pred": rows["predicted"],
        "sensitive_features": rows["group"],
        **options,
    }
    found = fs.crosscheck(result, data=data).to_frame()
    assert len(found) > 20
    assert set(found["verdict"]) <= {"agrees", "within Monte Carlo error"}
