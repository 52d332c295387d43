"""Whether one contrast holds in all strata.

Of odds ratios Breslow & Day with Tarone's adjustment, of others by scores.

Both have J − 1 degrees of freedom, J the informative strata: those with cases of both groups, a
success and a failure. The others say nothing about an odds ratio, and an always successful or
always failing stratum next to nothing about the others.

    odds ratio (Breslow & Day 1980, Tarone 1985)
        X² = Σ (k₁ − e)²/v − (Σ (k₁ − e))²/Σv,     e: e(n₀ − m + e) = ψ̂ (n₁ − e)(m − e),     m = k₁ + k₀,
        1/v = 1/e + 1/(n₁ − e) + 1/(m − e) + 1/(n₀ − m + e),     ψ̂ the estimate of Mantel and Haenszel

    ratio, difference: with S and V of the stratified score at its estimate
        Q  = Σ S²/V − (Σ c S/V)²/(Σ c²/V),         c = −∂E(S)/∂θ: p̃₀ (ratio), 1 (difference)

The second terms take out what the estimate of Mantel and Haenszel, not being the most efficient
one, leaves.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc

from fairstats.ground.checks import Floats
from fairstats.numerics.rates.score import Contrast
from fairstats.numerics.rates.strata import (
    Strata,
    constrained_rates,
    mantel_haenszel,
    score_parts,
)


class HomogeneityTest(NamedTuple):
    """χ² statistic, degrees of freedom (−1 where no stratum is informative) and p-value, shape (…)
    each; NaN for none.

    There is no test of fewer than two informative strata, and none where the pooled contrast is
    0/0, 0 or infinite.
    """

    statistic: Floats
    degrees_of_freedom: Floats
    pvalue: Floats


def homogeneity_test(tables: Strata, contrast: Contrast) -> HomogeneityTest:
    """The test of one contrast in all strata.

    That odds beside everybody are alike is that those beside all others are.
    """
    if contrast == "odds_ratio":
        tables = replace(tables, share=None)
    informative = tables.informative
    degrees = informative.sum(axis=-1) - 1.0
    pooled = mantel_haenszel(tables, contrast)
    has_common_value = np.isfinite(pooled)
    if contrast != "difference":
        has_common_value = has_common_value & (pooled > 0)
    theta = np.where(has_common_value, pooled, 0.0 if contrast == "difference" else 1.0)
    if contrast == "odds_ratio":
        test_of_contrast = _test_breslow_day_tarone
    else:
        test_of_contrast = _test_by_scores
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = np.where(
            has_common_value & (degrees > 0),
            test_of_contrast(tables, theta, contrast, informative),
            np.nan,
        )
    # rounding can leave a negative zero
    statistic = np.maximum(statistic, 0.0)
    return HomogeneityTest(statistic, degrees, chdtrc(np.maximum(degrees, 1), statistic))


def _test_breslow_day_tarone(
    tables: Strata,
    theta: Floats,
    contrast: Contrast,
    informative: NDArray[np.bool_],
) -> Floats:
    """Σ(x₁ − E₁)²/v₁ less Tarone's adjustment (Σx₁ − ΣE₁)²/Σv₁, under one odds ratio."""
    p1, q1, p0, q0 = constrained_rates(tables, theta, contrast)
    expected = tables.n1 * p1
    # 1/v of the four expected cells
    inverse_cells = (
        1 / (tables.n1 * p1) + 1 / (tables.n1 * q1) + 1 / (tables.n0 * p0) + 1 / (tables.n0 * q0)
    )
    variance = np.where(informative, 1 / inverse_cells, 0.0)
    distance = np.where(informative, tables.k1 - expected, 0.0)
    chi_square_terms = np.where(informative, distance**2 * inverse_cells, 0.0)
    return np.asarray(
        chi_square_terms.sum(axis=-1) - distance.sum(axis=-1) ** 2 / variance.sum(axis=-1)
    )


def _test_by_scores(
    tables: Strata,
    theta: Floats,
    contrast: Contrast,
    informative: NDArray[np.bool_],
) -> Floats:
    score, variance = score_parts(tables, theta, contrast)
    slope = np.ones_like(score)
    if contrast == "ratio":
        rates = constrained_rates(tables, theta, contrast)
        slope = rates.p0
        if tables.share is not None:
            slope = tables.share * rates.p1 + (1 - tables.share) * rates.p0
    inverse_variance = np.where(informative & (variance > 0), 1 / variance, 0.0)
    total = (score**2 * inverse_variance).sum(axis=-1)
    explained = (slope * score * inverse_variance).sum(axis=-1) ** 2 / (
        slope**2 * inverse_variance
    ).sum(axis=-1)
    return np.asarray(total - explained)
