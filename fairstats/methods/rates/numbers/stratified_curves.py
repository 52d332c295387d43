"""Curves within the strata of a confounder: every cut-off by the rule of its comparison there.

Net benefit is a mean of a number per row, and compared as adjusted means are; a rate is compared by
the stratified score, and all cut-offs and pairs are one family.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Literal, TypeVar, cast

import numpy as np

from fairstats.ground.counts import ConfusionCounts, SelectionCounts
from fairstats.ground.lazy import pd
from fairstats.ground.multiplicity import normal_quantile
from fairstats.ground.outcomes import Outcomes
from fairstats.ground.registry import ENDINGS, Contrast
from fairstats.ground.results import Interval
from fairstats.ground.serialise import serialisable
from fairstats.ground.strata import StratumCounts
from fairstats.ground.tallies.stratum_moments import StratumMoments
from fairstats.methods.rates.compare import level_of_each
from fairstats.methods.rates.numbers.curves import (
    CurveComparison,
    CurveDifferenceResult,
    CurveRatioResult,
    CurveResult,
)
from fairstats.methods.rates.numbers.cutoffs import NET_BENEFIT, CutRows, wilson_limits
from fairstats.methods.rates.numbers.result import HALL, NumberComparison
from fairstats.methods.rates.numbers.strata_pairs import names_of_pair
from fairstats.methods.rates.numbers.stratified import (
    StratifiedNumberComparison,
    StratifiedNumberDifferenceResult,
    compare_within,
    make_pair,
)
from fairstats.methods.rates.result import Inference, as_family, warned
from fairstats.methods.rates.setup import POOLED
from fairstats.methods.rates.strata.compare import compare_within_strata
from fairstats.methods.rates.strata.design import SCORE, pair_tables
from fairstats.methods.rates.strata.result import (
    ENDING,
    StratifiedDifferenceResult,
    StratifiedRatioResult,
    WithinStrata,
    disagreement,
    rates_of,
)
from fairstats.numerics.means.strata import limits_of_sum

_Curve = TypeVar("_Curve", bound=CurveResult)
#: Of adjusted rates by themselves.
OWN_METHOD = "Wilson (MOVER)"


@serialisable(kw_only=True)
class StratifiedCurveComparison(StratifiedNumberComparison, CurveComparison):
    """A group against its reference within strata at one cut-off.

    `rate` and `rate_reference` are the adjusted rates, or net benefits, Σωr.
    """

    further: ClassVar[tuple[str, ...]] = ("cutoff", *StratifiedNumberComparison.further)


@dataclass(frozen=True, eq=False)
class _AdjustedCurve(WithinStrata, CurveResult):
    """What adjusted curves of differences and of ratios share."""

    comparisons: tuple[StratifiedCurveComparison, ...]
    stratum_parts: tuple[StratumCounts | StratumMoments, ...] = ()

    @property
    def _among(self) -> tuple[tuple[str, ...], str]:
        return self.stratum_parts[0].strata, self.stratum_parts[0].attribute

    def _words_of_estimates(self, strata_words: str) -> str:
        limits = SCORE if self.rate else HALL
        if self.settings.comparisons == "overall":
            return (
                f"Values are those of a group and of everybody, summed over {strata_words} by the"
                f" cases of the group; limits by {limits}."
            )
        return (
            f"Values are adjusted by the weights n₁n₀/(n₁ + n₀) of Mantel and Haenszel, n the cases"
            f" of each group, over {strata_words}; limits by {limits}."
        )

    def notes(self) -> list[str]:
        """Sentences below the table; tests of strata stand in `tests()`, one a cut-off."""
        strata, attribute = self._among
        attribute_words = f" of {attribute}" if attribute else ""
        return [
            *CurveResult.notes(self),
            self._words_of_estimates(f"{len(strata)} strata{attribute_words}"),
        ]

    def by_stratum(self) -> pd.DataFrame:
        """Values and contrast of every comparison in every stratum, a block for every cut-off.

        Returns
        -------
        DataFrame
            cutoff, and the columns of the same table of rates, or of means.
        """
        n_pairs = len(self.pairs())
        frames = []
        for place, part in enumerate(self.stratum_parts):
            rows = self.comparisons[place * n_pairs : (place + 1) * n_pairs]
            frame = self._at_one_cutoff(part, rows).by_stratum()
            frame.insert(0, "cutoff", rows[0].cutoff)
            frame["metric"] = self.metric
            frames.append(frame)
        table: pd.DataFrame = pd.concat(frames, ignore_index=True)
        return table

    def _at_one_cutoff(
        self, part: StratumCounts | StratumMoments, rows: Sequence[StratifiedCurveComparison]
    ) -> Any:
        """The comparisons of one cut-off as a result of their own."""
        if isinstance(part, StratumMoments):
            return StratifiedNumberDifferenceResult(
                metric=self.metric,
                comparisons=tuple(rows),
                settings=self.settings,
                counts=self.counts,
                words=self.words,
                column=self.column,
                stratum_moments=part,
            )
        name = metric_of_curve(self) + ENDING
        result_class: Any = StratifiedDifferenceResult
        if self.scale == "ratio":
            result_class = StratifiedRatioResult
        return result_class(
            metric=name,
            comparisons=tuple(replace(row, metric=name) for row in rows),
            settings=self.settings,
            counts=self.counts,
            words=self.words,
            stratum_counts=part,
        )


@serialisable(eq=False)
class StratifiedCurveDifferenceResult(_AdjustedCurve, CurveDifferenceResult):
    """Differences within strata at every cut-off, with simultaneous limits.

    Attributes
    ----------
    stratum_parts : tuple of StratumCounts or StratumMoments
        For every cut-off the cells, or moments, of all groups within the strata.

    Examples
    --------
    >>> import numpy as np, fairstats as fs
    >>> rng = np.random.default_rng(1)
    >>> y, group = rng.integers(0, 2, 600), np.repeat(["a", "b"], [400, 200])
    >>> score = np.clip(0.4 + np.where(group == "a", 0.3, 0.1) * y + rng.normal(0, 0.15, 600), 0, 1)
    >>> branch = np.tile(["north", "south"], 300)
    >>> along = fs.scores(
    ...     y, score, sensitive_features=group, metric="tpr", cutoffs=[0.4, 0.6], strata=branch
    ... )
    >>> along.stratified.stretches()[["verdict", "first", "last"]]
        verdict  first  last
    0  violated    0.4   0.6
    """


@serialisable(eq=False)
class StratifiedCurveRatioResult(_AdjustedCurve, CurveRatioResult):
    """Ratios within strata at every cut-off, with simultaneous limits.

    Attributes
    ----------
    stratum_parts : tuple of StratumCounts
        For every cut-off the cells of all groups within the strata.
    """


def cells_of_rows(rows: CutRows, cutoff: float, attribute: str) -> StratumCounts:
    """Cells of every group within the strata where the rows from a cut-off on are selected."""
    outcomes: Outcomes = rows.required_outcomes()
    predicted = rows.is_selected(rows.score, cutoff).astype(np.uint8)
    kind: Any = SelectionCounts if outcomes.y_true is None else ConfusionCounts
    return StratumCounts._from_outcomes(replace(outcomes, y_pred=predicted), kind, attribute)


def cells_of_scores(
    crossed: CutRows, cutoff: float, strata: tuple[str, ...], groups: tuple[str, ...], name: str
) -> StratumCounts:
    """The same from rows by score in the crossings, the groups of a stratum next to each other."""
    table = crossed.table(cutoff)
    return StratumCounts(
        strata=strata,
        groups=groups,
        cells=ConfusionCounts.cells,
        rows=table.rows.reshape(len(strata), len(groups), -1),
        attribute=name,
    )


def metric_of_curve(curve: CurveResult) -> str:
    """Name of the comparison of the curve's rate at one cut-off."""
    return curve.rate + ENDINGS[cast("Contrast", curve.scale)]


def with_adjusted_rates(result: _Curve, tables: Sequence[StratumCounts]) -> _Curve:
    """The curve of a rate with its comparisons within strata in `stratified`; a table a cut-off."""
    settings = replace(result.settings, method=SCORE)
    together = len(result.comparisons)
    n_pairs = together // len(tables)
    name = metric_of_curve(result)
    compared = []
    for place, crude in enumerate(result.comparisons):
        table = tables[place // n_pairs]
        within, evidence = compare_within_strata(
            replace(crude, metric=name), result.scale, table, settings, together
        )
        values = {each.name: getattr(within, each.name) for each in fields(within)}
        values["metric"] = result.metric + ENDING
        own = _own_intervals(table, within, settings)
        values["value_interval"], values["value_reference_interval"] = own
        compared.append((StratifiedCurveComparison(**values, cutoff=_cutoff_of(crude)), evidence))
    return _finished(result, compared, tables, settings)


def with_adjusted_benefits(result: _Curve, parts: Sequence[StratumMoments]) -> _Curve:
    """The curve of net benefit with its comparisons within strata; moments for every cut-off."""
    if result.settings.comparisons in POOLED:
        parts = [part._beside_rest() for part in parts]
    settings = replace(result.settings, method=HALL)
    together = len(result.comparisons)
    n_pairs = together // len(parts)
    levels = (
        level_of_each(settings.confidence_level, together, None),
        level_of_each(2 * settings.confidence_level - 1, together, None),
    )
    compared = []
    for place, crude in enumerate(cast("tuple[NumberComparison, ...]", result.comparisons)):
        part = parts[place // n_pairs]
        names = names_of_pair(part, crude.group, crude.reference, settings.comparisons)
        pair = make_pair(NET_BENEFIT, NET_BENEFIT, names, part)
        within, evidence = compare_within(crude, pair, settings, levels, ratio=False)
        values = {each.name: getattr(within, each.name) for each in fields(within)}
        compared.append((StratifiedCurveComparison(**values, cutoff=_cutoff_of(crude)), evidence))
    return _finished(result, compared, parts, settings)


def _cutoff_of(crude: Any) -> float:
    return float(crude.cutoff)


def _own_intervals(
    table: StratumCounts, within: Any, settings: Inference
) -> tuple[Interval, Interval]:
    """Of both adjusted rates, by MOVER of Wilson's limits in the strata that both share.

    Of rows with weights or in clusters those of effective counts, of which the adjusted rate has the
    variance that is linearised over all strata, with Student's t; none where the comparison has none.
    """
    contrast = cast("Literal['ratio', 'difference']", within.contrast)
    rates = rates_of(within.metric, table)
    pair = pair_tables(table, rates, contrast, within.group, within.reference, settings.comparisons)
    cells = pair.tables[0]
    used = cells.shared
    level = settings.confidence_level
    nothing = Interval(math.nan, math.nan, level, OWN_METHOD)
    if not used.any() or pair.lacking(within.group, within.reference):
        return nothing, nothing
    z = normal_quantile((1 + level) / 2, pair.degrees)
    shares = cells.weight[used] / cells.weight[used].sum()
    cases_of_reference = cells.n0[used]
    if cells.share is not None:
        # of everybody: of both by their shares in all cases
        share = cells.share[used]
        cases_of_reference = 1 / (share**2 / cells.n1[used] + (1 - share) ** 2 / cells.n0[used])
    intervals = []
    for shown, cases in (
        (cells.rate1[used], cells.n1[used]),
        (cells.rate_of_reference[used], cases_of_reference),
    ):
        ends = limits_of_sum(shown, wilson_limits(shown, cases, z), shares)
        intervals.append(Interval(*ends, level, OWN_METHOD))
    return intervals[0], intervals[1]


def _finished(
    result: _Curve,
    compared: Sequence[tuple[StratifiedCurveComparison, Any]],
    parts: Sequence[StratumCounts] | Sequence[StratumMoments],
    settings: Any,
) -> _Curve:
    """The crude curve with the adjusted one, judged as one family."""
    judged: Any = as_family(list(compared), settings)
    strata_words = f"{len(parts[0].strata)} strata"
    if parts[0].attribute:
        strata_words += f" of {parts[0].attribute}"
    number_format = "+.4g" if result.metric == NET_BENEFIT else ""
    comparisons = []
    for crude, within in zip(result.comparisons, judged, strict=True):
        sentence = disagreement(crude, within, result.scale, strata_words, number_format)
        if sentence:
            sentence = f"At {within.cutoff:.4g}, {sentence}"
        comparisons.append(replace(within, disagreement=sentence))
    result_class: Any = StratifiedCurveDifferenceResult
    if result.scale == "ratio":
        result_class = StratifiedCurveRatioResult
    stratified = result_class(
        metric=result.metric + ENDING,
        comparisons=tuple(comparisons),
        settings=settings,
        counts=result.counts,
        words=f"{result.words}, within strata",
        column=result.column,
        rate=result.rate,
        larger_is_better=result.larger_is_better,
        stratum_parts=tuple(parts),
    )
    return replace(result, stratified=warned(stratified, stratified.metric))
