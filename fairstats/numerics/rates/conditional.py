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
#: Of a law whose largest mass is about 1: what is smaller changes no digit of any p-value above
#: 1e-280, and is slow to multiply.
_NO_MASS = 1e-300
#: Numbers held at once: tables are taken in blocks.
_BLOCK = 4_000_000


class ConditionalLaw(NamedTuple):
    """g(t)·exp(tilt·t) of J tables, up to a factor, at T's smallest value + 0 … L − 1.

    `mass`, shape (J, L); `observed`, shape (J,): the place of T; `tilt`, shape (J,): the logarithm
    of the odds ratio near which numbers are wanted. (Of the law at 1 some hundred successes of a
    strong effect have probabilities that no floating point number holds.)
    """

    mass: Floats
    observed: Places
    tilt: Floats


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
    tilt = np.full(pvalues.shape[1], np.log(odds_ratio))
    for rows, law in _split_laws(tables, tilt):
        probability = _tilt_law(law, law.tilt)
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
    for rows, law in _split_laws(tables, _near_the_estimate(flattened(tables))):
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
        chosen_law = ConditionalLaw(law.mass[chosen], law.observed[chosen], law.tilt[chosen])
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
    shift = log_odds_ratio - law.tilt
    with np.errstate(divide="ignore"):
        weights = np.log(law.mass) + shift[:, None] * np.arange(law.mass.shape[1])
    weights = np.exp(weights - weights.max(axis=1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def _near_the_estimate(tables: Strata) -> Floats:
    """Logarithm of Mantel and Haenszel's odds ratio with half a case more in every cell."""
    hits = tables.k1 + 0.5
    misses = tables.n1 - tables.k1 + 0.5
    reference_hits = tables.k0 + 0.5
    reference_misses = tables.n0 - tables.k0 + 0.5
    rows = np.where(tables.shared, tables.n1 + tables.n0 + 2, np.inf)
    for_it = (hits * reference_misses / rows).sum(axis=-1)
    against_it = (reference_hits * misses / rows).sum(axis=-1)
    some = (for_it > 0) & (against_it > 0)
    return np.asarray(np.log(np.where(some, for_it, 1.0) / np.where(some, against_it, 1.0)))


def _split_laws(tables: Strata, tilt: Floats) -> list[tuple[slice, ConditionalLaw]]:
    """The laws of all tables at their tilts, shape (J,), in blocks of rows of the flattened tables."""
    flat_tables = flattened(tables)
    length = int(values_possible(flat_tables).max(initial=1))
    block = max(1, _BLOCK // length)
    laws: list[tuple[slice, ConditionalLaw]] = []
    for start in range(0, flat_tables.k1.shape[0], block):
        rows = slice(start, start + block)
        laws.append((rows, _convolve_laws(flat_tables.at(rows), tilt[rows], length)))
    return laws


def _convolve_laws(tables: Strata, tilt: Floats, length: int) -> ConditionalLaw:
    """The convolution of the strata's tilted hypergeometric laws, stratum by stratum."""
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
        place = np.arange(widest + 1.0)
        log_mass = _log_hypergeometric(
            low[:, stratum, None] + place,
            tables.n1[:, stratum, None],
            tables.n0[:, stratum, None],
            hits[:, stratum, None],
        )
        log_mass = np.where(place <= number_of_values[:, None], log_mass, -np.inf)
        log_mass[~tables.shared[:, stratum]] = np.where(place == 0, 0.0, -np.inf)
        log_mass += tilt[:, None] * place
        mass = _convolve(mass, np.exp(log_mass - log_mass.max(axis=1, keepdims=True)))
    return ConditionalLaw(mass, observed.astype(np.intp), tilt)


def _convolve(mass: Floats, mass_of_stratum: Floats) -> Floats:
    """Both laws added, shape (J, L): products of the values that any of the J tables can have."""
    length = mass.shape[1]
    first, last = _span(mass)
    convolved = np.zeros_like(mass)
    step, last_step = _span(mass_of_stratum)
    while step <= last_step:
        end = min(last + 1, length - step)
        convolved[:, first + step : end + step] += (
            mass_of_stratum[:, step, None] * mass[:, first:end]
        )
        step += 1
    return convolved


def _span(mass: Floats) -> tuple[int, int]:
    """First and last place where a law has a mass that counts beside its largest one."""
    places = np.flatnonzero((mass > _NO_MASS).any(axis=0))
    return int(places[0]), int(places[-1])


def _log_hypergeometric(k: Floats, n1: Floats, n0: Floats, hits: Floats) -> Floats:
    """Logarithm of the probability of k successes among n₁ where n₁ + n₀ have so many.

    −∞ outside of the possible values.
    """
    possible = (k >= 0) & (k <= n1) & (hits - k >= 0) & (hits - k <= n0)
    possible_counts = np.where(possible, k, np.maximum(0.0, hits - n0))
    log_mass = (
        _compute_log_binomial(n1, possible_counts)
        + _compute_log_binomial(n0, hits - possible_counts)
        - _compute_log_binomial(n1 + n0, hits)
    )
    return np.asarray(np.where(possible, log_mass, -np.inf))


def _compute_log_binomial(n: Floats, k: Floats) -> Floats:
    return np.asarray(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1))
