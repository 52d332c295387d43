"""Maxima of absolute differences: equalised odds, the largest gap over many groups.

θ = max_j |δ_j| over J signed differences. With c the simultaneous critical value of max_j |Z_j|, the band of all δ̂_j ±
c·s_j covers all δ_j at once, and so the interval [max_j(|δ̂_j| − c·s_j)₊, max_j(|δ̂_j| + c·s_j)] covers θ with at least
the nominal probability. For δ̂_j ± c·s_j stand the score limits at the same c: with Wald limits the coverage fell to
86–92% at 10 to 30 rows per group. A table with a cell below five takes the continuity correction: without it the
coverage of 10 beside 1,000 rows fell to .919, and with it no setting enumerated (3 to 1,000 rows a group) lies below
.944. Under weights or clusters as for single differences; those of a group that has too few units may be as large as 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import scipy
from numpy.typing import NDArray

from fairstats.ground.checks import Floats
from fairstats.ground.counts import CellCounts
from fairstats.ground.multiplicity import MaxZ
from fairstats.ground.registry import RATES, Metric, Rate
from fairstats.ground.results import Interval
from fairstats.ground.serialise import serialisable
from fairstats.ground.verdict import Evidence, settle
from fairstats.methods.rates.estimates import RateEstimates, estimate_rate, joint_covariance, linear_covariance
from fairstats.methods.rates.pair import SMALL_CELL, too_few_units
from fairstats.methods.rates.result import ComparisonResult, Inference, RateComparison
from fairstats.methods.rates.score import difference_limits_of, difference_score_statistic

#: No critical value of a mean of proportions is looked for beyond this one.
_FAR = 30.0
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
    p-value are max_j |δ̂_j|/s_j and its simultaneous p-value for H0: all differences are 0.

    Attributes
    ----------
    critical_value : float
        c of the interval.
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
        return [f"{band}: coverage is at least nominal, width {self.width:.3f}.", *self._common_notes()]


def largest_gap(counts: CellCounts, metric: Metric, settings: Inference) -> MaximumResult:
    """Largest absolute difference of any of a metric's rates (proportions or their means) between groups."""
    settings = replace(settings, method="simultaneous band", comparisons="all")
    estimates = [estimate_rate(counts, RATES[name]) for name in metric.rates]
    lacking = _lacking(estimates)
    band = _Band.of(counts, estimates)
    level, name, known = settings.confidence_level, settings.method, RateComparison(metric=metric.name, n=counts.n)
    if not band.difference.size:
        unknown = Interval(0.0, 1.0, level, "none")
        empty = replace(
            known, confidence_interval=unknown, bounds=unknown, verdict="insufficient evidence", method="none",
            note=" ".join(lacking),
        )  # fmt: skip
        return MaximumResult(metric.name, (empty,), settings, counts, metric.title)
    max_z = MaxZ(_covariance(counts, estimates, smoothed=True), band.degrees_of_freedom, band.places)
    critical = max_z.quantile(level)
    low, high = band.limits(critical)
    components = []
    numbers = np.column_stack([band.difference, band.std_error, low, high]).tolist()
    for (e, i, j), (at, error, least, most) in zip(band.terms.tolist(), numbers, strict=True):
        who = estimates[e].rate_of.name, counts.groups[i], counts.groups[j]
        components.append(GapComponent(*who, at, error, least, most, int(estimates[e].rows[[i, j]].sum())))
    components.sort(key=lambda c: -abs(c.estimate))
    ends = band.limits(max_z.quantile(2 * level - 1))
    statistic = band.largest_beyond(0.0)
    pvalue = float("nan") if band.few.all() else max_z.pvalue(statistic)
    beyond = max_z.pvalue(band.largest_beyond(settings.limit)) / 2
    within = max_z.pvalue(band.least_within(settings.limit)) / 2
    top = components[0]
    comparison = replace(
        known, group=top.group, reference=top.reference, estimate=abs(top.estimate), std_error=top.std_error,
        confidence_interval=Interval(*_projection(low, high, not lacking), level, name),
        bounds=Interval(*_projection(*ends, not lacking), 2 * level - 1, name),
        statistic=statistic, pvalue=pvalue, pvalue_adjusted=pvalue, method=name,
        note=" ".join([*lacking, _OPEN] if lacking else []),
    )  # fmt: skip
    evidence = Evidence() if band.few.all() else Evidence(above=beyond, inside=1.0 if lacking else within)
    (ruling,) = settle([evidence], confidence_level=level, adjust="none")
    shared = metric.name, (comparison.ruled(ruling),), settings, counts, metric.title
    return MaximumResult(*shared, critical_value=critical, components=tuple(components))


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
    `difference`, `std_error`, shape (J,); `tables`, shape (parts, J, 4): (k, n) of both for each proportion that the
    rate is the mean of; `parts` of each term; `scale`, shape (2, parts, J): of the statistics, as in `Score`; `few`,
    shape (J,): whether rows are too few for limits.
    """

    terms: NDArray[np.intp]
    places: NDArray[np.intp]
    difference: Floats
    std_error: Floats
    tables: Floats
    parts: NDArray[np.intp]
    degrees_of_freedom: float
    scale: Floats
    few: NDArray[np.bool_]

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
        lacking = np.array([bool(too_few_units(e, g, g)) for e in estimates for g in range(n_groups)])
        few, known = lacking[first] | lacking[second], np.isfinite(differences)
        if counts.clustered:
            usable = (variance > 0) & (apart > 0)
            scale[:, :, usable] *= np.sqrt(apart[usable] / variance[usable])
        degrees = (estimates[e].contrast_degrees(a, b, ratio=False) for e, a, b in terms[known & ~few].tolist())
        return cls(
            terms[known], places.T[known], differences[known], np.sqrt(np.maximum(variance[known], 0.0)),
            tables[:, known], parts[rates[known]],
            min(degrees, default=counts.degrees_of_freedom) if counts.weighted else np.inf,
            scale[:, :, known], few[known],
        )  # fmt: skip

    def limits(self, critical: float, which: NDArray[np.intp] | slice = slice(None)) -> tuple[Floats, Floats]:
        """Ends of the differences at a critical value, within [−1, 1]; means of proportions by MOVER."""
        difference, scale = self.difference[which], self.scale[:, :, which]
        below, above = np.zeros(difference.size), np.zeros(difference.size)
        for p, tables in enumerate(self.tables[:, which]):
            used = np.flatnonzero(self.parts[which] > p)
            k0, n0, k1, n1 = tables[used].T
            at = critical / np.maximum(scale[:, p, used], 1e-3)
            low, high = difference_limits_of(tables[used], at, self._small(tables[used]))
            centre = k0 / n0 - k1 / n1
            below[used] += (centre - low) ** 2
            above[used] += (high - centre) ** 2
        share = self.parts[which]
        low, high = difference - np.sqrt(below) / share, difference + np.sqrt(above) / share
        few = self.few[which]
        return np.where(few, -1.0, np.maximum(low, -1.0)), np.where(few, 1.0, np.minimum(high, 1.0))

    def statistic(self, null: float) -> Floats:
        """Statistics of H0: difference = null, for single proportions."""
        k0, n0, k1, n1 = self.tables[0].T
        plain = difference_score_statistic(k0, n0, k1, n1, null, continuity=self._small(self.tables[0]))
        return np.where(self.few, 0.0, plain * np.where(plain < 0, self.scale[1, 0], self.scale[0, 0]))

    @staticmethod
    def _small(tables: Floats) -> NDArray[np.bool_]:
        k0, n0, k1, n1 = tables.T
        return np.asarray(np.min([k0, n0 - k0, k1, n1 - k1], axis=0) < SMALL_CELL)

    def largest_beyond(self, size: float) -> float:
        """Largest critical value at which some difference is still shown to be larger than `size`."""
        if self.parts.max() == 1:
            return max(float(np.maximum(self.statistic(size), -self.statistic(-size)).max()), 0.0)
        return self._turning_point(size, largest=True)

    def least_within(self, size: float) -> float:
        """Largest critical value at which all differences are still shown to be smaller than `size`."""
        if self.parts.max() == 1:
            return max(float(np.minimum(-self.statistic(size), self.statistic(-size)).min()), 0.0)
        return self._turning_point(size, largest=False)

    def _turning_point(self, size: float, *, largest: bool) -> float:
        """Largest (least) critical value at which a difference is at `size`: that of one, then those that beat it."""

        def excess(critical: float, which: NDArray[np.intp]) -> Floats:
            low, high = self.limits(critical, which)
            return (np.maximum(low, -high) if largest else np.maximum(high, -low)) - size

        best, left = (0.0 if largest else _FAR), np.arange(self.difference.size)
        while True:
            ahead = excess(best, left)
            left, ahead = left[ahead > 0], ahead[ahead > 0]
            if not left.size:
                return best
            one = left[[np.argmax(ahead)]]
            if min(excess(0.0, one)[0], excess(_FAR, one)[0]) > 0:  # on this side for every critical value
                return _FAR if largest else 0.0
            best = float(scipy.optimize.brentq(lambda c, one=one: excess(c, one)[0], 0.0, _FAR, xtol=1e-12))
            left = left[left != one[0]]


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
        few = [note for g in range(len(e.groups)) if e.cases[g] > 0 and (note := too_few_units(e, g, g))]
        notes += [f"{note[:-1]} ({e.rate_of.title})." if len(estimates) > 1 else note for note in few]
    return list(dict.fromkeys(notes))
