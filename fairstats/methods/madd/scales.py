"""Numeric outcomes and predicted classes as scores in [0, 1].

The bins that MADD is judged in follow a monotone map of the scores, so that any numeric outcome has
a MADD: that of its pooled mid-ranks. Of classes each is a bin: MADD = Σ_c |p0_c − p1_c|.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from scipy.stats import rankdata

from fairstats.ground.checks import Floats, check_choice, check_that
from fairstats.ground.encoding import as_float_column
from fairstats.ground.errors import InputError
from fairstats.ground.values import factorize, label_texts

SCALES: Final = ("probability", "rank", "class")
#: More classes than bins can be judged.
_MOST_CLASSES: Final = 2_000
_LISTED: Final = 12


@dataclass(frozen=True)
class ScaledScores:
    """Scores in [0, 1], the number of bins that a scale prescribes, and what the result says."""

    score: Any
    n_bins: int | None
    note: str


def scale_scores(
    score: Any,
    scale: str,
    *,
    counts: Any,
    bandwidth: Any,
    n_bins: Any,
    grid_bins: Any,
) -> ScaledScores:
    """The scores that the distance is computed from; probabilities stay as they came."""
    check_choice("scale", scale, SCALES)
    if scale == "probability":
        return ScaledScores(score, n_bins, "")
    check_that(
        counts is None and score is not None,
        "scale",
        f"{scale!r} beside counts=",
        "'rank' and 'class' with the rows themselves",
        "pass score=",
    )
    if scale == "rank":
        return ScaledScores(
            rank_outcomes(as_float_column(score, "score")),
            n_bins,
            "Scores are the pooled mid-ranks of a numeric outcome: the judged bins are its own"
            " quantiles, the headline is that of the ranks.",
        )
    chosen = {"bandwidth": bandwidth != "auto", "n_bins": n_bins, "grid_bins": grid_bins}
    for name, value in chosen.items():
        if value:
            cure = "leave it out: every class is a bin of its own"
            raise InputError(name, got="a value beside scale='class'", allowed="none", cure=cure)
    return _place_classes(score)


def rank_outcomes(values: Floats) -> Floats:
    """Pooled mid-ranks (r − ½)/n of the values that are there, NaN where they are missing.

    Examples
    --------
    >>> rank_outcomes(np.array([30.0, 10.0, 10.0, np.nan]))
    array([0.83333333, 0.33333333, 0.33333333,        nan])
    """
    if np.isinf(values).any():
        raise InputError(
            "score",
            got="infinite values",
            allowed="finite numbers",
            cure="leave these rows out",
        )
    present = np.isfinite(values)
    ranks = np.full(values.shape, np.nan)
    ranks[present] = (rankdata(values[present]) - 0.5) / max(1, int(present.sum()))
    return ranks


def _place_classes(score: Any) -> ScaledScores:
    """Class c of K at (c + ½)/K, so that each of K equally wide bins holds one class."""
    factor = factorize(score, "score")
    number = len(factor.levels)
    check_that(
        2 <= number <= _MOST_CLASSES,
        "score",
        f"{number:,} classes",
        f"from 2 to {_MOST_CLASSES:,} classes",
        "scale='rank' for numbers",
    )
    codes = np.asarray(factor.codes)
    texts = label_texts(factor.levels, "score")
    in_order = sorted(range(number), key=lambda code: texts[code])
    # place[code] is where the class stands among the sorted ones; the last entry is of code −1
    place = np.empty(number + 1)
    place[in_order] = (np.arange(number) + 0.5) / number
    place[-1] = np.nan
    placed = place[codes]
    texts = tuple(sorted(texts))
    listed = ", ".join(texts[:_LISTED]) + (", …" if number > _LISTED else "")
    note = f"Each of {number} classes is a bin: {listed}."
    return ScaledScores(placed, number, note)
