"""HFM: how far apart a classifier puts groups, relative to how far the data have them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from fairstats.ground.checks import as_generator, check_flag, check_whole
from fairstats.ground.errors import DataWarning, caution
from fairstats.ground.multiplicity import adjust_pvalues
from fairstats.ground.progress import each_of
from fairstats.ground.results import HypothesisTest
from fairstats.ground.tally import Tally
from fairstats.methods.hfm import resampling
from fairstats.methods.hfm.encoding import Comparison, Scene, make_scene
from fairstats.methods.hfm.result import HfmEntry, HfmResult, harmonic
from fairstats.methods.hfm.rows import Rows
from fairstats.methods.hfm.set_distance import Statistic, check_statistic, measure

#: Resamples and subsamples that are made without being asked for: up to so many rows × comparisons.
_DEFAULT_RESAMPLES = ((20_000, 999, 200), (100_000, 199, 50))
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
        Features. Of a frame, text and categories become one-hot columns, and sensitive attributes
        are left out.
    y_true, y_pred : array-like, shape (n,)
        Labels and predicted labels of any type, with two or more values. Two different labels are 1
        apart.
    sensitive_features : array-like (n,) or (n, k), frame, or mapping of name to column
        One attribute or several, each with two or more values. Every value is compared with all
        others.
    counts : Tally, optional
        Distinct rows with their number (`fs.tally` with ``features=``) in place of all of these;
        named by their position among the counted ones, whose order also decides what a seed draws.
    statistic : {"max", "mean"} or float in (0, 1], default "max"
        As in `set_distance`; "max" is the paper's.
    scale : {"minmax", "none"}, default "minmax"
        Whether numeric features are mapped to [0, 1].
    reference_data : data frame or array, optional
        Data on which bounds and categories are learnt; default `X`. Values beyond the bounds are
        not cut off.
    intersections : bool, default False
        Also compare every intersection of the attributes with all other rows.
    n_resamples : int, optional
        Permutations of the tests; 0 for none. Default 999 while rows × comparisons (the values of
        all attributes, one for two values) stay below 20,000; 199 below 100,000; none beyond, or
        above 20,000 rows.
    n_subsamples : int, optional
        Subsamples of the stability range, of either size; 0 for none. Default 200 or 50 in the same
        way.
    rng : None, int or numpy.random.Generator
        Of the tests and subsamples.

    Returns
    -------
    HfmResult
        `.d`, `.d_f`, `.hfm` of the whole (the maximum over values and attributes); `.entries`,
        `.entry()`; ``.witnesses()`` names the rows that decide; ``.stability()``.

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
    The maximum "is highly sensitive to the instances used in its computation" (the paper), and the
    distance of samples does not estimate that of populations at usable n (it shrinks as rows are
    added). So there is no interval, but a stability range over subsamples, and two exact
    permutation tests, one-sided upwards (conservative where distances are tied): of D and D_f by
    permuting the sensitive values among the rows, of HFM by exchanging y and ŷ within rows. With
    "max" the test of HFM is nearly without power, since a maximum hardly moves when labels change
    places (no rejection in 471 samples): a large p-value says nothing there, and
    ``statistic="mean"`` asks the same question with power.

    Over values and attributes D and D_f are maxima, each by itself, and HFM is computed from them.

    References
    ----------
    .. [1] Bian, Y. and Luo, Y. (2024), Does machine bring in extra bias in learning? Eq. (1) to
       (3).

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
    checked_statistic = check_statistic(statistic)
    check_flag("intersections", intersections)
    scene = make_scene(
        X,
        y_true,
        y_pred,
        sensitive_features=sensitive_features,
        counts=counts,
        scale=scale,
        reference_data=reference_data,
        intersections=intersections,
    )
    generator, seed = as_generator(rng)
    rows_by_sides = scene.n * len(scene.sides) if scene.n <= _MOST_ROWS else np.inf
    unasked = next(
        (numbers for largest_size, *numbers in _DEFAULT_RESAMPLES if rows_by_sides <= largest_size),
        [0, 0],
    )
    numbers_asked_for = {"n_resamples": n_resamples, "n_subsamples": n_subsamples}
    resamples, subsamples = (
        default
        if value is None
        else check_whole(argument_name, value, low=0, cure=f"{argument_name}=199")
        for (argument_name, value), default in zip(numbers_asked_for.items(), unasked, strict=True)
    )
    comparisons = scene.comparisons()
    entries = _compute_entries(scene, comparisons, checked_statistic)
    if resamples or subsamples:
        distance_finders = resampling.make_distances(
            scene, checked_statistic, min(resampling.SHARES) if subsamples else 1.0
        )
        if resamples:
            entries = _add_tests(
                entries,
                scene,
                comparisons,
                distance_finders,
                checked_statistic,
                resamples,
                generator,
            )
        if subsamples:
            values = np.array([[entry.d, entry.d_f, entry.hfm] for entry in entries]).T
            ranges = resampling.stability_ranges(
                scene,
                comparisons,
                values,
                distance_finders,
                checked_statistic,
                subsamples,
                generator,
            )
            entries = [
                replace(entry, stability=ranges_of_entry)
                for entry, ranges_of_entry in zip(entries, ranges, strict=True)
            ]
    infinite = ", ".join(
        f"{entry.attribute}: {entry.group}" for entry in entries if np.isinf(entry.hfm)
    )
    if infinite:
        warning_text = (
            f"HFM is infinite for {infinite}: D = 0, every row has its like in the other group, and"
        )
        caution(f"{warning_text} the predictions tell them apart (D_f > 0).", DataWarning)
    return HfmResult(
        entries=tuple(entries),
        statistic=checked_statistic,
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


def _compute_entries(
    scene: Scene, comparisons: list[Comparison], statistic: Statistic
) -> list[HfmEntry]:
    """Every comparison without tests."""
    if scene.features.index is None:
        row_index = np.arange(scene.n)
    else:
        row_index = scene.features.index
    rows_of_both = (scene.with_true, scene.with_pred)
    distances_of_sides = []
    entries = []
    for side in each_of(scene.sides, "HFM of groups"):
        set_pairs = []
        for coordinates in rows_of_both:
            set_pairs.append(
                [Rows(coordinates[in_set], row_index[in_set]) for in_set in (side.rows, ~side.rows)]
            )
        distances_of_sides.append(
            [measure(first_rows, second_rows, statistic) for first_rows, second_rows in set_pairs]
        )
    for comparison in comparisons:
        own_distances = zip(
            *(distances_of_sides[side_index] for side_index in comparison.members), strict=True
        )
        distance, distance_f = (
            max(distances, key=lambda label_distance: label_distance.value)
            for distances in own_distances
        )
        if len(comparison.members) == 1:
            n_group = int(scene.sides[comparison.members[0]].rows.sum())
        else:
            n_group = scene.n
        label_distance = distance.value
        prediction_distance = distance_f.value
        values = (
            label_distance,
            prediction_distance,
            harmonic(label_distance, prediction_distance),
        )
        entries.append(
            HfmEntry(
                comparison.attribute,
                comparison.group,
                comparison.reference,
                *values,
                distance,
                distance_f,
                n_group,
                scene.n - n_group,
            )
        )
    return entries


def _add_tests(
    entries: list[HfmEntry],
    scene: Scene,
    comparisons: list[Comparison],
    distance_finders: resampling.Distances,
    statistic: Statistic,
    n_resamples: int,
    rng: np.random.Generator,
) -> list[HfmEntry]:
    """The entries with their three tests each, Holm over single values."""
    permuted = resampling.label_permutation(scene, distance_finders, statistic, n_resamples, rng)
    exchanged = resampling.label_exchange(scene, statistic, n_resamples, rng)
    drawn_d, drawn_d_f = resampling.of_comparisons(permuted, comparisons)
    drawn_quantities = (
        drawn_d,
        drawn_d_f,
        resampling.harmonics(*resampling.of_comparisons(exchanged, comparisons)),
    )
    tests = []
    for entry_index, entry in enumerate(entries):
        of_entry = []
        for value, of_null, (null_hypothesis, method) in zip(
            (entry.d, entry.d_f, entry.hfm), drawn_quantities, _NULL_HYPOTHESES, strict=True
        ):
            pvalue = resampling.upper_pvalue(value, of_null[:, entry_index])
            of_entry.append(
                HypothesisTest(
                    null=null_hypothesis,
                    alternative="greater",
                    statistic=value,
                    pvalue=pvalue,
                    method=method,
                )
            )
        tests.append(tuple(of_entry))
    adjusted = np.array(
        [[hypothesis_test.pvalue for hypothesis_test in three_tests] for three_tests in tests]
    )
    single_entries = []
    for entry_index, entry in enumerate(entries):
        if not entry.is_maximum:
            single_entries.append(entry_index)
    for of_quantity in adjusted.T:
        of_quantity[single_entries] = adjust_pvalues(of_quantity[single_entries].tolist(), "holm")
    add_tests: list[HfmEntry] = []
    for entry, three_tests, adjusted_row in zip(entries, tests, adjusted.tolist(), strict=True):
        add_tests.append(replace(entry, tests=three_tests, pvalues_adjusted=tuple(adjusted_row)))
    return add_tests


_NULL_HYPOTHESES = (
    (
        "the groups' (x, y) are no further apart than random groups'",
        "permutation of the sensitive values",
    ),
    (
        "the groups' (x, ŷ) are no further apart than random groups'",
        "permutation of the sensitive values",
    ),
    ("the classifier adds no distance", "exchange of y and ŷ within rows"),
)
