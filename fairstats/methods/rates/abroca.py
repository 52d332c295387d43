"""ABROCA: the area between the ROC curves of two groups, with an interval that can start at zero."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from fairstats.ground.errors import InputError
from fairstats.ground.groups import find_reference
from fairstats.ground.outcomes import Outcomes
from fairstats.ground.randomness import as_generator
from fairstats.ground.results import HypothesisTest, Interval
from fairstats.ground.scores import ScoreCounts
from fairstats.ground.serialise import serialisable
from fairstats.methods.rates.inference import make_pairs, warn_about
from fairstats.methods.rates.result import Comparison, ComparisonResult, Inference
from fairstats.methods.rates.roc import RocCurve, area_between
from fairstats.methods.rates.setup import make_settings
from fairstats.methods.rates.simultaneous import adjust_pvalues

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["AbrocaResult", "abroca"]

_GRID = (np.arange(1000) + 0.5) / 1000
_BOOTSTRAP_BINS = 1000
#: A result carries at most so many bins, with so many rows on average: no person can be read off.
_STORED_BINS = 2048
_ROWS_PER_BIN = 10
#: A group needs so many rows of each label: the bootstrap of fewer understates the noise.
MIN_ROWS = 10


@serialisable
@dataclass(frozen=True, eq=False)
class AbrocaResult(ComparisonResult):
    """Areas between ROC curves; `rate` and `rate_reference` hold the two AUCs.

    Attributes
    ----------
    expected_if_equal : tuple of float
        Mean ABROCA that two equal curves would show at these sample sizes, one per comparison.
    """

    expected_if_equal: tuple[float, ...] = ()

    scale: ClassVar[str] = "maximum"

    def rows(self) -> list[dict[str, Any]]:
        """Rows of the tidy table."""
        return [
            {**row, "expected_if_equal": expected}
            for row, expected in zip(super().rows(), self.expected_if_equal, strict=True)
        ]

    def _sentence(self, c: Comparison) -> str:
        s = self.settings
        if c.verdict == "insufficient evidence":
            return f"{c.group} against {c.reference}: insufficient evidence. {c.note}".strip()
        tail = {
            "violated": f"the data show an area above {s.threshold:g}",
            "satisfied": f"the data show an area below {s.threshold:g}",
            "undecided": f"the data do not settle on which side of {s.threshold:g} it lies",
        }[c.verdict]
        return (
            f"{c.group} against {c.reference}: area between the ROC curves {c.estimate:.3f} "
            f"({100 * s.confidence_level:g}% interval {c.interval.low:.3f} to {c.interval.high:.3f}; "
            f"AUC {c.rate:.3f} and {c.rate_reference:.3f}): {c.verdict}; {tail}."
        )


def abroca(
    y_true: Any,
    score: Any,
    *,
    sensitive_features: Any,
    reference: Hashable | None = None,
    comparisons: Literal["reference", "all"] = "reference",
    threshold: float = 0.1,
    confidence_level: float = 0.95,
    adjust: str = "holm",
    pos_label: Any = None,
    missing: Literal["raise", "drop", "group"] = "raise",
    groups: Sequence[Hashable] | None = None,
    n_resamples: int = 999,
    rng: Any = None,
) -> AbrocaResult:
    """Absolute area between the ROC curves of each group and the reference.

    A = ∫₀¹ |ROC_s(t) − ROC_ref(t)| dt ∈ [0, 1], exact for the empirical curves. As every norm of a noisy
    difference it is biased upwards; `expected_if_equal` says what equal curves would show.

    Parameters
    ----------
    y_true : array-like, shape (n,)
        Labels, any type with two values.
    score : array-like of float, shape (n,)
        Score in [0, 1], larger for the favourable label.
    sensitive_features : array-like (n,) or (n, k), data frame or mapping
        Group of each row; several columns are crossed.
    reference, comparisons, adjust, pos_label, missing, groups
        As in `disparate_impact`.
    threshold : float, default 0.1
        The verdict asks on which side of it the area lies.
    confidence_level : float, default 0.95
    n_resamples : int, default 999
        Bootstrap resamples of the score counts within group and label.
    rng : None, int or numpy.random.Generator

    Returns
    -------
    AbrocaResult

    Raises
    ------
    InputError
        For scores outside [0, 1], and other input that cannot be used.

    Warns
    -----
    InsufficientEvidenceWarning
        Where a group has fewer than ten rows of one of the labels.

    Notes
    -----
    With D = ROC_s − ROC_ref and D* its bootstrap version, the interval is [(A − q)₊, A + q], q the quantile
    of ∫|D* − D̂| at the confidence level: by the triangle inequality |Â − A| ≤ ∫|D̂ − D|, so coverage is at
    least nominal, also for equal curves, where a percentile interval has none. The p-value of H0: equal
    curves is the share of ∫|D* − D̂| ≥ Â.

    References
    ----------
    .. [1] Gardner, Brooks, Baker (2019). Evaluating the fairness of predictive student models through slicing
       analysis. LAK19, 225–234.

    Examples
    --------
    >>> import numpy as np, fairstats as fs
    >>> rng = np.random.default_rng(1)
    >>> y, group = rng.integers(0, 2, 400), np.repeat(["a", "b"], 200)
    >>> score = np.clip(0.4 + 0.2 * y * (group == "a") + 0.1 * rng.standard_normal(400), 0, 1)
    >>> result = fs.abroca(y, score, sensitive_features=group, reference="a", rng=1)
    >>> print(result.verdict)
    violated
    """
    settings = make_settings(
        "difference",
        method=None,
        threshold=threshold,
        alternative="two-sided",
        confidence_level=confidence_level,
        simultaneous=None,
        adjust=adjust,
        comparisons=comparisons,
        n_resamples=n_resamples,
    )
    outcomes = Outcomes.from_arrays(
        y_true,
        None,
        score=score,
        sensitive_features=sensitive_features,
        pos_label=pos_label,
        missing=missing,
        groups=groups,
    )
    result = abroca_from_counts(ScoreCounts.from_outcomes(outcomes), reference, settings, rng)
    warn_about(result)
    return result


def abroca_from_counts(
    scores: ScoreCounts, reference: Hashable | None, settings: Inference, rng: Any
) -> AbrocaResult:
    """Area between ROC curves from score counts, without warnings."""
    if len(scores.groups) < 2:
        raise InputError(
            "sensitive_features",
            got=f"one group ({scores.groups[0]!r})",
            allowed="two groups or more",
            cure="compare with another group",
        )
    totals = scores.counts.sum(axis=2)
    curves = [
        RocCurve.from_counts(*scores.counts[g]) if totals[g].min() > 0 else None for g in range(len(totals))
    ]
    auc = np.array([np.nan if curve is None else curve.auc for curve in curves])
    index, rule = find_reference(scores.groups, reference, sizes=scores.group_sizes, rates=auc)
    generator, seed = as_generator(rng)
    settings = replace(settings, method="bootstrap of the curves", seed=seed, reference_rule=rule)
    pairs = make_pairs(len(curves), index, settings.comparisons)
    deviation = _bootstrap_curves(scores, curves, settings.n_resamples, generator)
    found, expected = [], []
    for i, j in pairs:
        comparison, mean = _compare(scores, curves, auc, deviation, i, j, settings)
        found.append(comparison)
        expected.append(mean)
    adjusted = adjust_pvalues([c.pvalue for c in found], settings.adjust)
    return AbrocaResult(
        metric="abroca",
        comparisons=tuple(replace(c, pvalue_adjusted=float(p)) for c, p in zip(found, adjusted, strict=True)),
        settings=settings,
        counts=scores.binned(max(2, min(_STORED_BINS, int(scores.counts.sum()) // _ROWS_PER_BIN))),
        words="ABROCA: area between ROC curves",
        expected_if_equal=tuple(expected),
    )


def _bootstrap_curves(
    scores: ScoreCounts, curves: list[RocCurve | None], n_resamples: int, rng: np.random.Generator
) -> list[NDArray[np.float64] | None]:
    """ROC* − ROC on a grid for every group, shape (n_resamples, grid); None where there is no curve."""
    coarse = scores.binned(_BOOTSTRAP_BINS).counts
    found: list[NDArray[np.float64] | None] = []
    for g, curve in enumerate(curves):
        if curve is None:
            found.append(None)
            continue
        center = RocCurve.from_counts(*coarse[g]).at(_GRID)
        drawn = [
            rng.multinomial(int(cells.sum()), cells / cells.sum(), size=n_resamples) for cells in coarse[g]
        ]
        deviation = np.empty((n_resamples, _GRID.size))
        for b in range(n_resamples):
            deviation[b] = RocCurve.from_counts(drawn[0][b], drawn[1][b]).at(_GRID) - center
        found.append(deviation)
    return found


def _compare(
    scores: ScoreCounts,
    curves: list[RocCurve | None],
    auc: NDArray[np.float64],
    deviation: list[NDArray[np.float64] | None],
    i: int,
    j: int,
    settings: Inference,
) -> tuple[Comparison, float]:
    level = settings.confidence_level
    nan = float("nan")
    sizes = scores.group_sizes
    empty = Comparison(
        metric="abroca",
        group=scores.groups[i],
        reference=scores.groups[j],
        estimate=nan,
        std_error=nan,
        interval=Interval(0.0, 1.0, level, settings.method),
        bounds=Interval(0.0, 1.0, 2 * level - 1, settings.method),
        statistic=nan,
        pvalue=nan,
        pvalue_adjusted=nan,
        tests=(),
        verdict="insufficient evidence",
        rate=float(auc[i]),
        rate_reference=float(auc[j]),
        n=int(sizes[i]),
        n_reference=int(sizes[j]),
        method=settings.method,
    )
    first, second, noise1, noise2 = curves[i], curves[j], deviation[i], deviation[j]
    if first is None or second is None or noise1 is None or noise2 is None:
        lacking = [
            f"{scores.groups[g]} has no row with {'a favourable' if label else 'an unfavourable'} label"
            for g in (i, j)
            for label in (0, 1)
            if scores.counts[g, label].sum() == 0
        ]
        return replace(empty, note="; ".join(lacking) + ", so no ROC curve."), nan
    few = [scores.groups[g] for g in (i, j) if 0 < scores.counts[g].sum(axis=1).min() < MIN_ROWS]
    if few:
        note = (
            f"{' and '.join(few)}: fewer than {MIN_ROWS} rows of one label, too few to resample a ROC curve."
        )
        return replace(empty, note=note), nan
    estimate = area_between(first, second)
    distance = np.abs(noise1 - noise2).mean(axis=1)
    # The triangle inequality bounds each side by the same quantile: no gain for a one-sided bound.
    reach = one_sided = np.quantile(distance, level)
    pvalue = float((1 + np.sum(distance >= estimate)) / (1 + distance.size))
    bounds = Interval(
        max(estimate - one_sided, 0.0), min(estimate + one_sided, 1.0), 2 * level - 1, settings.method
    )
    high, low = bounds.high < settings.threshold, bounds.low > settings.threshold
    return (
        replace(
            empty,
            estimate=estimate,
            std_error=float(np.std(distance)),
            interval=Interval(
                max(estimate - float(reach), 0.0), min(estimate + float(reach), 1.0), level, settings.method
            ),
            bounds=bounds,
            statistic=estimate,
            pvalue=pvalue,
            tests=(HypothesisTest("equal ROC curves", "two-sided", estimate, pvalue, settings.method),),
            verdict="violated" if low else ("satisfied" if high else "undecided"),
        ),
        float(distance.mean()),
    )
