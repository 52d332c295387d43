"""HFM: how far apart a classifier puts groups, relative to how far the data have them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fairstats.ground.caution import caution
from fairstats.ground.errors import DataWarning, InputError
from fairstats.ground.randomness import as_generator
from fairstats.ground.results import HypothesisTest
from fairstats.methods.hfm.entries import HfmEntry, harmonic
from fairstats.methods.hfm.exchange import label_exchange
from fairstats.methods.hfm.neighbours import NeighbourLists
from fairstats.methods.hfm.permutation import label_permutation, of_comparisons, upper_pvalue
from fairstats.methods.hfm.result import HfmResult
from fairstats.methods.hfm.rows import Rows
from fairstats.methods.hfm.scene import Comparison, Scene, make_scene
from fairstats.methods.hfm.set_distance import SetDistance, Statistic, check_statistic, measure
from fairstats.methods.hfm.stability import harmonics, stability_ranges

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["hfm"]

#: Resamples and subsamples that are made without being asked for: up to so many rows × comparisons.
_UNASKED = ((20_000, 999, 200), (100_000, 199, 50))
#: More rows than this, and none are.
_MOST_ROWS = 20_000


def hfm(
    X: Any,
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    statistic: Statistic = "max",
    scale: str = "minmax",
    reference_data: Any = None,
    intersections: bool = False,
    n_resamples: int | None = None,
    n_subsamples: int | None = None,
    rng: Any = None,
) -> HfmResult:
    """Harmonic fairness measure via manifolds: D_f/D − 1, with D and D_f exact.

    Parameters
    ----------
    X : data frame or array of numbers, shape (n, p)
        Features. In a frame, text and categorical columns become one-hot columns, and columns that bear the
        name of a sensitive attribute are left out.
    y_true, y_pred : array-like, shape (n,)
        Labels and predicted labels of any type, with two or more values. Two different labels are 1 apart.
    sensitive_features : array-like (n,) or (n, k), frame, or mapping of name to column
        One attribute or several, each with two or more values. Every value is compared with all others.
    statistic : {"max", "mean"} or float in (0, 1], default "max"
        As in `set_distance`; "max" is the paper's.
    scale : {"minmax", "none"}, default "minmax"
        Whether numeric features are mapped to [0, 1].
    reference_data : data frame or array, optional
        Data on which bounds and categories are learnt, the training part; default `X`. Values beyond the
        bounds are not cut off.
    intersections : bool, default False
        Also compare every intersection of the attributes with all other rows.
    n_resamples : int, optional
        Permutations of the tests; 0 for none. Default 999 while rows × comparisons (the values of all
        attributes, one for two values) stay below 20,000; 199 below 100,000; none beyond, or above 20,000
        rows.
    n_subsamples : int, optional
        Subsamples of the stability range, of either size; 0 for none. Default 200 or 50 in the same way.
    rng : None, int or numpy.random.Generator
        Of the tests and subsamples.

    Returns
    -------
    HfmResult
        `.d`, `.d_f`, `.hfm` of the whole (the maximum over values and attributes); `.entries`, `.entry()`;
        ``.witnesses()`` names the rows that decide; ``.stability()``.

    Raises
    ------
    InputError
        For NaN, an empty group, columns of different lengths, no feature left.

    Warns
    -----
    DataWarning
        Where D = 0 and D_f > 0: HFM is then infinite, as in the paper (and 0 where both are 0).

    Notes
    -----
    The maximum "is highly sensitive to the instances used in its computation" (the paper), and the distance
    of samples does not estimate that of populations at usable n. So there is no interval, but a stability
    range over subsamples, which claims no confidence, and two tests: of D and D_f by permuting the sensitive
    values among the rows, and of HFM by exchanging y and ŷ within rows. Both are exact permutation tests,
    one-sided upwards.

    Over values and attributes D and D_f are maxima, each by itself, and HFM is computed from them. Over one
    attribute with two values there is one comparison.

    References
    ----------
    .. [1] Bian, Y. and Luo, Y. (2024), Does machine bring in extra bias in learning? Approximating fairness
       in models promptly. Eq. (1) to (3).

    Examples
    --------
    >>> import numpy as np
    >>> import fairstats as fs
    >>> x = np.array([[0.0], [0.2], [0.6], [1.0]])
    >>> group = ["a", "b", "a", "b"]
    >>> y_true, y_pred = [0, 0, 1, 1], [0, 1, 1, 1]
    >>> result = fs.hfm(x, y_true, y_pred, sensitive_features=group, n_resamples=99, rng=1)
    >>> round(result.d, 4), round(result.d_f, 4), round(result.hfm, 4)
    (0.4, 1.0198, 1.5495)
    >>> result.witnesses().loc[0, ["row", "nearest"]].tolist()
    [3, 2]
    """
    level = check_statistic(statistic)
    scene = make_scene(
        X,
        y_true,
        y_pred,
        sensitive_features=sensitive_features,
        scale=scale,
        reference_data=reference_data,
        intersections=intersections,
    )
    generator, seed = as_generator(rng)
    unasked = _unasked(scene)
    resamples = _number(n_resamples, "n_resamples", unasked[0])
    subsamples = _number(n_subsamples, "n_subsamples", unasked[1])
    comparisons = scene.comparisons()
    entries = _entries(scene, comparisons, level)
    if resamples or subsamples:
        lists = (NeighbourLists(scene.with_true), NeighbourLists(scene.with_pred))
        if resamples:
            entries = _tested(entries, scene, comparisons, lists, level, resamples, generator)
        if subsamples:
            values = np.array([[e.d, e.d_f, e.hfm] for e in entries]).T
            ranges = stability_ranges(scene, comparisons, values, lists, level, subsamples, generator)
            entries = [replace(e, stability=r) for e, r in zip(entries, ranges, strict=True)]
    _warn(entries)
    return HfmResult(
        entries=tuple(entries),
        statistic=level,
        columns=scene.features.columns or (),
        label_levels=scene.label_levels,
        n=scene.n,
        scale=scale,
        left_out=scene.left_out,
        constant=scene.constant,
        n_resamples=resamples,
        n_subsamples=subsamples,
        seed=seed if resamples or subsamples else None,
    )


def _unasked(scene: Scene) -> tuple[int, int]:
    """Resamples and subsamples that take seconds."""
    for most, resamples, subsamples in _UNASKED:
        if scene.n * len(scene.sides) <= most and scene.n <= _MOST_ROWS:
            return resamples, subsamples
    return 0, 0


def _number(value: int | None, argument: str, default: int) -> int:
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 0:
        raise InputError(argument, got=repr(value), allowed="a whole number ≥ 0", cure=f"{argument}=199")
    return int(value)


def _entries(scene: Scene, comparisons: list[Comparison], statistic: Statistic) -> list[HfmEntry]:
    """Every comparison without tests."""
    index = scene.features.index
    found: list[tuple[SetDistance, SetDistance]] = []
    both = (scene.with_true, scene.with_pred)
    for side in scene.sides:
        labels = [np.flatnonzero(rows) for rows in (side.rows, ~side.rows)]
        indices = [rows if index is None else index[rows] for rows in labels]
        pair = [
            measure(Rows(z[labels[0]], indices[0]), Rows(z[labels[1]], indices[1]), statistic) for z in both
        ]
        found.append((pair[0], pair[1]))
    entries = []
    for c in comparisons:
        own = [found[k] for k in c.members]
        distance = max((d for d, _ in own), key=lambda d: d.value)
        distance_f = max((d for _, d in own), key=lambda d: d.value)
        n = int(scene.sides[c.members[0]].rows.sum()) if len(c.members) == 1 else scene.n
        entries.append(
            HfmEntry(
                attribute=c.attribute,
                group=c.group,
                reference=c.reference,
                d=distance.value,
                d_f=distance_f.value,
                hfm=harmonic(distance.value, distance_f.value),
                distance=distance,
                distance_f=distance_f,
                n=n,
                n_reference=scene.n - n,
            )
        )
    return entries


def _tested(
    entries: list[HfmEntry],
    scene: Scene,
    comparisons: list[Comparison],
    lists: tuple[NeighbourLists, NeighbourLists],
    statistic: Statistic,
    n_resamples: int,
    rng: np.random.Generator,
) -> list[HfmEntry]:
    """The entries with their three tests each, Holm over single values."""
    permuted = of_comparisons(label_permutation(scene, lists, statistic, n_resamples, rng), comparisons)
    exchanged = of_comparisons(label_exchange(scene, statistic, n_resamples, rng), comparisons)
    drawn = (permuted[0], permuted[1], harmonics(exchanged[0], exchanged[1]))
    tests = [
        tuple(
            HypothesisTest(null, "greater", value, upper_pvalue(value, of_null[:, k]), method)
            for value, of_null, (null, method) in zip((e.d, e.d_f, e.hfm), drawn, _NULLS, strict=True)
        )
        for k, e in enumerate(entries)
    ]
    adjusted = _holm(entries, np.array([[t.pvalue for t in three] for three in tests]))
    return [
        replace(e, tests=three, pvalues_adjusted=tuple(row))
        for e, three, row in zip(entries, tests, adjusted.tolist(), strict=True)
    ]


_NULLS = (
    ("the groups' (x, y) are no further apart than random groups'", "permutation of the sensitive values"),
    ("the groups' (x, ŷ) are no further apart than random groups'", "permutation of the sensitive values"),
    ("the classifier adds no distance", "exchange of y and ŷ within rows"),
)


def _holm(entries: list[HfmEntry], pvalues: NDArray[np.float64]) -> NDArray[np.float64]:
    """Holm per quantity over the single values; a maximum is one test of all its values."""
    adjusted = pvalues.copy()
    single = [k for k, e in enumerate(entries) if not e.is_maximum]
    if len(single) == 1:
        return adjusted
    from statsmodels.stats.multitest import multipletests

    for j in range(pvalues.shape[1]):
        adjusted[single, j] = multipletests(pvalues[single, j], method="holm")[1]
    return adjusted


def _warn(entries: list[HfmEntry]) -> None:
    infinite = [e for e in entries if np.isinf(e.hfm)]
    if infinite:
        names = ", ".join(f"{e.attribute}: {e.group}" for e in infinite)
        caution(
            f"HFM is infinite for {names}: D = 0, every row has its like in the other group, and the "
            "predictions tell them apart (D_f > 0).",
            DataWarning,
        )
