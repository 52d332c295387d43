"""A return level averaged over thresholds, each weighted by how well its tail predicts the others.

With ν = 1/σ, θ = ξ/σ and S(θ) = Σ log(1 + θy)/θ the posterior above a threshold (priors: `average_return_level`) is
∝ ν^(k−2)·e^(−aθ/ν − (ν + θ)·S(θ)), a = 0.6: for each θ a truncated gamma law of ν, so that all integrals are sums over
nodes of ν (by its quantiles) and of θ.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fairstats.ground.checks import check_confidence_level, check_number
from fairstats.ground.errors import InputError
from fairstats.ground.results import Comparison, Interval, Result
from fairstats.ground.serialise import serialisable
from fairstats.numerics.evt.diagnostics import OverThresholds
from fairstats.numerics.evt.distributions import Counts, Floats, exponential_scale
from fairstats.numerics.evt.series import as_series, default_thresholds, different_thresholds
from fairstats.numerics.evt.tail import tail_row
from fairstats.plots.evt import plot_averaged_level

#: a of the prior (Northrop, Attalides & Jonathan 2017, section 3.3), and both parameters of that of p.
_PRIOR_RATE, _JEFFREYS = 0.6, 0.5
#: Nodes of θ and of ν: four times as many change scores by .004, ends by less than a thousandth of the interval.
_NODES, _GAUSS = 101, 30
_METHOD = "posterior quantiles"
#: Exceedances of the highest threshold by default; those of the lowest are a quarter of the values.
_FEWEST = 20


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
        **dict.fromkeys(("pvalue", "statistic"), "nothing is tested; threshold_tests(x) tests thresholds"),
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
        name, level = f"return level of {self.m:g}", self.confidence_interval.confidence_level
        average = tail_row(f"{name}, averaged", self.estimate, self.confidence_interval, self.n_total)
        each = zip(self.levels.tolist(), self.n_exceedances, strict=True)
        return (average, *(tail_row(name, at, Interval(low, high, level, _METHOD), n) for (low, at, high), n in each))

    def rows(self) -> list[dict[str, Any]]:
        """The average, then a row per threshold with its weight."""
        thresholds, weights = [float("nan"), *self.thresholds.tolist()], [1.0, *self.weights.tolist()]
        each = zip(super().rows(), thresholds, weights, strict=True)
        return [{**row, "threshold": u, "weight": w} for row, u, w in each]

    def sentences(self) -> list[str]:
        """The level with its interval, and the weights of the thresholds."""
        (low, high), best = self.confidence_interval, int(self.weights.argmax())
        share = f"{self.confidence_interval.confidence_level:.0%}"
        value = f"{self.estimate:.4g} ({share} credible interval {low:.4g} to {high:.4g})"
        most = f"the threshold {self.thresholds[best]:.4g} with {self.n_exceedances[best]} exceedances"
        return [
            f"The return level of {self.m:g}, averaged over {self.thresholds.size} thresholds, is {value}.",
            f"Most weight, {self.weights[best]:.2f}, has {most}.",
            *self.notes(),
        ]

    def notes(self) -> list[str]:
        """How the weights come about."""
        above = f"above {self.thresholds[-1]:.4g} ({self.n_exceedances[-1]} values)"
        return [f"Weights by leave-one-out prediction {above}."]


def average_return_level(
    x: Any, m: float, thresholds: Any = None, *, n_thresholds: int = 10, confidence_level: float = 0.95
) -> AveragedReturnLevel:
    """Level of m observations, averaged over thresholds instead of chosen by one.

    Parameters
    ----------
    x : array-like, shape (N,)
        Finite values.
    thresholds : array-like, optional
        Two at least, each exceeded by ten values or more. Those above the highest are what all are judged by:
        leave it some twenty. Default: from the value that a quarter of x exceeds to the one that 20 exceed.
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
        Values that are no finite numbers, or fewer than 80 of them without thresholds; fewer than two thresholds, or
        one with fewer than ten exceedances; m·λ < 1 at a threshold.

    Notes
    -----
    Bayesian model averaging (Northrop, Attalides & Jonathan 2017, equations 7 and 15). Each threshold u has P(X > u)
    with Jeffreys' prior Beta(1/2, 1/2) and generalised Pareto excesses with the maximum data information prior
    e^(−0.6ξ)/σ on ξ ≥ −1 (Northrop & Attalides 2016). Its score is Σ log f(x_i | all others), where below the highest
    threshold only that x_i lies there counts; thresholds are equally likely before, exp(score) weighs them afterwards.
    The level has the mixture of their posteriors; the integrals are sums over nodes, without simulation.

    Of 1,000 values, six thresholds and a level that one in 2,000 exceeds, the 95% interval covers .96 for
    generalised Pareto laws of ξ = .1 and −.2 (the calibration page has other laws).

    References
    ----------
    Northrop, P. J., Attalides, N. and Jonathan, P. (2017). Cross-validatory extreme value threshold selection and
    uncertainty with application to ocean storm severity. Journal of the Royal Statistical Society C 66, 93–120.

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
    level = check_confidence_level(confidence_level)
    if thresholds is None:
        thresholds = default_thresholds(np.sort(series), n_thresholds, 4, _FEWEST, 4 * _FEWEST)
    u, n = different_thresholds(series, thresholds, n_thresholds, 2)
    period = check_number("m", m, low=0, open_low=True, cure="a number of observations, e.g. 1000")
    if period * n[-1] < series.size:
        got = f"{period:g}, of which {period * n[-1] / series.size:.3g} exceed {u[-1]:g} on average"
        allowed = f"at least {series.size / n[-1]:.6g}"
        raise InputError("m", got=got, allowed=allowed, cure="a lower highest threshold")
    top = np.sort(series)[::-1][: n[0]]
    models = [_Posterior.of(top[:k] - v, series.size, float(v)) for v, k in zip(u, n, strict=True)]
    scores = np.array([model.score(float(u[-1])) for model in models])
    weights = np.exp(scores - scores.max())
    weights /= weights.sum()
    shares = 0.5 - 0.5 * level, 0.5, 0.5 + 0.5 * level
    low, middle, high = _quantiles(models, weights, period, shares)
    return AveragedReturnLevel(
        m=period, estimate=middle, confidence_interval=Interval(low, high, level, f"{_METHOD}, averaged"),
        thresholds=u, weights=weights, scores=scores, shape=np.array([model.mean_shape for model in models]),
        levels=np.array([_quantiles([model], np.ones(1), period, shares) for model in models]), n_exceedances=n,
        n_total=series.size,
    )  # fmt: skip


@dataclass(frozen=True)
class _Posterior:
    """Nodes of (θ, ν) above one threshold with log probabilities, (T, 1), (T, V), (T, V); `y`: excesses, descending."""

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

        k, top = y.size, y.max()

        def inner(phi: Floats) -> tuple[Floats, ...]:
            # 1 + θ·max = e^φ: no end point below the largest value
            theta = np.expm1(phi) / top
            total = exponential_scale(y, theta[:, None]).sum(-1)
            share = gammaincc(k - 1.0, np.maximum(-theta, 0.0) * total)  # ξ ≥ −1
            with np.errstate(divide="ignore"):
                log_weight = phi - theta * total - (k - 1.0) * np.log(total) + np.log(share)
            return theta, total, share, log_weight

        # where the marginal of θ is not negligible
        phi = np.linspace(-25.0, 12.0, 371)
        log_weight = inner(phi)[3]
        near = phi[log_weight > log_weight.max() - 37.0]
        step = (near[-1] - near[0] + 0.2) / (_NODES - 1)
        theta, total, share, log_weight = inner(near[0] - 0.1 + step * np.arange(_NODES))
        points, gauss = np.polynomial.legendre.leggauss(_GAUSS)
        nu = gammainccinv(k - 1.0, share[:, None] * (0.5 - 0.5 * points)) / total[:, None]
        with np.errstate(divide="ignore"):
            log_weight = log_weight[:, None] + np.log(0.5 * gauss) - _PRIOR_RATE * theta[:, None] / nu
        most = log_weight.max()
        mass = most + np.log(np.exp(log_weight - most).sum())
        evidence = float(mass + np.log(step / top) + gammaln(k - 1.0))
        return cls(y, n_total, threshold, theta[:, None], nu, log_weight - mass, evidence)

    @property
    def mean_shape(self) -> float:
        """Posterior mean of ξ."""
        return float((np.exp(self.log_weight) * self.theta / self.nu).sum())

    @property
    def beta(self) -> tuple[float, float]:
        """Parameters of the posterior of P(X > u)."""
        return self.y.size + _JEFFREYS, self.n_total - self.y.size + _JEFFREYS

    def score(self, highest: float) -> float:
        """Σ log f(x_i | all others): the density above the `highest` threshold, below it the probability.

        The posterior without x_i is the whole one, divided by the likelihood of x_i; without the largest
        value more end points are possible, and its density is a ratio of evidences.
        """
        (a, b), d = self.beta, highest - self.threshold
        inverse = (a + b - 1.0) / (a - 1.0)  # E 1/p
        survival = np.exp(-self.nu * exponential_scale(d, self.theta)) if d > 0 else np.ones_like(self.nu)
        # log E 1/h for the density h at each exceedance but the largest, and E S(d)/h over it
        each, share = np.empty((2, self.y.size - 1))
        for i, v in enumerate(exponential_scale(self.y[1:, None], self.theta[:, 0])):
            log = self.log_weight - np.log(self.nu) + (self.nu + self.theta) * v[:, None]
            weight = np.exp(log - log.max())
            each[i], share[i] = log.max() + np.log(weight.sum()), (weight * survival).sum() / weight.sum()
        above = self.y[1:] > d
        rest = _Posterior.of(self.y[1:], self.n_total - 1, self.threshold)
        total = self.log_evidence - rest.log_evidence - np.log(inverse)
        total -= (each[above] + np.log(inverse)).sum()
        total += np.log1p(-share[~above] / inverse).sum()
        kept, below = (np.exp(self.log_weight) * survival).sum(), self.n_total - self.y.size
        return float(total + (below * np.log1p(-kept * a / (a + b - 1.0)) if below else 0.0))

    def below(self, level: float, m: float) -> float:
        """Posterior probability that the return level of m observations is at most `level`: p ≤ 1/(m·S)."""
        from scipy.special import betainc

        log = self.nu * exponential_scale(max(level - self.threshold, 0.0), self.theta) - np.log(m)
        return float((np.exp(self.log_weight) * betainc(*self.beta, np.exp(np.minimum(log, 0.0)))).sum())


def _quantiles(models: list[_Posterior], weights: Floats, m: float, shares: tuple[float, ...]) -> tuple[float, ...]:
    """Quantiles of the mixture of the posteriors of the level, no lower than the lowest threshold."""
    from scipy.optimize import brentq

    def excess(level: float, share: float) -> float:
        return float(np.sum([w * model.below(level, m) for model, w in zip(models, weights, strict=True)])) - share

    start = models[0].threshold
    step, found = models[0].y[0], []
    for share in shares:
        high = start + step
        while excess(high, share) < 0.0:
            high = start + 2.0 * (high - start)
        found.append(start)
        if excess(start, share) < 0:
            found[-1] = brentq(excess, start, high, args=(share,), xtol=1e-9 * step)
    return tuple(found)
