"""Maxima of absolute differences: equalised odds, the largest gap over many groups.

θ = max_j |δ_j| over J signed differences. With s_j their standard errors and c the simultaneous critical
value of max_j |Z_j|, the interval [max_j(|δ̂_j| − c·s_j)₊, max_j(|δ̂_j| + c·s_j)] covers θ with at least the
nominal probability: the band covers all δ_j at once, and so their maximum. It is conservative, and says so.

The limits δ̂_j ± c·s_j are replaced by the score limits at the same c (equal for large groups): with Wald
limits the coverage fell to 86–92% at 10 to 30 rows per group. A table with a cell below five takes the
continuity correction: without it the coverage of 10 beside 1,000 rows fell to .919, and with it no setting
enumerated (3 to 1,000 rows a group) lies below .944. Clustered rows keep the linearised s_j.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from fairstats.ground.counts import CellCounts, ConfusionCounts
from fairstats.ground.errors import InputError
from fairstats.ground.results import Interval, Result
from fairstats.ground.serialise import serialisable
from fairstats.methods.rates.definitions import RATES
from fairstats.methods.rates.estimates import (
    RateEstimates,
    estimate_average_odds,
    estimate_rates,
    influence_matrix,
)
from fairstats.methods.rates.pair import SMALL_CELL, Mover, Score, Wald, smallest_cell
from fairstats.methods.rates.result import Inference
from fairstats.methods.rates.simultaneous import MaxZ

if TYPE_CHECKING:
    from numpy.typing import NDArray

Term = tuple[RateEstimates, int, int]

__all__ = ["GapComponent", "MaximumResult", "largest_gap"]

_OPEN = "A gap that is not known leaves the interval open up to 1."


@serialisable
@dataclass(frozen=True)
class GapComponent:
    """One signed difference under the maximum, with its simultaneous interval."""

    rate: str
    group: str
    reference: str
    estimate: float
    std_error: float
    low: float
    high: float
    n: int


@serialisable
@dataclass(frozen=True, eq=False)
class MaximumResult(Result):
    """The largest absolute difference between any two groups.

    Attributes
    ----------
    metric : str
    estimate : float
        max_j |δ̂_j| in [0, 1]; biased upwards, as every maximum of noisy values.
    confidence_interval : Interval
        Covers the population maximum with at least the nominal probability.
    bounds : Interval
        One-sided bounds at the same level, for the verdict.
    statistic, pvalue : float
        max_j |δ̂_j|/s_j and its simultaneous p-value for H0: all differences are 0.
    critical_value : float
        c of the interval.
    verdict : {"violated", "satisfied", "undecided", "insufficient evidence"}
        Whether the maximum lies above or below the threshold.
    components : tuple of GapComponent
        Every difference; the first attains the maximum.
    settings : Inference
    counts : CellCounts
        The sufficient statistics.
    """

    metric: str
    estimate: float
    confidence_interval: Interval
    bounds: Interval
    statistic: float
    pvalue: float
    critical_value: float
    verdict: str
    components: tuple[GapComponent, ...]
    settings: Inference
    counts: CellCounts
    words: str = ""
    note: str = ""
    backend: str = "numpy"
    pvalue_adjusted: float = float("nan")

    scale: ClassVar[str] = "maximum"

    @property
    def title(self) -> str:  # type: ignore[override]
        """One line above the table."""
        return self.words or self.metric

    @property
    def width(self) -> float:
        """Width of the interval."""
        return self.confidence_interval.width

    def rows(self) -> list[dict[str, Any]]:
        """Row of the tidy table."""
        top = self.components[0] if self.components else None
        return [
            {
                "metric": self.metric,
                "group": top.group if top else None,
                "reference": top.reference if top else None,
                "estimate": self.estimate,
                "std_error": top.std_error if top else float("nan"),
                "ci_low": self.confidence_interval.low,
                "ci_high": self.confidence_interval.high,
                "statistic": self.statistic,
                "pvalue": self.pvalue,
                "pvalue_adjusted": self.pvalue_adjusted,
                "n": self.counts.n,
                "method": self.confidence_interval.method,
                "backend": self.backend,
                "bound_low": self.bounds.low,
                "bound_high": self.bounds.high,
                "confidence_level": self.confidence_interval.confidence_level,
                "verdict": self.verdict,
                "note": self.note,
                "width": self.width,
                "attained_by": top.rate if top else None,
            }
        ]

    def summary_columns(self, frame: Any) -> list[str]:
        """Columns of the printed table."""
        wanted = [
            "metric",
            "group",
            "reference",
            "attained_by",
            "estimate",
            "ci_low",
            "ci_high",
            "pvalue",
            "n",
        ]
        return [*(c for c in wanted if not frame[c].isna().all()), "verdict"]

    def sentences(self) -> list[str]:
        """The verdict in words."""
        if self.verdict == "insufficient evidence":
            return [f"{self.title}: insufficient evidence. {self.note}".strip()]
        top, interval = self.components[0], self.confidence_interval
        tail = {
            "violated": f"the data show a gap above {self.settings.threshold:g}",
            "satisfied": f"the data show that every gap is below {self.settings.threshold:g}",
            "undecided": f"the data do not settle on which side of {self.settings.threshold:g} it lies",
        }[self.verdict]
        level = f"{100 * interval.confidence_level:g}%"
        return [
            f"Largest gap {self.estimate:.3f} ({level} interval {interval.low:.3f} to "
            f"{interval.high:.3f}), between {top.group} and {top.reference} in {_rate_words(top.rate)}: "
            f"{self.verdict}; {tail}."
        ]

    def notes(self) -> list[str]:
        """Sentences below the table."""
        level = f"{100 * self.settings.confidence_level:g}%"
        lines = [
            f"{level} interval from a band that holds for all {len(self.components)} differences at once "
            f"(c = {self.critical_value:.3f}): coverage is at least nominal, width {self.width:.3f}."
        ]
        if self.counts.missing.n_dropped:
            lines.append(self.counts.missing.sentence)
        return [*lines, self.note] if self.note else lines

    def with_adjusted(self, adjusted: NDArray[np.float64], family: str) -> MaximumResult:
        """The same result with this adjusted p-value and family."""
        settings = replace(self.settings, family=family)
        return replace(self, pvalue_adjusted=float(adjusted[0]), settings=settings)


def _rate_words(key: str) -> str:
    """The rate in words."""
    return RATES[key].title if key in RATES else key.replace("_", " ")


def largest_gap(
    counts: ConfusionCounts | CellCounts,
    keys: Sequence[str],
    *,
    metric: str,
    words: str,
    settings: Inference,
) -> MaximumResult:
    """Largest absolute difference of any of the rates between any two groups.

    Parameters
    ----------
    counts : CellCounts
        The table.
    keys : sequence of str
        Rates that the maximum runs over, e.g. ``("tpr", "fpr")``; ``"average_odds"`` is their mean.
    metric, words : str
        Name of the result.
    settings : Inference
        Confidence level and threshold are used.
    """
    if len(counts.groups) < 2:
        raise InputError(
            "sensitive_features",
            got=f"one group ({counts.groups[0]!r})",
            allowed="two groups or more",
            cure="compare with another group, or declare an empty one with groups=",
        )
    estimates = [
        estimate_average_odds(counts) if key == "average_odds" else estimate_rates(counts, key)
        for key in keys
    ]
    pairs = list(combinations(range(len(counts.groups)), 2))
    lacking = _lacking(estimates)
    terms = [(e, i, j) for e in estimates for i, j in pairs if np.isfinite(e.rate[i] - e.rate[j])]
    if not terms:
        return _nothing(counts, metric, words, settings, lacking)
    std_errors = _std_errors(counts, terms)
    degrees = counts.degrees_of_freedom
    level = settings.confidence_level
    max_z = MaxZ(_smoothed_covariance(counts, terms), degrees)
    critical, one_sided = max_z.quantile(level), max_z.quantile(2 * level - 1)
    methods = [_method(*term, s, degrees) for term, s in zip(terms, std_errors, strict=True)]
    parts = list(zip(terms, methods, std_errors, strict=True))
    components = sorted(
        (_component(*term, how, s, critical) for term, how, s in parts), key=lambda c: -abs(c.estimate)
    )
    inner = [_component(*term, how, s, one_sided) for term, how, s in parts]
    method = "simultaneous band"
    complete = not lacking
    interval = Interval(*_projection(components, complete), level, method)
    bounds = Interval(*_projection(inner, complete), 2 * level - 1, method)
    statistic = max(abs(how.statistic(0.0)) for how in methods)
    threshold = settings.threshold
    verdict = (
        "violated" if bounds.low > threshold else ("satisfied" if bounds.high < threshold else "undecided")
    )
    pvalue = max_z.pvalue(statistic)
    return MaximumResult(
        metric=metric,
        estimate=abs(components[0].estimate),
        confidence_interval=interval,
        bounds=bounds,
        statistic=statistic,
        pvalue=pvalue,
        pvalue_adjusted=pvalue,
        critical_value=critical,
        verdict=verdict,
        components=tuple(components),
        settings=settings,
        counts=counts,
        words=words,
        note=" ".join([*lacking, _OPEN] if lacking else []),
    )


def _gradient(counts: CellCounts, terms: Sequence[Term]) -> NDArray[np.float64]:
    """Gradient of every r_i − r_j in the cell totals, shape (J, G·c)."""
    influence = {
        rate.key: influence_matrix(counts, rate)
        for e, _, _ in terms
        for rate in ([part.rate_of for part in e.parts] or [e.rate_of])
    }
    rows = []
    for e, i, j in terms:
        keys = [part.rate_of.key for part in e.parts] or [e.rate_of.key]
        rows.append(sum(influence[key][i] - influence[key][j] for key in keys) / len(keys))
    return np.vstack(rows)


def _std_errors(counts: CellCounts, terms: Sequence[Term]) -> list[float]:
    gradient = _gradient(counts, terms)
    variance = np.einsum("ja,ab,jb->j", gradient, counts.covariance(), gradient)
    return [float(np.sqrt(max(v, 0.0))) for v in variance]


def _smoothed_covariance(counts: CellCounts, terms: Sequence[Term]) -> NDArray[np.float64]:
    """Covariance of the differences for their joint distribution; half a row is added to every cell.

    So no variance vanishes where a cell is empty. Weighted tables are taken as they are.
    """
    if not counts.weighted:
        counts = replace(counts, totals=counts.totals + 0.5)
    gradient = _gradient(counts, terms)
    return np.asarray(gradient @ counts.covariance() @ gradient.T)


def _method(
    estimates: RateEstimates, i: int, j: int, std_error: float, degrees: float
) -> Wald | Score | Mover:
    """Score limits for independent groups (small cells: continuity correction), Wald limits for clusters."""
    difference = float(estimates.rate[i] - estimates.rate[j])
    if estimates.clustered:
        return Wald(difference, std_error, degrees)
    parts = []
    for part in estimates.parts or (estimates,):
        successes, cases = part.effective()
        table = (float(successes[i]), float(cases[i]), float(successes[j]), float(cases[j]))
        small = smallest_cell(table) < SMALL_CELL
        parts.append((float(part.rate[i] - part.rate[j]), Score(table, "difference", True, degrees, small)))
    return Mover(tuple(parts)) if estimates.parts else parts[0][1]


def _component(
    estimates: RateEstimates, i: int, j: int, how: Wald | Score | Mover, std_error: float, critical: float
) -> GapComponent:
    low, high = how.limits(critical)
    return GapComponent(
        rate=estimates.rate_of.key,
        group=estimates.groups[i],
        reference=estimates.groups[j],
        estimate=float(estimates.rate[i] - estimates.rate[j]),
        std_error=std_error,
        low=max(low, -1.0),
        high=min(high, 1.0),
        n=int(estimates.rows[i] + estimates.rows[j]),
    )


def _projection(components: Sequence[GapComponent], complete: bool) -> tuple[float, float]:
    """Range of max_j |δ_j| when every δ_j lies in its interval; open to 1 where a group is not known."""
    low = max(max(c.low, -c.high, 0.0) for c in components)
    high = max(max(abs(c.low), abs(c.high)) for c in components)
    return low, (min(high, 1.0) if complete else 1.0)


def _lacking(estimates: Sequence[RateEstimates]) -> list[str]:
    notes = []
    for e in estimates:
        for part in e.parts or (e,):
            for g, cases in zip(part.groups, part.cases, strict=True):
                note = f"{g}: no {part.rate_of.case_words}, so no {part.rate_of.title}."
                if not cases > 0 and note not in notes:
                    notes.append(note)
    return notes


def _nothing(
    counts: CellCounts, metric: str, words: str, settings: Inference, lacking: list[str]
) -> MaximumResult:
    unknown = Interval(0.0, 1.0, settings.confidence_level, "none")
    nan = float("nan")
    return MaximumResult(
        metric=metric,
        estimate=nan,
        confidence_interval=unknown,
        bounds=unknown,
        statistic=nan,
        pvalue=nan,
        critical_value=nan,
        verdict="insufficient evidence",
        components=(),
        settings=settings,
        counts=counts,
        words=words,
        note=" ".join(lacking),
    )
