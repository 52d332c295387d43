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
from numpy.typing import NDArray

from fairstats.ground.checks import Floats, listed
from fairstats.ground.lazy import pd
from fairstats.ground.multiplicity import normal_quantile
from fairstats.ground.outcomes import Outcomes
from fairstats.ground.registry import Title
from fairstats.ground.results import HypothesisTest
from fairstats.ground.serialise import serialisable
from fairstats.ground.tallies.moments import MomentCounts
from fairstats.ground.tallies.stratum_moments import StratumMoments
from fairstats.methods.rates.compare import level_of_each
from fairstats.methods.rates.numbers.compare import (
    MIN_UNITS,
    compare_pair,
    contrast_of_means,
    interval_of_mean,
)
from fairstats.methods.rates.numbers.contrasts import NumberContrast
from fairstats.methods.rates.numbers.options import name_of_strata
from fairstats.methods.rates.numbers.result import (
    HALL,
    NumberComparison,
    NumberDifferenceResult,
    NumberRatioResult,
    NumbersResult,
)
from fairstats.methods.rates.result import Inference, as_family, warned
from fairstats.methods.rates.stratified import together_of
from fairstats.methods.rates.stratified_result import (
    ENDING,
    StratifiedComparison,
    WithinStrata,
    disagreement,
)
from fairstats.numerics.means.hall import Moments, sum_of_means
from fairstats.numerics.means.strata import (
    UNITS_OF_SHAPE,
    UNITS_OF_VARIANCE,
    adjusted_mean,
    homogeneity_test,
    mantel_haenszel_weights,
)

#: Name of the test that one contrast holds in all strata.
HOMOGENEITY_OF_MEANS = "Cochran's Q, Hall's transformation"
#: Metrics that are roots of means.
_Compared = TypeVar("_Compared", bound=NumbersResult)
ROOTS = ("root_mean_squared_error",)
_MOST_NAMES = 8


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

    @property
    def _among(self) -> tuple[tuple[str, ...], str]:
        return self.stratum_moments.strata, self.stratum_moments.attribute

    def _words_of_estimates(self, strata_words: str) -> str:
        return (
            f"Means are adjusted by the weights w₁w₀/(w₁ + w₀) of Mantel and Haenszel, w the rows of"
            f" each group (or their weights), over {strata_words}; limits by {HALL}."
        )

    def by_stratum(self) -> pd.DataFrame:
        """Means and contrast of every comparison in every stratum.

        Returns
        -------
        DataFrame
            metric, stratum, group, reference, n, value, n_reference, value_reference, weight (share
            of the adjusted estimate, 0 where the stratum is left out), estimate, ci_low, ci_high
            (of the stratum alone; NaN where it has fewer than 3 rows of either group).
        """
        table_rows = []
        z = normal_quantile((1 + self.settings.confidence_level) / 2)
        for comparison in self.comparisons:
            pair = pair_within_strata(
                self.stratum_moments,
                comparison.group,
                comparison.reference,
                self.column,
                root=self.metric.removesuffix(ENDING) in ROOTS,
            )
            for place, stratum in enumerate(self.strata):
                table_rows.append(
                    {
                        "metric": comparison.metric,
                        "stratum": stratum,
                        "group": comparison.group,
                        "reference": comparison.reference,
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
    """


@dataclass(frozen=True, eq=False)
class PairWithinStrata:
    """Adjusted means of a group (position 0) and its reference (1), as `GroupValues`.

    `parts`: moments of both in all strata, shape (H,) each; `used`: strata with two units of both;
    `shares`: of these; `rows`: moments of all rows of both in them.
    """

    names: tuple[str, str]
    strata: tuple[str, ...]
    parts: tuple[Moments, Moments]
    n: tuple[NDArray[np.int64], NDArray[np.int64]]
    used: NDArray[np.bool_]
    shares: Floats
    rows: MomentCounts
    column: str
    root: bool

    @property
    def method(self) -> str:
        """Name of the procedure."""
        return HALL

    @property
    def interval_method(self) -> str:
        """Name of what a group's own interval is by."""
        return "t"

    def used_parts(self, position: int) -> Moments:
        """Moments of one of both in the strata that are used."""
        return self.parts[position].take(self.used)

    def mean(self, position: int) -> Moments:
        """Moments of the adjusted mean."""
        return adjusted_mean(self.used_parts(position), self.shares)

    def value(self, position: int) -> float:
        """The adjusted mean, or its root."""
        if not self.used.any():
            return math.nan
        mean = float(self.mean(position).mean)
        return math.sqrt(mean) if self.root else mean

    def interval(self, position: int, z: float) -> tuple[float, float]:
        """By Student's t."""
        if not self.used.any():
            return math.nan, math.nan
        return interval_of_mean(self.mean(position), z, root=self.root)

    def variances(self) -> Floats:
        """Variances of the adjusted means."""
        return np.array([float(self.mean(position).variance) for position in (0, 1)])

    def why_not(self, position: int, *, ratio: bool) -> str:
        """Too few rows in the strata that both share, or numbers that have no ratio."""
        name = self.names[position]
        kind = "clusters" if self.rows.clustered else "rows"
        if not self.used.any():
            if position == 1:
                return ""
            return f"{name} and {self.names[1]}: no stratum has two {kind} of both."
        size = np.asarray(self.used_parts(position).size)
        beyond = float((size - 1).sum())
        if beyond < MIN_UNITS - 1 - 1e-9:
            return (
                f"{name} has {beyond:.3g} {kind} beyond the first of every stratum that it shares"
                f" with {self.names[1 - position]}, and adjusted means need {MIN_UNITS - 1}."
            )
        if float(size.max()) < UNITS_OF_SHAPE - 1e-9:
            return f"{name} has no stratum with {UNITS_OF_SHAPE} {kind}, so no skewness is known."
        place = self.rows.columns.index(self.column)
        if ratio and self.rows.negative[place, position]:
            return f"{name} has numbers below 0, of which a ratio has no meaning."
        if ratio and not self.value(position) > 0:
            return f"{name} has the mean 0, so no ratio."
        return ""

    def contrast(self, group: int, reference: int, *, ratio: bool) -> NumberContrast:
        """Of both adjusted means."""
        return contrast_of_means(
            self.mean(group), self.mean(reference), ratio=ratio, root=self.root
        )

    def left_out(self) -> str:
        """Which strata are not used, with their rows; empty where all are."""
        has_rows = (self.n[0] > 0) | (self.n[1] > 0)
        unused = np.flatnonzero(has_rows & ~self.used)
        if not unused.size:
            return ""
        kind = "clusters" if self.rows.clustered else "rows"
        names = listed([self.strata[place] for place in unused.tolist()], _MOST_NAMES)
        rows_of_both = []
        for name, n in zip(self.names, self.n, strict=True):
            rows_of_both.append(f"{int(n[unused].sum()):,} of {int(n.sum()):,} rows of {name}")
        return (
            f"{self.names[0]} against {self.names[1]}: left out {unused.size} of"
            f" {int(has_rows.sum())} strata without two {kind} of both ({names}), with"
            f" {' and '.join(rows_of_both)}."
        )

    def row_of_stratum(self, place: int, z: float, *, ratio: bool) -> dict[str, Any]:
        """What a table says of one stratum."""
        weight = 0.0
        if self.used[place]:
            weight = float(self.shares[int(self.used[:place].sum())])
        alone = np.array([place])
        parts = [sum_of_means(part.take(alone), np.ones(1)) for part in self.parts]
        means = [float(part.mean) for part in parts]
        values = [math.sqrt(mean) if self.root and mean >= 0 else mean for mean in means]
        estimate = math.nan
        limits = (math.nan, math.nan)
        if min(int(n[place]) for n in self.n) > 0:
            estimate = _divide(*values) if ratio else values[0] - values[1]
        enough = min(float(part.size) for part in parts) >= UNITS_OF_SHAPE - 1e-9
        varies = enough and float(parts[0].variance) + float(parts[1].variance) > 0
        if varies and not (ratio and min(means) <= 0):
            contrast = contrast_of_means(parts[0], parts[1], ratio=ratio, root=self.root)
            limits = contrast.limits(z)
        return {
            "n": int(self.n[0][place]),
            "value": values[0],
            "n_reference": int(self.n[1][place]),
            "value_reference": values[1],
            "weight": weight,
            "estimate": estimate,
            "ci_low": limits[0],
            "ci_high": limits[1],
        }


def pair_within_strata(
    moments: StratumMoments, group: str, reference: str, column: str, *, root: bool
) -> PairWithinStrata:
    """Both groups in all strata, and the weights of the strata that are used."""
    cells = moments.cells
    places = (moments.groups.index(group), moments.groups.index(reference))
    parts = []
    for place in places:
        parts.append(
            Moments(
                mean=moments.of_group(cells.means(column), place),
                variance=moments.of_group(cells.variance_of_mean(column), place),
                third=moments.of_group(cells.third_cumulant_of_mean(column), place),
                size=moments.of_group(cells.effective_units, place),
            )
        )
    weights = [moments.of_group(cells.weights[0], place) for place in places]
    fewest = np.minimum(parts[0].size, parts[1].size)
    used = np.asarray(fewest >= UNITS_OF_VARIANCE - 1e-9)
    shares = np.zeros(0)
    if used.any():
        shares = mantel_haenszel_weights(weights[0][used], weights[1][used])
    n_of_cells = cells.n.reshape(len(moments.strata), len(moments.groups))
    return PairWithinStrata(
        names=(group, reference),
        strata=moments.strata,
        parts=(parts[0], parts[1]),
        n=(n_of_cells[:, places[0]], n_of_cells[:, places[1]]),
        used=used,
        shares=shares,
        rows=moments._pair(places[0], places[1], np.flatnonzero(used)),
        column=column,
        root=root,
    )


def _divide(value: float, reference: float) -> float:
    if reference == 0:
        return math.inf if value > 0 else math.nan
    return value / reference


def stratum_moments_of_rows(
    outcomes: Outcomes, numbers: Mapping[str, Floats], strata: Any
) -> StratumMoments | None:
    """Moments by stratum of rows that have strata."""
    if outcomes.strata is None:
        return None
    return StratumMoments._from_outcomes(outcomes, numbers, name_of_strata(strata))


def with_adjusted_means(result: _Compared, moments: StratumMoments | None) -> _Compared:
    """The result with its comparisons within strata in `stratified`.

    The same pairs, as one family of their own. Without `moments` the result as it is.
    """
    if moments is None:
        return result
    ratio = isinstance(result, NumberRatioResult)
    settings = replace(result.settings, method=HALL)
    together = together_of(result)
    levels = (
        level_of_each(settings.confidence_level, together, None),
        level_of_each(2 * settings.confidence_level - 1, together, None),
    )
    crude_comparisons = cast("tuple[NumberComparison, ...]", result.comparisons)
    compared = []
    for crude in crude_comparisons:
        pair = pair_within_strata(
            moments, crude.group, crude.reference, result.column, root=result.metric in ROOTS
        )
        compared.append(_compare_within(crude, pair, settings, levels, ratio=ratio))
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
    stratified = result_class(
        metric=result.metric + ENDING,
        comparisons=tuple(comparisons),
        settings=settings,
        counts=result.counts,
        words=f"{title.label}, within strata: {title.quantity}",
        column=result.column,
        stratum_moments=moments,
    )
    return replace(result, stratified=warned(stratified, stratified.metric))


def _compare_within(
    crude: NumberComparison,
    pair: PairWithinStrata,
    settings: Inference,
    levels: tuple[float, float],
    *,
    ratio: bool,
) -> tuple[StratifiedNumberComparison, Any]:
    """One adjusted comparison, and the evidence of its verdict."""
    plain, evidence = compare_pair(
        pair, pair.rows, (0, 1), settings, levels, metric=crude.metric + ENDING, ratio=ratio
    )
    parts = (pair.used_parts(0), pair.used_parts(1))
    homogeneous = homogeneity_test(*parts, ratio=ratio)
    contrast = "ratio" if ratio else "difference"
    tests = plain.tests
    # of roots it is the mean squares whose difference is tested, which says nothing of theirs
    if pair.root and not ratio:
        homogeneous = homogeneous._replace(pvalue=math.nan)
    elif tests:
        tests = (
            *tests,
            HypothesisTest(
                null=f"one {contrast} in all of {homogeneous.informative} informative strata",
                alternative="heterogeneity",
                statistic=homogeneous.statistic,
                pvalue=homogeneous.pvalue,
                method=HOMOGENEITY_OF_MEANS,
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
        n_informative=homogeneous.informative,
        contrast=contrast,
        pvalue_homogeneity=homogeneous.pvalue,
    )
    return comparison, evidence
