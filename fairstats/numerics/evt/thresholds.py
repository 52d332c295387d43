"""Thresholds: fits above many of them, and a choice by rule.

Where the model holds, shape and modified scale do not depend on the threshold.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fairstats.ground.checks import (
    as_generator,
    check_choice,
    check_confidence_level,
    check_share,
    check_whole,
)
from fairstats.ground.errors import DataWarning, InputError, caution
from fairstats.ground.results import Comparison, Interval, Result
from fairstats.ground.serialise import serialisable
from fairstats.numerics.evt.checks import LEAST_EXCEEDANCES, as_series, kth_largest, usable_thresholds
from fairstats.numerics.evt.contour import (
    contour_extremes,
    root_moments,
    shape_interest,
    standardised_ends,
)
from fairstats.numerics.evt.diagnostics import STATISTICS, OverThresholds, excess_pvalue
from fairstats.numerics.evt.distributions import Counts, Floats
from fairstats.numerics.evt.gpd import GpdLikelihood, fit_gpd_samples
from fairstats.numerics.evt.intervals import TailLikelihood, chi2_quantile
from fairstats.numerics.evt.likelihood import Samples
from fairstats.numerics.evt.tail import SIGNED_ROOT, tail_row


@serialisable
@dataclass(frozen=True, eq=False)
class ThresholdStability(OverThresholds):
    """Parameters of the generalised Pareto fit above each threshold.

    Attributes
    ----------
    thresholds : ndarray of float, shape (K,)
    shape, shape_low, shape_high : ndarray of float, shape (K,)
        ξ with its likelihood interval, by the standardised signed root.
    modified_scale, modified_scale_error : ndarray of float, shape (K,)
        σ − ξu, which does not depend on u where the model holds, and its standard error (NaN for ξ ≤ −1/2).
    n_exceedances : ndarray of int, shape (K,)
    confidence_level : float
    """

    title: ClassVar[str] = "Threshold stability"
    backend: ClassVar[str] = "scipy"  # what computes: the fits without R

    shape: Floats
    shape_low: Floats
    shape_high: Floats
    modified_scale: Floats
    modified_scale_error: Floats
    n_exceedances: Counts
    confidence_level: float

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """Two rows per threshold: shape and modified scale."""
        z, level = np.sqrt(chi2_quantile(self.confidence_level)), self.confidence_level
        rows = []
        for i, n in enumerate(self.n_exceedances):
            scale, error = float(self.modified_scale[i]), float(self.modified_scale_error[i])
            ends = float(self.shape_low[i]), float(self.shape_high[i])
            likely = Interval(*ends, level, SIGNED_ROOT)
            around = Interval(scale - z * error, scale + z * error, level, "delta")
            rows.append(tail_row("shape", self.shape[i], likely, n))
            rows.append(tail_row("modified scale", scale, around, n, error))
        return tuple(rows)

    def sentences(self) -> list[str]:
        """The range of the shape, and how to read it."""
        return [
            f"The shape lies between {self.shape.min():.3g} and {self.shape.max():.3g} over "
            f"{self.thresholds.size} thresholds.",
            *self.notes(),
        ]

    def notes(self) -> list[str]:
        """How to read it."""
        return ["Above a good threshold shape and modified scale (σ − ξu) are constant."]

    def plot(self, axes: Any = None) -> Any:
        """Draw it; see `fairstats.plots.evt.plot_threshold_stability`."""
        from fairstats.plots.evt import plot_threshold_stability

        return plot_threshold_stability(self, axes)


def threshold_stability(
    x: Any, thresholds: Any = None, *, n_thresholds: int = 25, confidence_level: float = 0.95
) -> ThresholdStability:
    """Shape and modified scale of generalised Pareto fits above many thresholds (Coles 2001, section 4.3.4).

    Parameters
    ----------
    x, thresholds, n_thresholds, confidence_level
        As for `mean_residual_life`.

    Returns
    -------
    ThresholdStability

    Raises
    ------
    InputError
        As for `mean_residual_life`.

    Examples
    --------
    >>> import numpy as np
    >>> from fairstats.numerics.evt import threshold_stability
    >>> found = threshold_stability(np.random.default_rng(1).exponential(size=5000), [1.0, 2.0])
    >>> found.shape.round(3)
    array([ 0.024, -0.001])
    """
    series = as_series("x", x)
    level = check_confidence_level(confidence_level)
    u, n = usable_thresholds(series, thresholds, n_thresholds)
    excesses = np.maximum(np.sort(series)[::-1][: n.max()] - u[:, None], 0.0)
    samples = Samples.from_excesses(excesses, n.astype(np.float64))
    fits = fit_gpd_samples(samples)
    low, high = _shape_intervals(samples, excesses, n, series.size, chi2_quantile(level))
    cov = fits.covariance
    variance = cov[:, 0, 0] - 2.0 * u * cov[:, 0, 1] + u**2 * cov[:, 1, 1]
    return ThresholdStability(
        u, fits.shape, low, high, fits.scale - fits.shape * u, np.sqrt(variance), n, level
    )


def _shape_intervals(
    samples: Samples, excesses: Floats, n: Counts, total: int, critical: float
) -> tuple[Floats, Floats]:
    """Likelihood intervals of ξ for all samples at once; those at an edge one by one."""
    q = n.size
    likelihood = GpdLikelihood.from_samples(samples, np.full(q, float(total)), "fixed")
    rows, side = np.tile(np.arange(q), 2), np.repeat([-1.0, 1.0], q)
    edge = 2.0 * (likelihood.boundary() - likelihood.minimum())[rows]
    k = samples.n[rows]

    def ends(target: Floats) -> Floats:
        found = contour_extremes(likelihood, rows, shape_interest(), side, target)
        return np.where(edge <= target, np.nan, found)

    def moments(found: Floats) -> tuple[Floats, Floats]:
        return root_moments(np.nan_to_num(found), np.inf, k)

    shapes, z = (likelihood.fits.theta / likelihood.fits.nu)[rows], np.full(2 * q, np.sqrt(critical))
    found = standardised_ends(ends, moments, side, z, shapes, np.inf, k)
    for i in np.flatnonzero(np.isnan(found[:q]) | np.isnan(found[q:])):
        one = TailLikelihood.of_excesses(excesses[i, : n[i]], 0.0, total, "fixed", None)
        low, high = one.parameter_ends("shape", np.array([critical]), standardised=True)
        found[i], found[q + i] = low[0], high[0]
    return found[:q], found[q:]


@serialisable
@dataclass(frozen=True, eq=False)
class ThresholdChoice(Result):
    """A threshold and how it was found.

    Attributes
    ----------
    threshold : float
    n_exceedances : int
        Values above it.
    rule : {"forward_stop", "k_largest"}
    thresholds : ndarray of float, shape (K,)
        Candidates, ascending.
    n : ndarray of int, shape (K,)
        Values above each.
    pvalues : ndarray of float, shape (K,)
        Goodness of fit above each; NaN where not tested.
    forward_stop : ndarray of float, shape (K,)
        −(1/i)·Σ_{j≤i} log(1 − p_j): an estimated false discovery rate of rejecting the first i; NaN where
        not tested.
    false_discovery_rate : float
        Allowed.
    statistic_name : str
    n_resamples : int
    seed : int or None
    """

    title: ClassVar[str] = "Threshold"
    lacks: ClassVar[Mapping[str, str]] = {
        "estimate": "the choice is `threshold`",
        "std_error": "a threshold is chosen, not estimated",
        "confidence_interval": "a threshold is chosen, not estimated",
        "statistic": "one test per candidate; see `pvalues`",
        "pvalue": "one test per candidate; see `pvalues`",
        "verdict": "the choice is `threshold`",
        "comparisons": "the candidates are in to_frame()",
        "plot": "mean_residual_life(x).plot() and threshold_stability(x).plot() draw the candidates",
        "__getitem__": "a series has no groups",
    }

    threshold: float
    n_exceedances: int
    rule: str
    thresholds: Floats
    n: Counts
    pvalues: Floats
    forward_stop: Floats
    false_discovery_rate: float = float("nan")
    statistic_name: str = ""
    n_resamples: int = 0
    seed: int | None = None

    def rows(self) -> list[dict[str, Any]]:
        """One row per candidate."""
        return [
            {
                "metric": "threshold",
                "estimate": float(u),
                "pvalue": float(self.pvalues[i]),
                "n": int(self.n[i]),
                "method": self.rule,
                "forward_stop": float(self.forward_stop[i]),
                "chosen": bool(u == self.threshold),
            }
            for i, u in enumerate(self.thresholds)
        ]

    def sentences(self) -> list[str]:
        """The choice in words."""
        return self.notes()

    def notes(self) -> list[str]:
        """The choice in words."""
        return [f"Chosen: {self.threshold:g}, which {self.n_exceedances} values exceed ({self.rule})."]


def choose_threshold(
    x: Any,
    *,
    method: str = "forward_stop",
    k: int = 50,
    thresholds: Any = None,
    n_thresholds: int = 15,
    false_discovery_rate: float = 0.1,
    statistic: str = "anderson_darling",
    n_resamples: int = 199,
    rng: Any = None,
) -> ThresholdChoice:
    """Choose a threshold by a rule that can be reported.

    Parameters
    ----------
    x : array-like, shape (N,)
        The whole series.
    method : {"forward_stop", "k_largest"}
        "forward_stop": test the generalised Pareto fit above each candidate, in ascending order, and go up
        as long as the rejected candidates have at most the false discovery rate given (ForwardStop).
        "k_largest": the (k + 1)-th largest value, so that k values exceed it strictly; with ties fewer do,
        and the number that does is reported.
    k : int
        For "k_largest".
    thresholds, n_thresholds
        Candidates; default as for `mean_residual_life`.
    false_discovery_rate : float
        In (0, 1); over candidates that share their values the rule is conservative.
    statistic : {"anderson_darling", "cramer_von_mises"}
    n_resamples : int
        Simulated samples per candidate.
    rng : None, int or Generator
        Each candidate has its own stream.

    Returns
    -------
    ThresholdChoice

    Raises
    ------
    InputError
        Too few values, or a candidate with fewer than ten exceedances.

    Warns
    -----
    DataWarning
        Every candidate is rejected: the highest one is returned.

    Notes
    -----
    Choosing by the same data that are fitted afterwards makes intervals a little too narrow; the tests of
    nested samples are dependent, for which ForwardStop's guarantee holds only approximately (Bader et al.,
    section 4).

    References
    ----------
    Bader, B., Yan, J. and Zhang, X. (2018). Automated threshold selection for extreme value analysis via
    ordered goodness-of-fit tests with adjustment for false discovery rate. Annals of Applied Statistics 12,
    310–329. G'Sell, M. G. et al. (2016). Sequential selection procedures and false discovery rate control.
    JRSS B 78, 423–444.

    Examples
    --------
    >>> import numpy as np
    >>> from fairstats.numerics.evt import choose_threshold
    >>> x = np.random.default_rng(1).exponential(size=2000)
    >>> choose_threshold(x, method="k_largest", k=50).n_exceedances
    50
    >>> choose_threshold(x, n_thresholds=4, n_resamples=99, rng=1).n_exceedances
    1000
    """
    check_choice("method", method, ("forward_stop", "k_largest"))
    check_choice("statistic", statistic, tuple(STATISTICS))
    series = as_series("x", x)
    if method == "k_largest":
        return _k_largest(series, k)
    rate = check_share("false_discovery_rate", false_discovery_rate, cure="0.1")
    replicates = check_whole("n_resamples", n_resamples, low=19)
    u, n = usable_thresholds(series, thresholds, n_thresholds)
    generator, seed = as_generator(rng)
    pvalues = _pvalues(series, u, statistic, replicates, generator)
    stop = forward_stop(pvalues)
    rejected = np.flatnonzero(stop <= rate)
    first = int(rejected[-1]) + 1 if rejected.size else 0
    if first == u.size:
        caution("the model is rejected above every candidate: the highest one is returned", DataWarning)
        first -= 1
    tested = (pvalues, stop, rate, statistic, replicates, seed)
    return ThresholdChoice(float(u[first]), int(n[first]), method, u, n, *tested)


def forward_stop(pvalues: Floats) -> Floats:
    """ForwardStop's estimate −(1/i)·Σ_{j≤i} log(1 − p_j) for every i (G'Sell et al. 2016)."""
    p = np.minimum(np.asarray(pvalues, dtype=np.float64), 1.0 - 1e-12)
    return np.cumsum(-np.log1p(-p)) / np.arange(1, p.size + 1)


def _pvalues(series: Floats, u: Floats, statistic: str, replicates: int, rng: np.random.Generator) -> Floats:
    from tqdm import tqdm

    pvalues = np.empty(u.size)
    streams = rng.spawn(u.size)
    candidates = tqdm(range(u.size), desc="thresholds", disable=None, delay=2.0, leave=False)
    for i in candidates:
        excesses = np.sort(series[series > u[i]]) - u[i]
        fits = fit_gpd_samples(Samples.from_excesses(excesses[None, :]), covariance=False)
        scale, shape = float(fits.scale[0]), float(fits.shape[0])
        pvalues[i] = excess_pvalue(excesses, scale, shape, statistic, replicates, streams[i])[1]
    return pvalues


def _k_largest(series: Floats, k: int) -> ThresholdChoice:
    k = check_whole("k", k, low=LEAST_EXCEEDANCES)
    if series.size <= k:
        allowed = "less than the number of values"
        raise InputError("k", got=f"{k} of {series.size} values", allowed=allowed, cure="a smaller k")
    threshold = kth_largest(series, k)
    n = int((series > threshold).sum())
    if n < k:
        caution(f"ties at the threshold {threshold:g}: {n} values exceed it, not {k}", DataWarning)
    candidate, nothing = np.array([threshold]), np.full(1, np.nan)
    return ThresholdChoice(threshold, n, "k_largest", candidate, np.array([n]), nothing, nothing)
