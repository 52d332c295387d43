"""Maxima of absolute differences: equalised odds, the largest gap over many groups.

θ = max_j |δ_j| over J signed differences. With c the simultaneous critical value of max_j |Z_j|, the band of all δ̂_j ±
c·s_j covers all δ_j at once, and so the interval [max_j(|δ̂_j| − c·s_j)₊, max_j(|δ̂_j| + c·s_j)] covers θ with at least
the nominal probability. For δ̂_j ± c·s_j stand the score limits at the same c: with Wald limits the coverage fell to
86–92% at 10 to 30 rows per group. Of one difference (two groups, one rate) the largest gap is its size, and everything
about it is taken from there. Where exact tests are switched on (`decision.needs_exact`) they replace the score's
p-values and limits if these are near a decision; elsewhere the continuity correction widens limits where few cases are
expected. Under weights or clusters as for single differences; those of a group that has too few units may be as large
as 1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
import scipy
from numpy.typing import NDArray
from scipy.special import ndtr, stdtr

from fairstats.ground.checks import Floats
from fairstats.ground.counts import CellCounts
from fairstats.ground.multiplicity import MaxZ, normal_cdf, normal_quantile
from fairstats.ground.registry import RATES, Metric, Rate
from fairstats.ground.results import Interval
from fairstats.ground.serialise import serialisable
from fairstats.ground.verdict import Evidence, Procedure, bound_level, settle
from fairstats.methods.rates.decision import (
    ExactPair,
    decide_by_method,
    decide_exactly,
    exact_pair,
    smallest_expected_cell,
)
from fairstats.methods.rates.estimates import RateEstimates, estimate_rate, joint_covariance, linear_covariance
from fairstats.methods.rates.pair import Chosen, Refused, pair_method, too_few_units
from fairstats.methods.rates.result import ComparisonResult, Inference, RateComparison
from fairstats.numerics.rates.score import difference_limits_of, difference_score_statistic
from fairstats.numerics.rates.switch import needs_exact

#: No critical value of a mean of proportions is looked for beyond this one.
_FAR = 30.0
#: Limits by the score have the continuity correction where fewer cases than this are expected in a cell: without it the
#: band of 10 beside 1,000 rows covered .919.
CORRECTED_BELOW = 10.0
#: A p-value by the score that is above so many times the error is far from a decision.
_NEAR = 4.0
_OPEN = "A gap that is not known leaves the interval open up to 1."


@serialisable()
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


@serialisable(eq=False)
class MaximumResult(ComparisonResult):
    """The largest absolute difference between any two groups.

    The one comparison is between the groups that attain it. Its estimate in [0, 1] is biased upwards, as every maximum
    of noisy values; the interval covers the population maximum with at least the nominal probability; statistic and
    p-value are max_j |δ̂_j|/s_j and its simultaneous p-value for H0: all differences are 0. Of one difference (two
    groups, one rate) all of it is that of the difference, without its sign.

    Attributes
    ----------
    critical_value : float
        c of the interval, of the law with all units' degrees of freedom. Under weights or clusters each difference has
        the quantile of its own law with the same error, which is larger where its two groups have few units.
    components : tuple of GapComponent
        Every difference; the first attains the maximum.
    """

    critical_value: float = float("nan")
    components: tuple[GapComponent, ...] = ()

    scale: ClassVar[str] = "maximum"
    tails: ClassVar[dict[str, str]] = {
        "violated": "show a gap above {high}",
        "satisfied": "show that every gap is below {high}",
        "undecided": "do not settle on which side of {high} it lies",
    }

    @property
    def width(self) -> float:
        """Width of the interval."""
        return float(self.confidence_interval.width)

    @property
    def attained_by(self) -> str | None:
        """Rate whose difference is the largest."""
        return self.components[0].rate if self.components else None

    def rows(self) -> list[dict[str, Any]]:
        """Row of the tidy table."""
        (row,) = super().rows()
        known = {key: row[key] or None for key in ("group", "reference")}
        return [{**row, **known, "width": self.width, "attained_by": self.attained_by}]

    def _subject(self, c: RateComparison) -> str:
        return self.title

    def _finding(self, c: RateComparison) -> str:
        rate = self.attained_by or ""
        words = RATES[rate].title if rate in RATES else rate.replace("_", " ")
        told = f"Largest gap {c.estimate:.3f} ({c.confidence_interval.words()})"
        return f"{told}, between {c.group} and {c.reference} in {words}"

    def _by_value(self, c: RateComparison) -> tuple[str, str, Rate | None]:
        """By the sign of the difference that is the largest: its size, which is judged, has none."""
        top = self.components[0]
        lower, higher = (top.group, top.reference) if top.estimate < 0 else (top.reference, top.group)
        return lower, higher, RATES.get(top.rate)

    def notes(self) -> list[str]:
        """Sentences below the table."""
        n = len(self.components)
        among = f"all {n} differences at once" if n > 1 else "the only difference"
        band = f"{self.settings.level_text} interval from a band that holds for {among} (c = {self.critical_value:.3f})"
        said = f"{band}: coverage is at least nominal, width {self.width:.3f}."
        if n == 1:
            said = f"The only difference, without its sign: its tests, limits and verdict ({self.settings.level_text})."
        return [said, *self._common_notes()]


def largest_gap(counts: CellCounts, metric: Metric, settings: Inference) -> MaximumResult:
    """Largest absolute difference of any of a metric's rates (proportions or their means) between groups.

    Of two groups and one rate it is the size of their difference: the same tests, limits and verdict.
    """
    settings = replace(settings, method="simultaneous band", comparisons="all")
    estimates = [estimate_rate(counts, RATES[name]) for name in metric.rates]
    if len(estimates) == 1 and len(counts.groups) == 2:
        result = _size_of_difference(counts, metric, estimates[0], settings)
        if result is not None:
            return result
    lacking = _lacking(estimates)
    band = _Band.of(counts, estimates)
    level, name = settings.confidence_level, settings.method
    row = RateComparison(metric=metric.name, n=counts.n)
    if not band.difference.size:
        unknown = Interval(0.0, 1.0, level, "none")
        empty = replace(
            row, confidence_interval=unknown, bounds=unknown, verdict="insufficient evidence", method="none",
            note=" ".join(lacking),
        )  # fmt: skip
        return MaximumResult(metric.name, (empty,), settings, counts, metric.title)
    of_all_units = counts.degrees_of_freedom if counts.weighted else math.inf
    joint = MaxZ(_covariance(counts, estimates, smoothed=True), of_all_units, band.places)
    critical = joint.quantile(level)
    band = band.with_exact_terms(2 * normal_cdf(-critical, of_all_units))
    decision = decide_gap(band, estimates, joint, critical, settings, complete=not lacking)
    components = _components(band, estimates, counts, decision.low, decision.high)
    pvalue = decision.pvalue
    top = components[0]
    comparison = replace(
        row, group=top.group, reference=top.reference, estimate=abs(top.estimate), std_error=top.std_error,
        confidence_interval=Interval(*_projection(decision.low, decision.high, not lacking), level, name),
        bounds=Interval(*decision.bounds, level, name), statistic=decision.statistic, pvalue=pvalue,
        pvalue_adjusted=pvalue, method=name, note=" ".join([*lacking, _OPEN] if lacking else []),
        procedure=decision.procedure,
    )  # fmt: skip
    (ruling,) = settle([decision.evidence], confidence_level=level, adjust="none")
    return MaximumResult(
        metric=metric.name, comparisons=(comparison._ruled(ruling),), settings=settings, counts=counts,
        words=metric.title, critical_value=critical, components=tuple(components),
    )  # fmt: skip


def _components(
    band: _Band, estimates: Sequence[RateEstimates], counts: CellCounts, low: Floats, high: Floats
) -> list[GapComponent]:
    """Every difference with its simultaneous limits, the largest first."""
    components = []
    numbers = np.column_stack([band.difference, band.std_error, low, high]).tolist()
    for (e, i, j), (difference, std_error, least, most) in zip(band.terms.tolist(), numbers, strict=True):
        components.append(
            GapComponent(
                rate=estimates[e].rate_of.name, group=counts.groups[i], reference=counts.groups[j],
                estimate=difference, std_error=std_error, low=least, high=most,
                n=int(estimates[e].rows[[i, j]].sum()),
            )
        )  # fmt: skip
    components.sort(key=lambda component: -abs(component.estimate))
    return components


def _size_of_difference(
    counts: CellCounts, metric: Metric, estimates: RateEstimates, settings: Inference
) -> MaximumResult | None:
    """The gap of the only two groups: what their difference shows, without its sign; None where there is none."""
    level = settings.confidence_level
    if not (estimates.cases > 0).all() or _lacking([estimates]):
        return None
    by = pair_method(estimates, 0, 1, "difference", "score", n_resamples=0, rng=None)
    if isinstance(by, Refused):
        return None
    exact = exact_pair(estimates, 0, 1, 1 - level)
    levels = (level, 2 * level - 1)
    if exact is None:
        decision = decide_by_method(by, "difference", settings, levels)
    else:
        decision = decide_exactly(exact, by, "difference", settings, levels)
    difference, std_error = estimates.contrast(0, 1, ratio=False)
    low, high = decision.interval
    rows = int(estimates.rows.sum())
    component = GapComponent(
        rate=estimates.rate_of.name, group=counts.groups[0], reference=counts.groups[1], estimate=difference,
        std_error=std_error, low=low, high=high, n=rows,
    )  # fmt: skip
    method = decision.interval.method
    comparison = RateComparison(
        metric=metric.name, group=counts.groups[0], reference=counts.groups[1], estimate=abs(difference),
        std_error=std_error, confidence_interval=Interval(*_size(low, high), level, method),
        bounds=Interval(*_size(*decision.bounds), decision.bounds.confidence_level, method),
        statistic=abs(decision.statistic), pvalue=decision.pvalue, pvalue_adjusted=decision.pvalue, n=counts.n,
        method=method, procedure=decision.procedure,
    )  # fmt: skip
    shown = decision.evidence
    evidence = Evidence(above=min(shown.below, shown.above), inside=shown.inside)
    (ruling,) = settle([evidence], confidence_level=level, adjust="none")
    return MaximumResult(
        metric=metric.name, comparisons=(comparison._ruled(ruling),), settings=replace(settings, method=method),
        counts=counts, words=metric.title, critical_value=_critical(by, level), components=(component,),
    )  # fmt: skip


def _critical(by: Chosen, level: float) -> float:
    """Two-sided critical value of a single difference."""
    return normal_quantile((1 + level) / 2, by.degrees_of_freedom)


def _size(low: float, high: float) -> tuple[float, float]:
    """Range of |δ| for δ between two limits."""
    return max(low, -high, 0.0), min(max(abs(low), abs(high)), 1.0)


@dataclass(frozen=True, eq=False)
class GapDecision:
    """What all differences show together of the largest.

    `evidence`, `pvalue`, `statistic`: over all differences; `bounds`: one-sided limits of the largest; `low`, `high`,
    shape (J,): limits of every difference that hold at once.
    """

    evidence: Evidence
    bounds: tuple[float, float]
    pvalue: float
    statistic: float
    low: Floats
    high: Floats
    procedure: Procedure


def decide_gap(
    band: _Band,
    estimates: Sequence[RateEstimates],
    joint: MaxZ,
    critical: float,
    settings: Inference,
    *,
    complete: bool,
) -> GapDecision:
    """The largest of several differences against the margin.

    *Above*: some difference is, so that the smallest p-value of a difference below or above ±margin counts, taken over
    all of them by the law of the largest |Z|. *Inside*: every difference is, so that the largest p-value counts as it
    is (an intersection-union test: Berger 1982). Exact tests replace the score where they are switched on and where
    the score is not far from deciding. Under weights or clusters each difference has the degrees of freedom of its own
    two groups: a group of few units makes its own differences uncertain, not those of the others.
    """
    margin, level = settings.limit, settings.confidence_level
    df = band.degrees_of_freedom
    error = 1 - level
    # each p-value that is at most this one is at most the error over all differences
    error_of_each = 2 * normal_cdf(-critical, joint.degrees_of_freedom)
    z_low, z_high, z_equal = band.statistics(-margin), band.statistics(margin), band.statistics(0.0)
    width = np.maximum(z_low - z_high, 0.0)
    outside = np.minimum(_tails(-z_low, width, df), _tails(z_high, width, df))
    inside = np.maximum(_tails(z_low, width, df), _tails(-z_high, width, df))
    equal = 2 * _tails(np.abs(z_equal), np.full(width.size, np.inf), df)
    outside[band.few], inside[band.few], equal[band.few] = 1.0, 1.0, 1.0
    low, high = band.limits_at(_quantiles(1 - error_of_each / 2, df))
    # the difference that the statistic is of; of equal p-values the one with the largest statistic
    shown_best = int(np.lexsort((-np.abs(z_equal), equal))[0])
    statistic, df_of_statistic = float(abs(z_equal[shown_best])), float(df[shown_best])
    # one-sided limits: the lower one of the largest over all differences, its upper one as each alone has it
    of_all = band.limits_at(_one_sided_critical(error_of_each, width, df))
    alone = band.limits_at(_one_sided_critical(error, width, df))
    pairs = {j: pair for j in band.exact_terms if (pair := band.exact_pair(j, estimates, error_of_each)) is not None}
    fair = (-margin, margin)
    may_be_inside = bool((inside <= _NEAR * error).all()) and complete
    used: dict[int, ExactPair] = {}
    for j, pair in pairs.items():
        if outside[j] > _NEAR * error_of_each and equal[j] > _NEAR * error_of_each and not may_be_inside:
            continue
        used[j] = pair
        shown = pair.evidence("difference", fair)
        outside[j], inside[j] = min(shown.below, shown.above), shown.inside
        equal[j] = pair.equality()
        low[j], high[j] = pair.interval("difference", 1 - error_of_each)
    decides = band.few.all()
    bounds = (
        _nearest(of_all, used, outside <= error_of_each, margin, error_of_each),
        _farthest(alone, used, inside > error, margin, error) if complete else 1.0,
    )
    procedure = Procedure(settings.method, "score", df=df_of_statistic)
    if used:
        name = f"{settings.method}, exact tests of small groups"
        procedure = Procedure(name, "exact", exact=True, df=df_of_statistic)
    if decides:
        return GapDecision(Evidence(), bounds, float("nan"), 0.0, low, high, procedure)
    above = _over_all(joint, float(outside.min()))
    evidence = Evidence(above=above, inside=float(inside.max()) if complete else 1.0)
    smallest = _over_all(joint, float(equal.min()))
    return GapDecision(evidence, bounds, smallest, statistic, low, high, procedure)


def _nearest(
    limits: tuple[Floats, Floats], exact: Mapping[int, ExactPair], shown: NDArray[np.bool_], margin: float, error: float
) -> float:
    """Lower limit of the largest of several sizes: the largest distance from 0 of the near ends of all differences.

    `limits`: of every difference by the score; `exact`: those whose limits exact tests give in their place; `shown`:
    whether a difference is shown to exceed the margin; `error`: of each limit. A search for limits costs ten p-values,
    so that it is spared where two of them say that these limits are no farther than what is known.
    """
    near = np.maximum(limits[0], -limits[1])
    found = float(np.delete(near, list(exact)).max(initial=0.0))
    for j in sorted(exact, key=lambda j: -near[j]):
        pair = exact[j]
        level = bound_level(pair.width("difference", (-margin, margin)), 1 - error)
        above = pair.pvalue("difference", found, "greater")
        below = pair.pvalue("difference", -found, "less")
        if min(above, below) < 1 - level or (shown[j] and found <= margin):
            low, high = pair.limits("difference", level, (-margin, margin))
            found = max(found, low, -high)
    return min(found, 1.0)


def _farthest(
    limits: tuple[Floats, Floats],
    exact: Mapping[int, ExactPair],
    may_exceed: NDArray[np.bool_],
    margin: float,
    error: float,
) -> float:
    """Upper limit of the largest of several sizes: the largest distance from 0 of any end.

    As `_nearest`; `may_exceed`: whether a difference is not shown to lie inside the margin.
    """
    far = np.maximum(np.abs(limits[0]), np.abs(limits[1]))
    found = float(np.delete(far, list(exact)).max(initial=0.0))
    for j in sorted(exact, key=lambda j: -far[j]):
        if found >= 1:
            break
        pair = exact[j]
        level = bound_level(pair.width("difference", (-margin, margin)), 1 - error)
        below = pair.pvalue("difference", found, "less")
        above = pair.pvalue("difference", -found, "greater")
        if max(above, below) >= 1 - level or (may_exceed[j] and found < margin):
            low, high = pair.limits("difference", level, (-margin, margin))
            found = max(found, abs(low), abs(high))
    return min(found, 1.0)


def _over_all(joint: MaxZ, pvalue: float) -> float:
    """The smallest of several p-values over all of them, by the law of the largest |Z|."""
    z = -normal_quantile(min(pvalue, 1.0) / 2, joint.degrees_of_freedom)
    return max(joint.pvalue(z), pvalue)


def _probabilities(z: Floats, df: Floats) -> Floats:
    """P(Z ≤ z) of Student's t at each difference's degrees of freedom, of the normal where these are infinite."""
    normal = np.isinf(df)
    return np.asarray(np.where(normal, ndtr(z), stdtr(np.where(normal, 1.0, df), z)))


def _quantiles(probability: float, df: Floats) -> Floats:
    """Quantile of the law of each difference, shape (J,)."""
    return np.array([normal_quantile(probability, float(degrees)) for degrees in df])


def _tails(z: Floats, width: Floats, df: Floats) -> Floats:
    """Φ(−z) + Φ(−z − width), at most 1: both directions count, as in `z_evidence`."""
    return np.minimum(_probabilities(-z, df) + _probabilities(-z - width, df), 1.0)


def _one_sided_critical(error: float, width: Floats, df: Floats) -> Floats:
    """Critical values c with Φ(−c) + Φ(−c − width) = error, shape (J,)."""
    least = _quantiles(1 - error, df)
    most = _quantiles(1 - error / 2, df)
    wide = _tails(least, width, df) <= error + 1e-12
    if wide.all():
        return least
    for _ in range(48):
        middle = (least + most) / 2
        beyond = _tails(middle, width, df) > error
        least = np.where(beyond, middle, least)
        most = np.where(beyond, most, middle)
    return np.where(wide, _quantiles(1 - error, df), most)


def _covariance(counts: CellCounts, estimates: Sequence[RateEstimates], *, smoothed: bool = False) -> Floats:
    """Covariance of all rates of all groups, shape (R·G, R·G), rate by rate.

    `smoothed`, of unweighted tables: with half a row in every cell, so that no variance vanishes where one is empty.
    """
    if smoothed and not counts.weighted:
        counts = replace(counts, totals=counts.totals + 0.5)
    parts = [[part.rate_of for part in e.parts or (e,)] for e in estimates]
    mean = scipy.linalg.block_diag(*(np.full((1, len(own)), 1 / len(own)) for own in parts))
    covariance = joint_covariance(counts, [rate for own in parts for rate in own])
    return linear_covariance(np.kron(mean, np.eye(len(counts.groups))), covariance)


@dataclass(frozen=True, eq=False)
class _Band:
    """All differences under a maximum, and their limits at any critical value.

    `terms`, shape (J, 3): rate, group, reference; `places`, shape (J, 2): of both among all rates of all groups;
    `difference`, `std_error`, `degrees_of_freedom`, shape (J,); `tables`, shape (parts, J, 4): (k, n) of both for each
    proportion that the rate is the mean of; `parts` of each term; `scale`, shape (2, parts, J): of the statistics, as
    in `Score`; `few`, shape (J,): whether rows are too few for limits; `small`, shape (J,): whether exact tests are
    switched on; `corrected`, shape (J,): whether limits by the score have the continuity correction.
    """

    terms: NDArray[np.intp]
    places: NDArray[np.intp]
    difference: Floats
    std_error: Floats
    tables: Floats
    parts: NDArray[np.intp]
    degrees_of_freedom: Floats
    scale: Floats
    few: NDArray[np.bool_]
    small: NDArray[np.bool_]
    corrected: NDArray[np.bool_]
    weighted: bool

    @classmethod
    def of(cls, counts: CellCounts, estimates: Sequence[RateEstimates]) -> _Band:
        """Every difference that is known."""
        n_groups = len(counts.groups)
        i, j = np.triu_indices(n_groups, 1)
        rates = np.repeat(np.arange(len(estimates)), i.size)
        terms = np.column_stack([rates, np.tile(i, len(estimates)), np.tile(j, len(estimates))])
        differences = np.concatenate([e.rate[i] - e.rate[j] for e in estimates])
        variances = _covariance(counts, estimates)
        first, second = places = n_groups * rates + terms[:, 1:].T
        own = np.diag(variances)
        variance = own[first] + own[second] - 2 * variances[first, second]
        parts = np.array([max(len(e.parts), 1) for e in estimates])
        tables, apart = np.ones((parts.max(), len(terms), 4)), np.zeros(len(terms))
        scale = np.ones((2, parts.max(), len(terms)))
        for e, estimate in enumerate(estimates):
            for p, part in enumerate(estimate.parts or (estimate,)):
                k, n = part.effective
                tables[p, rates == e] = np.column_stack([k[i], n[i], k[j], n[j]])
                apart[rates == e] += (part.variance[i] + part.variance[j]) / parts[e] ** 2
        few, known = np.zeros(len(terms), dtype=bool), np.isfinite(differences)
        if counts.weighted:  # of a pair: weights that are equal within one group count beside unequal ones in the other
            few = np.array([bool(too_few_units(estimates[e], a, b)) for e, a, b in terms.tolist()])
        if counts.clustered:
            usable = (variance > 0) & (apart > 0)
            scale[:, :, usable] *= np.sqrt(apart[usable] / variance[usable])
        degrees = np.full(len(terms), math.inf)
        if counts.weighted:
            degrees = np.array([estimates[e].contrast_degrees(a, b, ratio=False) for e, a, b in terms.tolist()])
            degrees[few] = counts.degrees_of_freedom  # nothing is read off them
        return cls(
            terms=terms[known], places=places.T[known], difference=differences[known],
            std_error=np.sqrt(np.maximum(variance[known], 0.0)), tables=tables[:, known],
            parts=parts[rates[known]],
            degrees_of_freedom=degrees[known],
            scale=scale[:, :, known], few=few[known], small=np.zeros(int(known.sum()), dtype=bool),
            corrected=np.zeros(int(known.sum()), dtype=bool),
            weighted=counts.weighted,
        )  # fmt: skip

    def with_exact_terms(self, error: float) -> _Band:
        """The same band, with the differences for which exact tests are switched on at this error."""
        if self.weighted:
            return self
        small = np.zeros(self.difference.size, dtype=bool)
        corrected = np.zeros(self.difference.size, dtype=bool)
        for term in np.flatnonzero(~self.few):
            for part in self.tables[: self.parts[term], term].tolist():
                expected = smallest_expected_cell(tuple(part))
                small[term] |= needs_exact(int(part[1]), int(part[3]), expected, error)
                corrected[term] |= expected < CORRECTED_BELOW
        return replace(self, small=small, corrected=corrected)

    @property
    def exact_terms(self) -> list[int]:
        """Positions of single proportions whose tests are exact."""
        return np.flatnonzero(self.small & (self.parts == 1) & ~self.few).tolist()

    def limits_at(self, critical: Floats, which: NDArray[np.intp] | slice = slice(None)) -> tuple[Floats, Floats]:
        """Ends at a critical value of each difference, within [−1, 1]; means of proportions by MOVER.

        Limits by the score are corrected for continuity where few cases are expected.
        """
        difference, scale, small = self.difference[which], self.scale[:, :, which], self.corrected[which]
        below, above = np.zeros(difference.size), np.zeros(difference.size)
        for p, tables in enumerate(self.tables[:, which]):
            used = np.flatnonzero(self.parts[which] > p)
            k0, n0, k1, n1 = tables[used].T
            at = critical[used] / np.maximum(scale[:, p, used], 1e-3)
            low, high = difference_limits_of(tables[used], at, small[used])
            centre = k0 / n0 - k1 / n1
            below[used] += (centre - low) ** 2
            above[used] += (high - centre) ** 2
        share = self.parts[which]
        low, high = difference - np.sqrt(below) / share, difference + np.sqrt(above) / share
        few = self.few[which]
        return np.where(few, -1.0, np.maximum(low, -1.0)), np.where(few, 1.0, np.minimum(high, 1.0))

    def statistics(self, null: float) -> Floats:
        """Score statistics of H0: difference = null, 0 where rows are too few; of means where their limits end."""
        k0, n0, k1, n1 = self.tables[0].T
        plain = difference_score_statistic(k0, n0, k1, n1, null)
        z = plain * np.where(plain < 0, self.scale[1, 0], self.scale[0, 0])
        means = np.flatnonzero((self.parts > 1) & ~self.few)
        if means.size:
            z = z.copy()
            z[means] = self._statistics_of_means(means, null)
        return np.where(self.few, 0.0, z)

    def _statistics_of_means(self, means: NDArray[np.intp], null: float) -> Floats:
        """Critical values at which the limits of means end at `null`, at most 30 in size, signed."""
        from scipy.optimize.elementwise import find_root

        plain = replace(self, corrected=np.zeros_like(self.corrected))
        sign = np.sign(self.difference[means] - null)

        def excess(critical: Floats, at: Floats) -> Floats:
            which = at.astype(np.intp)
            low, high = plain.limits_at(critical, which)
            near = np.where(self.difference[which] > null, low, -high)
            far = np.where(self.difference[which] > null, null, -null)
            return np.asarray(near - far)

        zero, most = np.zeros(means.size), np.full(means.size, _FAR)
        inner = excess(most, means.astype(np.float64)) < 0
        found = np.full(means.size, _FAR)
        if inner.any():
            at = means[inner].astype(np.float64)
            root = find_root(excess, (zero[inner], most[inner]), args=(at,))
            found[inner] = np.where(root.success, root.x, 0.0)
        return np.asarray(sign * found)

    def exact_pair(self, term: int, estimates: Sequence[RateEstimates], error: float) -> ExactPair | None:
        """The exact tests of one difference."""
        e, i, j = self.terms[term].tolist()
        return exact_pair(estimates[e], i, j, error)


def _projection(low: Floats, high: Floats, complete: bool) -> tuple[float, float]:
    """Range of max_j |δ_j| when every δ_j lies in its interval; open to 1 where a group is not known."""
    most = min(float(np.maximum(np.abs(low), np.abs(high)).max()), 1.0)
    return float(max(np.maximum(low, -high).max(), 0.0)), (most if complete else 1.0)


def _lacking(estimates: Sequence[RateEstimates]) -> list[str]:
    parts = [part for e in estimates for part in e.parts or (e,)]
    notes = [
        f"{group}: no {part.rate_of.case_words}, so no {part.rate_of.title}."
        for part in parts
        for group, cases in zip(part.groups, part.cases, strict=True)
        if not cases > 0
    ]
    for e in estimates:
        if e.units is None:
            continue
        present = [g for g in range(len(e.groups)) if e.cases[g] > 0]
        few = [note for pair in combinations(present, 2) if (note := too_few_units(e, *pair))]
        notes += [f"{note[:-1]} ({e.rate_of.title})." if len(estimates) > 1 else note for note in few]
    return list(dict.fromkeys(notes))
