"""From moments, or sorted values, to a result: the same steps for means, quantiles and errors."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.checks import Floats
from fairstats.ground.groups import find_reference
from fairstats.ground.multiplicity import MaxZ, make_pairs, normal_quantile
from fairstats.ground.progress import each_of
from fairstats.ground.results import Interval
from fairstats.ground.tallies.moments import MomentCounts
from fairstats.ground.verdict import Evidence
from fairstats.methods.rates.compare import level_of_each, pvalue_of_all
from fairstats.methods.rates.numbers.contrasts import (
    MeanDifference,
    MeanRatio,
    MoverContrast,
    NumberContrast,
    PartContrast,
    contrast_by_mover,
)
from fairstats.methods.rates.numbers.decide import decide_contrast
from fairstats.methods.rates.numbers.result import (
    HALL,
    NumberComparison,
    NumberDifferenceResult,
    NumberRatioResult,
)
from fairstats.methods.rates.result import Inference, as_family, warned
from fairstats.methods.rates.setup import check_groups
from fairstats.numerics.means.hall import (
    Moments,
    as_student,
    hall_limits_of_mean,
    limits_of_mean_square,
    sum_of_means,
)
from fairstats.numerics.means.weighted_quantiles import SampleQuantile
from fairstats.numerics.rates.score import Contrast

#: Effective units that a group needs: of fewer no valid limits of a skewed number are known. By
#: number, never by the look of the sample: one that missed the tail looks innocent.
MIN_UNITS = 20
#: What a group is compared with where that is no other group.
REST = "the rest"
OVERALL = "all"
ORDER_STATISTICS = "order statistics (MOVER)"
MEAN_INTERVAL = "t"
HALL_MOVER = "Hall's transformation (MOVER)"


class GroupValues(Protocol):
    """The numbers of all groups, as one statistic sees them."""

    @property
    def method(self) -> str:
        """Name of the procedure."""

    @property
    def interval_method(self) -> str:
        """Name of what a group's own interval is by."""

    def value(self, position: int) -> float:
        """The statistic of a group."""

    def interval(self, position: int, z: float) -> tuple[float, float]:
        """Two-sided limits of a group's own value, at Φ(z) each."""

    def variances(self) -> Floats:
        """Variance of every group's value, shape (G,)."""

    def why_not(self, position: int, *, ratio: bool) -> str:
        """Why a group's value cannot be compared, empty where it can."""

    def contrast(self, group: int, reference: int, *, ratio: bool) -> NumberContrast:
        """Of two groups."""


@dataclass(frozen=True, eq=False)
class MeanValues:
    """Means of one column of moments, or their square roots."""

    counts: MomentCounts
    column: str
    root: bool = False

    @property
    def method(self) -> str:
        """Name of the procedure."""
        return HALL

    @property
    def interval_method(self) -> str:
        """Name of what a group's own interval is by."""
        return MEAN_INTERVAL

    def moments(self, position: int) -> Moments:
        """Moments of the mean of a group."""
        return Moments(
            mean=float(self.counts.means(self.column)[position]),
            variance=float(self.counts.variance_of_mean(self.column)[position]),
            third=float(self.counts.third_cumulant_of_mean(self.column)[position]),
            size=float(self.counts.effective_units[position]),
        )

    def value(self, position: int) -> float:
        """The mean of a group, or its root."""
        mean = float(self.counts.means(self.column)[position])
        return math.sqrt(mean) if self.root else mean

    def interval(self, position: int, z: float) -> tuple[float, float]:
        """By Student's t; of roots the roots of the limits."""
        if self.counts.units[position] < 2:
            return math.nan, math.nan
        return interval_of_mean(self.moments(position), z, root=self.root)

    def variances(self) -> Floats:
        """Variances of the means."""
        return self.counts.variance_of_mean(self.column)

    def why_not(self, position: int, *, ratio: bool) -> str:
        """Too few units, or for a ratio a number below 0 or a mean of 0."""
        name = self.counts.groups[position]
        units = float(self.counts.effective_units[position])
        if units < MIN_UNITS - 1e-9:
            kind = "cluster" if self.counts.clustered else "row"
            if units != 1:
                kind += "s"
            if units == self.counts.units[position]:
                effective = ""
            else:
                effective = "effective "
            return f"{name} has {units:.3g} {effective}{kind}, and means need {MIN_UNITS}."
        place = self.counts.columns.index(self.column)
        if ratio and self.counts.negative[place, position]:
            return f"{name} has numbers below 0, of which a ratio has no meaning."
        if ratio and not self.value(position) > 0:
            return f"{name} has the mean 0, so no ratio."
        return ""

    def contrast(self, group: int, reference: int, *, ratio: bool) -> NumberContrast:
        """By Welch's statistic; of roots the ratio by it, the difference by MOVER."""
        return contrast_of_means(
            self.moments(group), self.moments(reference), ratio=ratio, root=self.root
        )

    def contrast_with_rest(self, group: int, *, ratio: bool) -> NumberContrast:
        """Against the mean of all other rows."""
        others = MeanValues(self.rest_of(group), self.column, self.root)
        return others.contrast(0, 1, ratio=ratio)

    def rest_of(self, group: int) -> MomentCounts:
        """The group, and all others together."""
        place = [int(other != group) for other in range(len(self.counts.groups))]
        return self.counts._with_new_groups((self.counts.groups[group], REST), place)

    def with_small_others_together(self, group: int) -> tuple[MeanValues, int]:
        """The same, with other groups of too few units as one group, and the place of this one.

        Where all of these are too few, too, the smallest of the others joins them, and so on.
        """
        units = self.counts.effective_units
        others = [place for place in range(units.size) if place != group]
        others.sort(key=lambda place: float(units[place]))
        together: list[int] = []
        enough = True
        counts = self.counts
        for place in others:
            if enough and units[place] >= MIN_UNITS - 1e-9:
                break
            together.append(place)
            counts = self._with_one_group(group, together)
            enough = bool(counts.effective_units[1] >= MIN_UNITS - 1e-9)
        if not together:
            return self, group
        return MeanValues(counts, self.column, self.root), 0

    def _with_one_group(self, group: int, together: list[int]) -> MomentCounts:
        """A group, some others as one group, and the rest as they are."""
        kept = [place for place in range(len(self.counts.groups)) if place not in together]
        kept.remove(group)
        places = {group: 0} | dict.fromkeys(together, 1)
        for new_place, place in enumerate(kept, start=2):
            places[place] = new_place
        names = [self.counts.groups[place] for place in (group, together[0], *kept)]
        return self.counts._with_new_groups(
            tuple(names), [places[place] for place in range(len(places))]
        )

    def contrast_with_all(self, group: int, *, ratio: bool) -> NumberContrast:
        """Against the mean of all rows, the shares of the groups fixed."""
        shares = self.counts.weights[0] / self.counts.weights[0].sum()
        others = np.flatnonzero(np.arange(shares.size) != group)
        parts = Moments(
            mean=self.counts.means(self.column),
            variance=self.counts.variance_of_mean(self.column),
            third=self.counts.third_cumulant_of_mean(self.column),
            size=self.counts.effective_units,
        )
        of_others = sum_of_means(parts.take(others), shares[others])
        share = float(shares[group])
        if self.root and not ratio:
            of_all = sum_of_means(parts, shares)
            return _roots_beside_all(self.moments(group), of_others, of_all, share)
        if ratio:
            return MeanRatio(self.moments(group), of_others, share=share, root=self.root)
        return MeanDifference(self.moments(group), of_others, share=share)


def _roots_beside_all(
    group: Moments, others: Moments, of_all: Moments, share: float
) -> PartContrast:
    """√m₁ − √m, m = f·m₁ + m_o the mean of all.

    m₁ adds (1 − f·√(m₁/m))/(2√m₁) of its error, the others 1/(2√m) of theirs.
    """
    root = math.sqrt(float(group.mean))
    root_of_all = math.sqrt(float(of_all.mean))
    own = 0.0
    from_others = 0.0
    if root > 0 and root_of_all > 0:
        own = 1 / (2 * root) - share / (2 * root_of_all)
        from_others = float(others.variance) / (4 * root_of_all**2)
    variances = (own**2 * float(group.variance), from_others)
    return roots_by_parts(group, others, of_all, share, variances)


def roots_by_parts(
    group: Moments, others: Moments, of_all: Moments, share: float, variances: tuple[float, float]
) -> PartContrast:
    """√m₁ − √m by MOVER: the distance to a limit is the larger of two, of the group and of others.

    The one is what the difference becomes at the limits of m₁, with which m moves by the slope
    `share`, or of the others' part of m, `others`. The other is that of √m₁, or √m, to its own limit,
    by the root of the share of its variance that the difference has from either, `variances`.
    """
    mean = float(group.mean)
    mean_of_all = float(of_all.mean)
    mean_of_others = float(others.mean)
    values = (math.sqrt(mean), math.sqrt(mean_of_all))
    centre = values[0] - values[1]

    def difference(own: float, rest: float) -> float:
        moved = mean_of_all + share * (own - mean) + rest - mean_of_others
        return math.sqrt(own) - math.sqrt(max(moved, 0.0))

    counted = []
    for value, part, variance in zip(values, (group, of_all), variances, strict=True):
        of_root = float(part.variance) / (4 * value**2) if value > 0 else 0.0
        counted.append(math.sqrt(variance / of_root) if of_root > 0 else 1.0)

    def limits_of(position: int, z: float) -> tuple[float, float]:
        low, high = limits_of_mean_square((group, others)[position], z)
        if position == 0:
            ends = (difference(low, mean_of_others), difference(high, mean_of_others))
            moved = (values[0] + ends[0] - centre, values[0] + ends[1] - centre)
        else:
            ends = (difference(mean, low), difference(mean, high))
            moved = (values[1] + centre - ends[0], values[1] + centre - ends[1])
        value = values[position]
        by_share = _roots_of_limits((group, of_all)[position], z)
        below = max(value - moved[0], counted[position] * (value - by_share[0]))
        above = max(moved[1] - value, counted[position] * (by_share[1] - value))
        return value - below, value + above

    return PartContrast(
        values,
        lambda z: limits_of(0, z),
        lambda z: limits_of(1, z),
        error=math.sqrt(variances[0] + variances[1]),
    )


def interval_of_mean(group: Moments, z: float, *, root: bool) -> tuple[float, float]:
    """Limits of one mean by Student's t, at Φ(z) each; of its root the roots of them."""
    if not group.size > 1:
        return math.nan, math.nan
    reach = float(as_student(z, group.size - 1)) * math.sqrt(group.variance)
    low = float(group.mean) - reach
    high = float(group.mean) + reach
    if root:
        return math.sqrt(max(low, 0.0)), math.sqrt(max(high, 0.0))
    return low, high


def contrast_of_means(
    group: Moments, reference: Moments, *, ratio: bool, root: bool
) -> NumberContrast:
    """By Welch's statistic; of roots the ratio by it, the difference by MOVER."""
    if ratio:
        return MeanRatio(group, reference, root=root)
    if root:
        return MoverContrast(
            (math.sqrt(group.mean), math.sqrt(reference.mean)),
            lambda z: _roots_of_limits(group, z),
            lambda z: _roots_of_limits(reference, z),
        )
    return MeanDifference(group, reference)


def _roots_of_limits(group: Moments, z: float) -> tuple[float, float]:
    low, high = hall_limits_of_mean(group, z)
    return math.sqrt(max(float(low), 0.0)), math.sqrt(max(float(high), 0.0))


@dataclass(frozen=True, eq=False)
class QuantileValues:
    """Quantiles of every group; `clustered`: whether units are clusters."""

    groups: tuple[str, ...]
    samples: tuple[SampleQuantile, ...]
    clustered: bool = False

    @property
    def method(self) -> str:
        """Name of the procedure."""
        return ORDER_STATISTICS

    @property
    def interval_method(self) -> str:
        """Name of what a group's own interval is by."""
        return "order statistics"

    def value(self, position: int) -> float:
        """The quantile of a group."""
        return self.samples[position].value

    def interval(self, position: int, z: float) -> tuple[float, float]:
        """Order statistics, interpolated."""
        return self.samples[position].limits(z)

    def variances(self) -> Floats:
        """From the width of the interval at one standard error."""
        widths = []
        for low, high in (self.interval(place, 1.0) for place in range(len(self.groups))):
            widths.append(high - low)
        return (np.array(widths) / 2) ** 2

    def why_not(self, position: int, *, ratio: bool) -> str:
        """Too few rows or clusters, or for a ratio a value that is not above 0."""
        sample = self.samples[position]
        name = self.groups[position]
        if sample.size < MIN_UNITS - 1e-9:
            units = words_of_units(sample.size, clustered=self.clustered)
            return f"{name} has {units}, and quantiles need {MIN_UNITS}."
        if ratio and not sample.smallest > 0:
            return f"{name} has numbers of 0 or below, of which ratios of quantiles have no limits."
        return ""

    def contrast(self, group: int, reference: int, *, ratio: bool) -> NumberContrast:
        """By MOVER; of ratios on the logarithmic scale, on which quantiles are the same rows."""
        return contrast_by_mover(self.value, self.interval, (group, reference), ratio=ratio)


def words_of_units(units: float, *, clustered: bool) -> str:
    """A number of rows or clusters, effective ones where it is no whole number."""
    kind = "clusters" if clustered else "rows"
    effective = "" if units == round(units) else "effective "
    return f"{units:.3g} {effective}{kind}"


@dataclass(frozen=True)
class Side:
    """What a group is compared with: another group, the rest, or all.

    `positions`: groups that must have a value; `why_not`: why there is no contrast.
    """

    name: str
    n: int
    value: float
    interval: tuple[float, float]
    positions: tuple[int, ...]
    contrast: NumberContrast | None
    why_not: str = ""


def compare_numbers(
    values: GroupValues,
    counts: MomentCounts,
    settings: Inference,
    reference: Hashable | None,
    *,
    metric: str,
    words: str,
    column: str,
    ratio: bool,
    order: float | None = None,
    remarks: tuple[str, ...] = (),
    pooled: Mapping[int, Side] | None = None,
) -> NumberDifferenceResult | NumberRatioResult:
    """Compare the values of all groups, as one family.

    Parameters
    ----------
    values : GroupValues
        The statistic of every group.
    counts : MomentCounts
        Moments of the same rows, which the result carries.
    settings : Inference
        As in every comparison.
    reference : hashable, optional
        The reference group, or the rule that chooses it.
    metric, words, column, order, remarks
        Names in the result, the order of a quantile, and what its notes say.
    ratio : bool
        Ratio instead of difference.
    pooled : mapping, optional
        What each group is compared with where groups are pooled; default by their moments.
    """
    groups = counts.groups
    check_groups(groups)
    group_values = np.array([values.value(place) for place in range(len(groups))])
    reference_index, reference_rule = find_reference(
        groups, reference, sizes=counts.group_sizes, rates=group_values
    )
    chosen_by_data = reference_rule == "highest" and settings.comparisons == "reference"
    settings = replace(settings, method=values.method, reference_rule=reference_rule)
    pairs_shown = pairs_of(settings.comparisons, len(groups), reference_index)
    pairs_possible = pairs_shown
    if chosen_by_data:
        pairs_possible = pairs_of("all", len(groups), reference_index)

    levels = (settings.confidence_level, 2 * settings.confidence_level - 1)
    joint_law = None
    simultaneous = settings.simultaneous
    if chosen_by_data and simultaneous is None:
        simultaneous = "max-z"
    if simultaneous and len(pairs_possible) > 1:
        if simultaneous == "max-z":
            joint_law = _joint_law(values, group_values, counts, pairs_possible, ratio=ratio)
        levels = (
            level_of_each(levels[0], len(pairs_possible), joint_law),
            level_of_each(levels[1], len(pairs_possible), joint_law),
        )

    compared = []
    for pair in each_of(pairs_shown, "comparisons"):
        compared.append(
            compare_pair(
                values, counts, pair, settings, levels, metric=metric, ratio=ratio, pooled=pooled
            )
        )
    chosen_among = 0
    pvalues_of_all = None
    if chosen_by_data:
        chosen_among = len(pairs_possible)
        n_sides = 2 if settings.alternative == "two-sided" else 1
        pvalues_of_all = []
        for comparison, _ in compared:
            pvalues_of_all.append(
                pvalue_of_all(comparison.pvalue, n_sides, chosen_among, joint_law)
            )
    comparisons = as_family(compared, settings, chosen_among=chosen_among, of_all=pvalues_of_all)
    result_class = NumberRatioResult if ratio else NumberDifferenceResult
    result = result_class(
        metric=metric,
        comparisons=comparisons,
        settings=settings,
        counts=counts,  # type: ignore[arg-type]
        words=words,
        column=column,
        order=order,
        remarks=remarks,
    )
    return warned(result, metric)


#: Places of what is no group, in a pair.
REST_PLACE = -1
ALL_PLACE = -2


def pairs_of(comparisons: str, n_groups: int, reference: int) -> list[tuple[int, int]]:
    """Positions of groups and of what they are compared with."""
    if comparisons == "rest":
        return [(group, REST_PLACE) for group in range(n_groups)]
    if comparisons == "overall":
        return [(group, ALL_PLACE) for group in range(n_groups)]
    return make_pairs(n_groups, reference, comparisons)


def _joint_law(
    values: GroupValues,
    group_values: Floats,
    counts: MomentCounts,
    pairs: list[tuple[int, int]],
    *,
    ratio: bool,
) -> MaxZ | None:
    """That of all contrasts; None where the value of a group has no error."""
    variances = values.variances()
    if ratio:
        # a value of 0 has no ratio, nor an error of one
        with np.errstate(divide="ignore", invalid="ignore"):
            variances = variances / group_values**2
    if not np.isfinite(variances).all():
        return None
    return MaxZ(_covariance_of_contrasts(variances, counts, pairs))


def _covariance_of_contrasts(
    variances: Floats, counts: MomentCounts, pairs: list[tuple[int, int]]
) -> Floats:
    """Covariance of all contrasts, C·diag(v)·Cᵀ of independent groups."""
    shares = counts.weights[0] / counts.weights[0].sum()
    coefficients = np.zeros((len(pairs), variances.size))
    for row, (group, reference) in zip(coefficients, pairs, strict=True):
        if reference == REST_PLACE:
            row -= shares / (1 - shares[group])
            row[group] = 1.0
        elif reference == ALL_PLACE:
            row -= shares
            row[group] += 1.0
        else:
            row[group] = 1.0
            row[reference] = -1.0
    return np.asarray(coefficients * variances @ coefficients.T)


def compare_pair(
    values: GroupValues,
    counts: MomentCounts,
    pair: tuple[int, int],
    settings: Inference,
    levels: tuple[float, float],
    *,
    metric: str,
    ratio: bool,
    pooled: Mapping[int, Side] | None = None,
) -> tuple[NumberComparison, Evidence]:
    """One row, and the evidence of its verdict."""
    group = pair[0]
    z_of_values = normal_quantile((1 + settings.confidence_level) / 2)
    why_not = values.why_not(group, ratio=ratio)
    if pooled is None:
        side = _find_side(values, counts, pair, z_of_values, ratio=ratio, refused=bool(why_not))
    else:
        side = pooled[group]
        why_not = why_not or side.why_not
    if not why_not:
        reasons = (values.why_not(place, ratio=ratio) for place in side.positions)
        why_not = " ".join(dict.fromkeys(reason for reason in reasons if reason))
    nothing = Interval(
        low=math.nan,
        high=math.nan,
        confidence_level=settings.confidence_level,
        method=settings.method,
    )
    comparison = NumberComparison(
        metric=metric,
        group=counts.groups[group],
        reference=side.name,
        confidence_interval=nothing,
        bounds=nothing,
        verdict="insufficient evidence",
        rate=values.value(group),
        rate_reference=side.value,
        value_interval=Interval(
            *values.interval(group, z_of_values), settings.confidence_level, values.interval_method
        ),
        value_reference_interval=Interval(
            *side.interval, settings.confidence_level, values.interval_method
        ),
        n=int(counts.n[group]),
        n_reference=side.n,
        method=settings.method,
        note=why_not,
    )
    contrast = side.contrast
    if why_not or contrast is None:
        return comparison, Evidence()
    std_error = contrast.std_error
    comparison = replace(comparison, estimate=contrast.estimate, std_error=std_error)
    if not std_error > 0:
        note = f"{comparison.group} and {side.name}: all numbers are equal, which shows no spread."
        return replace(comparison, note=note), Evidence()
    scale: Contrast = "ratio" if ratio else "difference"
    method = settings.method
    if isinstance(contrast, MoverContrast) and method == HALL:
        method = HALL_MOVER
    decision = decide_contrast(contrast, scale, settings, levels, method)
    comparison = replace(
        comparison,
        method=method,
        **decision.fields_of_row(),
    )
    return comparison, decision.evidence


def sides_of_rest(
    values: GroupValues, group_sizes: NDArray[np.int64], z: float, *, ratio: bool
) -> dict[int, Side]:
    """All other rows as what each group is compared with.

    `values`: also of all others of each group, behind the groups; `z`: of their own intervals.
    """
    n_groups = group_sizes.size
    sides = {}
    for group in range(n_groups):
        rest = n_groups + group
        contrast = None
        if not values.why_not(group, ratio=ratio) and not values.why_not(rest, ratio=ratio):
            contrast = values.contrast(group, rest, ratio=ratio)
        sides[group] = Side(
            name=REST,
            n=int(group_sizes.sum() - group_sizes[group]),
            value=values.value(rest),
            interval=values.interval(rest, z),
            positions=(),
            contrast=contrast,
            why_not=values.why_not(rest, ratio=ratio),
        )
    return sides


def _find_side(
    values: GroupValues,
    counts: MomentCounts,
    pair: tuple[int, int],
    z: float,
    *,
    ratio: bool,
    refused: bool,
) -> Side:
    """What a group of a pair is compared with."""
    group, reference = pair
    if reference >= 0:
        contrast = None
        if not refused and not values.why_not(reference, ratio=ratio):
            contrast = values.contrast(group, reference, ratio=ratio)
        return Side(
            name=counts.groups[reference],
            n=int(counts.n[reference]),
            value=values.value(reference),
            interval=values.interval(reference, z),
            positions=(reference,),
            contrast=contrast,
        )
    # only means know the rest: the functions that ask say so
    means: MeanValues = values  # type: ignore[assignment]
    others = []
    for place in range(len(counts.groups)):
        if place != group:
            others.append(place)
    if reference == REST_PLACE:
        means_of_rest = MeanValues(means.rest_of(group), means.column, means.root)
        contrast = None
        if not refused and not means_of_rest.why_not(1, ratio=ratio):
            contrast = means.contrast_with_rest(group, ratio=ratio)
        return Side(
            name=REST,
            n=int(counts.n[others].sum()),
            value=means_of_rest.value(1),
            interval=means_of_rest.interval(1, z),
            positions=() if contrast is not None or refused else tuple(others),
            contrast=contrast,
        )
    everybody = counts._with_new_groups((OVERALL,), [0] * len(counts.groups))
    overall = MeanValues(everybody, means.column, means.root)
    merged, place_of_group = means.with_small_others_together(group)
    lacking = [
        place
        for place in range(len(merged.counts.groups))
        if place != place_of_group and merged.why_not(place, ratio=ratio)
    ]
    contrast = None
    if not refused and not lacking:
        contrast = merged.contrast_with_all(place_of_group, ratio=ratio)
    return Side(
        name=OVERALL,
        n=int(counts.n.sum()),
        value=overall.value(0),
        interval=overall.interval(0, z),
        positions=() if contrast is not None or refused else tuple(others),
        contrast=contrast,
    )
