"""Comparisons of means within the strata of a confounder, beside the crude ones.

The estimate has the weights of Mantel and Haenszel, and its law is that of a contrast of two means
(`numerics/means/strata.py`): limits, tests and verdict are by the rule of every other mean.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, TypeVar, cast

import numpy as np

from fairstats.ground.checks import Floats
from fairstats.ground.lazy import pd
from fairstats.ground.multiplicity import normal_quantile
from fairstats.ground.outcomes import Outcomes
from fairstats.ground.registry import Title
from fairstats.ground.results import HypothesisTest
from fairstats.ground.serialise import serialisable
from fairstats.ground.tallies.stratum_moments import StratumMoments
from fairstats.methods.rates.compare import level_of_each
from fairstats.methods.rates.numbers.areas import AREA_METHOD
from fairstats.methods.rates.numbers.bootstrap import STUDENTISED, SYMMETRIC
from fairstats.methods.rates.numbers.compare import HALL_MOVER, ORDER_STATISTICS, compare_pair
from fairstats.methods.rates.numbers.options import name_of_strata
from fairstats.methods.rates.numbers.result import (
    HALL,
    NumberComparison,
    NumberDifferenceResult,
    NumberRatioResult,
    NumbersResult,
)
from fairstats.methods.rates.numbers.strata_areas import StratumAreas, pair_of_areas
from fairstats.methods.rates.numbers.strata_limits import (
    CellValues,
    StratumValues,
)
from fairstats.methods.rates.numbers.strata_pairs import (
    PairNames,
    WithinStrataOfPair,
    names_of_pair,
    pair_within_strata,
)
from fairstats.methods.rates.result import Inference, as_family, warned
from fairstats.methods.rates.setup import ALL_BUT, POOLED
from fairstats.methods.rates.strata.compare import together_of
from fairstats.methods.rates.strata.result import (
    ENDING,
    StratifiedComparison,
    WithinStrata,
    disagreement,
)

#: Name of the test that one contrast holds in all strata.
HOMOGENEITY_OF_MEANS = "Cochran's Q, Hall's transformation"
COCHRAN = "Cochran's Q"
_Compared = TypeVar("_Compared", bound=NumbersResult)
#: Metrics that are roots of means.
ROOTS = ("root_mean_squared_error",)
#: Biases of quantiles add up in more strata than this, with fewer rows of a group than this: three
#: strata of 20 rows err in .057, eight of 40 in .056, eight of 20 in .066 to .080.
_FEW_STRATA = 3
_FEW_ROWS = 40


@serialisable(kw_only=True)
class StratifiedNumberComparison(StratifiedComparison, NumberComparison):
    """A group against its reference within strata.

    `rate` and `rate_reference` are the adjusted means Σwm/Σw (or their roots), of which the
    estimate is the difference or ratio, with their intervals by Student's t; `n` and `n_reference`
    the rows in the strata that are used.

    Attributes
    ----------
    crude, crude_verdict : float and str
        The same contrast without strata, and its verdict.
    disagreement : str
        A sentence where crude and adjusted comparison disagree; empty where they do not.
    n_strata : int
        Strata with two rows (or clusters) of both groups, which are used.
    n_informative : int
        Strata with five of both, which the test of homogeneity counts.
    contrast : str
        ``"ratio"`` or ``"difference"``.
    pvalue_homogeneity : float
        That one contrast holds in all strata; NaN where fewer than two are informative.
    """

    further: ClassVar[tuple[str, ...]] = (
        *NumberComparison.further,
        "crude",
        "crude_verdict",
        "n_strata",
        "pvalue_homogeneity",
    )


@dataclass(frozen=True, eq=False)
class _AdjustedNumbers(WithinStrata, NumbersResult):
    """What adjusted differences and ratios of means share."""

    comparisons: tuple[StratifiedNumberComparison, ...]
    stratum_moments: StratumMoments = None  # type: ignore[assignment]
    stratum_areas: StratumAreas | None = None
    stratum_values: StratumValues | None = None

    @property
    def _among(self) -> tuple[tuple[str, ...], str]:
        return self.stratum_moments.strata, self.stratum_moments.attribute

    def _words_of_estimates(self, strata_words: str) -> str:
        if self.stratum_areas is not None and self.settings.comparisons == "overall":
            return (
                f"Areas are those of a group and of everybody in each stratum, summed over"
                f" {strata_words} by the rows of the group with a favourable label (or their"
                f" weights); limits by {AREA_METHOD}."
            )
        if self.stratum_areas is not None:
            return (
                f"Areas are adjusted by the weights p₁p₀/(p₁ + p₀), p the rows of each group with a"
                f" favourable label, over {strata_words}; limits by {AREA_METHOD}."
            )
        if self.stratum_values is not None and self.method in (STUDENTISED, SYMMETRIC):
            weights = (
                "the weights w₁w₀/(w₁ + w₀) of Mantel and Haenszel, w the rows of each group (or"
                " their weights)"
            )
            if self.settings.comparisons == "overall":
                weights = "the rows of the group (or their weights)"
            words = (
                f"Means and variances are adjusted by {weights}, over {strata_words}; limits by"
                f" {self.method} of the units of every stratum."
            )
            if self.method == SYMMETRIC and self._has_few_rows(strata_allowed=0):
                words += (
                    " R² of few rows: of three strata of 20 rows beside 200 a one-sided limit at 5%"
                    " missed in .071 of samples."
                )
            return words
        if self.stratum_values is not None:
            weights = (
                "Values are adjusted by the weights w₁w₀/(w₁ + w₀) of Mantel and Haenszel, w the"
                " rows of each group (or their weights),"
            )
            if self.settings.comparisons == "overall":
                weights = (
                    "Values are those of a group and of everybody in each stratum, summed by the"
                    " rows of the group (or their weights)"
                )
            words = (
                f"{weights} over {strata_words}; limits by MOVER over the strata, of each by"
                f" {self.stratum_values.method}."
            )
            if self.stratum_values.method == ORDER_STATISTICS and self._has_few_rows():
                words += (
                    " Quantiles of few skewed rows are biased alike in every stratum: medians of"
                    " eight strata of 20 rows beside 100 missed a limit in up to .080 of samples."
                )
            return words
        if self.settings.comparisons == "overall":
            return (
                f"Means are those of a group and of everybody, summed over {strata_words} by the"
                f" rows of the group (or their weights); limits by {HALL}."
            )
        return (
            f"Means are adjusted by the weights w₁w₀/(w₁ + w₀) of Mantel and Haenszel, w the rows of"
            f" each group (or their weights), over {strata_words}; limits by {HALL}."
        )

    def _has_few_rows(self, strata_allowed: int = _FEW_STRATA) -> bool:
        """Whether a group has few rows in more of the strata that are used than are allowed."""
        if self.stratum_values is None:
            return False
        enough = self.stratum_values.enough
        rows = np.asarray(self.stratum_moments.cells.group_sizes).reshape(enough.shape)
        has_few = ((rows < _FEW_ROWS) & enough).any(axis=1)
        return int(has_few.sum()) > strata_allowed

    def by_stratum(self) -> pd.DataFrame:
        """Means and contrast of every comparison in every stratum.

        Returns
        -------
        DataFrame
            metric, stratum, group, reference, n, value, n_reference, value_reference, weight (share
            of the adjusted estimate, 0 where the stratum is left out), estimate, ci_low, ci_high
            (of the stratum alone; NaN where it has fewer than 3 rows of either group).
            Of standardised differences and R² beside everybody: each group beside all others.
        """
        table_rows = []
        cells = None
        if self.stratum_values is not None:
            cells = self.stratum_values._as_cells()
        z = normal_quantile((1 + self.settings.confidence_level) / 2)
        for comparison in self.comparisons:
            names = names_of_pair(
                self.stratum_moments,
                comparison.group,
                comparison.reference,
                self.settings.comparisons,
            )
            pair = make_pair(
                self.metric.removesuffix(ENDING),
                self.column,
                names,
                self.stratum_moments,
                self.stratum_areas,
                cells,
            )
            reference = comparison.reference
            if names.of_all and cells is not None and not cells.everybody:
                # of what is drawn, the values of all others are kept
                reference = ALL_BUT + comparison.group
            for place, stratum in enumerate(self.strata):
                table_rows.append(
                    {
                        "metric": comparison.metric,
                        "stratum": stratum,
                        "group": comparison.group,
                        "reference": reference,
                        **pair.row_of_stratum(place, z, ratio=self.scale == "ratio"),
                    }
                )
        return pd.DataFrame(table_rows)


@serialisable(eq=False)
class StratifiedNumberDifferenceResult(_AdjustedNumbers, NumberDifferenceResult):
    """Differences of means within strata; `stratum_moments` are the sufficient statistics.

    Attributes
    ----------
    stratum_moments : StratumMoments
        Moments of every group within the strata.
    stratum_areas : StratumAreas or None
        Of AUCs: theirs within the strata.
    stratum_values : StratumValues or None
        Of quantiles, calibration slopes and intercepts: theirs within the strata.

    Examples
    --------
    >>> import fairstats as fs
    >>> wage, sex = [20, 22, 25, 30, 18, 19] * 20, ["m", "f"] * 60
    >>> grade = (["a"] * 6 + ["b"] * 6) * 10
    >>> result = fs.means(wage, sensitive_features=sex, strata=grade, reference="m")
    >>> within = result.stratified
    >>> round(within.estimate, 2), within["f"].n_strata, round(within["f"].pvalue_homogeneity, 2)
    (2.67, 2, 1.0)
    """


@serialisable(eq=False)
class StratifiedNumberRatioResult(_AdjustedNumbers, NumberRatioResult):
    """Ratios of means within strata; `stratum_moments` are the sufficient statistics.

    Attributes
    ----------
    stratum_moments : StratumMoments
        Moments of every group within the strata.
    stratum_areas : StratumAreas or None
        Of AUCs: theirs within the strata.
    stratum_values : StratumValues or None
        Of quantiles, calibration slopes and intercepts: theirs within the strata.
    """


def make_pair(
    metric: str,
    column: str,
    names: PairNames,
    moments: StratumMoments,
    areas: StratumAreas | None = None,
    cells: CellValues | None = None,
) -> WithinStrataOfPair:
    """A group and its reference within strata, by means, by areas, or by what has limits."""
    if cells is not None:
        return cells.pair(moments, names)
    if areas is not None:
        return pair_of_areas(moments, areas, names)
    return pair_within_strata(moments, names, column, root=metric in ROOTS)


def stratum_moments_of_rows(
    outcomes: Outcomes, numbers: Mapping[str, Floats], strata: Any
) -> StratumMoments | None:
    """Moments by stratum of rows that have strata."""
    if outcomes.strata is None:
        return None
    return StratumMoments._from_outcomes(outcomes, numbers, name_of_strata(strata))


def with_adjusted_means(
    result: _Compared,
    moments: StratumMoments | None,
    areas: StratumAreas | None = None,
    cells: CellValues | None = None,
) -> _Compared:
    """The result with its comparisons within strata in `stratified`.

    The same pairs, as one family of their own. Without `moments` the result as it is; with `areas`
    of areas, with `cells` of what has limits in every stratum. Where groups are pooled both have all
    others of each group behind the groups, as `StratumMoments._beside_rest`.
    """
    if moments is None:
        return result
    if result.settings.comparisons in POOLED:
        moments = moments._beside_rest()
    ratio = isinstance(result, NumberRatioResult)
    settings = replace(result.settings, method=_method_of(areas, cells))
    together = together_of(result)
    levels = (
        level_of_each(settings.confidence_level, together, None),
        level_of_each(2 * settings.confidence_level - 1, together, None),
    )
    crude_comparisons = cast("tuple[NumberComparison, ...]", result.comparisons)
    compared = []
    for crude in crude_comparisons:
        names = names_of_pair(moments, crude.group, crude.reference, settings.comparisons)
        pair = make_pair(result.metric, result.column, names, moments, areas, cells)
        compared.append(compare_within(crude, pair, settings, levels, ratio=ratio))
    chosen_by_data = settings.reference_rule == "highest"
    judged = as_family(compared, settings, chosen_among=together if chosen_by_data else 0)
    strata_words = f"{len(moments.strata)} strata"
    if moments.attribute:
        strata_words += f" of {moments.attribute}"
    comparisons = []
    for crude, within in zip(crude_comparisons, judged, strict=True):
        sentence = disagreement(
            crude, within, result.scale, strata_words, ".3f" if ratio else "+.4g"
        )
        comparisons.append(replace(within, disagreement=sentence))
    result_class: Any = StratifiedNumberDifferenceResult
    if ratio:
        result_class = StratifiedNumberRatioResult
    title = Title(result.words)
    stratum_values = None
    if cells is not None:
        z = normal_quantile((1 + settings.confidence_level) / 2)
        stratum_values = cells.stored(z, ratio=ratio)
    stratified = result_class(
        metric=result.metric + ENDING,
        comparisons=tuple(comparisons),
        settings=settings,
        counts=result.counts,
        words=f"{title.label}, within strata: {title.quantity}",
        column=result.column,
        stratum_moments=moments,
        stratum_areas=areas,
        stratum_values=stratum_values,
    )
    return replace(result, stratified=warned(stratified, stratified.metric))


def _method_of(areas: StratumAreas | None, cells: CellValues | None) -> str:
    """What adjusted contrasts are by."""
    if cells is not None:
        return cells.values.method
    return HALL if areas is None else AREA_METHOD


def compare_within(
    crude: NumberComparison,
    pair: WithinStrataOfPair,
    settings: Inference,
    levels: tuple[float, float],
    *,
    ratio: bool,
) -> tuple[StratifiedNumberComparison, Any]:
    """One adjusted comparison, and the evidence of its verdict."""
    plain, evidence = compare_pair(
        pair, pair.rows, (0, 1), settings, levels, metric=crude.metric + ENDING, ratio=ratio
    )
    contrast = "ratio" if ratio else "difference"
    homogeneous = pair.homogeneity(ratio=ratio)
    tests = plain.tests
    if tests and homogeneous is not None:
        tests = (
            *tests,
            HypothesisTest(
                null=f"one {contrast} in all of {homogeneous.informative} informative strata",
                alternative="heterogeneity",
                statistic=homogeneous.statistic,
                pvalue=homogeneous.pvalue,
                method=HOMOGENEITY_OF_MEANS if plain.method in (HALL, HALL_MOVER) else COCHRAN,
            ),
        )
    of_plain = {each.name: getattr(plain, each.name) for each in fields(plain)}
    of_plain["tests"] = tests
    of_plain["note"] = f"{plain.note} {pair.left_out()}".strip()
    comparison = StratifiedNumberComparison(
        **of_plain,
        crude=crude.estimate,
        crude_verdict=crude.verdict,
        n_strata=int(pair.used.sum()),
        n_informative=pair.informative(ratio=ratio),
        contrast=contrast,
        pvalue_homogeneity=math.nan if homogeneous is None else homogeneous.pvalue,
    )
    return comparison, evidence
