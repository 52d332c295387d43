"""Exact conditional test of one odds ratio over strata.

T = Σ k₁ given the successes of every stratum.

With the margins of each stratum fixed, k₁ of stratum h has the hypergeometric law f_h of Fisher,
tilted by the odds ratio ψ, and T their convolution (Gart 1970):

    P(T = t; ψ) = g(t) ψᵗ / Σ_u g(u) ψᵘ,       g = f₁ * f₂ * … * f_H  at ψ = 1.

Conditioning removes the nuisance rates from odds ratios, and so from equality, alone: a ratio or
difference other than equality has no such test. As in R's ``mantelhaen.test(exact = TRUE)`` the
two-sided p-value sums the probabilities of all values that are no more probable than the observed
one, and the limits of ψ are those of Clopper and Pearson's kind.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from fairstats.ground.checks import Floats
from fairstats.numerics.rates.strata import LOG_SPAN, Strata, find_roots, flattened

Places: TypeAlias = NDArray[np.intp]
#: Values within this share of the observed one's probability count as no more probable, as in R.
_TIED = 1e-7
#: Numbers held at once: tables are taken in blocks.
_BLOCK = 4_000_000


class ConditionalLaw(NamedTuple):
    """g of J tables: `mass`, shape (J, L), at the values `low` + 0 … L − 1; `observed`, shape (J,).

    The place of T.
    """

    mass: Floats
    low: Floats
    observed: Places


class ConditionalTest(NamedTuple):
    """p-values of H0: odds ratio = ψ against smaller, larger and other ones, shape (…) each."""

    less: Floats
    greater: Floats
    two_sided: Floats

    @property
    def central(self) -> Floats:
        """Twice the smaller tail: the two-sided p-value that the limits invert."""
        return np.asarray(np.minimum(2 * np.minimum(self.less, self.greater), 1.0))


def values_possible(tables: Strata) -> Floats:
    """How many values T can have, shape (…): what the exact test costs."""
    hits = tables.k1 + tables.k0
    span = np.minimum(tables.n1, hits) - np.maximum(0.0, hits - tables.n0)
    return np.asarray(np.where(tables.shared, span, 0.0).sum(axis=-1) + 1)


def conditional_test(tables: Strata, odds_ratio: float = 1.0) -> ConditionalTest:
    """The exact conditional test; p-values are 1 where the margins leave T no choice."""
    shape = tables.k1.shape[:-1]
    pvalues = np.ones((3, int(np.prod(shape, dtype=np.int64))))
    for rows, law in _split_laws(tables):
        probability = _tilt_law(law, np.full(law.low.shape, np.log(odds_ratio)))
        places = np.arange(probability.shape[1])
        observed_value = np.take_along_axis(probability, law.observed[:, None], axis=1)
        pvalues[0, rows] = np.where(places <= law.observed[:, None], probability, 0.0).sum(axis=1)
        pvalues[1, rows] = np.where(places >= law.observed[:, None], probability, 0.0).sum(axis=1)
        pvalues[2, rows] = np.where(
            probability <= observed_value * (1 + _TIED), probability, 0.0
        ).sum(axis=1)
    pvalue_less, greater, two_sided = (np.minimum(p, 1.0).reshape(shape) for p in pvalues)
    return ConditionalTest(pvalue_less, greater, two_sided)


def conditional_limit(tables: Strata, tail: float, *, side: int) -> Floats:
    """Lower (side −1) or upper (side 1) limit of ψ.

    The odds ratio at which the tail beyond T has this probability.
    """
    shape = tables.k1.shape[:-1]
    limits = np.empty(int(np.prod(shape, dtype=np.int64)))
    for rows, law in _split_laws(tables):
        limits[rows] = _find_limits(law, tail, side)
    return limits.reshape(shape)


def _find_limits(law: ConditionalLaw, tail: float, side: int) -> Floats:
    """Where the tail beyond T has the probability `tail`.

    0 or ∞ where T has its smallest or largest value.
    """
    places = np.arange(law.mass.shape[1])
    if side < 0:
        beyond = places >= law.observed[:, None]
        at_end = law.observed == 0
        open_end = 0.0
    else:
        beyond = places <= law.observed[:, None]
        at_end = law.observed == _find_last_value(law)
        open_end = np.inf

    def excess(x: Floats, chosen: Places) -> Floats:
        chosen_law = ConditionalLaw(law.mass[chosen], law.low[chosen], law.observed[chosen])
        return np.asarray(
            np.where(beyond[chosen], _tilt_law(chosen_law, x), 0.0).sum(axis=1) - tail
        )

    log_ends = np.full(at_end.size, LOG_SPAN)
    return np.asarray(np.where(at_end, open_end, np.exp(find_roots(excess, -log_ends, log_ends))))


def _find_last_value(law: ConditionalLaw) -> Places:
    """Place of the largest possible value of T."""
    length = law.mass.shape[1]
    return np.asarray(length - 1 - np.argmax(law.mass[:, ::-1] > 0, axis=1))


def _tilt_law(law: ConditionalLaw, log_odds_ratio: Floats) -> Floats:
    """P(T; ψ): g(t)ψᵗ over its sum, which neither overflows nor loses the small ones."""
    with np.errstate(divide="ignore"):
        weights = np.log(law.mass) + log_odds_ratio[:, None] * np.arange(law.mass.shape[1])
    weights = np.exp(weights - weights.max(axis=1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def _split_laws(tables: Strata) -> list[tuple[slice, ConditionalLaw]]:
    """The laws of all tables, in blocks of rows of the flattened tables."""
    flat_tables = flattened(tables)
    length = int(values_possible(flat_tables).max(initial=1))
    block = max(1, _BLOCK // length)
    rows = [slice(start, start + block) for start in range(0, flat_tables.k1.shape[0], block)]
    laws: list[tuple[slice, ConditionalLaw]] = []
    for rows_of_block in rows:
        laws.append((rows_of_block, _convolve_laws(flat_tables.at(rows_of_block), length)))
    return laws


def _convolve_laws(tables: Strata, length: int) -> ConditionalLaw:
    """The convolution of the strata's hypergeometric laws, stratum by stratum."""
    hits = tables.k1 + tables.k0
    low = np.where(tables.shared, np.maximum(0.0, hits - tables.n0), 0.0)
    high = np.where(tables.shared, np.minimum(tables.n1, hits), 0.0)
    observed = np.where(tables.shared, tables.k1 - low, 0.0).sum(axis=-1)
    mass = np.zeros((hits.shape[0], length))
    mass[:, 0] = 1.0
    for stratum in range(hits.shape[1]):
        number_of_values = high[:, stratum] - low[:, stratum]
        widest = int(number_of_values.max(initial=0.0))
        if widest == 0:
            continue
        value = low[:, stratum, None] + np.arange(widest + 1.0)
        mass_of_stratum = _compute_hypergeometric(
            value, tables.n1[:, stratum, None], tables.n0[:, stratum, None], hits[:, stratum, None]
        )
        mass_of_stratum = np.where(
            np.arange(widest + 1) <= number_of_values[:, None], mass_of_stratum, 0.0
        )
        mass_of_stratum[~tables.shared[:, stratum]] = np.arange(widest + 1) == 0
        convolved = np.zeros_like(mass)
        for step in range(widest + 1):
            convolved[:, step:] += mass_of_stratum[:, step, None] * mass[:, : length - step]
        mass = convolved
    return ConditionalLaw(mass, low.sum(axis=-1), observed.astype(np.intp))


def _compute_hypergeometric(k: Floats, n1: Floats, n0: Floats, hits: Floats) -> Floats:
    """Probability of k successes among n₁ where n₁ + n₀ have so many.

    0 outside of the possible values.
    """
    possible = (k >= 0) & (k <= n1) & (hits - k >= 0) & (hits - k <= n0)
    possible_counts = np.where(possible, k, np.maximum(0.0, hits - n0))
    log_mass = (
        _compute_log_binomial(n1, possible_counts)
        + _compute_log_binomial(n0, hits - possible_counts)
        - _compute_log_binomial(n1 + n0, hits)
    )
    return np.asarray(np.where(possible, np.exp(log_mass), 0.0))


def _compute_log_binomial(n: Floats, k: Floats) -> Floats:
    return np.asarray(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1))
