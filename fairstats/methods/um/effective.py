"""Effective counts of a K-fold cross-validation, C^e = ΣC^(k) / (1 + (K−1)ρ), and the strategies for ρ.

With u = 1 + (K−1)ρ⁰ of the reference and r = Var[A1]/Var[A0], the method under test over the reference, the
relative correlation fulfils 1 + (K−1)ρ¹ = r·u. The paper's equation 3 prints r the other way round; an
unstable method must get a larger ρ and fewer effective rows. r is the ratio of the variances between half
splits (the paper's section 10), with a jackknife interval.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import fdtri, stdtrit

from fairstats.ground.checks import Floats, check_number
from fairstats.ground.errors import DataWarning, InputError, InsufficientEvidenceWarning, caution
from fairstats.ground.groups import group_index
from fairstats.ground.serialise import serialisable

#: Quantiles of F(J, J) over which a factor is averaged.
_SPREAD = 1_000
STRATEGIES = ("1/K", "uniform", "relative", "relative-uniform")


def strategy_factors(strategy: str, folds: int, ratio: Floats) -> tuple[Floats, Floats]:
    """Effective over summed counts per group (equation 2), and the share of the range of ρ that was clipped.

    "1/K": ρ = 1/K; "uniform": the factor is averaged over ρ uniform on [0, 1/K]; "relative" and "relative-uniform": the
    same of the reference's ρ⁰, with u = 1 + (K−1)ρ⁰ times the `ratio` r of each group.
    """
    if not strategy.startswith("relative"):
        ratio = np.ones(len(ratio))
    end = 1.0 + (folds - 1) * (1.0 / folds)
    if strategy in ("1/K", "relative"):
        scaled = ratio * end
        return 1.0 / np.clip(scaled, 1.0, folds), np.where((scaled >= 1.0) & (scaled < folds), 0.0, 1.0)
    # the average of 1/clip(r·u, 1, K) over u from 1 to `end`: 1 where r·u < 1, logarithmic between, 1/K above
    first, last = np.clip(1.0 / ratio, 1.0, end), np.clip(folds / ratio, 1.0, end)
    total = (first - 1.0) + np.log(last / first) / ratio + (end - last) / folds
    return total / (end - 1.0), ((first - 1.0) + (end - last)) / (end - 1.0)


@serialisable(eq=False)
class VarianceRatio:
    """r_s = Var[A1] / Var[A0], the method under test over the reference, per group.

    `metric` is what the variances are of, computed per group, and `reference` the reference algorithm A0.
    `values`, shape (2, J, 2, G), holds the metric by algorithm (reference, method), half split, half and
    group; it is empty where r was given. `ratio`, shape (G,), is NaN where a variance is 0; `low` and `high`
    are the jackknife interval over the J half splits, NaN where r was given or J is 1. `averaged`: of several
    metrics, the largest in each group, whose factor is averaged over r·F(J, J).
    """

    metric: str
    reference: str
    values: NDArray[np.float64]
    ratio: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    confidence_level: float = 0.95
    averaged: bool = False


@serialisable(eq=False)
class CrossValidation:
    """Folds, correlations and effective counts of a K-fold cross-validation.

    `folds` is K; `fold_cells`, shape (K, G, 4), the counts of each fold in the order tp, fp, fn, tn;
    `correlation` the strategy, empty where the target is the algorithm, and `variance_ratio` what a relative
    one rests on. Per group, shape (G,): `rho` is the correlation, under the range strategies the one that
    gives the same effective counts; `factor` the effective over the summed counts, 1/(1 + (K−1)ρ) or its
    average; `clipped` the share of the range of ρ clipped to [0, 1), 0 or 1 for a single value.
    """

    folds: int
    fold_cells: NDArray[np.int64]
    correlation: str
    rho: NDArray[np.float64]
    factor: NDArray[np.float64]
    clipped: NDArray[np.float64]
    variance_ratio: VarianceRatio | None = None
    estimator: str = ""

    def notes(self, groups: tuple[str, ...]) -> list[str]:
        """Strategy, correlations and variance ratio in words."""
        if not self.correlation:
            return [
                f"{self.folds}-fold cross-validation: summed counts, and how far the predictions of models "
                "fitted to disjoint halves differ."
            ]
        rho = ", ".join(f"{g} {r:.3f}" for g, r in zip(groups, self.rho, strict=True))
        lines = [f"{self.folds}-fold cross-validation, correlation {self.correlation!r}: ρ = {rho}."]
        lines.append(
            "About the models fitted to these rows. The algorithm fitted anew (target='algorithm') varies "
            "more: 95% intervals about the former held its demographic parity in 78 to 86% of samples."
        )
        ratio = self.variance_ratio
        if ratio is not None:
            words = ", ".join(
                f"{g} {r:.2f} [{low:.2f}, {high:.2f}]"
                for g, r, low, high in zip(groups, ratio.ratio, ratio.low, ratio.high, strict=True)
            )
            lines.append(
                f"Variance ratio over {ratio.reference} on {ratio.metric} per group, with its jackknife "
                f"interval: {words}." + (" Effective counts are averaged over r·F(J, J)." if ratio.averaged else "")
            )
        return lines


def variance_ratio_of(values: Floats, metric: str, reference: str, confidence_level: float = 0.95) -> VarianceRatio:
    """R = Var_over of the method over that of the reference, with its delete-one jackknife interval.

    Var_over = (1/2J) Σ_j (θ_j − θ_j^c)² (equation 20), θ_j and θ_j^c the K-fold estimates in both halves;
    `values` (2, J, 2, G) by algorithm (reference, method), split, half, group. The interval is on the log
    scale, t with J − 1 degrees of freedom. Everything is NaN where a variance is 0, the limits also where one
    vanishes without some split, and for J = 1.
    """
    squares = (values[:, :, 0] - values[:, :, 1]) ** 2
    sums, splits = squares.sum(axis=1), squares.shape[1]
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where((sums > 0).all(axis=0), sums[1] / sums[0], np.nan)
        left = sums[:, None] - squares
        left = np.where(left > 1e-12 * sums[:, None], left, np.nan)
        logs = np.log(left[1] / left[0])
        spread = np.sqrt((splits - 1) / splits * ((logs - logs.mean(axis=0)) ** 2).sum(axis=0))
        reach = stdtrit(max(splits - 1, 1), 0.5 + confidence_level / 2) * spread
        low, high = ratio * np.exp(-reach), ratio * np.exp(reach)
    return VarianceRatio(metric, reference, values, ratio, low, high, confidence_level)


def largest_ratio(ratios: list[VarianceRatio]) -> VarianceRatio:
    """Of several metrics the largest ratio of each group, to be averaged over its uncertainty."""
    best = np.nan_to_num([r.ratio for r in ratios], nan=-1.0).argmax(axis=0)
    values, ratio, low, high = (
        np.stack([getattr(ratios[k], name)[..., g] for g, k in enumerate(best)], axis=-1)
        for name in ("values", "ratio", "low", "high")
    )
    words = ("the largest of " if len(ratios) > 1 else "") + ", ".join(r.metric for r in ratios)
    return VarianceRatio(words, ratios[0].reference, values, ratio, low, high, averaged=True)


def variance_ratio_given(ratio: Any, groups: tuple[str, ...]) -> VarianceRatio:
    """The variance ratio that the user knows: one number, or one per group by name."""
    values, cure = np.full(len(groups), np.nan), "leave it out to have it estimated"
    for group, value in (ratio if isinstance(ratio, Mapping) else dict.fromkeys(groups, ratio)).items():
        number = check_number("variance_ratio", value, low=0, open_low=True, cure=cure)
        values[group_index(groups, group, "variance_ratio")] = number
    if np.isnan(values).any():
        allowed = "a number above 0, or one per group: Var[method] / Var[reference]"
        raise InputError("variance_ratio", got=repr(ratio), allowed=allowed, cure=cure)
    nan = np.full(len(groups), np.nan)
    return VarianceRatio(
        "a metric of the user's", "a reference of the user's", np.empty((2, 0, 2, 0)), values, nan, nan
    )


def checked_factors(
    correlation: str, folds: int, ratio: Floats, groups: tuple[str, ...], splits: int = 0
) -> tuple[Floats, Floats]:
    """Factors per group and what was clipped, with a warning of ratios that are unknown or clipped.

    With `splits` the factors are averaged over ratio·F(J, J): the ratio of two variances from J half splits
    each, over that of their expectations, has this law where the differences are normal.
    """
    unknown = np.isnan(ratio)
    if unknown.any():
        caution(
            f"no variance ratio for {', '.join(g for g, u in zip(groups, unknown, strict=True) if u)}: the "
            "metric did not vary, or is undefined, in some half splits; the reference's correlation is used.",
            InsufficientEvidenceWarning,
        )
    known = np.where(unknown, 1.0, ratio)
    if splits:
        spread = fdtri(splits, splits, (np.arange(_SPREAD) + 0.5) / _SPREAD)
        tables = strategy_factors(correlation, folds, np.outer(known, spread).ravel())
        factor, clipped = (table.reshape(len(known), -1).mean(axis=1) for table in tables)
        clipped = np.where(clipped > 0.5, clipped, 0.0)  # the tails of F always are
    else:
        factor, clipped = strategy_factors(correlation, folds, known)
    if clipped.any():
        words = ", ".join(f"{g} (r = {r:.2f})" for g, r, c in zip(groups, ratio, clipped, strict=True) if c > 0)
        caution(
            f"the relative correlation of {words} leaves [0, 1) and is clipped: at 0 the folds count as "
            "independent, at 1 as one fold.",
            DataWarning,
        )
    return factor, clipped
