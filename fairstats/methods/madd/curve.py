"""MADD against the number of bins, and Algorithm 1.

The stretch of bandwidths over which it varies least.
"""

from __future__ import annotations

import html
import textwrap
from collections.abc import Hashable, Sequence
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.checks import Floats, check_number, check_that, check_whole, shown
from fairstats.ground.errors import InputError
from fairstats.ground.groups import group_index
from fairstats.ground.lazy import Axes, pd
from fairstats.ground.results import WIDTH, Result
from fairstats.ground.scores import bandwidth_order
from fairstats.ground.serialise import serialisable
from fairstats.methods.madd.headlines import curves_of_pairs
from fairstats.methods.madd.scores import Sample, check_bins, read_scores
from fairstats.methods.madd.stretches import (
    CURVES_AT_ONCE,
    first_ends,
    least_varying_of_all,
    mean_of_stretch,
    population_std,
)
from fairstats.plots.madd import plot_curve

#: Searching more numbers of bins than this would need gigabytes for edges.
MOST_SEARCHED = 5_000
#: What neither a curve nor a stretch of it can have.
_WHAT_IS_LACKING = dict.fromkeys(
    (
        "comparisons",
        "confidence_interval",
        "pvalue",
        "verdict",
        "std_error",
        "statistic",
        "__getitem__",
    ),
    "it describes the search; madd(…) gives comparisons with interval, test and verdict",
)


@serialisable(eq=False)
class MaddCurve(Result):
    """MADD of two groups for m = 1 … M bins.

    `n_bins`, shape (M,): m, ascending; `madd`, shape (M,): in [0, 2]; `n0`, `n1`: (effective) rows
    of the `groups`.
    """

    n_bins: NDArray[np.int64]
    madd: NDArray[np.float64]
    n0: float
    n1: float
    groups: tuple[str, str]

    title: ClassVar[str] = "MADD against the number of bins"
    backend: ClassVar[str] = "numpy"
    lacks: ClassVar[dict[str, str]] = _WHAT_IS_LACKING

    @property
    def estimate(self) -> NDArray[np.float64]:
        """MADD with 1 … M bins: `madd`."""
        return self.madd

    @property
    def bandwidth(self) -> NDArray[np.float64]:
        """Bandwidths h = 1/m, shape (M,), descending."""
        return np.asarray(1 / self.n_bins)

    def to_frame(self) -> pd.DataFrame:
        """One row per number of bins: n_bins, bandwidth, madd."""
        return pd.DataFrame({"n_bins": self.n_bins, "bandwidth": self.bandwidth, "madd": self.madd})

    def sentences(self) -> list[str]:
        """Where it begins and ends."""
        return [
            f"{' against '.join(self.groups)}: MADD from {self.madd.min():.3f} to"
            f" {self.madd.max():.3f} in 1 to {self.n_bins.size:,} bins. It tends to grow with their"
            " number; stable_bandwidth(…) finds where it varies least."
        ]

    def summary(self) -> str:
        """The curve in a sentence: its table has as many rows as there are bandwidths."""
        return "\n".join(
            textwrap.fill(paragraph, WIDTH) for paragraph in (self.title, *self.sentences())
        )

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.summary())}</pre>"

    def plot(self, ax: Axes | None = None, *, stable: Any = None) -> Axes:
        """Draw MADD against h, with a stable stretch if given.

        See `fairstats.plots.madd.plot_curve`.
        """
        return plot_curve(self, stable=stable, ax=ax)


def madd_curve(
    score: Any = None,
    *,
    sensitive_features: Any = None,
    max_bins: int = 1000,
    pair: Sequence[Hashable] | None = None,
    sample_weight: Any = None,
    missing: Literal["raise", "drop", "group"] = "raise",
    groups: Sequence[Hashable] | None = None,
    counts: Any = None,
) -> MaddCurve:
    """MADD of two groups for every number of bins m = 1 … `max_bins`.

    Parameters
    ----------
    score, sensitive_features, sample_weight, missing, groups, counts
        As in `madd`.
    max_bins : int, default 1000
        M, at most 5,000.
    pair : sequence of two groups, optional
        Which groups; needed where there are more than two.

    Returns
    -------
    MaddCurve

    Raises
    ------
    InputError
        For scores outside [0, 1], empty groups, more than two groups without `pair`.

    Notes
    -----
    Bins are [0, 1/m), …, [(m−1)/m, 1]. The search runs over whole m: floor(1/h) loses a bin for 70
    of m = 1 … 1,000.

    References
    ----------
    .. [1] Verger et al. (2024). JEDM 16(1), 365–409: equations 1–3, section 4.3.

    Examples
    --------
    >>> import fairstats as fs
    >>> score, group = [0.1, 0.2, 0.3, 0.4, 0.6, 0.9], ["a", "a", "a", "b", "b", "b"]
    >>> fs.madd_curve(score, sensitive_features=group, max_bins=4).madd.round(3)
    array([0.   , 1.333, 2.   , 1.333])
    """
    largest_bins = check_bins("max_bins", max_bins, most=MOST_SEARCHED)
    scores = read_scores(
        counts,
        largest_bins,
        score=score,
        sensitive_features=sensitive_features,
        sample_weight=sample_weight,
        missing=missing,
        groups=groups,
    )
    group_names = scores.groups
    if pair is None and len(group_names) == 2:
        pair = group_names
    if isinstance(pair, np.ndarray):
        pair = pair.tolist()
    if not isinstance(pair, (list, tuple)) or len(pair) != 2:
        allowed = "two of the groups " + ", ".join(map(repr, group_names))
        raise InputError(
            "pair",
            got=shown(pair),
            allowed=allowed,
            cure=f"pair=({group_names[0]!r}, {group_names[1]!r})",
        )
    first_index, second_index = (
        group_index(group_names, group_label, "pair") for group_label in pair
    )
    check_that(
        first_index != second_index, "pair", pair, "two different groups", "name another group"
    )
    for group_label in (first_index, second_index):
        if not scores.samples[group_label].total > 0:
            received = f"no rows (or no weight) in group {group_names[group_label]!r}"
            suggestion = "name two groups with rows as pair="
            raise InputError(
                "sensitive_features",
                got=received,
                allowed="two groups with rows",
                cure=suggestion,
            )
    return curve_of(
        scores.samples[first_index],
        scores.samples[second_index],
        largest_bins,
        (group_names[first_index], group_names[second_index]),
    )


def curve_of(first: Sample, second: Sample, max_bins: int, names: tuple[str, str]) -> MaddCurve:
    """MADD of two samples with 1 … `max_bins` bins."""
    return curves_of([(first, second)], max_bins, [names])[0]


def curves_of(
    pairs: Sequence[tuple[Sample, Sample]],
    max_bins: int,
    names: Sequence[tuple[str, str]],
) -> list[MaddCurve]:
    """MADD of many pairs of samples with 1 … `max_bins` bins."""
    n_bins = np.arange(1, max_bins + 1)
    curves = []
    of_pairs = zip(pairs, names, curves_of_pairs(pairs, max_bins), strict=True)
    for (first, second), names_of_pair, madd in of_pairs:
        curves.append(
            MaddCurve(
                n_bins=n_bins,
                madd=madd,
                n0=first.n_effective,
                n1=second.n_effective,
                groups=names_of_pair,
            )
        )
    return curves


@serialisable()
class StableBandwidth(Result):
    """The stable stretch of bandwidths.

    `low` and `high` are its least and its largest bandwidth h, both among those searched; `mean`
    and `std` the mean (the estimate) and the population standard deviation of MADD over it. It
    holds `n_points` of the `n_searched` bandwidths searched. `h_sup` is the order of the best
    bandwidth (theorem 2).
    """

    low: float
    high: float
    mean: float
    std: float
    n_points: int
    n_searched: int
    h_sup: float

    title: ClassVar[str] = "MADD over the stable stretch of bandwidths"
    backend: ClassVar[str] = "numpy"
    lacks: ClassVar[dict[str, str]] = {
        **_WHAT_IS_LACKING,
        "plot": "draw it over its curve: curve.plot(stable=…)",
    }

    @property
    def estimate(self) -> float:
        """Mean of MADD over the stretch."""
        return self.mean

    def rows(self) -> list[dict[str, Any]]:
        """One row."""
        table_row = {
            "metric": "madd",
            "estimate": self.mean,
            "method": "Algorithm 1",
            "backend": self.backend,
        }
        table_row |= {"h_low": self.low, "h_high": self.high}
        return [
            table_row
            | {
                column_name: getattr(self, column_name)
                for column_name in ("std", "n_points", "n_searched", "h_sup")
            }
        ]

    def sentences(self) -> list[str]:
        """The mean and its stretch."""
        return [
            f"MADD {self.mean:.3f} on average for bandwidths from {self.low:.3f} to"
            f" {self.high:.3f}, where it varies least (standard deviation {self.std:.3g})."
        ]

    @property
    def n_bins(self) -> tuple[int, int]:
        """Fewest and most bins in the stretch."""
        return round(1 / self.high), round(1 / self.low)


def stable_bandwidth(
    curve: MaddCurve, *, min_points: int = 50, width: float = 0.45
) -> StableBandwidth:
    """The stretch of bandwidths with the least standard deviation of MADD (Algorithm 1, as
    printed).

    Parameters
    ----------
    curve : MaddCurve
        From `madd_curve`.
    min_points : int, default 50
        A stretch runs over at least `min_points` steps of the curve (nbPointsMin).
    width : float, default 0.45
        A stretch is at least `width`·h_sup wide (percent).

    Returns
    -------
    StableBandwidth

    Raises
    ------
    InputError
        If `curve` is none, or no stretch is long and wide enough; where the paper would return the
        indexes (0, 0).

    Notes
    -----
    With h ascending, every stretch (i, j) from the first j that satisfies both conditions to the
    end of the curve is looked at, both ends included; the first of equals wins. Variances come from
    prefix sums of MADD and MADD²; those within rounding of the least are computed again in two
    passes.

    References
    ----------
    .. [1] Verger et al. (2024). JEDM 16(1), 365–409: Algorithm 1.

    Examples
    --------
    >>> import numpy as np, fairstats as fs
    >>> rng = np.random.default_rng(1)
    >>> score = np.concatenate([rng.beta(2, 4, 2000), rng.beta(4, 2, 2000)])
    >>> curve = fs.madd_curve(score, sensitive_features=np.repeat(["a", "b"], 2000))
    >>> stable = fs.stable_bandwidth(curve)
    >>> print(f"{stable.mean:.2f} for h from {stable.low:.3f} to {stable.high:.3f}")
    1.25 for h from 0.016 to 0.071
    """
    check_whole("min_points", min_points, low=1, cure="the paper's is 50")
    check_number(
        "width",
        width,
        low=0,
        allowed="a share of h_sup, at least 0",
        cure="the paper's is 0.45",
    )
    is_curve = isinstance(curve, MaddCurve)
    if not is_curve or not np.isfinite(curve.madd).all() or not min(curve.n0, curve.n1) > 0:
        received = f"a {type(curve).__name__}"
        if is_curve:
            received = (
                f"a curve of {curve.n0:g} and {curve.n1:g} rows with values that are no numbers"
            )
        raise InputError(
            "curve",
            got=received,
            allowed="a MaddCurve",
            cure="pass madd_curve(score, sensitive_features=…)",
        )
    return stable_bandwidths([curve], min_points=min_points, width=width)[0]


def stable_bandwidths(
    curves: Sequence[MaddCurve], *, min_points: int, width: float
) -> list[StableBandwidth]:
    """`stable_bandwidth` of many curves with the same numbers of bins, searched together."""
    bandwidth = curves[0].bandwidth[::-1]
    stretches = []
    for start in range(0, len(curves), CURVES_AT_ONCE):
        block = curves[start : start + CURVES_AT_ONCE]
        ascending = np.stack([curve.madd[::-1] for curve in block])
        lengths = width * np.array([bandwidth_order(curve.n0, curve.n1) for curve in block])
        first_right_ends = first_ends(bandwidth, min_points, lengths[:, None])
        for length in lengths[~(first_right_ends < bandwidth.size).any(axis=1)].tolist():
            raise _without_stretch(bandwidth.size, min_points, width, length)
        left_ends, right_ends = least_varying_of_all(ascending, first_right_ends)
        ends = zip(left_ends.tolist(), right_ends.tolist(), strict=True)
        for madd, (left_end, right_end), curve in zip(ascending, ends, block, strict=True):
            values = madd[left_end : right_end + 1]
            stretches.append(
                StableBandwidth(
                    low=float(bandwidth[left_end]),
                    high=float(bandwidth[right_end]),
                    mean=mean_of_stretch(madd, left_end, right_end),
                    std=population_std(values),
                    n_points=right_end - left_end + 1,
                    n_searched=madd.size,
                    h_sup=bandwidth_order(curve.n0, curve.n1),
                )
            )
    return stretches


def _without_stretch(n_bandwidths: int, min_points: int, width: float, length: float) -> InputError:
    """What is wrong with a curve none of whose stretches is long and wide enough."""
    received = (
        f"{n_bandwidths} bandwidths, none of whose stretches has more than {min_points} values"
    )
    received = f"{received} and is {length:.3g} wide ({width:g}·h_sup)"
    suggestion = (
        f"search more bandwidths (max_bins above {min_points + 1}), or lower min_points or width"
    )
    return InputError(
        "curve",
        got=received,
        allowed="a curve with an eligible stretch",
        cure=suggestion,
    )


def stable_means(
    curves: Floats,
    h_sup: float,
    *,
    min_points: int = 50,
    width: float = 0.45,
) -> Floats:
    """Means of many curves over the stretch of each that `stable_bandwidth` finds, (B, L) → (B,).

    The curves have 1 … L bins, the same groups, and an eligible stretch.
    """
    ascending = curves[:, ::-1]
    bandwidth = (1 / np.arange(1, curves.shape[1] + 1))[::-1]
    first_right_ends = first_ends(bandwidth, min_points, width * h_sup)
    left_ends, right_ends = least_varying_of_all(ascending, first_right_ends)
    return np.array(
        [
            mean_of_stretch(madd, left_end, right_end)
            for madd, left_end, right_end in zip(
                ascending, left_ends.tolist(), right_ends.tolist(), strict=True
            )
        ]
    )
