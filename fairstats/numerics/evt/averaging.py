"""A return level averaged over thresholds, each weighted by how well its tail predicts the others.

With ν = 1/σ, θ = ξ/σ and S(θ) = Σ log(1 + θy)/θ the posterior above a threshold (priors:
`average_return_level`) is ∝ ν^(k−2)·e^(−aθ/ν − (ν + θ)·S(θ)), a = 0.6: for each θ a truncated gamma
law of ν, so that all integrals are sums over nodes of ν (by its quantiles) and of θ.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fairstats.ground.checks import check_confidence_level, check_number
from fairstats.ground.errors import InputError
from fairstats.ground.progress import each_of
from fairstats.ground.results import Comparison, Interval, Result
from fairstats.ground.serialise import serialisable
from fairstats.numerics.evt.diagnostics import OverThresholds
from fairstats.numerics.evt.distributions import Counts, Floats, exponential_scale
from fairstats.numerics.evt.series import as_series, default_thresholds, different_thresholds
from fairstats.numerics.evt.tail import tail_row
from fairstats.plots.evt import plot_averaged_level

#: a of the prior (Northrop, Attalides & Jonathan 2017, section 3.3), and both parameters of that of
#: p.
_PRIOR_RATE = 0.6
_JEFFREYS_PARAMETER = 0.5
#: Nodes of θ and of ν: four times as many change scores by .004, ends by less than a thousandth of
#: the interval.
_N_THETA_NODES = 101
_N_NU_NODES = 30
_INTERVAL_METHOD = "posterior quantiles"
#: Exceedances of the highest threshold by default; those of the lowest are a quarter of the values.
_FEWEST_EXCEEDANCES = 20


@serialisable(eq=False)
class AveragedReturnLevel(Result):
    """Return level averaged over thresholds.

    Attributes
    ----------
    m : float
        Observations.
    estimate : float
        Median of the averaged posterior.
    confidence_interval : Interval
        Its equal-tailed quantiles.
    thresholds, weights : ndarray of float, shape (K,)
        Thresholds, ascending, and their posterior probabilities.
    scores : ndarray of float, shape (K,)
        Log predictive density of each value given all others, above the highest threshold, summed.
    shape : ndarray of float, shape (K,)
        Posterior mean of ξ above each threshold.
    levels : ndarray of float, shape (K, 3)
        Lower end, median and upper end above each threshold by itself.
    n_exceedances : ndarray of int, shape (K,)
    n_total : int
    """

    title: ClassVar[str] = "Return level averaged over thresholds"
    backend: ClassVar[str] = "scipy"  # what computes: the integrals without R
    lacks: ClassVar[Mapping[str, str]] = {
        **OverThresholds.lacks,
        **dict.fromkeys(
            ("pvalue", "statistic"), "nothing is tested; threshold_tests(x) tests thresholds"
        ),
        "std_error": "a posterior is not symmetric; see `confidence_interval`",
    }

    m: float
    estimate: float
    confidence_interval: Interval
    thresholds: Floats
    weights: Floats
    scores: Floats
    shape: Floats
    levels: Floats
    n_exceedances: Counts
    n_total: int

    plot = plot_averaged_level

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """The average, then the level above each threshold."""
        level_name = f"return level of {self.m:g}"
        interval_level = self.confidence_interval.confidence_level
        averaged_row = tail_row(
            f"{level_name}, averaged", self.estimate, self.confidence_interval, self.n_total
        )
        threshold_levels = zip(self.levels.tolist(), self.n_exceedances, strict=True)
        return (
            averaged_row,
            *(
                tail_row(
                    level_name,
                    median,
                    Interval(
                        low=lower_end,
                        high=upper_end,
                        confidence_level=interval_level,
                        method=_INTERVAL_METHOD,
                    ),
                    n_above,
                )
                for (lower_end, median, upper_end), n_above in threshold_levels
            ),
        )

    def rows(self) -> list[dict[str, Any]]:
        """The average, then a row per threshold with its weight."""
        thresholds = [float("nan"), *self.thresholds.tolist()]
        weights = [1.0, *self.weights.tolist()]
        weighted_rows = zip(super().rows(), thresholds, weights, strict=True)
        result: list[dict[str, Any]] = []
        for table_row, threshold, weight in weighted_rows:
            result.append({**table_row, "threshold": threshold, "weight": weight})
        return result

    def sentences(self) -> list[str]:
        """The level with its interval, and the weights of the thresholds."""
        lower_end, upper_end = self.confidence_interval
        best_index = int(self.weights.argmax())
        level_in_words = f"{self.confidence_interval.confidence_level:.0%}"
        estimate_in_words = (
            f"{self.estimate:.4g} ({level_in_words} credible interval "
            f"{lower_end:.4g} to {upper_end:.4g})"
        )
        heaviest_in_words = (
            f"the threshold {self.thresholds[best_index]:.4g} with "
            f"{self.n_exceedances[best_index]} exceedances"
        )
        return [
            (
                f"The return level of {self.m:g}, averaged over {self.thresholds.size} thresholds,"
                f" is {estimate_in_words}."
            ),
            f"Most weight, {self.weights[best_index]:.2f}, has {heaviest_in_words}.",
            *self.notes(),
        ]

    def notes(self) -> list[str]:
        """How the weights come about."""
        above_in_words = f"above {self.thresholds[-1]:.4g} ({self.n_exceedances[-1]} values)"
        return [f"Weights by leave-one-out prediction {above_in_words}."]


def average_return_level(
    x: Any,
    m: float,
    thresholds: Any = None,
    *,
    n_thresholds: int = 10,
    confidence_level: float = 0.95,
) -> AveragedReturnLevel:
    """Level of m observations, averaged over thresholds instead of chosen by one.

    Parameters
    ----------
    x : array-like, shape (N,)
        Finite values.
    thresholds : array-like, optional
        Two at least, each exceeded by ten values or more. Those above the highest are what all are
        judged by: leave it some twenty. Default: from the value that a quarter of x exceeds to the
        one that 20 exceed.
    n_thresholds : int
        Of default thresholds, their exceedances in geometric progression.
    m : float
        Observations, of which at least one exceeds every threshold on average.
    confidence_level : float

    Returns
    -------
    AveragedReturnLevel

    Raises
    ------
    InputError
        Values that are no finite numbers, or fewer than 80 of them without thresholds; fewer than
        two thresholds, or one with fewer than ten exceedances; m·λ < 1 at a threshold.

    Notes
    -----
    Bayesian model averaging (Northrop, Attalides & Jonathan 2017, equations 7 and 15). Each
    threshold u has P(X > u) with Jeffreys' prior Beta(1/2, 1/2) and generalised Pareto excesses
    with the maximum data information prior e^(−0.6ξ)/σ on ξ ≥ −1 (Northrop & Attalides 2016). Its
    score is Σ log f(x_i | all others), where below the highest threshold only that x_i lies there
    counts; thresholds are equally likely before, exp(score) weighs them afterwards. The level has
    the mixture of their posteriors; the integrals are sums over nodes, without simulation.

    Of 1,000 values, six thresholds and a level that one in 2,000 exceeds, the 95% interval covers
    .96 for generalised Pareto laws of ξ = .1 and −.2 (the calibration page has other laws).

    References
    ----------
    Northrop, P. J., Attalides, N. and Jonathan, P. (2017). Cross-validatory extreme value threshold
    selection and uncertainty with application to ocean storm severity. Journal of the Royal
    Statistical Society C 66, 93–120.

    Examples
    --------
    >>> import numpy as np
    >>> from fairstats.numerics.evt import average_return_level
    >>> x = np.random.default_rng(1).exponential(size=2000)
    >>> found = average_return_level(x, 1000, [0.7, 1.5, 2.3])
    >>> round(found.estimate, 2), [round(end, 2) for end in found.confidence_interval]
    (7.19, [6.3, 8.9])
    """
    series = as_series("x", x)
    interval_level = check_confidence_level(confidence_level)
    if thresholds is None:
        thresholds = default_thresholds(
            np.sort(series), n_thresholds, 4, _FEWEST_EXCEEDANCES, 4 * _FEWEST_EXCEEDANCES
        )
    threshold_values, exceedance_counts = different_thresholds(series, thresholds, n_thresholds, 2)
    period = check_number("m", m, low=0, open_low=True, cure="a number of observations, e.g. 1000")
    if period * exceedance_counts[-1] < series.size:
        got = (
            f"{period:g}, of which {period * exceedance_counts[-1] / series.size:.3g} "
            f"exceed {threshold_values[-1]:g} on average"
        )
        allowed = f"at least {series.size / exceedance_counts[-1]:.6g}"
        raise InputError("m", got=got, allowed=allowed, cure="a lower highest threshold")
    largest_values = np.sort(series)[::-1][: exceedance_counts[0]]
    posteriors = []
    candidates = tuple(zip(threshold_values, exceedance_counts, strict=True))
    for threshold, n_above in each_of(candidates, "thresholds"):
        posteriors.append(
            _Posterior.of(largest_values[:n_above] - threshold, series.size, float(threshold))
        )
    scores = np.array([posterior.score(float(threshold_values[-1])) for posterior in posteriors])
    weights = np.exp(scores - scores.max())
    weights /= weights.sum()
    probabilities = 0.5 - 0.5 * interval_level, 0.5, 0.5 + 0.5 * interval_level
    lower_end, median, upper_end = _mixture_quantiles(posteriors, weights, period, probabilities)
    return AveragedReturnLevel(
        m=period,
        estimate=median,
        confidence_interval=Interval(
            low=lower_end,
            high=upper_end,
            confidence_level=interval_level,
            method=f"{_INTERVAL_METHOD}, averaged",
        ),
        thresholds=threshold_values,
        weights=weights,
        scores=scores,
        shape=np.array([posterior.mean_shape for posterior in posteriors]),
        levels=np.array(
            [
                _mixture_quantiles([posterior], np.ones(1), period, probabilities)
                for posterior in posteriors
            ]
        ),
        n_exceedances=exceedance_counts,
        n_total=series.size,
    )


@dataclass(frozen=True)
class _Posterior:
    """Nodes of (θ, ν) above one threshold with log probabilities, (T, 1), (T, V), (T, V); `y`:
    excesses, descending.
    """

    y: Floats
    n_total: int
    threshold: float
    theta: Floats
    nu: Floats
    log_weight: Floats
    log_evidence: float

    @classmethod
    def of(cls, y: Floats, n_total: int, threshold: float) -> _Posterior:
        """Of k excesses y > 0 among `n_total` values."""
        from scipy.special import gammaincc, gammainccinv, gammaln

        k = y.size
        largest = y.max()

        def inner(phi: Floats) -> tuple[Floats, ...]:
            # 1 + θ·max = e^φ: no end point below the largest value
            theta = np.expm1(phi) / largest
            scale_sums = exponential_scale(y, theta[:, None]).sum(-1)
            truncation_shares = gammaincc(k - 1.0, np.maximum(-theta, 0.0) * scale_sums)  # ξ ≥ −1
            with np.errstate(divide="ignore"):
                log_weight = (
                    phi
                    - theta * scale_sums
                    - (k - 1.0) * np.log(scale_sums)
                    + np.log(truncation_shares)
                )
            return theta, scale_sums, truncation_shares, log_weight

        # where the marginal of θ is not negligible
        phi = np.linspace(-25.0, 12.0, 371)
        log_weight = inner(phi)[3]
        relevant_phi = phi[log_weight > log_weight.max() - 37.0]
        node_step = (relevant_phi[-1] - relevant_phi[0] + 0.2) / (_N_THETA_NODES - 1)
        theta, scale_sums, truncation_shares, log_weight = inner(
            relevant_phi[0] - 0.1 + node_step * np.arange(_N_THETA_NODES)
        )
        gauss_nodes, gauss_weights = np.polynomial.legendre.leggauss(_N_NU_NODES)
        nu = (
            gammainccinv(k - 1.0, truncation_shares[:, None] * (0.5 - 0.5 * gauss_nodes))
            / scale_sums[:, None]
        )
        with np.errstate(divide="ignore"):
            log_weight = (
                log_weight[:, None]
                + np.log(0.5 * gauss_weights)
                - _PRIOR_RATE * theta[:, None] / nu
            )
        largest_log_weight = log_weight.max()
        log_mass = largest_log_weight + np.log(np.exp(log_weight - largest_log_weight).sum())
        log_evidence = float(log_mass + np.log(node_step / largest) + gammaln(k - 1.0))
        return cls(y, n_total, threshold, theta[:, None], nu, log_weight - log_mass, log_evidence)

    @property
    def mean_shape(self) -> float:
        """Posterior mean of ξ."""
        return float((np.exp(self.log_weight) * self.theta / self.nu).sum())

    @property
    def beta(self) -> tuple[float, float]:
        """Parameters of the posterior of P(X > u)."""
        return self.y.size + _JEFFREYS_PARAMETER, self.n_total - self.y.size + _JEFFREYS_PARAMETER

    def score(self, highest: float) -> float:
        """Σ log f(x_i | all others).

        The density above the `highest` threshold, below it the probability.

        The posterior without x_i is the whole one, divided by the likelihood of x_i; without the
        largest value more end points are possible, and its density is a ratio of evidences.
        """
        beta_a, beta_b = self.beta
        d = highest - self.threshold
        mean_inverse_p = (beta_a + beta_b - 1.0) / (beta_a - 1.0)  # E 1/p
        if d > 0:
            survivals = np.exp(-self.nu * exponential_scale(d, self.theta))
        else:
            survivals = np.ones_like(self.nu)
        # log E 1/h for the density h at each exceedance but the largest, and E S(d)/h over it
        log_inverse_density, survival_shares = np.empty((2, self.y.size - 1))
        for i, scaled_excesses in enumerate(exponential_scale(self.y[1:, None], self.theta[:, 0])):
            log_terms = (
                self.log_weight
                - np.log(self.nu)
                + (self.nu + self.theta) * scaled_excesses[:, None]
            )
            node_weights = np.exp(log_terms - log_terms.max())
            log_inverse_density[i] = log_terms.max() + np.log(node_weights.sum())
            survival_shares[i] = (node_weights * survivals).sum() / node_weights.sum()
        is_above = self.y[1:] > d
        posterior_of_rest = _Posterior.of(self.y[1:], self.n_total - 1, self.threshold)
        log_score = self.log_evidence - posterior_of_rest.log_evidence - np.log(mean_inverse_p)
        log_score -= (log_inverse_density[is_above] + np.log(mean_inverse_p)).sum()
        log_score += np.log1p(-survival_shares[~is_above] / mean_inverse_p).sum()
        mean_survival = (np.exp(self.log_weight) * survivals).sum()
        n_below = self.n_total - self.y.size
        return float(
            log_score
            + (
                n_below * np.log1p(-mean_survival * beta_a / (beta_a + beta_b - 1.0))
                if n_below
                else 0.0
            )
        )

    def below(self, level: float, m: float) -> float:
        """Posterior probability that the return level of m observations is at most `level`.

        p ≤ 1/(m·S).
        """
        from scipy.special import betainc

        log_ratios = self.nu * exponential_scale(
            max(level - self.threshold, 0.0), self.theta
        ) - np.log(m)
        return float(
            (
                np.exp(self.log_weight) * betainc(*self.beta, np.exp(np.minimum(log_ratios, 0.0)))
            ).sum()
        )


def _mixture_quantiles(
    posteriors: list[_Posterior],
    weights: Floats,
    m: float,
    shares: tuple[float, ...],
) -> tuple[float, ...]:
    """Quantiles of the mixture of the posteriors of the level, no lower than the lowest
    threshold.
    """
    from scipy.optimize import brentq

    def excess(level: float, probability: float) -> float:
        return (
            float(
                np.sum(
                    [
                        weight * posterior.below(level, m)
                        for posterior, weight in zip(posteriors, weights, strict=True)
                    ]
                )
            )
            - probability
        )

    lowest_level = posteriors[0].threshold
    first_step = posteriors[0].y[0]
    quantiles = []
    for probability in shares:
        upper_bracket = lowest_level + first_step
        while excess(upper_bracket, probability) < 0.0:
            upper_bracket = lowest_level + 2.0 * (upper_bracket - lowest_level)
        quantiles.append(lowest_level)
        if excess(lowest_level, probability) < 0:
            quantiles[-1] = brentq(
                excess, lowest_level, upper_bracket, args=(probability,), xtol=1e-9 * first_step
            )
    return tuple(quantiles)
