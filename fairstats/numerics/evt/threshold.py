"""A threshold by rule: above the k largest values, or the lowest one at which the model is not rejected."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from fairstats.ground.errors import InputError
from fairstats.ground.randomness import as_generator
from fairstats.ground.results import Result, check_choice
from fairstats.ground.serialise import serialisable
from fairstats.numerics.evt.candidates import usable_thresholds
from fairstats.numerics.evt.checks import LEAST_EXCEEDANCES, as_count, as_series, kth_largest, warn
from fairstats.numerics.evt.fit_tests import STATISTICS, excess_pvalue
from fairstats.numerics.evt.gpd import GpdSamples, fit_gpd_samples

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["ThresholdChoice", "choose_threshold", "forward_stop"]


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
    alpha : float
        False discovery rate allowed.
    statistic : str
    n_resamples : int
    seed : int or None
    """

    title: ClassVar[str] = "Threshold"

    threshold: float
    n_exceedances: int
    rule: str
    thresholds: Floats
    n: NDArray[np.int64]
    pvalues: Floats
    forward_stop: Floats
    alpha: float
    statistic: str
    n_resamples: int
    seed: int | None

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
    alpha: float = 0.1,
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
        as long as the rejected candidates have a false discovery rate of at most `alpha` (ForwardStop).
        "k_largest": the (k + 1)-th largest value, so that k values exceed it strictly; with ties fewer do,
        and the number that does is reported.
    k : int
        For "k_largest".
    thresholds, n_thresholds
        Candidates; default as for `mean_residual_life`.
    alpha : float
        False discovery rate.
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
    >>> from fairstats.numerics.evt.threshold import choose_threshold
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
    if not 0 < alpha < 1:
        raise InputError("alpha", got=repr(alpha), allowed="a number between 0 and 1", cure="0.1")
    replicates = as_count("n_resamples", n_resamples, least=19)
    u = usable_thresholds(series, thresholds, n_thresholds)
    generator, seed = as_generator(rng)
    pvalues = _pvalues(series, u, statistic, replicates, generator)
    stop = forward_stop(pvalues)
    rejected = np.flatnonzero(stop <= alpha)
    first = int(rejected[-1]) + 1 if rejected.size else 0
    if first == u.size:
        warn("the model is rejected above every candidate threshold: the highest one is returned")
        first -= 1
    n = np.array([int((series > threshold).sum()) for threshold in u])
    return ThresholdChoice(
        float(u[first]),
        int(n[first]),
        "forward_stop",
        u,
        n,
        pvalues,
        stop,
        alpha,
        statistic,
        replicates,
        seed,
    )


def forward_stop(pvalues: Floats) -> Floats:
    """ForwardStop's estimate −(1/i)·Σ_{j≤i} log(1 − p_j) for every i (G'Sell et al. 2016).

    Examples
    --------
    >>> import numpy as np
    >>> from fairstats.numerics.evt.threshold import forward_stop
    >>> forward_stop(np.array([0.01, 0.02, 0.5])).round(3)
    array([0.01 , 0.015, 0.241])
    """
    p = np.minimum(np.asarray(pvalues, dtype=np.float64), 1.0 - 1e-12)
    return np.cumsum(-np.log1p(-p)) / np.arange(1, p.size + 1)


def _pvalues(series: Floats, u: Floats, statistic: str, replicates: int, rng: np.random.Generator) -> Floats:
    from tqdm import tqdm

    pvalues = np.empty(u.size)
    streams = rng.spawn(u.size)
    candidates = tqdm(range(u.size), desc="thresholds", disable=None, delay=2.0, leave=False)
    for i in candidates:
        excesses = np.sort(series[series > u[i]]) - u[i]
        fits = fit_gpd_samples(GpdSamples.from_excesses(excesses[None, :]), covariance=False)
        scale, shape = float(fits.scale[0]), float(fits.shape[0])
        pvalues[i] = excess_pvalue(excesses, scale, shape, statistic, replicates, streams[i])[1]
    return pvalues


def _k_largest(series: Floats, k: int) -> ThresholdChoice:
    k = as_count("k", k, least=LEAST_EXCEEDANCES)
    if series.size <= k:
        raise InputError(
            "k",
            got=f"{k} of {series.size} values",
            allowed="less than the number of values",
            cure="a smaller k",
        )
    threshold = kth_largest(series, k)
    n = int((series > threshold).sum())
    if n < k:
        warn(f"ties at the threshold {threshold:g}: {n} values exceed it, not {k}")
    nothing = np.full(1, np.nan)
    return ThresholdChoice(
        threshold,
        n,
        "k_largest",
        np.array([threshold]),
        np.array([n]),
        nothing,
        nothing,
        float("nan"),
        "",
        0,
        None,
    )
