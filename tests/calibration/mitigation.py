"""What a mitigation changes on rows that it was not fitted to, and the limits of its losses, given
the map.

Scores follow the paper's simulation (section 4.4), the map is fitted to 300 other rows. The truth
is that of a million rows of either group under the same map, that of a MADD in the bins in which
the sample is judged: quantiles of its scores.
"""

from __future__ import annotations

import warnings
from functools import cache, partial

import numpy as np
from numpy.typing import NDArray

import fairstats as fs
from fairstats.ground.outcomes import Outcomes
from fairstats.ground.scores import label_blind_bins
from fairstats.methods.madd.mitigation import (
    LabelledSample,
    MixtureCdfs,
    fairness_limits,
    fairness_losses,
    left_out,
    mitigation_result,
)
from fairstats.methods.madd.result import make_settings
from tests.calibration.study import Cell, Counts, tally_interval
from tests.methods.madd.conftest import Scored, scored

__all__ = ["CELLS"]

_SIZES = ((150, 1_500), (500, 500))
_MANY = 1_000_000
_FEWER = 100_000


@cache
def _map() -> MixtureCdfs:
    fit = scored(150, 150, 1)
    return MixtureCdfs.fit([fit.score[fit.group == g] for g in (0, 1)])


def _mapped(rows: Scored, lambda_: float) -> NDArray[np.float64]:
    found = rows.score.copy()
    for g in (0, 1):
        found[rows.group == g] = _map().map(rows.score[rows.group == g], g, lambda_)
    return found


def _rows(n0: int, n1: int, seed: int) -> tuple[Scored, Outcomes]:
    rows = scored(n0, n1, seed)
    groups = rows.group.astype(str)
    return rows, Outcomes.from_arrays(
        rows.y, score=rows.score, sensitive_features=groups, groups=["0", "1"]
    )


@cache
def _many_scores(lambda_: float) -> tuple[tuple[NDArray[np.float64], ...], ...]:
    """Sorted scores of many rows of either group, before and after."""
    rows = scored(_MANY, _MANY, 2)
    stages = []
    for score in (rows.score, _mapped(rows, lambda_)):
        stages.append(tuple(np.sort(score[rows.group == g]) for g in (0, 1)))
    return tuple(stages)


def _madd_change(lambda_: float, edges: list[NDArray[np.float64]]) -> float:
    """Change of MADD of many rows in the bins that a sample is judged in, before and after."""
    values = []
    for both_groups, inner_edges in zip(_many_scores(lambda_), edges, strict=True):
        shares = []
        for scores in both_groups:
            below = np.searchsorted(scores, inner_edges) / scores.size
            shares.append(np.diff(below, prepend=0.0, append=1.0))
        values.append(float(np.abs(shares[0] - shares[1]).sum()))
    return values[1] - values[0]


@cache
def _truths(lambda_: float) -> dict[str, float]:
    """Changes of disparate impact of group 0 against 1, and of accuracy in group 0."""
    rows = scored(_MANY, _MANY, 2)
    stages = rows.score, _mapped(rows, lambda_)
    first = rows.group == 0
    ratios = [(s[first] >= 0.5).mean() / (s[~first] >= 0.5).mean() for s in stages]
    right = [((s >= 0.5) == (rows.y == 1))[first].mean() for s in stages]
    return {
        "disparate_impact": float(ratios[1] / ratios[0]),
        "accuracy": float(right[1] - right[0]),
    }


def of_change(
    rng: np.random.Generator, runs: int, *, metric: str, sizes: tuple[int, int], lambda_: float
) -> Counts:
    """Intervals of one change, of group 0 against group 1 (accuracy: of group 0)."""
    margins = []
    settings = make_settings(n_resamples=399)
    blank = fs.results.MaddResult((), None, settings, None)  # type: ignore[arg-type]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fs.FairstatsWarning)
        for _ in range(runs):
            rows, outcomes = _rows(*sizes, seed=int(rng.integers(1 << 31)))
            told = {"reference": "1", "lambda_": lambda_, "threshold": 0.5}
            stages = np.asarray(outcomes.score), _mapped(rows, lambda_)
            effect = mitigation_result(outcomes, stages, (blank, blank), rng, **told)
            low, high = effect.change(metric, "0").confidence_interval
            if metric == "madd":
                truth = _madd_change(lambda_, effect.pairs[0].grids[0]["edges"])
            else:
                truth = _truths(lambda_)[metric]
            margins.append((low - truth, high - truth))
    return tally_interval(0.0, margins)


def of_loss(
    rng: np.random.Generator, runs: int, *, sizes: tuple[int, int], lambda_: float
) -> Counts:
    """Limits of the fairness loss of rows left out, against the mean of 100,000 rows under the same
    maps.
    """
    lambdas = np.array([lambda_])
    bins = label_blind_bins(*sizes)
    held = []

    def groups(n0: int, n1: int, seed: int) -> list[LabelledSample]:
        rows = scored(n0, n1, seed)
        parts = [np.sort(rows.score[rows.group == g]) for g in (0, 1)]
        return [LabelledSample(x, np.zeros(x.size, dtype=np.uint8)) for x in parts]

    many = groups(_FEWER, _FEWER, 2)
    for _ in range(runs):
        fitted = left_out(groups(*sizes, seed=int(rng.integers(1 << 31))), 5, rng)
        _, low, high = fairness_limits(fitted, lambdas, bins)[:, 0]
        truth = float(
            np.mean([fairness_losses([(maps, many)], lambdas, bins)[0] for maps, _ in fitted])
        )
        held.append((low - truth, high - truth))
    return tally_interval(0.0, held)


def _cells() -> list[Cell]:
    cells = []
    for sizes in _SIZES:
        rows = f"{sizes[0]} beside {sizes[1]:,}"
        for lambda_ in (0.1, 0.5, 1.0):
            for metric in ("madd", "disparate_impact", "accuracy"):
                simulate = partial(of_change, metric=metric, sizes=sizes, lambda_=lambda_)
                claim = "conservative" if metric == "madd" or lambda_ == 0.1 else "valid"
                regime = f"change of {metric}, {rows}, λ = {lambda_:g}"
                # 2: a MADD is judged in quantiles of the pooled scores
                version = "2" if metric == "madd" else "1"
                cells.append(
                    Cell(
                        "paired",
                        "MaddMitigator.evaluate",
                        regime,
                        simulate,
                        1_000,
                        claim,
                        version=version,
                    )
                )
        for lambda_ in (0.0, 0.5, 1.0):
            loss = partial(of_loss, sizes=sizes, lambda_=lambda_)
            regime = f"limits of the fairness loss, {rows}, λ = {lambda_:g}"
            cells.append(
                Cell("paired", "MaddMitigator.loss_curve_", regime, loss, 300, "conservative")
            )
    return cells


CELLS = _cells()
