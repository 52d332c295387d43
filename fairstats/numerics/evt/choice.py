"""The rule by which a threshold is chosen: the only place that says how many values may exceed it.

A threshold that the data choose is a part of what is inferred from them. Tests of fit do not see a
bias that is as large as the interval is wide, so that the rule caps the candidates first: at most
N^(2/3)/5 of N values exceed one, 31 of 2,000 and 147 of 20,000. The power 2/3 is the rate at which
the number that errs least grows where the tail's second order is −1 (Hall 1982); with the factor
1/5 the level of 1,000 observations is covered by .93 and more after choosing, on all laws of the
table in `choose_threshold` from 2,000 values on (with 1/4, .9325 there). `fs.ecd`, the audit and
`fs_choose_threshold` of the R package have the same rule.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from fairstats.ground import checks
from fairstats.ground.checks import SeedOrGenerator
from fairstats.ground.errors import DataWarning, InputError, caution
from fairstats.ground.progress import each_of
from fairstats.ground.results import Result
from fairstats.ground.serialise import serialisable
from fairstats.numerics.evt.diagnostics import STATISTICS, excess_pvalue
from fairstats.numerics.evt.distributions import Counts, Floats
from fairstats.numerics.evt.gpd import fit_gpd_samples
from fairstats.numerics.evt.likelihood import Samples
from fairstats.numerics.evt.series import (
    LEAST_EXCEEDANCES,
    MOST_THRESHOLDS,
    as_series,
    usable_thresholds,
)

#: At most N^`_GROWTH`/`_DIVISOR` of N values exceed a candidate.
_GROWTH = 2.0 / 3.0
_DIVISOR = 5.0
#: So many exceed the highest candidate, also where that is more than the rule's share: with fewer
#: the likelihood's intervals are too narrow (.91 of ten).
LEAST_CHOSEN = 20


def most_exceedances(n: int) -> int:
    """How many of n values may exceed a chosen threshold: n^(2/3)/5.

    Examples
    --------
    >>> [most_exceedances(n) for n in (2_000, 20_000, 200_000)]
    [31, 147, 683]
    """
    # 8,000^(2/3)/5 is 80, whatever the last digit
    return int(n**_GROWTH / _DIVISOR * (1.0 + 1e-12))


def candidate_counts(n: int, n_thresholds: int, fewest: int = LEAST_CHOSEN) -> Counts:
    """Numbers of exceedances of the candidates, descending.

    From the most that the rule allows to the `fewest`.

    At most `n_thresholds` of them, in geometric progression; only `fewest` where the rule allows no
    more.
    """
    fewest_allowed = min(fewest, max(LEAST_EXCEEDANCES, n // 2))
    most_allowed = max(most_exceedances(n), fewest_allowed)
    geometric_counts = np.geomspace(most_allowed, fewest_allowed, n_thresholds) * (1.0 + 1e-12)
    return np.unique(geometric_counts.astype(np.int64))[::-1]


@serialisable(eq=False)
class ThresholdChoice(Result):
    """A threshold and how it was found.

    Attributes
    ----------
    threshold : float
    n_exceedances : int
        Values above it.
    n_total : int
        N: all values.
    most_exceedances : int
        Values that may exceed a threshold by the rule, N^(2/3)/5.
    rule : {"forward_stop", "k_largest"}
    thresholds, n : ndarray, shape (K,)
        Candidates, ascending, and the values above each.
    pvalues : ndarray of float, shape (K,)
        Goodness of fit above each; NaN where not tested.
    forward_stop : ndarray of float, shape (K,)
        −(1/i)·Σ_{j≤i} log(1 − p_j): an estimated false discovery rate of rejecting the first i; NaN
        where not tested.
    false_discovery_rate : float
        Allowed.
    statistic_name : str
    n_resamples : int
    seed : int or None
    """

    title: ClassVar[str] = "Threshold"
    lacks: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("estimate", "verdict"), "the choice is `threshold`"),
        **dict.fromkeys(
            ("std_error", "confidence_interval"), "a threshold is chosen, not estimated"
        ),
        **dict.fromkeys(("statistic", "pvalue"), "one test per candidate; see `pvalues`"),
        "comparisons": "the candidates are in to_frame()",
        "plot": (
            "mean_residual_life(x).plot() and threshold_stability(x).plot() draw the candidates"
        ),
        "__getitem__": "a series has no groups",
    }

    threshold: float
    n_exceedances: int
    n_total: int
    most_exceedances: int
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
        columns = {"estimate": self.thresholds, "pvalue": self.pvalues, "n": self.n}
        columns |= {"forward_stop": self.forward_stop, "chosen": self.thresholds == self.threshold}
        candidate_rows = zip(*(column.tolist() for column in columns.values()), strict=True)
        result: list[dict[str, Any]] = []
        for candidate_row in candidate_rows:
            result.append(
                {
                    "metric": "threshold",
                    "method": self.rule,
                    **dict(zip(columns, candidate_row, strict=True)),
                }
            )
        return result

    def sentences(self) -> list[str]:
        """The choice in words."""
        return [
            f"Chosen: {self.threshold:g}, which {self.n_exceedances} values exceed ({self.rule}).",
            *self.notes(),
        ]

    def notes(self) -> list[str]:
        """Where the choice goes beyond the rule: that nothing is shown of levels above it."""
        n_above = self.n_exceedances
        if n_above <= self.most_exceedances:
            return []
        too_many = (
            f"{n_above} of {self.n_total:,} values are more than the rule allows (N^(2/3)/5 ="
            f" {self.most_exceedances})"
        )
        if n_above <= LEAST_CHOSEN:
            return [
                f"Insufficient evidence: {too_many}; 95% intervals of levels cover .90 to .94 below"
                " 1,000 values."
            ]
        reason = (
            "a tail that is not generalised Pareto biases levels by more than their intervals allow"
        )
        return [f"Insufficient evidence: {too_many}: {reason}; choose_threshold(x) keeps to it."]


def choose_threshold(
    x: Any,
    *,
    method: str = "forward_stop",
    k: int | None = None,
    thresholds: Any = None,
    n_thresholds: int = 15,
    false_discovery_rate: float = 0.1,
    statistic: str = "anderson_darling",
    n_resamples: int = 199,
    rng: SeedOrGenerator = None,
) -> ThresholdChoice:
    """Choose a threshold by a rule that can be reported.

    Parameters
    ----------
    x : array-like, shape (N,)
        The whole series.
    method : {"forward_stop", "k_largest"}
        "forward_stop": test the generalised Pareto fit above each candidate, in ascending order,
        and go up as long as the rejected candidates have at most the false discovery rate given
        (ForwardStop). "k_largest": the (k + 1)-th largest value, so that k values exceed it
        strictly; with ties fewer do, and the number that does is reported.
    k : int, optional
        For "k_largest", at least ten. Default: the rule's largest number, N^(2/3)/5, but at least
        20.
    thresholds : array-like, optional
        Candidates; default: so many values that from N^(2/3)/5 of them exceed the lowest to 20 the
        highest, in geometric progression. Candidates of one's own may exceed the rule: the result
        then says so.
    n_thresholds : int
        Candidates by default, at least two.
    false_discovery_rate : float
        In (0, 1); over candidates that share their values the rule is conservative.
    statistic : {"anderson_darling", "cramer_von_mises"}
    n_resamples, rng
        Simulated samples per candidate, each of which has its own stream.

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
    The rule comes first, the tests second: tests of fit do not see a bias that is as large as the
    interval is wide (with candidates up to half of 2,000 values of a beta(2, 8) the level of 1,000
    was covered by .845). Coverage of the 95% interval of the level of 1,000 observations by
    `fit_gpd(x, choice.threshold).return_level(1000)`, choice included; 4,000 samples each, Monte
    Carlo error .0035:

    ===========================================  =======  =======  =======  ========
    law                                          N = 700  1,000    2,000    20,000
    ===========================================  =======  =======  =======  ========
    beta(2, 8)                                   .934     .936     .947     .949
    lognormal, σ = 1                             .936     .942     .950     .947
    gamma(2)                                     .933     .929     .945     .942
    t with 5 degrees of freedom                  .919     .929     .948     .945
    .95·beta(2, 20) + .05·beta(5, 5)             .934     .931     .939     .946
    .95·beta(2, 20) + .05·beta(6, 8)             .922     .925     .934     .947
    ===========================================  =======  =======  =======  ========

    Below 1,000 values 20 exceedances are more than the rule's share, and the result says so. Tests
    of nested samples are dependent, for which ForwardStop's guarantee holds only approximately
    (Bader et al., section 4).

    References
    ----------
    Bader, B., Yan, J. and Zhang, X. (2018). Automated threshold selection for extreme value
    analysis via ordered goodness-of-fit tests with adjustment for false discovery rate. Annals of
    Applied Statistics 12, 310–329. G'Sell, M. G. et al. (2016). Sequential selection procedures and
    false discovery rate control. JRSS B 78, 423–444. Hall, P. (1982). On some simple estimates of
    an exponent of regular variation. JRSS B 44, 37–42.

    Examples
    --------
    >>> import numpy as np
    >>> from fairstats.numerics.evt import choose_threshold
    >>> x = np.random.default_rng(1).exponential(size=2000)
    >>> choose_threshold(x, method="k_largest", k=50).n_exceedances
    50
    >>> choose_threshold(x, n_resamples=99, rng=1).n_exceedances
    31
    """
    checks.check_choice("method", method, ("forward_stop", "k_largest"))
    checks.check_choice("statistic", statistic, tuple(STATISTICS))
    series = as_series("x", x)
    if method == "k_largest":
        return _k_largest(series, k)
    discovery_rate = checks.check_share("false_discovery_rate", false_discovery_rate, cure="0.1")
    replicates = checks.check_whole("n_resamples", n_resamples, low=19)
    if thresholds is None:
        candidates = _default_candidates(series, n_thresholds)
    else:
        candidates = thresholds
    threshold_values, exceedance_counts = usable_thresholds(series, candidates, n_thresholds)
    generator, seed = checks.as_generator(rng)
    pvalues = _candidate_pvalues(series, threshold_values, statistic, replicates, generator)
    stop_estimates = forward_stop(pvalues)
    rejected = np.flatnonzero(stop_estimates <= discovery_rate)
    if rejected.size:
        chosen_index = int(rejected[-1]) + 1
    else:
        chosen_index = 0
    if chosen_index == threshold_values.size:
        caution(
            "the model is rejected above every candidate: the highest one is returned", DataWarning
        )
        chosen_index -= 1
    return ThresholdChoice(
        threshold=float(threshold_values[chosen_index]),
        n_exceedances=int(exceedance_counts[chosen_index]),
        n_total=series.size,
        most_exceedances=most_exceedances(series.size),
        rule=method,
        thresholds=threshold_values,
        n=exceedance_counts,
        pvalues=pvalues,
        forward_stop=stop_estimates,
        false_discovery_rate=discovery_rate,
        statistic_name=statistic,
        n_resamples=replicates,
        seed=seed,
    )


def _default_candidates(series: Floats, n_thresholds: int) -> Floats:
    """The values that so many exceed as the rule says; ties may leave fewer above."""
    n_wanted = checks.check_whole("n_thresholds", n_thresholds, low=2, high=MOST_THRESHOLDS)
    least_values = 2 * LEAST_EXCEEDANCES + 1
    if series.size < least_values:
        cure = "more values, or thresholds= of one's own"
        raise InputError(
            "x",
            got=f"{series.size} values",
            allowed=f"at least {least_values}",
            cure=cure,
        )
    ascending = np.sort(series)
    threshold_values = np.unique(
        ascending[ascending.size - 1 - candidate_counts(ascending.size, n_wanted)]
    )
    exceedance_counts = ascending.size - np.searchsorted(ascending, threshold_values, side="right")
    # ties at the top: the next value below them
    if not (exceedance_counts >= LEAST_EXCEEDANCES).any():
        values_below = ascending[ascending < threshold_values[0]]
        return values_below[-1:] if values_below.size else threshold_values
    return np.asarray(threshold_values[exceedance_counts >= LEAST_EXCEEDANCES])


def forward_stop(pvalues: Floats) -> Floats:
    """ForwardStop's estimate −(1/i)·Σ_{j≤i} log(1 − p_j) for every i (G'Sell et al. 2016)."""
    p = np.minimum(np.asarray(pvalues, dtype=np.float64), 1.0 - 1e-12)
    return np.cumsum(-np.log1p(-p)) / np.arange(1, p.size + 1)


def _candidate_pvalues(
    series: Floats,
    threshold_values: Floats,
    statistic: str,
    replicates: int,
    rng: np.random.Generator,
) -> Floats:
    """p-value of the fit above each candidate threshold, by simulated samples of that fit."""
    pvalues = np.empty(threshold_values.size)
    streams = rng.spawn(threshold_values.size)
    for candidate_index in each_of(range(threshold_values.size), "thresholds"):
        excesses = (
            np.sort(series[series > threshold_values[candidate_index]])
            - threshold_values[candidate_index]
        )
        sample_fits = fit_gpd_samples(Samples.from_excesses(excesses[None, :]), covariance=False)
        params = float(sample_fits.scale[0]), float(sample_fits.shape[0])
        pvalues[candidate_index] = excess_pvalue(
            excesses, *params, statistic, replicates, streams[candidate_index]
        )[1]
    return pvalues


def _k_largest(series: Floats, k: int | None) -> ThresholdChoice:
    """The (k + 1)-th largest value, by default the rule's lowest candidate."""
    if k is None:
        n_wanted = int(candidate_counts(series.size, 2)[0])
    else:
        n_wanted = checks.check_whole("k", k, low=LEAST_EXCEEDANCES)
    if series.size <= n_wanted:
        allowed = "less than the number of values"
        raise InputError(
            "k",
            got=f"{n_wanted} of {series.size} values",
            allowed=allowed,
            cure="a smaller k",
        )
    position = series.size - n_wanted - 1
    threshold = float(np.partition(series, position)[position])
    n_above = int((series > threshold).sum())
    if n_above < n_wanted:
        caution(
            f"ties at the threshold {threshold:g}: {n_above} values exceed it, not {n_wanted}",
            DataWarning,
        )
    no_values = np.full(1, np.nan)
    return ThresholdChoice(
        threshold=threshold,
        n_exceedances=n_above,
        n_total=series.size,
        most_exceedances=most_exceedances(series.size),
        rule="k_largest",
        thresholds=np.array([threshold]),
        n=np.array([n_above]),
        pvalues=no_values,
        forward_stop=no_values,
    )
