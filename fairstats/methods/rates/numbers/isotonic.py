"""Isotonic calibration and the parts of the Brier score, by group."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.checks import (
    Floats,
    SeedOrGenerator,
    as_generator,
    check_given,
    check_whole,
)
from fairstats.ground.multiplicity import normal_cdf
from fairstats.ground.results import HypothesisTest
from fairstats.ground.tallies.moments import MomentCounts
from fairstats.methods.rates.numbers.areas import (
    label_sizes,
    names_and_counts,
    names_and_masks,
)
from fairstats.methods.rates.numbers.compare import OVERALL, REST, Side, pairs_of, sides_of_rest
from fairstats.methods.rates.numbers.contrasts import (
    CentredContrast,
    LimitContrast,
    MoverContrast,
    NumberContrast,
)
from fairstats.methods.rates.numbers.curves import (
    CurveDifferenceResult,
    CurveEquality,
    CurvePoint,
    compare_along,
    z_of_level,
)
from fairstats.methods.rates.numbers.cutoffs import (
    OVERALL_ROWS,
    REST_OF_ROWS,
    CutRows,
    choose_cutoffs,
)
from fairstats.methods.rates.result import Inference
from fairstats.methods.rates.setup import POOLED
from fairstats.numerics.means.isotonic import (
    BrierPart,
    CountedRisks,
    EqualityTest,
    HonestBand,
    discrimination,
    equality_of_curves,
    miscalibration,
    uncertainty_limits,
    value_of_curve,
)
from fairstats.numerics.means.weighted_risks import (
    WeightedBand,
    WeightedRisks,
    equality_of_weighted_curves,
    weighted_part,
    weighted_uncertainty_limits,
)

BAND_METHOD = "honest band (MOVER)"
EQUALITY_METHOD = "scan of residuals at equal scores, labels drawn"
PARTS_METHOD = "isotonic, left-out rows (MOVER)"
#: Parts of the Brier score: its sum is miscalibration − discrimination + uncertainty.
BRIER_PARTS = ("miscalibration", "discrimination", "uncertainty")
ISOTONIC = "isotonic_calibration"
ISOTONIC_TITLE = "Isotonic calibration: difference of curves between groups"


def risks_of(
    rows: CutRows, *, beside_rest: bool = False
) -> tuple[CountedRisks | WeightedRisks, ...]:
    """Rows of every group, and of all others of each where asked for."""
    if rows.counts is None:
        return _weighted_risks_of(rows, beside_rest=beside_rest)
    scores = rows.counts.values
    _, counts = names_and_counts(rows.counts, beside_rest=beside_rest)
    return tuple(CountedRisks.of(scores, negatives, positives) for negatives, positives in counts)


def _weighted_risks_of(rows: CutRows, *, beside_rest: bool) -> tuple[WeightedRisks, ...]:
    """The same of rows with weights or in clusters."""
    outcomes = rows.required_outcomes()
    labels = check_given("y_true", outcomes.y_true).astype(np.float64)
    weights = np.ones(labels.size) if outcomes.weight is None else outcomes.weight
    clusters = None if outcomes.cluster is None else outcomes.cluster.codes
    _, masks = names_and_masks(outcomes, beside_rest=beside_rest)
    found = []
    for mask in masks:
        unit = None if clusters is None else clusters[mask]
        found.append(WeightedRisks.of(rows.score[mask], labels[mask], weights[mask], unit))
    return tuple(found)


# ---------------------------------------------------------------- parts of the Brier score


@dataclass(frozen=True, eq=False)
class PartValues:
    """A part of the Brier score of every group, by limits of its own.

    `estimates`; `centres`: with less bias, about which limits of differences are made; None where
    these are those of the one group's less the other's; `limits`: of z, both limits at Φ(z), one
    function a group; `notes`: why a group has none, empty where it has; `parts`: miscalibration or
    discrimination, None where there is none; `numbers`: of uncertainty the (effective) rows.
    """

    estimates: tuple[float, ...]
    centres: tuple[float, ...] | None
    limits: tuple[Callable[[float], tuple[float, float]], ...]
    notes: tuple[str, ...]
    parts: tuple[BrierPart | None, ...] = ()
    numbers: tuple[float, ...] = ()

    @property
    def method(self) -> str:
        """Name of the procedure."""
        return PARTS_METHOD

    @property
    def interval_method(self) -> str:
        """Name of what a group's own interval is by."""
        return "isotonic, left-out rows"

    def value(self, position: int) -> float:
        """The part of a group."""
        return self.estimates[position]

    def interval(self, position: int, z: float) -> tuple[float, float]:
        """Limits of a group's part at Φ(z) each."""
        if self.notes[position]:
            return math.nan, math.nan
        return self.limits[position](z)

    def variances(self) -> Floats:
        """From the width of the interval at one standard error."""
        widths = [np.subtract(*self.interval(place, 1.0)) for place in range(len(self.notes))]
        return (np.array(widths) / 2) ** 2

    def why_not(self, position: int, *, ratio: bool) -> str:
        """Too few rows of a label."""
        return self.notes[position]

    def contrast(self, group: int, reference: int, *, ratio: bool) -> NumberContrast:
        """The difference by MOVER; near an end of the range, which uncertainty has at ¼, by bands."""
        limits = (lambda z: self.interval(group, z), lambda z: self.interval(reference, z))
        values = (self.value(group), self.value(reference))
        if self.centres is None:
            return LimitContrast(values, *limits)
        centres = (self.centres[group], self.centres[reference])
        return CentredContrast(centres, *limits, biased=values)


def part_values(rows: CutRows, metric: str, *, beside_rest: bool = False) -> PartValues:
    """A part of the Brier score of all groups, and of all others of each where asked for."""
    estimates = []
    parts: list[BrierPart | None] = []
    numbers = []
    limits: list[Callable[[float], tuple[float, float]]] = []
    for risks in risks_of(rows, beside_rest=beside_rest):
        part = None
        number = math.nan
        if risks.size < 2:
            estimates.append(math.nan)
            limits.append(lambda z: (math.nan, math.nan))
        elif metric == "uncertainty":
            share, number, limits_of_share = _uncertainty_of(risks)
            estimates.append(share * (1 - share))
            limits.append(limits_of_share)
        else:
            part = _part_of(risks, metric)
            estimates.append(part.estimate)
            limits.append(part.limits)
        parts.append(part)
        numbers.append(number)
    centres = None
    if metric != "uncertainty":
        centres = tuple(math.nan if part is None else part.centre for part in parts)
    return PartValues(
        estimates=tuple(estimates),
        centres=centres,
        limits=tuple(limits),
        notes=label_sizes(rows, beside_rest=beside_rest).notes(),
        parts=tuple(parts),
        numbers=tuple(numbers),
    )


def _part_of(risks: CountedRisks | WeightedRisks, metric: str) -> BrierPart:
    """Miscalibration or discrimination of one group."""
    if isinstance(risks, WeightedRisks):
        return weighted_part(risks, metric)
    return miscalibration(risks) if metric == "miscalibration" else discrimination(risks)


def _uncertainty_of(
    risks: CountedRisks | WeightedRisks,
) -> tuple[float, float, Callable[[float], tuple[float, float]]]:
    """Share of label 1, the (effective) rows, and limits of ȳ(1 − ȳ)."""
    if isinstance(risks, WeightedRisks):
        of_label = risks.effective_share()
        return of_label.share, of_label.number, partial(weighted_uncertainty_limits, of_label)
    positives = float(risks.positives.sum())
    limits = partial(uncertainty_limits, positives, risks.size)
    return positives / risks.size, risks.size, limits


# ---------------------------------------------------------------- calibration curves


@dataclass(frozen=True, eq=False)
class BandValues:
    """Isotonic curves of all groups at one score, by their honest bands.

    `n_pairs`: of comparisons that are to hold at once.
    """

    groups: tuple[str, ...]
    values: tuple[float, ...]
    bands: tuple[HonestBand | WeightedBand, ...]
    score: float
    n_pairs: int

    @property
    def method(self) -> str:
        """Name of the procedure."""
        return BAND_METHOD

    @property
    def interval_method(self) -> str:
        """Name of what a group's own interval is by."""
        return "honest band"

    def value(self, position: int) -> float:
        """The curve of a group."""
        return self.values[position]

    def interval(self, position: int, z: float) -> tuple[float, float]:
        """The band, whose sides hold at all scores with probability Φ(z) each."""
        return self.bands[position].limits(self.score, normal_cdf(-z))

    def variances(self) -> Floats:
        """Unknown: nothing rests on them."""
        return np.full(len(self.groups), np.nan)

    def why_not(self, position: int, *, ratio: bool) -> str:
        """No row."""
        if not math.isnan(self.values[position]):
            return ""
        return f"{self.groups[position]} has no rows."

    def contrast(self, group: int, reference: int, *, ratio: bool) -> NumberContrast:
        """The difference by MOVER of the bands, each at the error of one of all pairs."""
        return MoverContrast(
            (self.value(group), self.value(reference)),
            lambda z: self.shared_limits(group, z),
            lambda z: self.shared_limits(reference, z),
        )

    def shared_limits(self, position: int, z: float) -> tuple[float, float]:
        """The band at the error of one of all pairs."""
        return self.bands[position].limits(self.score, normal_cdf(-z) / self.n_pairs)


def compare_isotonic(
    rows: CutRows,
    at: Any,
    settings: Inference,
    reference: Hashable | None,
    n_resamples: Any,
    rng: SeedOrGenerator,
) -> CurveDifferenceResult:
    """Differences of the calibration curves at some scores, and tests that they are equal."""
    n_resamples = check_whole("n_resamples", n_resamples, low=99, cure="999, say")
    chosen = choose_cutoffs(rows, at, "at")
    beside_rest = settings.comparisons == REST_OF_ROWS
    moments = _moments_of_scores(rows)
    n_groups = len(moments.groups)
    names = moments.groups
    if settings.comparisons in POOLED:
        names = (*names, *([REST] * n_groups))
    # a group has everybody's curve where it has that of all others
    by_rest = settings.comparisons in POOLED
    risks = risks_of(rows, beside_rest=by_rest)
    of_all = None
    if settings.comparisons == OVERALL_ROWS:
        (everybody,) = risks_of(rows.as_one_group())
        of_all = (everybody, _band_of(everybody, chosen))
    bands = tuple(_band_of(of_group, chosen) for of_group in risks)
    n_pairs = len(pairs_of(settings.comparisons, n_groups, 0))
    points = []
    for score in chosen.tolist():
        values = BandValues(
            groups=names,
            values=tuple(_value_of(of_group, score) for of_group in risks),
            bands=bands,
            score=score,
            n_pairs=n_pairs,
        )
        pooled = None
        z = z_of_level(settings.confidence_level)
        if beside_rest:
            pooled = sides_of_rest(values, moments.group_sizes, z, ratio=False)
        elif of_all is not None:
            pooled = _sides_of_all(values, of_all, moments.group_sizes, z)
        points.append(CurvePoint(score, values, moments, pooled))
    result = compare_along(
        points,
        settings,
        reference,
        metric=ISOTONIC,
        words=ISOTONIC_TITLE,
        simultaneous_by_itself=True,
    )
    generator, seed = as_generator(rng)
    equality = []
    for group, of_reference in result.pairs():
        place = moments.groups.index(group)
        second = n_groups + place if by_rest else moments.groups.index(of_reference)
        test = _test_equality(risks[place], risks[second], n_resamples, generator)
        equality.append(
            CurveEquality(
                group=group,
                reference=of_reference,
                test=HypothesisTest(
                    null="equal calibration curves",
                    alternative="two-sided",
                    statistic=test.statistic,
                    pvalue=test.pvalue,
                    method=EQUALITY_METHOD,
                ),
                low=test.low,
                high=test.high,
                difference=test.difference,
            )
        )
    settings = replace(result.settings, seed=seed, n_resamples=n_resamples)
    return replace(result, equality=tuple(equality), settings=settings)


def _sides_of_all(
    values: BandValues,
    of_all: tuple[CountedRisks | WeightedRisks, HonestBand | WeightedBand],
    group_sizes: NDArray[np.int64],
    z: float,
) -> dict[int, Side]:
    """Everybody's curve at a score as what each group is compared with.

    Its own rows are among them: by the one's limit less the other's, which holds whatever both share.
    """
    risks, band = of_all
    value = _value_of(risks, values.score)

    def limits_of_all(z: float) -> tuple[float, float]:
        return band.limits(values.score, normal_cdf(-z) / values.n_pairs)

    sides = {}
    for group in range(group_sizes.size):
        contrast = None
        if not values.why_not(group, ratio=False):
            contrast = LimitContrast(
                (values.value(group), value),
                partial(values.shared_limits, group),
                limits_of_all,
            )
        sides[group] = Side(
            name=OVERALL,
            n=int(group_sizes.sum()),
            value=value,
            interval=band.limits(values.score, normal_cdf(-z)),
            positions=(group,),
            contrast=contrast,
        )
    return sides


def _moments_of_scores(rows: CutRows) -> MomentCounts:
    """Moments of the scores, which the result carries."""
    if rows.counts is None:
        return MomentCounts._from_outcomes(rows.required_outcomes(), {"score": rows.score})
    counted = rows.counts
    both = counted.counts.sum(axis=1)
    return MomentCounts._from_counted(
        counted.groups, "score", counted.values, both, counted.missing
    )


def _band_of(risks: CountedRisks | WeightedRisks, scores: Floats) -> HonestBand | WeightedBand:
    """The band of a group that holds at these scores at once."""
    if isinstance(risks, WeightedRisks):
        return WeightedBand.of(risks, scores)
    return HonestBand.of(risks, scores.size)


def _value_of(risks: CountedRisks | WeightedRisks, score: float) -> float:
    """The curve of a group at a score."""
    if isinstance(risks, WeightedRisks):
        return risks.value_at(score)
    return value_of_curve(risks, score)


def _test_equality(
    group: CountedRisks | WeightedRisks,
    reference: CountedRisks | WeightedRisks,
    n_resamples: int,
    rng: np.random.Generator,
) -> EqualityTest:
    """Whether two groups have one curve."""
    if isinstance(group, WeightedRisks) and isinstance(reference, WeightedRisks):
        return equality_of_weighted_curves(group, reference, n_resamples, rng)
    if isinstance(group, CountedRisks) and isinstance(reference, CountedRisks):
        return equality_of_curves(group, reference, n_resamples, rng)
    raise TypeError("rows of the one group have weights, those of the other are counted")
