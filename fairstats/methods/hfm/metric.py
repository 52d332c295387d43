"""HFM: how far apart a classifier puts groups, relative to how far the data have them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from fairstats.ground.checks import as_generator, check_flag, check_whole
from fairstats.ground.errors import DataWarning, caution
from fairstats.ground.multiplicity import adjust_pvalues
from fairstats.ground.results import HypothesisTest
from fairstats.ground.tally import Tally
from fairstats.methods.hfm import resampling
from fairstats.methods.hfm.encoding import Comparison, Scene, make_scene
from fairstats.methods.hfm.result import HfmEntry, HfmResult, harmonic
from fairstats.methods.hfm.rows import Rows
from fairstats.methods.hfm.set_distance import Statistic, check_statistic, measure

#: Resamples and subsamples that are made without being asked for: up to so many rows × comparisons.
_UNASKED = ((20_000, 999, 200), (100_000, 199, 50))
#: More rows than this, and none are.
_MOST_ROWS = 20_000


def hfm(
    X: Any = None,
    y_true: Any = None,
    y_pred: Any = None,
    *,
    sensitive_features: Any = None,
    counts: Tally | None = None,
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
        Features. Of a frame, text and categories become one-hot columns, and sensitive attributes are left out.
    y_true, y_pred : array-like, shape (n,)
        Labels and predicted labels of any type, with two or more values. Two different labels are 1 apart.
    sensitive_features : array-like (n,) or (n, k), frame, or mapping of name to column
        One attribute or several, each with two or more values. Every value is compared with all others.
    counts : Tally, optional
        Distinct rows with their number (`fs.tally` with ``features=``) in place of all of these; named by their
        position among the counted ones, whose order also decides what a seed draws.
    statistic : {"max", "mean"} or float in (0, 1], default "max"
        As in `set_distance`; "max" is the paper's.
    scale : {"minmax", "none"}, default "minmax"
        Whether numeric features are mapped to [0, 1].
    reference_data : data frame or array, optional
        Data on which bounds and categories are learnt; default `X`. Values beyond the bounds are not cut off.
    intersections : bool, default False
        Also compare every intersection of the attributes with all other rows.
    n_resamples : int, optional
        Permutations of the tests; 0 for none. Default 999 while rows × comparisons (the values of all attributes, one
        for two values) stay below 20,000; 199 below 100,000; none beyond, or above 20,000 rows.
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
    The maximum "is highly sensitive to the instances used in its computation" (the paper), and the distance of samples
    does not estimate that of populations at usable n (it shrinks as rows are added). So there is no interval, but a
    stability range over subsamples, and two exact permutation tests, one-sided upwards (conservative where
    distances are tied): of D and D_f by permuting the
    sensitive values among the rows, of HFM by exchanging y and ŷ within rows. With "max" the test of HFM is nearly
    without power, since a maximum hardly moves when labels change places (no rejection in 471 samples): a large p-value
    says nothing there, and ``statistic="mean"`` asks the same question with power.

    Over values and attributes D and D_f are maxima, each by itself, and HFM is computed from them.

    References
    ----------
    .. [1] Bian, Y. and Luo, Y. (2024), Does machine bring in extra bias in learning? Eq. (1) to (3).

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
    check_flag("intersections", intersections)
    scene = make_scene(
        X, y_true, y_pred, sensitive_features=sensitive_features, counts=counts, scale=scale,
        reference_data=reference_data, intersections=intersections,
    )  # fmt: skip
    generator, seed = as_generator(rng)
    size = scene.n * len(scene.sides) if scene.n <= _MOST_ROWS else np.inf
    unasked = next((numbers for most, *numbers in _UNASKED if size <= most), [0, 0])
    asked = {"n_resamples": n_resamples, "n_subsamples": n_subsamples}
    resamples, subsamples = (
        default if value is None else check_whole(name, value, low=0, cure=f"{name}=199")
        for (name, value), default in zip(asked.items(), unasked, strict=True)
    )
    comparisons = scene.comparisons()
    entries = _entries(scene, comparisons, level)
    if resamples or subsamples:
        lists = resampling.make_distances(scene)
        if resamples:
            entries = _tested(entries, scene, comparisons, lists, level, resamples, generator)
        if subsamples:
            values = np.array([[e.d, e.d_f, e.hfm] for e in entries]).T
            ranges = resampling.stability_ranges(scene, comparisons, values, lists, level, subsamples, generator)
            entries = [replace(e, stability=r) for e, r in zip(entries, ranges, strict=True)]
    infinite = ", ".join(f"{e.attribute}: {e.group}" for e in entries if np.isinf(e.hfm))
    if infinite:
        text = f"HFM is infinite for {infinite}: D = 0, every row has its like in the other group, and"
        caution(f"{text} the predictions tell them apart (D_f > 0).", DataWarning)
    return HfmResult(
        tuple(entries), level, scene.features.columns or (), scene.label_levels, scene.n, scale, scene.left_out,
        scene.constant, resamples, subsamples, seed if resamples or subsamples else None,
    )  # fmt: skip


def _entries(scene: Scene, comparisons: list[Comparison], statistic: Statistic) -> list[HfmEntry]:
    """Every comparison without tests."""
    index = np.arange(scene.n) if scene.features.index is None else scene.features.index
    both = (scene.with_true, scene.with_pred)
    found, entries = [], []
    for side in scene.sides:
        sets = [[Rows(z[rows], index[rows]) for rows in (side.rows, ~side.rows)] for z in both]
        found.append([measure(first, second, statistic) for first, second in sets])
    for c in comparisons:
        own = zip(*(found[k] for k in c.members), strict=True)
        distance, distance_f = (max(distances, key=lambda d: d.value) for distances in own)
        n = int(scene.sides[c.members[0]].rows.sum()) if len(c.members) == 1 else scene.n
        d, d_f = distance.value, distance_f.value
        values = (d, d_f, harmonic(d, d_f))
        entries.append(HfmEntry(c.attribute, c.group, c.reference, *values, distance, distance_f, n, scene.n - n))
    return entries


def _tested(
    entries: list[HfmEntry], scene: Scene, comparisons: list[Comparison], lists: resampling.Distances,
    statistic: Statistic, n_resamples: int, rng: np.random.Generator,
) -> list[HfmEntry]:  # fmt: skip
    """The entries with their three tests each, Holm over single values."""
    permuted = resampling.label_permutation(scene, lists, statistic, n_resamples, rng)
    exchanged = resampling.label_exchange(scene, statistic, n_resamples, rng)
    d, d_f = resampling.of_comparisons(permuted, comparisons)
    drawn = (d, d_f, resampling.harmonics(*resampling.of_comparisons(exchanged, comparisons)))
    tests = [
        tuple(
            HypothesisTest(null, "greater", value, resampling.upper_pvalue(value, of_null[:, k]), method)
            for value, of_null, (null, method) in zip((e.d, e.d_f, e.hfm), drawn, _NULLS, strict=True)
        )
        for k, e in enumerate(entries)
    ]
    adjusted = np.array([[t.pvalue for t in three] for three in tests])
    single = [k for k, e in enumerate(entries) if not e.is_maximum]  # a maximum is one test of all its values
    for of_quantity in adjusted.T:
        of_quantity[single] = adjust_pvalues(of_quantity[single].tolist(), "holm")
    return [
        replace(e, tests=three, pvalues_adjusted=tuple(row))
        for e, three, row in zip(entries, tests, adjusted.tolist(), strict=True)
    ]


_NULLS = (
    ("the groups' (x, y) are no further apart than random groups'", "permutation of the sensitive values"),
    ("the groups' (x, ŷ) are no further apart than random groups'", "permutation of the sensitive values"),
    ("the classifier adds no distance", "exchange of y and ŷ within rows"),
)
