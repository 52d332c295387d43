"""Results along a curve: a row for every cut-off and pair of groups, and the stretches of each."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import groupby
from typing import Any, ClassVar, Literal

import numpy as np

from fairstats.ground.checks import Floats, check_choice, check_that
from fairstats.ground.errors import InputError
from fairstats.ground.groups import find_reference
from fairstats.ground.lazy import Axes, pd
from fairstats.ground.multiplicity import normal_quantile
from fairstats.ground.progress import each_of
from fairstats.ground.results import Comparison, HypothesisTest
from fairstats.ground.serialise import serialisable
from fairstats.ground.tallies.moments import MomentCounts
from fairstats.methods.rates.compare import level_of_each
from fairstats.methods.rates.numbers.compare import GroupValues, Side, compare_pair, pairs_of
from fairstats.methods.rates.numbers.result import (
    NumberComparison,
    NumberDifferenceResult,
    NumberRatioResult,
    NumbersResult,
)
from fairstats.methods.rates.result import Inference, as_family, warned
from fairstats.methods.rates.setup import POOLED, check_groups
from fairstats.plots.figures import difference_along_cutoffs, values_along_cutoffs
from fairstats.plots.picture import Picture, draw


@serialisable(kw_only=True)
class CurveComparison(NumberComparison):
    """One group against its reference at one cut-off.

    Attributes
    ----------
    cutoff : float
        Rows with this score or a higher one are selected; of a calibration curve the score.
    """

    further: ClassVar[tuple[str, ...]] = ("cutoff", *NumberComparison.further)

    cutoff: float = float("nan")


@serialisable()
class CurveEquality:
    """Test that two groups have one calibration curve.

    Attributes
    ----------
    group, reference : str
    test : HypothesisTest
        The largest standardised difference of labels at equal scores, over all runs of scores.
    low, high : float
        Scores between which it lies.
    difference : float
        Mean difference of the labels at equal scores there, group less reference.
    """

    group: str
    reference: str
    test: HypothesisTest
    low: float
    high: float
    difference: float


@dataclass(frozen=True, eq=False)
class CurveResult(NumbersResult):
    """What curves of differences and of ratios share."""

    equality: tuple[CurveEquality, ...] = ()
    rate: str = ""
    larger_is_better: bool = True

    _shown: ClassVar[tuple[str, ...]] = ("cutoff", *NumbersResult._shown)

    def pairs(self) -> list[tuple[str, str]]:
        """Groups and references, in the order of the first cut-off."""
        return list(dict.fromkeys((row.group, row.reference) for row in self.comparisons))

    def __getitem__(self, key: Hashable) -> Any:
        """The comparison ``[group, cutoff]``; of ``[group]`` that of the first cut-off."""
        if isinstance(key, tuple) and len(key) == 2 and not isinstance(key[1], str):
            rows = self.curve_of(key[0])
            for row in rows:
                if row.cutoff == key[1]:
                    return row
            raise InputError(
                "cutoff",
                got=repr(key[1]),
                allowed=f"one of {', '.join(f'{row.cutoff:g}' for row in rows)}",
                cure="cutoffs= of the function that made the result",
            )
        return super().__getitem__(key)

    def curve_of(self, group: Hashable, reference: Hashable | None = None) -> list[CurveComparison]:
        """The rows of one group, by ascending cut-off.

        Parameters
        ----------
        group : hashable
        reference : hashable, optional
            Of several that the group is compared with; default the first.
        """
        chosen = super().__getitem__(group if reference is None else (group, reference))
        rows: list[Any] = []
        for row in self.comparisons:
            if (row.group, row.reference) == (chosen.group, chosen.reference):
                rows.append(row)
        return rows

    def stretches(self) -> pd.DataFrame:
        """Where along the cut-offs each verdict holds.

        Returns
        -------
        DataFrame
            One row a stretch of neighbouring cut-offs with one verdict: `group`, `reference`,
            `verdict`, `direction`, `first`, `last` (cut-offs) and `n_cutoffs`. All limits hold at
            once; between two cut-offs nothing is claimed.
        """
        table_rows = []
        for group, reference in self.pairs():
            rows = self.curve_of(group, reference)
            for (verdict, direction), run in groupby(rows, key=_verdict_and_side):
                cutoffs = [row.cutoff for row in run]
                table_rows.append(
                    {
                        "group": group,
                        "reference": reference,
                        "verdict": verdict,
                        "direction": direction,
                        "first": cutoffs[0],
                        "last": cutoffs[-1],
                        "n_cutoffs": len(cutoffs),
                    }
                )
        return pd.DataFrame(table_rows)

    def sentences(self) -> list[str]:
        """One sentence per pair of groups: the stretches of each verdict."""
        stretches = self.stretches()
        sentences = []
        for group, reference in self.pairs():
            stretches_of_pair = stretches[
                (stretches["group"] == group) & (stretches["reference"] == reference)
            ]
            parts = [_words_of_stretch(stretch) for stretch in stretches_of_pair.to_dict("records")]
            sentences.append(f"{group} against {reference}: {'; '.join(parts)}.")
        return [*sentences, *self._sentences_on_equality()]

    def _sentences_on_equality(self) -> Iterator[str]:
        for equality in self.equality:
            if not equality.test.pvalue <= 1:
                continue
            yield (
                f"{equality.group} against {equality.reference}: equal calibration curves, p ="
                f" {equality.test.pvalue:.3g}; the labels differ most at scores from"
                f" {equality.low:.3g} to {equality.high:.3g}, by {equality.difference:+.3f} at equal"
                " scores."
            )

    def tests(self) -> pd.DataFrame:
        """Every test of every row, and that of equal curves of every pair."""
        frame = super().tests()
        further = [
            {
                "metric": self.metric,
                "group": equality.group,
                "reference": equality.reference,
                **vars(equality.test),
            }
            for equality in self.equality
        ]
        return pd.concat([frame, pd.DataFrame(further)], ignore_index=True) if further else frame

    def notes(self) -> list[str]:
        """Sentences below the table."""
        return [
            *super().notes(),
            "Limits hold at all cut-offs at once; between them none is given.",
        ]

    def picture(
        self,
        kind: Literal["difference", "groups"] = "difference",
        group: Hashable | None = None,
    ) -> Picture:
        """The curve of a difference (or ratio) with its band, or those of both groups.

        Parameters
        ----------
        kind : {"difference", "groups"}
        group : hashable, optional
            Whose comparison, or (group, reference); default the first.
        """
        check_choice("kind", kind, ("difference", "groups"))
        rows = self.curve_of(self.pairs()[0] if group is None else group)
        if kind == "groups":
            return values_along_cutoffs(self, rows)
        return difference_along_cutoffs(self, rows)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        kind: Literal["difference", "groups"] = "difference",
        group: Hashable | None = None,
    ) -> Axes:
        """Draw what `picture` shows.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; default a new figure.
        kind : {"difference", "groups"}, default "difference"
            The difference with its band and the fair range, or the values of both groups.
        group : hashable, optional
            Whose comparison, or (group, reference); default the first.
        """
        return draw(self.picture(kind, group), ax)


@serialisable(eq=False)
class CurveDifferenceResult(CurveResult, NumberDifferenceResult):
    """Differences at every cut-off, with simultaneous limits.

    Attributes
    ----------
    equality : tuple of CurveEquality
        Tests that two groups have one calibration curve; empty for other curves.
    rate : str
        The rate that is compared, as "tpr"; empty for other curves.
    larger_is_better : bool
        Whether rows from a cut-off on are selected; else those up to it.
    """


@serialisable(eq=False)
class CurveRatioResult(CurveResult, NumberRatioResult):
    """Ratios at every cut-off, with simultaneous limits.

    Attributes
    ----------
    equality : tuple of CurveEquality
        Empty: of differences only.
    rate : str
        The rate that is compared, as "tpr".
    larger_is_better : bool
        Whether rows from a cut-off on are selected; else those up to it.
    """


#: What is a family of its own: limits hold at all cut-offs of a metric at once.
CURVES = (CurveDifferenceResult, CurveRatioResult)


def cutoffs_of(curve: CurveResult) -> list[float]:
    """Cut-offs of a curve, ascending."""
    return [row.cutoff for row in curve.curve_of(*curve.pairs()[0])]


def _verdict_and_side(row: CurveComparison) -> tuple[str, str]:
    return row.verdict, row.direction if row.verdict == "violated" else ""


def _words_of_stretch(stretch: dict[Any, Any]) -> str:
    first = stretch["first"]
    last = stretch["last"]
    place = f"at {first:.4g}" if first == last else f"from {first:.4g} to {last:.4g}"
    side = f" ({stretch['direction']})" if stretch["direction"] else ""
    n_cutoffs = stretch["n_cutoffs"]
    number = f"{n_cutoffs} cut-off{'' if n_cutoffs == 1 else 's'}"
    return f"{stretch['verdict']}{side} {place}, {number}"


@dataclass(frozen=True, eq=False)
class CurvePoint:
    """A cut-off, the values of all groups there, and their moments.

    `pooled`: what each group is compared with where groups are pooled; None by their moments.
    """

    cutoff: float
    values: GroupValues
    counts: MomentCounts
    pooled: Mapping[int, Side] | None = None


def compare_along(
    points: Sequence[CurvePoint],
    settings: Inference,
    reference: Hashable | None,
    *,
    metric: str,
    words: str,
    simultaneous_by_itself: bool = False,
) -> CurveDifferenceResult:
    """Differences of values at every cut-off, as one family.

    Parameters
    ----------
    points : sequence of CurvePoint
        Ascending.
    settings : Inference
        As in every comparison.
    reference : hashable, optional
        The reference group, not a rule that the values choose by.
    metric, words : str
        Names in the result.
    simultaneous_by_itself : bool
        Whether the limits of the values hold at all cut-offs at once, so that nothing is adjusted;
        otherwise by Bonferroni, and p-values by `settings.adjust`.
    """
    groups = points[0].counts.groups
    check_groups(groups)
    check_reference_of_curve(reference, settings.comparisons)
    reference_index, rule = find_reference(groups, reference, sizes=points[0].counts.group_sizes)
    pairs = pairs_of(settings.comparisons, len(groups), reference_index)
    adjust = "none" if simultaneous_by_itself else settings.adjust
    settings = replace(settings, method=points[0].values.method, reference_rule=rule, adjust=adjust)
    levels = (settings.confidence_level, 2 * settings.confidence_level - 1)
    if not simultaneous_by_itself:
        settings = replace(settings, simultaneous="bonferroni")
        n_rows = len(points) * len(pairs)
        levels = (level_of_each(levels[0], n_rows, None), level_of_each(levels[1], n_rows, None))
    compared = []
    cutoffs = []
    for point in each_of(points, "cut-offs"):
        for pair in pairs:
            compared.append(
                compare_pair(
                    point.values,
                    point.counts,
                    pair,
                    settings,
                    levels,
                    metric=metric,
                    ratio=False,
                    pooled=point.pooled,
                )
            )
            cutoffs.append(point.cutoff)
    comparisons = as_family(compared, settings)
    result = CurveDifferenceResult(
        metric=metric,
        comparisons=tuple(
            at_cutoff(comparison, cutoff)
            for comparison, cutoff in zip(comparisons, cutoffs, strict=True)
        ),
        settings=settings,
        counts=points[0].counts,  # type: ignore[arg-type]
        words=words,
        column=points[0].counts.columns[0],
    )
    return warned(result, metric)


def at_cutoff(comparison: Comparison, cutoff: float, **further: Any) -> CurveComparison:
    """The comparison as one of a curve."""
    values = {field.name: getattr(comparison, field.name) for field in fields(comparison)}
    return CurveComparison(**{**values, **further, "cutoff": cutoff})


def check_reference_of_curve(reference: Any, comparisons: str) -> None:
    """Raise for a reference that the values would choose, or beside pooled rows.

    The highest could be another group at every cut-off.
    """
    check_that(
        reference is None or comparisons not in POOLED,
        "reference",
        reference,
        "None: each group is compared with "
        + ("all other rows" if comparisons == "rest" else "all rows"),
        "leave it out",
    )
    check_that(
        not (isinstance(reference, str) and reference == "highest"),
        "reference",
        reference,
        "a group, or None for the largest: the highest changes along the cut-offs",
        "reference=None",
    )


def z_of_level(confidence_level: float) -> float:
    """The z of a two-sided interval."""
    return normal_quantile((1 + confidence_level) / 2)


def as_cutoffs(cutoffs: Any, argument: str, *, low: float, high: float) -> Floats:
    """Ascending distinct numbers in [low, high], from what a user passed."""
    try:
        numbers = np.unique(np.asarray(cutoffs, dtype=np.float64).ravel())
    except (TypeError, ValueError):
        numbers = np.array([np.nan])
    is_valid = numbers.size > 0 and bool(((numbers >= low) & (numbers <= high)).all())
    check_that(
        is_valid,
        argument,
        cutoffs,
        f"numbers from {low:g} to {high:g}",
        f"{argument}=[0.1, 0.2, 0.3], say",
    )
    return numbers
