"""Results of comparisons within strata: what they hold, and what they say."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, cast

from fairstats.ground.checks import Floats
from fairstats.ground.errors import InputError
from fairstats.ground.lazy import pd
from fairstats.ground.registry import (
    RATES,
    SELECTED,
    Metric,
    Rate,
    find_metric,
    without_class,
)
from fairstats.ground.serialise import serialisable
from fairstats.ground.strata import StratumCounts
from fairstats.methods.rates.result import (
    ComparisonResult,
    DifferenceResult,
    OddsRatioResult,
    RateComparison,
    RatioResult,
    words_of_few_rows,
)
from fairstats.methods.rates.strata.design import (
    SCORE,
    count_table,
    pair_counts,
    pair_tables,
)
from fairstats.methods.rates.strata.functions import (
    FEW_THAT_COUNT,
    CellQuantity,
    groups_of_few_rows,
    quantity_of,
    values_of_stratum,
)
from fairstats.numerics.rates.score import EQUALITY, Contrast

#: Name of the metric of an adjusted comparison: that of the crude one with this ending.
ENDING = "_stratified"
#: Name of the exact test of equality within strata.
CONDITIONAL = "exact conditional (twice the smaller tail)"
#: Names of the tests of equality, and of one contrast and one odds ratio in all strata.
COCHRAN_MANTEL_HAENSZEL = "Cochran–Mantel–Haenszel"
HOMOGENEITY = "score test of homogeneity"
BRESLOW_DAY = "Breslow–Day with Tarone's adjustment"


def find_crude_metric(name: str) -> Metric | None:
    """The metric of a comparison, also of one within strata; None where there is none."""
    return find_metric(name.removesuffix(ENDING))


@serialisable(kw_only=True)
class StratifiedComparison(RateComparison):
    """A group against its reference within strata.

    `rate` and `rate_reference` are the adjusted rates Σwr/Σw, of which the estimate is the ratio or
    difference, and `n` and `n_reference` the cases in the strata that both share.

    Attributes
    ----------
    crude, crude_verdict : float and str
        The same contrast without strata, and its verdict.
    disagreement : str
        A sentence where crude and adjusted comparison disagree; empty where they do not.
    n_strata : int
        Strata with cases of both groups.
    n_informative : int
        Strata with cases, successes and failures of both: what tests of homogeneity count.
    contrast : str
        ``"ratio"``, ``"difference"`` or ``"odds_ratio"``.
    pvalue_homogeneity : float
        That one contrast holds in all strata; NaN where there is no test of it: of means, of
        functions of the cells, and where sampling units lie in several strata. Of functions
        Cochran's Q of the strata's contrasts by the delta method does not hold its size: simulated
        at a nominal .05 (4,000 samples; 3 to 20 strata of 30 to 300 rows a group) it errs in .00 to
        .57, about half a row more in every cell in .00 to .08.
    """

    further = (*RateComparison.further, "crude", "crude_verdict", "n_strata", "pvalue_homogeneity")

    crude: float = math.nan
    crude_verdict: str = ""
    disagreement: str = ""
    n_strata: int = 0
    n_informative: int = 0
    contrast: str = ""
    pvalue_homogeneity: float = math.nan


@dataclass(frozen=True, eq=False)
class WithinStrata(ComparisonResult):
    """What adjusted results of rates and of numbers share."""

    comparisons: tuple[StratifiedComparison, ...]

    @property
    def _among(self) -> tuple[tuple[str, ...], str]:
        """Names of the strata, and of their column."""
        raise TypeError(f"{type(self).__name__} has no strata")

    @property
    def strata(self) -> tuple[str, ...]:
        """Names of the strata."""
        return self._among[0]

    @property
    def crude(self) -> tuple[float, ...]:
        """The contrast without strata, per comparison."""
        return tuple(comparison.crude for comparison in self.comparisons)

    def notes(self) -> list[str]:
        """Sentences below the table."""
        strata, attribute = self._among
        attribute_words = f" of {attribute}" if attribute else ""
        sentences = super().notes()
        sentences.append(self._words_of_estimates(f"{len(strata)} strata{attribute_words}"))
        for comparison in self.comparisons:
            for homogeneity_text in homogeneity_words(comparison):
                sentences.append(
                    f"{comparison.group} against {comparison.reference}: {homogeneity_text}"
                )
        return list(dict.fromkeys(sentences))

    def _words_of_estimates(self, strata_words: str) -> str:
        """By what the strata are joined, and limits computed."""
        return f"Estimates of Mantel and Haenszel over {strata_words}; limits by the {SCORE}."

    def _describe_finding(self, c: RateComparison) -> str:
        """The comparison in words: adjusted rates are no rates of anybody."""
        return f"Within strata, {super()._describe_finding(c)}"

    def regime_notes(self) -> list[str]:
        """Nothing: below the size that simulation shows to be enough there is no verdict."""
        return []

    def worst_case_bounds(self) -> pd.DataFrame:
        """Refused: rows that lack a value may lack their stratum, too."""
        suggestion = "worst_case_bounds() of the comparison without strata"
        raise InputError(
            "strata",
            got="an adjusted comparison",
            allowed="a crude one",
            cure=suggestion,
        )


@dataclass(frozen=True, eq=False)
class _AdjustedComparisons(WithinStrata):
    """What adjusted results of ratios and of differences share.

    `stratum_counts` are the sufficient statistics.
    """

    stratum_counts: StratumCounts = None  # type: ignore[assignment]

    @property
    def _among(self) -> tuple[tuple[str, ...], str]:
        return self.stratum_counts.strata, self.stratum_counts.attribute

    def _counts_of(self, comparison: RateComparison) -> StratumCounts:
        """The cells that a comparison is of."""
        return self.stratum_counts

    def _rates_of(self, comparison: RateComparison) -> tuple[Rate, ...]:
        """The rates that a comparison is of: one, or those that it is the mean of."""
        return rates_of(comparison.metric, self._counts_of(comparison))

    def _quantity_of(self, comparison: RateComparison) -> CellQuantity | None:
        """What a comparison by the delta method is of; None of one by the stratified score."""
        if self._by_score:
            return None
        quantity = quantity_of_row(comparison.metric, self._counts_of(comparison), self.scale)
        if quantity is None:
            raise function_not_kept()
        return quantity

    def by_stratum(self) -> pd.DataFrame:
        """Rates and contrast of every comparison in every stratum.

        Returns
        -------
        DataFrame
            metric, rate_name, stratum, group, reference, successes, n, rate, successes_reference,
            n_reference, rate_reference, estimate, ci_low, ci_high (by the score of the stratum
            alone, or the delta method), informative. Of weighted rows successes and n count rows,
            and rates and estimate are weighted; limits know what the rows of the stratum are worth.
            Functions of the cells, and means of rates by the delta method, have no successes.

        Raises
        ------
        InputError
            For a function of the user's, which results do not keep.
        """
        table_rows = []
        level = (1 + self.settings.confidence_level) / 2
        for comparison in self.comparisons:
            counts = self._counts_of(comparison)
            quantity = self._quantity_of(comparison)
            if quantity is not None:
                table_rows += self._rows_by_delta(comparison, counts, quantity)
                continue
            pair = pair_tables(
                counts,
                self._rates_of(comparison),
                cast("Contrast", self.scale),
                comparison.group,
                comparison.reference,
                self.settings.comparisons,
            )
            for place, each_rate in enumerate(pair.rates):
                for stratum_index, stratum_name in enumerate(self.strata):
                    of_stratum = pair.of_stratum(place, stratum_index, level)
                    table_rows.append(
                        {
                            "metric": comparison.metric,
                            "rate_name": each_rate.name,
                            "stratum": stratum_name,
                            "group": comparison.group,
                            "reference": comparison.reference,
                            **of_stratum,
                        }
                    )
        return pd.DataFrame(table_rows)

    def _rows_by_delta(
        self, comparison: RateComparison, counts: StratumCounts, quantity: CellQuantity
    ) -> list[dict[str, Any]]:
        """One comparison of a function, or a mean by the delta method, in every stratum."""
        of_pair = pair_counts(
            counts, comparison.group, comparison.reference, self.settings.comparisons
        )
        table_rows = []
        for place, stratum_name in enumerate(self.strata):
            of_stratum = values_of_stratum(
                of_pair._of_stratum(place), quantity, cast("Contrast", self.scale), self.settings
            )
            table_rows.append(
                {
                    "metric": comparison.metric,
                    "rate_name": quantity.rate.name,
                    "stratum": stratum_name,
                    "group": comparison.group,
                    "reference": comparison.reference,
                    **of_stratum,
                }
            )
        return table_rows

    @property
    def _by_score(self) -> bool:
        """Whether comparisons are by the stratified score, or by the delta method."""
        return self.settings.method == SCORE

    def _words_of_estimates(self, strata_words: str) -> str:
        """By what the strata are joined, and limits computed."""
        if self._by_score:
            return super()._words_of_estimates(strata_words)
        weights = "the weights of Mantel and Haenszel"
        if self.settings.comparisons == "overall":
            weights = "the rows of the group"
        return (
            f"Values of the cells of both standardised over {strata_words} by {weights} (a mean of"
            " rates: each rate by those of its own cases); limits by the delta method."
        )

    def regime_notes(self) -> list[str]:
        """Where simulation (`vignettes/calibration.md`) shows limits by the delta method to err."""
        if self._by_score:
            return []
        is_ratio = self.scale == "ratio"
        few = []
        for comparison in self.comparisons:
            if not comparison.tests:  # refused: it has no limits that err
                continue
            of_pair = pair_counts(
                self._counts_of(comparison),
                comparison.group,
                comparison.reference,
                self.settings.comparisons,
            )
            of_all = self.settings.comparisons == "overall"
            quantity = self._quantity_or_none(comparison)
            few += groups_of_few_rows(of_pair, quantity, of_all=of_all, ratio=is_ratio)
        few = list(dict.fromkeys(few))
        if not few:
            return []
        if self.stratum_counts.design is None:
            return [
                f"Few of the rows count ({', '.join(few)}): limits of functions of fewer than"
                f" {FEW_THAT_COUNT} rows, by the weights of the strata, are too near on one side:"
                " verdicts are wrong in up to 9% of samples."
            ]
        return words_of_few_rows(few, ratio=is_ratio)

    def _quantity_or_none(self, comparison: RateComparison) -> CellQuantity | None:
        """What a comparison by the delta method is of; None of a function of the user's."""
        try:
            return self._quantity_of(comparison)
        except InputError:
            return None

    def _by_value(self, c: RateComparison) -> tuple[str, str, Rate | None]:
        crude_named = replace(c, metric=c.metric.removesuffix(ENDING))
        return super()._by_value(crude_named)


@serialisable(eq=False)
class StratifiedRatioResult(_AdjustedComparisons, RatioResult):
    """Ratios within strata; `stratum_counts` are the sufficient statistics.

    Attributes
    ----------
    stratum_counts : StratumCounts
        Cells of every group within the strata.

    Examples
    --------
    >>> import fairstats as fs
    >>> hired, sex = [1, 0, 1, 1, 0, 0, 1, 0] * 30, ["m", "m", "f", "f"] * 60
    >>> branch = (["north"] * 4 + ["south"] * 4) * 30
    >>> result = fs.disparate_impact(hired, sensitive_features=sex, strata=branch, reference="m")
    >>> round(result.estimate, 2), round(result.stratified.estimate, 2)
    (3.0, 3.0)
    """


@serialisable(eq=False)
class StratifiedDifferenceResult(_AdjustedComparisons, DifferenceResult):
    """Differences within strata; `stratum_counts` are the sufficient statistics.

    Attributes
    ----------
    stratum_counts : StratumCounts
        Cells of every group within the strata.
    """


@serialisable(eq=False)
class StratifiedOddsRatioResult(_AdjustedComparisons, OddsRatioResult):
    """Odds ratios within strata; `stratum_counts` are the sufficient statistics.

    Attributes
    ----------
    stratum_counts : StratumCounts
        Cells of every group within the strata.
    """

    def _describe_finding(self, c: RateComparison) -> str:
        """Without rates, of whose adjusted values it is not the odds ratio."""
        interval_words = c.confidence_interval.words(".3f", self.settings.alternative)
        return f"Within strata, {self._name_comparison(c)}: odds ratio {c.estimate:.3f} ({interval_words})"


def disagreement(
    crude: RateComparison,
    within: StratifiedComparison,
    scale: str,
    among: str,
    number_format: str = "",
) -> str:
    """A sentence where crude and adjusted comparison say different things; empty where they agree.

    They disagree where their verdicts differ; or where the adjusted estimate lies outside the crude
    interval, and on the other side of equality, or only one of both differs from it. `among`: the
    strata in words; `number_format`: of estimates that are no differences of rates.
    """
    unknown = "insufficient evidence"
    if unknown in (crude.verdict, within.verdict) or math.isnan(within.estimate):
        return ""
    equality = EQUALITY[scale]
    if not number_format:
        number_format = "+.3f" if scale == "difference" else ".3f"
    contrast_words = scale.replace("_", " ")
    outside_interval = within.estimate not in crude.confidence_interval
    sides_differ = (crude.estimate - equality) * (within.estimate - equality) < 0
    error_rate = 1 - crude.confidence_interval.confidence_level
    one_significant = (crude.pvalue <= error_rate) != (within.pvalue <= error_rate)
    if crude.verdict == within.verdict and not (
        outside_interval and (sides_differ or one_significant)
    ):
        return ""
    interval = within.confidence_interval.words(number_format)
    sentence = (
        f"{crude.group} against {crude.reference}: crude {contrast_words} {crude.estimate:{number_format}}"
        f" ({crude.verdict}), within {among} {within.estimate:{number_format}} ({interval};"
        f" {within.verdict})."
    )
    if within.pvalue_homogeneity < error_rate:
        sentence += (
            f" Strata differ (p = {within.pvalue_homogeneity:.2g}): one {contrast_words} does not describe"
            " all of them."
        )
    return sentence


def tables_of(result: Any, c: RateComparison) -> list[tuple[Floats, Floats, Floats, Floats]]:
    """Successes and cases of both groups by stratum (k₁, n₁, k₀, n₀), for each rate that the
    comparison is of.
    """
    counts: StratumCounts = result._counts_of(c)
    of_pair = pair_counts(counts, c.group, c.reference, result.settings.comparisons)
    stratum_tables = [count_table(of_pair, each_rate) for each_rate in result._rates_of(c)]
    tables: list[tuple[Floats, Floats, Floats, Floats]] = []
    for tables_of_rate in stratum_tables:
        tables.append((tables_of_rate.k1, tables_of_rate.n1, tables_of_rate.k0, tables_of_rate.n0))
    return tables


def sums_of_units(result: Any, c: RateComparison) -> tuple[Any, ...] | None:
    """What R's twin reads of weighted or clustered rows; None where counts say all.

    Rows, Σw and Σw² of every cell, pairs of cells (from 1) with the products of their totals,
    sampling units, and the cells (from 1) of successes and of cases of each rate.
    """
    counts: StratumCounts = result._counts_of(c)
    of_pair = pair_counts(counts, c.group, c.reference, result.settings.comparisons)
    design = of_pair.design
    if design is None:
        return None
    successes: list[int] = []
    cases: list[int] = []
    n_successes = []
    n_cases = []
    for rate in result._rates_of(c):
        successes += [of_pair.cells.index(cell_name) + 1 for cell_name in rate.successes]
        cases += [of_pair.cells.index(cell_name) + 1 for cell_name in rate.cases]
        n_successes.append(len(rate.successes))
        n_cases.append(len(rate.cases))
    return (
        of_pair.rows.ravel().tolist(),
        design.totals.ravel().tolist(),
        design.squares.ravel().tolist(),
        (design.places[:, 0] + 1).tolist(),
        (design.places[:, 1] + 1).tolist(),
        design.products.tolist(),
        design.n_units,
        design.clustered,
        len(of_pair.cells),
        successes,
        cases,
        n_successes,
        n_cases,
    )


def cells_of(result: Any, c: RateComparison) -> tuple[list[Any], dict[str, Any]]:
    """What R's twin reads of a comparison by the delta method: rows of all cells and how many these
    are, and of weighted or clustered rows what `sums_of_units` has.
    """
    of_pair = pair_counts(result._counts_of(c), c.group, c.reference, result.settings.comparisons)
    rows = [of_pair.rows.ravel().tolist(), len(of_pair.cells)]
    design = of_pair.design
    if design is None:
        return rows, {}
    return rows, {
        "totals": design.totals.ravel().tolist(),
        "squares": design.squares.ravel().tolist(),
        "first": (design.places[:, 0] + 1).tolist(),
        "second": (design.places[:, 1] + 1).tolist(),
        "products": design.products.tolist(),
        "units": design.n_units,
        "clustered": design.clustered,
    }


def function_not_kept() -> InputError:
    """The error of what needs a function of the user's again."""
    return InputError(
        "metric",
        got="a function of yours, which results do not keep",
        allowed="a metric by its name",
        cure="the function of the rows of each stratum alone",
    )


def quantity_of_row(metric: str, counts: StratumCounts, contrast: str) -> CellQuantity | None:
    """What a row compares by the delta method; None of what has a stratified score."""
    known_metric = find_metric(without_class(metric).removesuffix(ENDING))
    if known_metric is None or "selected" in counts.cells:
        return None
    return quantity_of(RATES[known_metric.rates[0]], counts.cells, contrast)


def rates_of(metric: str, counts: StratumCounts) -> tuple[Rate, ...]:
    """The rates of a row: one, or those that it is the mean of.

    The selection rate where there are no labels.
    """
    known_metric = find_metric(without_class(metric).removesuffix(ENDING))
    if known_metric is not None:
        rate_of_metric = RATES[known_metric.rates[0]]
    else:
        rate_of_metric = None
    if rate_of_metric is None or "selected" in counts.cells:
        return (SELECTED,)
    return rate_of_metric.parts or (rate_of_metric,)


def homogeneity_words(c: StratifiedComparison) -> list[str]:
    """What the tests of homogeneity say, also where there is none."""
    sentences = []
    for hypothesis_test in c.tests:
        if hypothesis_test.alternative != "heterogeneity":
            continue
        compared = c.contrast.replace("_", " ")
        if hypothesis_test.method == BRESLOW_DAY:
            compared = "odds ratio"
        if math.isnan(hypothesis_test.pvalue):
            if c.n_informative < 2:
                reason = f"not defined for {c.n_informative} informative strata"
            else:
                reason = f"not defined where the pooled {compared} is 0, infinite or 0/0"
            sentences.append(f"{hypothesis_test.method} {reason}.")
            continue
        if hypothesis_test.pvalue < 0.05:
            ending = f": one {compared} does not describe all strata."
        else:
            ending = "."
        sentences.append(
            f"{hypothesis_test.method}, H0 {hypothesis_test.null}: p = {hypothesis_test.pvalue:.3g}{ending}"
        )
    return sentences
