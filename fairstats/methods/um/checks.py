"""Arguments that several functions take: prior, number of draws, RoPE."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from fairstats.ground.caution import caution
from fairstats.ground.errors import DataWarning, InputError, InsufficientEvidenceWarning
from fairstats.methods.um.evaluation_counts import CELLS, EvaluationCounts

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "MOST_UNDEFINED",
    "as_prior",
    "check_draws",
    "check_rope",
    "check_share",
    "warn_of_empty",
    "without_undefined",
]

#: A larger share of undefined draws calls for a warning.
MOST_UNDEFINED = 0.05
#: More draws than this are a mistake.
MOST_DRAWS = 10**8


def check_draws(draws: Any) -> int:
    """The number of draws, or raise."""
    if isinstance(draws, bool) or not isinstance(draws, (int, np.integer)) or not 100 <= draws <= MOST_DRAWS:
        raise InputError(
            "draws", got=repr(draws), allowed=f"a whole number from 100 to {MOST_DRAWS:,}", cure="10_000, say"
        )
    return int(draws)


def check_share(argument: str, value: Any) -> float:
    """A probability in (0, 1), or raise."""
    if isinstance(value, bool) or not isinstance(value, (int, float, np.number)) or not 0 < value < 1:
        raise InputError(
            argument, got=repr(value), allowed="a number between 0 and 1, both excluded", cure="0.95"
        )
    return float(value)


def check_rope(rope: Any, n_metrics: int) -> tuple[float, ...]:
    """Half-widths of the region of practical equivalence, one per metric, or raise."""
    given = np.atleast_1d(np.asarray(rope, dtype=object)).ravel().tolist() if rope is not None else [0.0]
    if len(given) == 1:
        given = given * n_metrics
    try:
        widths = [float(value) for value in given]
    except (TypeError, ValueError):
        widths = [-1.0]
    if len(widths) != n_metrics or not all(np.isfinite(w) and w >= 0 for w in widths):
        raise InputError(
            "rope",
            got=repr(rope),
            allowed=f"a size ≥ 0, or {n_metrics} of them, one per metric",
            cure="0.01 for differences below one percentage point",
        )
    return tuple(widths)


def as_prior(prior: Any, counts: EvaluationCounts) -> NDArray[np.float64]:
    """Dirichlet parameters of shape (G, 4).

    Parameters
    ----------
    prior : float, or mapping of cell to float
        One value for every cell, or one per cell by name.
    counts : EvaluationCounts

    Raises
    ------
    InputError
        Negative, not finite, or 0 for a group without rows.
    """
    shape = counts.cells.shape
    try:
        if isinstance(prior, Mapping):
            if set(prior) != set(CELLS):
                raise TypeError
            values = np.broadcast_to(np.array([float(prior[cell]) for cell in CELLS]), shape)
        elif isinstance(prior, bool):
            raise TypeError
        else:
            values = np.full(shape, float(prior))
    except (TypeError, ValueError) as problem:
        raise _bad_prior(prior) from problem
    if not np.isfinite(values).all() or (values < 0).any():
        raise _bad_prior(prior)
    alpha = values + counts.cells
    for g, group in enumerate(counts.groups):
        if alpha[g].sum() == 0:
            raise InputError(
                "prior",
                got=f"0 with no row of group {group!r}: there is no posterior",
                allowed="a prior above 0, or rows in every group",
                cure="prior=1.0, or leave the group out",
            )
    zero = [f"{CELLS[c]} of {counts.groups[g]!r}" for g, c in np.argwhere(alpha == 0)]
    if zero:
        caution(
            f"prior 0 with empty cells ({', '.join(zero)}): the posterior is improper; its limit is used, in "
            "which these cells have probability 0.",
            DataWarning,
        )
    return np.array(values, dtype=np.float64)


def _bad_prior(prior: Any) -> InputError:
    return InputError(
        "prior",
        got=repr(prior),
        allowed="a number ≥ 0 for every cell, or a mapping with tp, tn, fp, fn",
        cure="1.0 (uniform), 0.5 (Jeffreys)",
    )


def warn_of_empty(counts: EvaluationCounts) -> None:
    """Warn of groups whose rates rest on the prior alone."""
    tp, tn, fp, fn = counts.cells.T
    lacking = []
    for g, group in enumerate(counts.groups):
        if counts.totals[g] == 0:
            caution(f"{group!r} has no rows: its metrics are undefined (NaN).", InsufficientEvidenceWarning)
            continue
        if tp[g] + fn[g] == 0:
            lacking.append(f"{group!r} has no rows with a favourable label (TPR)")
        if tn[g] + fp[g] == 0:
            lacking.append(f"{group!r} has no rows with an unfavourable label (FPR, TNR)")
    if lacking:
        caution(
            "; ".join(lacking) + ": the posterior of the rates named is the prior, not evidence.",
            InsufficientEvidenceWarning,
        )


def without_undefined(delta: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    """Draws without NaN, and the share left out, with a warning where it is large."""
    lacking = np.isnan(delta).reshape(len(delta), -1).any(axis=1)
    share = float(lacking.mean())
    if lacking.all():
        raise InputError(
            "metrics",
            got="no draw in which every metric is defined",
            allowed="metrics with cases in every group",
            cure="choose other metrics, a prior above 0, or target='parameter'",
        )
    if share > MOST_UNDEFINED:
        caution(
            f"{share:.1%} of the draws are undefined (0/0: a drawn group without the cases) and left out.",
            InsufficientEvidenceWarning,
        )
    return delta[~lacking], share
