"""The rule of choice: its cap, its candidates, what it says beyond the cap, and its twin in R."""

from __future__ import annotations

import numpy as np
import pytest

from fairstats.ground.errors import DataWarning, InputError
from fairstats.ground.rsession import call
from fairstats.numerics.evt import choose_threshold, fit_gpd
from fairstats.numerics.evt.choice import candidate_counts, most_exceedances
from fairstats.numerics.evt.diagnostics import anderson_darling
from fairstats.numerics.evt.distributions import exponential_scale


@pytest.mark.parametrize(
    ("n", "most"), [(1_000, 20), (2_000, 31), (8_000, 80), (20_000, 147), (125_000, 500)]
)
def test_the_cap(n: int, most: int) -> None:
    """Witness: n^(2/3)/5 by whole numbers, (5k)³ ≤ n² < (5(k + 1))³.

    Of cubes it is a whole number.
    """
    assert most_exceedances(n) == most
    assert (5 * most) ** 3 <= n**2 < (5 * (most + 1)) ** 3


def test_candidates_reach_from_the_cap_to_twenty() -> None:
    counts = candidate_counts(20_000, 15)
    assert (counts[0], counts[-1], counts.size) == (147, 20, 15)
    np.testing.assert_allclose(counts[1:] / counts[:-1], (20 / 147) ** (1 / 14), atol=0.03)
    # few values: only the least number, but never more than half of them
    assert candidate_counts(700, 15).tolist() == [20]
    assert candidate_counts(30, 15).tolist() == [15]
    assert candidate_counts(20_000, 12, fewest=60)[-1] == 60


def test_default_candidates_are_those_of_the_rule() -> None:
    x = np.random.default_rng(1).exponential(size=2_000)
    chosen = choose_threshold(x, n_resamples=19, rng=1)
    np.testing.assert_array_equal(chosen.n, candidate_counts(2_000, 15))
    assert [(x > u).sum() for u in chosen.thresholds] == chosen.n.tolist()
    assert choose_threshold(x, method="k_largest").n_exceedances == 31
    assert chosen.notes() == []


@pytest.mark.parametrize(
    ("n", "options", "words"),
    [
        (
            300,
            {"method": "k_largest"},
            "20 of 300 values are more than the rule allows (N^(2/3)/5 = 8)",
        ),
        (
            2_000,
            {"method": "k_largest", "k": 100},
            "100 of 2,000 values are more than the rule allows",
        ),
        (
            2_000,
            {"thresholds": [0.5, 1.0], "n_resamples": 19, "rng": 1},
            "values are more than the rule allows",
        ),
    ],
)
def test_beyond_the_rule_there_is_no_evidence(n: int, options: dict, words: str) -> None:
    x = np.random.default_rng(1).exponential(size=n)
    (note,) = choose_threshold(x, **options).notes()
    assert note.startswith("Insufficient evidence: ")
    assert words in note


def test_ties_at_the_top_leave_candidates_below_them() -> None:
    """More values than the rule's 31 are the largest.

    The only candidate lies below them, and they are no tail.
    """
    x = np.minimum(np.random.default_rng(1).exponential(size=2_000), 3.0)
    with pytest.raises(InputError, match="constant tail"):
        choose_threshold(x, n_resamples=19, rng=1)
    with pytest.warns(DataWarning, match="ties"):
        assert choose_threshold(x, method="k_largest").n_exceedances == 0


@pytest.mark.slow
@pytest.mark.parametrize("law", ["beta", "mixture"])
def test_coverage_of_the_level_after_choosing(law: str) -> None:
    """The level of 1,000 of 2,000 values by the public functions.

    .93 less three Monte Carlo errors, .054. Cells of `tests.calibration.evt` have 2,000 samples each.
    """
    from tests.calibration.evt import chosen_level

    counts = chosen_level(law, 2_000)(np.random.default_rng(1), 200)
    held, answered = counts["coverage"]
    assert answered == 200
    assert held / answered > 0.93 - 0.054


@pytest.mark.r
def test_r_has_the_same_rule() -> None:
    """Cap, candidates and Anderson and Darling's statistics; its p-values are simulated."""
    for n in (300, 1_000, 2_000, 8_000, 20_000, 125_000):
        assert call("most_exceedances", n) == most_exceedances(n)
        assert (
            np.atleast_1d(call("candidate_counts", n, 15)).tolist()
            == candidate_counts(n, 15).tolist()
        )
    x = np.random.default_rng(1).exponential(size=2_000)
    ours = choose_threshold(x, n_thresholds=3, n_resamples=199, rng=1)
    theirs = call("fs_choose_threshold", x, n_thresholds=3, n_resamples=199, rng=1)
    assert theirs["candidates"]["n"].tolist() == ours.n.tolist()
    np.testing.assert_allclose(theirs["candidates"]["threshold"], ours.thresholds, rtol=1e-12)
    # four standard errors of the difference of two shares of 200
    np.testing.assert_allclose(theirs["candidates"]["pvalue"], ours.pvalues, atol=0.2)
    assert theirs["most_exceedances"] == ours.most_exceedances
    largest = call("fs_choose_threshold", x, "k_largest")
    assert largest["threshold"] == choose_threshold(x, method="k_largest").threshold
    excess = np.sort(x[x > 2.0]) - 2.0
    fit = fit_gpd(x, 2.0, backend="scipy")
    e = exponential_scale(excess / fit.scale, fit.shape)
    wanted = anderson_darling(np.log(-np.expm1(-e)), -e)
    assert call("fit_distance", excess)[0] == pytest.approx(float(wanted), rel=1e-5)
