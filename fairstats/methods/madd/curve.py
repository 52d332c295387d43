"""MADD against the number of bins."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from fairstats.ground.errors import InputError
from fairstats.ground.groups import group_index
from fairstats.ground.outcomes import Outcomes
from fairstats.ground.serialise import serialisable
from fairstats.methods.madd.binning import check_bins
from fairstats.methods.madd.farey import distances_from_below, farey_grid
from fairstats.methods.madd.scores import GroupScores, Sample

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from fairstats.methods.madd.stable import StableBandwidth

__all__ = ["MOST_SEARCHED", "MaddCurve", "curve_of", "madd_curve"]

#: Searching more numbers of bins than this would need gigabytes for edges.
MOST_SEARCHED = 5_000


@serialisable
@dataclass(frozen=True, eq=False)
class MaddCurve:
    """MADD for m = 1 … M bins.

    Attributes
    ----------
    n_bins : ndarray of int, shape (M,)
        m, ascending.
    madd : ndarray of float, shape (M,)
        In [0, 2].
    n0, n1 : int or float
        Rows of the two groups; effective numbers (Kish) under weights.
    groups : tuple of two str
        Their names.
    """

    n_bins: NDArray[np.int64]
    madd: NDArray[np.float64]
    n0: float
    n1: float
    groups: tuple[str, str]

    @property
    def bandwidth(self) -> NDArray[np.float64]:
        """Bandwidths h = 1/m, shape (M,), descending."""
        return np.asarray(1 / self.n_bins)

    def to_frame(self) -> pd.DataFrame:
        """One row per number of bins: n_bins, bandwidth, madd."""
        import pandas as pd

        return pd.DataFrame({"n_bins": self.n_bins, "bandwidth": self.bandwidth, "madd": self.madd})

    def plot(self, ax: Axes | None = None, *, stable: StableBandwidth | None = None) -> Axes:
        """Draw MADD against h, with a stable stretch if given; see `fairstats.plots.madd.plot_curve`."""
        from fairstats.plots.madd import plot_curve

        return plot_curve(self, stable=stable, ax=ax)


def madd_curve(
    score: Any,
    *,
    sensitive_features: Any,
    max_bins: int = 1000,
    pair: Sequence[Hashable] | None = None,
    sample_weight: Any = None,
    missing: Literal["raise", "drop", "group"] = "raise",
    groups: Sequence[Hashable] | None = None,
) -> MaddCurve:
    """MADD of two groups for every number of bins m = 1 … `max_bins`.

    Parameters
    ----------
    score : array-like of float, shape (n,)
        Scores in [0, 1].
    sensitive_features : array-like (n,) or (n, k), data frame or mapping
        Group of each row; several columns are crossed.
    max_bins : int, default 1000
        M, at most 5,000.
    pair : sequence of two groups, optional
        Which groups; needed where there are more than two.
    sample_weight : array-like, shape (n,), optional
        Weights ≥ 0.
    missing, groups
        As in `madd`.

    Returns
    -------
    MaddCurve

    Raises
    ------
    InputError
        For scores outside [0, 1], empty groups, more than two groups without `pair`.

    Notes
    -----
    Bins are [0, 1/m), …, [(m−1)/m, 1]. The search runs over whole m: floor(1/h) in floating point loses a bin
    for 70 of m = 1 … 1,000, the first of them m = 93. The scores are sorted once.

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
    most = check_bins("max_bins", max_bins, most=MOST_SEARCHED)
    scores = GroupScores.from_outcomes(
        Outcomes.from_arrays(
            score=score,
            sensitive_features=sensitive_features,
            sample_weight=sample_weight,
            missing=missing,
            groups=groups,
        )
    )
    first, second = _positions(scores, pair)
    for g in (first, second):
        if not scores.samples[g].total > 0:
            raise InputError(
                "sensitive_features",
                got=f"no rows (or no weight) in group {scores.groups[g]!r}",
                allowed="two groups with rows",
                cure="name two groups with rows as pair=",
            )
    names = (scores.groups[first], scores.groups[second])
    return curve_of(scores.samples[first], scores.samples[second], most, names)


def _positions(scores: GroupScores, pair: Sequence[Hashable] | None) -> tuple[int, int]:
    if pair is None and len(scores.groups) == 2:
        return 0, 1
    if pair is None or isinstance(pair, str) or len(pair) != 2:
        raise InputError(
            "pair",
            got=repr(pair),
            allowed="two of the groups " + ", ".join(map(repr, scores.groups)),
            cure=f"pair=({scores.groups[0]!r}, {scores.groups[1]!r})",
        )
    first, second = (group_index(scores.groups, g, "pair") for g in pair)
    if first == second:
        raise InputError("pair", got=repr(pair), allowed="two different groups", cure="name another group")
    return first, second


def curve_of(first: Sample, second: Sample, max_bins: int, names: tuple[str, str]) -> MaddCurve:
    """MADD of two samples with 1 … `max_bins` bins."""
    grid = farey_grid(max_bins)
    madd = distances_from_below(
        grid, first.below(grid.edges), second.below(grid.edges), first.total, second.total
    )
    sizes = [s.n if s.weights is None else s.n_effective for s in (first, second)]
    return MaddCurve(np.arange(1, max_bins + 1), madd, sizes[0], sizes[1], names)
