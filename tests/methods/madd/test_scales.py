"""MADD of numeric outcomes and of several classes.

Witnesses: shares by pandas; invariance to monotone maps and to the names of classes; SciPy's
`rankdata`; the hypergeometric mean of alike groups by `fs_madd_null_mean`'s formula.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import hypergeom, rankdata

import fairstats as fs
from fairstats.ground.errors import InputError
from fairstats.methods.madd.scales import rank_outcomes

GROUP = np.repeat(["a", "b"], [400, 700])


def outcome() -> np.ndarray:
    rng = np.random.default_rng(5)
    return np.concatenate([rng.lognormal(0, 1, 400), rng.lognormal(0.4, 1, 700)])


def classes() -> np.ndarray:
    rng = np.random.default_rng(6)
    first = rng.choice(list("ABCDE"), 400, p=[0.1, 0.2, 0.3, 0.2, 0.2])
    second = rng.choice(list("ABCDE"), 700, p=[0.2, 0.2, 0.2, 0.2, 0.2])
    return np.concatenate([first, second])


def judged(result: fs.results.MaddResult) -> tuple[float, ...]:
    low, high = result.confidence_interval
    return (result.estimate, result.null_mean, low, high, result.pvalue)


def test_a_monotone_map_changes_nothing_that_is_judged() -> None:
    """Scores in [0, 1] as they are, by ranks, and mapped to a wide range."""
    score = rank_outcomes(outcome()) ** 3
    plain = fs.madd(score, sensitive_features=GROUP, rng=1)
    for values in (score, outcome(), -1 / outcome(), 1e6 * outcome() - 5):
        found = fs.madd(values, sensitive_features=GROUP, scale="rank", rng=1)
        assert judged(found) == pytest.approx(judged(plain), rel=1e-12)
        assert found.verdict == plain.verdict


def test_ranks_are_mid_ranks_of_the_rows_that_are_there() -> None:
    values = np.array([3.0, 1.0, np.nan, 1.0, 7.0])
    expected = (rankdata([3.0, 1.0, 1.0, 7.0]) - 0.5) / 4
    np.testing.assert_allclose(rank_outcomes(values)[[0, 1, 3, 4]], expected)
    assert np.isnan(rank_outcomes(values)[2])


@pytest.mark.filterwarnings("ignore::fairstats.ground.errors.MissingValuesWarning")
def test_missing_outcomes_are_dropped_as_scores_are() -> None:
    values = outcome()
    values[::17] = np.nan
    kept = np.isfinite(values)
    with_gaps = fs.madd(values, sensitive_features=GROUP, scale="rank", missing="drop", rng=1)
    without = fs.madd(values[kept], sensitive_features=GROUP[kept], scale="rank", rng=1)
    assert judged(with_gaps) == pytest.approx(judged(without), rel=1e-12)


def test_of_classes_it_is_the_sum_of_differences_of_shares() -> None:
    predicted = classes()
    shares = pd.crosstab(GROUP, predicted, normalize="index")
    result = fs.madd(predicted, sensitive_features=GROUP, scale="class", rng=1)
    assert result.estimate == pytest.approx((shares.loc["a"] - shares.loc["b"]).abs().sum())
    assert result.headline == pytest.approx(result.estimate)
    assert len(result.contributions()) == 5
    assert "5 classes is a bin: A, B, C, D, E" in result.summary()


def test_of_classes_alike_groups_show_the_hypergeometric_mean() -> None:
    predicted = classes()
    expected = 0.0
    for count in np.unique(predicted, return_counts=True)[1]:
        x = np.arange(max(0, count - 700), min(count, 400) + 1)
        share = np.abs(x / 400 - (count - x) / 700)
        expected += float(np.sum(share * hypergeom(1_100, count, 400).pmf(x)))
    result = fs.madd(predicted, sensitive_features=GROUP, scale="class", rng=1)
    assert result.null_mean == pytest.approx(expected, rel=1e-9)


def test_names_and_order_of_classes_do_not_matter() -> None:
    """Also where the groups are so small that the default grid would merge classes."""
    predicted = np.array(list("ABCDEF") * 5)
    group = np.repeat(["a", "b"], 15)
    renamed = np.array(list("FCABED"))[np.searchsorted(list("ABCDEF"), predicted)]
    with pytest.warns(fs.FairstatsWarning):
        one = fs.madd(predicted, sensitive_features=group, scale="class", rng=1)
    with pytest.warns(fs.FairstatsWarning):
        other = fs.madd(renamed, sensitive_features=group, scale="class", rng=1)
    assert one.estimate == pytest.approx(other.estimate, rel=1e-12)
    assert one.null_mean == pytest.approx(other.null_mean, rel=1e-12)


def test_two_classes_are_twice_the_difference_of_selection_rates() -> None:
    chosen = outcome() > 1
    rates = pd.Series(chosen).groupby(GROUP).mean()
    result = fs.madd(chosen, sensitive_features=GROUP, scale="class", rng=1)
    assert result.estimate == pytest.approx(2 * abs(rates["a"] - rates["b"]))


def test_the_test_of_classes_holds_its_level() -> None:
    """Alike groups: p ≤ .05 in at most 10 of 60 samples (the binomial's 1e-4 point at .05)."""
    rng = np.random.default_rng(7)
    small = 0
    for _ in range(60):
        predicted = rng.choice(list("ABCD"), 160)
        group = rng.permutation(np.repeat(["a", "b"], [60, 100]))
        found = fs.madd(
            predicted, sensitive_features=group, scale="class", n_resamples=199, rng=rng
        )
        small += found.pvalue <= 0.05
    assert small <= 10


@pytest.mark.parametrize(
    ("values", "options", "argument"),
    [
        (outcome(), {"scale": "quantile"}, "scale"),
        (np.full(1_100, "A"), {"scale": "class"}, "score"),
        (classes(), {"scale": "class", "n_bins": 4}, "n_bins"),
        (classes(), {"scale": "class", "bandwidth": 0.1}, "bandwidth"),
        (classes(), {"scale": "rank"}, "score"),
        (np.where(outcome() > 9, np.inf, outcome()), {"scale": "rank"}, "score"),
    ],
)
def test_bad_input(values: np.ndarray, options: dict[str, object], argument: str) -> None:
    with pytest.raises(InputError, match=argument):
        fs.madd(values, sensitive_features=GROUP, **options)


def test_counts_have_no_rows_to_rank() -> None:
    frame = pd.DataFrame({"score": rank_outcomes(outcome()), "group": GROUP})
    counts = fs.tally(frame, score="score", sensitive_features="group")
    with pytest.raises(InputError, match="scale"):
        fs.madd(counts=counts, scale="rank")
