"""Series: what the public functions accept of one, and how its extremes cluster.

The extremal index θ in (0, 1] is one over the mean size of a cluster, 1 for independent values. The
times T_i between N exceedances give θ = 2(ΣT_i)²/((N − 1)·ΣT_i²), or the same of T_i − 1 and (T_i −
1)(T_i − 2) where some T_i > 2, and the run length that separates clusters: the (⌊θN⌋ + 1)-th
largest T_i (Ferro & Segers 2003).
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy.special import ndtr, ndtri

from fairstats.ground import checks
from fairstats.ground.checks import SeedOrGenerator
from fairstats.ground.errors import DataWarning, InputError, caution
from fairstats.ground.results import Interval
from fairstats.ground.serialise import serialisable
from fairstats.numerics.evt.distributions import Counts, Floats
from fairstats.numerics.evt.tail import TailEstimate

#: Fewer values than this are refused: R's packages return ξ ≤ −1 there, or an obscure error.
LEAST_EXCEEDANCES = 10
#: More thresholds than this are of no use to anybody.
MOST_THRESHOLDS = 10_000
#: Spread below this share of the magnitude is rounding, not data.
_ROUNDING = 1e-13


def as_series(argument: str, value: Any) -> Floats:
    """One-dimensional finite float64 array, or an InputError (see `finite_array`)."""
    allowed = "a one-dimensional array of finite numbers"
    series = checks.finite_array(argument, value, allowed)
    check_unit(argument, series)
    if series.ndim != 1:
        got = f"an array of shape {series.shape}"
        cure = "pass one column or ravel it"
        raise InputError(argument, got=got, allowed=allowed, cure=cure)
    return series


def check_unit(argument: str, array: Floats) -> None:
    """Raise where the values vary so little that squares of their spread, and so variances, are no
    floats.
    """
    spread = float(np.ptp(array)) if array.size else 0.0
    if 0 < spread < 1 / checks.LARGEST:
        got = f"values within {spread:.1g} of each other"
        allowed = (
            f"values that vary by {1 / checks.LARGEST:g} or more: squares of less are no floats"
        )
        raise InputError(argument, got=got, allowed=allowed, cure="change the unit")


def exceedances_of(series: Floats, threshold: float) -> Floats:
    """Values above the threshold, ascending.

    Raise where they are fewer than ten, or all the same.
    """
    exceedances = np.sort(series[series > threshold])
    if exceedances.size < LEAST_EXCEEDANCES:
        count_in_words = f"{exceedances.size} of the {series.size} values exceed"
        if exceedances.size == 0:
            largest = float(series.max()) if series.size else np.nan
            count_in_words = f"none of the {series.size} values exceeds (largest {largest:g})"
        allowed = f"a number that at least {LEAST_EXCEEDANCES} values exceed"
        cure = (
            "lower it; choose_threshold(x, method='k_largest') sets one by the number of"
            " exceedances"
        )
        raise InputError(
            "threshold",
            got=f"{threshold:g}, which {count_in_words}",
            allowed=allowed,
            cure=cure,
        )
    refuse_constant("x", exceedances, "values above the threshold")
    return exceedances


def as_maxima(value: Any) -> Floats:
    """Block maxima, ascending: at least ten, not all the same."""
    maxima = np.sort(as_series("block_maxima", value))
    if maxima.size < LEAST_EXCEEDANCES:
        allowed = f"at least {LEAST_EXCEEDANCES}"
        cure = "shorter blocks, or fit_gpd above a threshold"
        raise InputError("block_maxima", got=f"{maxima.size} values", allowed=allowed, cure=cure)
    refuse_constant("block_maxima", maxima, "values")
    return maxima


def refuse_constant(argument: str, ordered: Floats, what: str) -> None:
    """Raise where ascending values are all the same, up to rounding."""
    if ordered[-1] - ordered[0] <= _ROUNDING * np.abs(ordered).max():
        got = f"{ordered.size} {what} that all equal {ordered[0]:g}"
        cure = "a constant tail has no distribution to fit or to test; report the value itself"
        raise InputError(argument, got=got, allowed="values that differ", cure=cure)


def are_tied(values: Floats) -> bool:
    """Whether more than half of the values coincide with others."""
    return bool(np.unique(values).size < 0.5 * values.size)


def may_be_rounded(values: Floats) -> bool:
    """Whether more than half of the values coincide with others, or the two largest do."""
    return are_tied(values) or (values.size > 1 and int((values == values.max()).sum()) > 1)


def warn_of_ties(values: Floats, what: str) -> None:
    """Say so where many values coincide: the likelihood is one of a continuous distribution."""
    if are_tied(values):
        ties_in_words = f"{values.size} {what} have only {np.unique(values).size} distinct values"
        treatment = "likelihood, standard errors and tests treat them as continuous"
        caution(f"{ties_in_words}: they are rounded or tied, and {treatment}", DataWarning)


def usable_thresholds(series: Floats, thresholds: Any, n_thresholds: int) -> tuple[Floats, Counts]:
    """Thresholds in ascending order, and how many values exceed each: at least ten, not all equal.

    Default: from the median to the value that ten exceed, the numbers of exceedances in geometric
    progression.
    """
    ascending = np.sort(series)
    if thresholds is not None:
        threshold_values = np.unique(
            checks.finite_array("thresholds", thresholds, "numbers within the range of x")
        )
    else:
        threshold_values = np.unique(
            default_thresholds(
                ascending, n_thresholds, 2, LEAST_EXCEEDANCES, 2 * LEAST_EXCEEDANCES + 1
            )
        )
    exceedance_counts = np.asarray(
        ascending.size - np.searchsorted(ascending, threshold_values, side="right")
    )
    if thresholds is None:  # ties may leave fewer above
        threshold_values = threshold_values[exceedance_counts >= LEAST_EXCEEDANCES]
        exceedance_counts = exceedance_counts[exceedance_counts >= LEAST_EXCEEDANCES]
    if not threshold_values.size or exceedance_counts.min() < LEAST_EXCEEDANCES:
        if not threshold_values.size:
            worst_in_words = "none"
        else:
            worst_threshold = threshold_values[exceedance_counts.argmin()]
            worst_in_words = f"{worst_threshold:g}, which {exceedance_counts.min()} values exceed"
        allowed = f"numbers that at least {LEAST_EXCEEDANCES} values exceed"
        raise InputError(
            "thresholds",
            got=worst_in_words,
            allowed=allowed,
            cure="lower thresholds, or fewer ties",
        )
    refuse_constant(
        "x",
        ascending[ascending.size - exceedance_counts[-1] :],
        f"values above {threshold_values[-1]:g}",
    )
    return threshold_values, exceedance_counts


def default_thresholds(ordered: Floats, wanted: int, part: int, fewest: int, least: int) -> Floats:
    """From the value that 1/`part` of an ordered series of at least `least` exceeds to the one that
    the `fewest` do.
    """
    wanted = checks.check_whole("n_thresholds", wanted, low=2, high=MOST_THRESHOLDS)
    if ordered.size < least:
        cure = "more values, or thresholds= of one's own"
        raise InputError("x", got=f"{ordered.size} values", allowed=f"at least {least}", cure=cure)
    exceedance_counts = np.geomspace(ordered.size // part, fewest, wanted).astype(int)
    return np.asarray(ordered[ordered.size - 1 - exceedance_counts])


def different_thresholds(
    series: Floats,
    thresholds: Any,
    n_thresholds: int,
    least: int,
) -> tuple[Floats, Counts]:
    """`usable_thresholds` with values between them: `least` at least."""
    threshold_values, exceedance_counts = usable_thresholds(series, thresholds, n_thresholds)
    is_different = np.append(True, np.diff(exceedance_counts) < 0)
    allowed = f"{('two', 'three')[least - 2]} or more"
    checks.check_that(
        is_different.sum() >= least,
        "thresholds",
        f"{is_different.sum()} with values between them",
        allowed,
    )
    return threshold_values[is_different], exceedance_counts[is_different]


@serialisable(kw_only=True)
class ExtremalIndex(TailEstimate):
    """How much the extremes of a series cluster.

    Attributes
    ----------
    estimate : float
        θ: one over the mean size of a cluster.
    confidence_interval : Interval
        Bias-corrected percentiles of θ in resamples of whole clusters and of the times between
        them.
    run_length : int
        Exceedances further apart than this belong to different clusters.
    n_clusters, n_resamples : int
    seed : int or None
    """

    title: ClassVar[str] = "Extremal index"
    metric: ClassVar[str] = "extremal index"
    in_row: ClassVar[tuple[str, ...]] = ("n_clusters", "run_length")

    run_length: int
    n_clusters: int
    n_resamples: int
    seed: int | None

    def notes(self) -> list[str]:
        """Clusters, what separates them, and what the interval lacks."""
        cluster_counts = f"{self.n_exceedances} exceedances in {self.n_clusters} clusters"
        separation = f"{cluster_counts}, which lie more than {self.run_length} observations apart."
        return [
            separation,
            "95% intervals of the extremal index are somewhat too narrow: they cover 88–94%.",
        ]


def extremal_index(
    x: Any,
    threshold: float,
    *,
    method: str = "intervals",
    run_length: int = 1,
    confidence_level: float = 0.95,
    n_resamples: int = 999,
    rng: SeedOrGenerator = None,
) -> ExtremalIndex:
    """Extremal index of a series in the order of time, with a bootstrap interval.

    Parameters
    ----------
    x : array-like, shape (N,)
        The series, in the order of time.
    threshold : float
        At least ten values exceed it.
    method : {"intervals", "runs"}
        "intervals": from the times between exceedances, with no choice but the threshold. "runs":
        clusters per exceedance, where `run_length` values in a row at or below the threshold end a
        cluster.
    run_length : int
        Of "runs", at least 1.
    confidence_level : float
    n_resamples : int
        At least 19.
    rng : None, int or Generator

    Returns
    -------
    ExtremalIndex

    Raises
    ------
    InputError
        Values that are no finite numbers, or fewer than ten exceedances.

    Notes
    -----
    Clusters and the times between them are resampled whole, and the percentiles corrected for bias
    (Efron 1987). The interval of "intervals" is somewhat too narrow: for θ from 0.3 to 0.8 it
    covers .88 to .90 at 50 exceedances of 2,000 values, .90 to .94 at 100, .92 at 250 of 5,000.
    "runs" joins independent clusters that happen to be near.

    References
    ----------
    Ferro, C. A. T. and Segers, J. (2003). Inference for clusters of extreme values. JRSS B 65,
    545–556. Efron, B. (1987). Better bootstrap confidence intervals. JASA 82, 171–185.

    Examples
    --------
    >>> import numpy as np
    >>> from fairstats.numerics.evt import extremal_index
    >>> steps = np.random.default_rng(1).exponential(size=2001)
    >>> found = extremal_index(np.maximum(steps[1:], steps[:-1]), 3.0, rng=1)  # clusters of two
    >>> round(found.estimate, 2), 0.5 in found.confidence_interval
    (0.51, True)
    """
    checks.check_choice("method", method, ("intervals", "runs"))
    interval_level = checks.check_confidence_level(confidence_level)
    replicates = checks.check_whole("n_resamples", n_resamples, low=19)
    separating_gap = checks.check_whole("run_length", run_length, low=1)
    exceedance_places = exceedance_times(as_series("x", x), threshold)
    time_gaps = np.diff(exceedance_places)
    by_runs = method == "runs"
    if not by_runs:
        separating_gap = separating_run(time_gaps)
    is_apart = time_gaps > separating_gap
    if not is_apart.any():
        got = f"{exceedance_places.size} exceedances that all lie within {separating_gap} observations of the next"
        allowed = "exceedances in two clusters at least"
        cure = "a higher one, or a smaller run_length"
        raise InputError("threshold", got=got, allowed=allowed, cure=cure)
    gap_sums = _gap_sums(time_gaps)
    n_clusters = int(is_apart.sum()) + 1
    cluster_sums = np.zeros((n_clusters, gap_sums.shape[1]))
    np.add.at(cluster_sums, np.cumsum(is_apart)[~is_apart], gap_sums[~is_apart])

    def estimated(gap_sums: Floats) -> Floats:
        if by_runs:
            return n_clusters / (gap_sums[:, 0] + 1.0)
        return _by_intervals(gap_sums)

    estimate = float(estimated(gap_sums.sum(axis=0)[None, :])[0])
    generator, seed = checks.as_generator(rng)
    resampled_sums = _resample_rows(cluster_sums, replicates, generator) + _resample_rows(
        gap_sums[is_apart], replicates, generator
    )
    resampled_estimates = estimated(resampled_sums)
    # bias-corrected percentiles: how far the estimate lies from the median of the draws, twice
    share_below = 0.5 * float(
        (resampled_estimates < estimate).mean() + (resampled_estimates <= estimate).mean()
    )
    bias_correction = 2.0 * ndtri(np.clip(share_below, 1.0 / replicates, 1.0 - 1.0 / replicates))
    quantile_levels = ndtr(
        bias_correction + ndtri(np.array([0.5 - 0.5 * interval_level, 0.5 + 0.5 * interval_level]))
    )
    lower_end, upper_end = np.quantile(resampled_estimates, quantile_levels).tolist()
    interval = Interval(
        low=lower_end,
        high=upper_end,
        confidence_level=interval_level,
        method="bootstrap of clusters, bias-corrected",
    )
    return ExtremalIndex(
        estimate=estimate,
        confidence_interval=interval,
        run_length=separating_gap,
        n_clusters=n_clusters,
        n_resamples=replicates,
        seed=seed,
        n_exceedances=exceedance_places.size,
        backend="numpy",
    )


def decluster(x: Any, threshold: float, *, run_length: int | None = None) -> Floats:
    """The series with one value above the threshold per cluster, its largest (Ferro and Segers
    2003).

    The others go to the threshold.

    Cluster maxima are about independent: ``fit_gpd(decluster(x, u), u)`` has honest errors; N is
    still the length of x.

    Parameters
    ----------
    x, threshold
        As for `extremal_index`, as are the errors.
    run_length : int, optional
        Exceedances further apart belong to different clusters; at least 0, which leaves the series
        as it is. Default: what the intervals method of `extremal_index` finds.

    Returns
    -------
    ndarray of float, shape (N,)

    Examples
    --------
    >>> from fairstats.numerics.evt import decluster
    >>> decluster([0.0, 3.0, 4.0, 0.0, 0.0, 0.0] * 10, 1.0, run_length=2)[:6]
    array([0., 1., 4., 0., 0., 0.])
    """
    series = as_series("x", x)
    exceedance_places = exceedance_times(series, threshold)
    time_gaps = np.diff(exceedance_places)
    if run_length is None:
        separating_gap = separating_run(time_gaps)
    else:
        separating_gap = checks.check_whole("run_length", run_length, low=0)
    for cluster_places in np.split(
        exceedance_places, np.flatnonzero(time_gaps > separating_gap) + 1
    ):
        largest_place = cluster_places[series[cluster_places].argmax()]
        series[cluster_places[cluster_places != largest_place]] = threshold
    return series


def exceedance_times(series: Floats, threshold: Any) -> Counts:
    """Positions of the values above the threshold, at least ten and not all the same value."""
    checked_threshold = checks.check_number(
        "threshold", threshold, cure="choose_threshold(x) suggests one"
    )
    exceedances_of(series, checked_threshold)
    return np.flatnonzero(series > checked_threshold)


def separating_run(gaps: Counts) -> int:
    """Ferro and Segers' run length.

    The (⌊θN⌋ + 1)-th largest time between exceedances, 0 beyond the last.
    """
    theta = float(_by_intervals(_gap_sums(gaps).sum(axis=0)[None, :])[0])
    largest_gaps = np.append(np.sort(gaps)[::-1], 0)
    return int(largest_gaps[min(int(theta * (gaps.size + 1)), gaps.size)])


def _gap_sums(gaps: Counts) -> Floats:
    """1, T, T² and whether T > 2 of each time between exceedances.

    Estimates read nothing but their sums.
    """
    return np.stack([np.ones_like(gaps), gaps, gaps**2, gaps > 2], axis=1).astype(np.float64)


def _by_intervals(sums: Floats) -> Floats:
    """Ferro and Segers' θ from rows of such sums, shape (Q, 4)."""
    gap_counts, gap_totals, square_totals, far_counts = sums.T
    first_moment = np.where(far_counts > 0, gap_totals - gap_counts, gap_totals)
    second_moment = np.where(
        far_counts > 0, square_totals - 3.0 * gap_totals + 2.0 * gap_counts, square_totals
    )
    return np.asarray(np.minimum(2.0 * first_moment**2 / (gap_counts * second_moment), 1.0))


def _resample_rows(row_sums: Floats, replicates: int, rng: np.random.Generator) -> Floats:
    """Sums over as many rows as there are, drawn with replacement; shape (replicates, columns)."""
    row_shares = np.full(len(row_sums), 1.0 / len(row_sums))
    return np.asarray(rng.multinomial(len(row_sums), row_shares, size=replicates) @ row_sums)
