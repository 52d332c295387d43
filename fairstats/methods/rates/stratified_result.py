"""Results of comparisons within strata: what they hold, and what they say."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, cast

from fairstats.ground.checks import Floats
from fairstats.ground.errors import InputError
from fairstats.ground.lazy import pd
from fairstats.ground.multiplicity import normal_quantile
from fairstats.ground.registry import RATES, SELECTED, Rate, find_metric
from fairstats.ground.serialise import serialisable
from fairstats.ground.strata import StratumCounts
from fairstats.methods.rates.result import ComparisonResult, DifferenceResult, RateComparison, RatioResult
from fairstats.numerics.rates import strata
from fairstats.numerics.rates.strata import EQUALITY, Contrast, Strata

#: Name of the metric of an adjusted comparison: that of the crude one with this ending.
ENDING = "_stratified"
SCORE = "stratified score"
#: Name of the exact test of equality within strata.
CONDITIONAL = "exact conditional (twice the smaller tail)"


@serialisable(kw_only=True)
class StratifiedComparison(RateComparison):
    """A group against its reference within strata.

    `rate` and `rate_reference` are the adjusted rates Σwr/Σw, of which the estimate is the ratio or difference, and `n`
    and `n_reference` the cases in the strata that both share.

    Attributes
    ----------
    crude, crude_verdict : float and str
        The same contrast without strata, and its verdict.
    disagreement : str
        A sentence where crude and adjusted comparison disagree; empty where they do not.
    n_strata : int
        Strata with cases of both groups.
    pvalue_homogeneity : float
        That one contrast holds in all strata; NaN where there is no test of it.
    """

    further = (*RateComparison.further, "crude", "crude_verdict", "n_strata", "pvalue_homogeneity")

    crude: float = math.nan
    crude_verdict: str = ""
    disagreement: str = ""
    n_strata: int = 0
    pvalue_homogeneity: float = math.nan


@dataclass(frozen=True, eq=False)
class _Adjusted(ComparisonResult):
    """What adjusted results of ratios and of differences share; `stratum_counts` are the sufficient statistics."""

    comparisons: tuple[StratifiedComparison, ...]
    stratum_counts: StratumCounts = None  # type: ignore[assignment]

    @property
    def strata(self) -> tuple[str, ...]:
        """Names of the strata."""
        return self.stratum_counts.strata

    @property
    def crude(self) -> tuple[float, ...]:
        """The contrast without strata, per comparison."""
        return tuple(c.crude for c in self.comparisons)

    def notes(self) -> list[str]:
        """Sentences below the table."""
        by = f" of {self.stratum_counts.attribute}" if self.stratum_counts.attribute else ""
        lines = super().notes()
        lines.append(f"Estimates of Mantel and Haenszel over {len(self.strata)} strata{by}; limits by the {SCORE}.")
        for c in self.comparisons:
            lines += [f"{c.group} against {c.reference}: {text}" for text in homogeneity_words(c)]
        return list(dict.fromkeys(lines))

    def _finding(self, c: RateComparison) -> str:
        """The comparison in words: adjusted rates are no rates of anybody."""
        return f"Within strata, {super()._finding(c)}"

    def regime_notes(self) -> list[str]:
        """Nothing: below the size that simulation shows to be enough there is no verdict."""
        return []

    def worst_case_bounds(self) -> pd.DataFrame:
        """Refused: rows that lack a value may lack their stratum, too."""
        cure = "worst_case_bounds() of the comparison without strata"
        raise InputError("strata", got="an adjusted comparison", allowed="a crude one", cure=cure)

    def by_stratum(self) -> pd.DataFrame:
        """Rates and contrast of every comparison in every stratum.

        Returns
        -------
        DataFrame
            metric, rate_name, stratum, group, reference, successes, n, rate, successes_reference, n_reference,
            rate_reference, estimate, ci_low, ci_high (by the score of the stratum alone), informative.
        """
        rows = []
        contrast = cast("Contrast", self.scale)
        critical = normal_quantile((1 + self.settings.confidence_level) / 2)
        for c in self.comparisons:
            for rate in rates_of(c.metric, self.stratum_counts):
                tables = stratum_table(self.stratum_counts, rate, c.group, c.reference)
                each = Strata.of(*(column[:, None] for column in (tables.k1, tables.n1, tables.k0, tables.n0)))
                low, high = (strata.score_limit(each, critical, contrast, side=side) for side in (-1, 1))
                estimate = strata.mantel_haenszel(each, contrast)
                for h, name in enumerate(self.strata):
                    n, n_reference = int(tables.n1[h]), int(tables.n0[h])
                    rows.append(
                        {
                            "metric": c.metric,
                            "rate_name": rate.name,
                            "stratum": name,
                            "group": c.group,
                            "reference": c.reference,
                            "successes": int(tables.k1[h]),
                            "n": n,
                            "rate": tables.k1[h] / n if n else math.nan,
                            "successes_reference": int(tables.k0[h]),
                            "n_reference": n_reference,
                            "rate_reference": tables.k0[h] / n_reference if n_reference else math.nan,
                            "estimate": estimate[h] if n and n_reference else math.nan,
                            "ci_low": low[h],
                            "ci_high": high[h],
                            "informative": bool(tables.informative[h]),
                        }
                    )
        return pd.DataFrame(rows)

    def _by_value(self, c: RateComparison) -> tuple[str, str, Rate | None]:
        plain = replace(c, metric=c.metric.removesuffix(ENDING))
        return super()._by_value(plain)


@serialisable(eq=False)
class StratifiedRatioResult(_Adjusted, RatioResult):
    """Ratios within strata; `stratum_counts` are the sufficient statistics.

    Attributes
    ----------
    stratum_counts : StratumCounts
        Cells of every group within the strata.
    """


@serialisable(eq=False)
class StratifiedDifferenceResult(_Adjusted, DifferenceResult):
    """Differences within strata; `stratum_counts` are the sufficient statistics.

    Attributes
    ----------
    stratum_counts : StratumCounts
        Cells of every group within the strata.
    """


def disagreement(crude: RateComparison, within: StratifiedComparison, scale: str, among: str) -> str:
    """A sentence where crude and adjusted comparison say different things; empty where they agree.

    They disagree where their verdicts differ; or where the adjusted estimate lies outside the crude interval, and on
    the other side of equality, or only one of both differs from it. `among`: the strata in words.
    """
    unknown = "insufficient evidence"
    if unknown in (crude.verdict, within.verdict) or math.isnan(within.estimate):
        return ""
    equality = EQUALITY[scale]
    number = ".3f" if scale == "ratio" else "+.3f"
    moved = within.estimate not in crude.confidence_interval
    turned = (crude.estimate - equality) * (within.estimate - equality) < 0
    error = 1 - crude.confidence_interval.confidence_level
    shown = (crude.pvalue <= error) != (within.pvalue <= error)
    if crude.verdict == within.verdict and not (moved and (turned or shown)):
        return ""
    interval = within.confidence_interval.words(number)
    sentence = (
        f"{crude.group} against {crude.reference}: crude {scale} {crude.estimate:{number}} ({crude.verdict}), "
        f"within {among} {within.estimate:{number}} ({interval}; {within.verdict})."
    )
    if within.pvalue_homogeneity < error:
        sentence += f" Strata differ (p = {within.pvalue_homogeneity:.2g}): one {scale} does not describe all of them."
    return sentence


def tables_of(result: Any, c: RateComparison) -> list[tuple[Floats, Floats, Floats, Floats]]:
    """Successes and cases of both groups by stratum (k₁, n₁, k₀, n₀), for each rate that the comparison is of."""
    counts: StratumCounts = result.stratum_counts
    tables = [stratum_table(counts, rate, c.group, c.reference) for rate in rates_of(c.metric, counts)]
    return [(t.k1, t.n1, t.k0, t.n0) for t in tables]


def rates_of(metric: str, counts: StratumCounts) -> tuple[Rate, ...]:
    """The rates of a row: one, or those that it is the mean of; the selection rate where there are no labels."""
    known = find_metric(metric.removesuffix(ENDING))
    rate = RATES[known.rates[0]] if known is not None else None
    if rate is None or "selected" in counts.cells:
        return (SELECTED,)
    return rate.parts or (rate,)


def stratum_table(counts: StratumCounts, rate: Rate, group: str, reference: str) -> Strata:
    """Successes and cases of both groups, stratum by stratum."""
    successes = counts.total(*rate.successes)
    cases = counts.total(*rate.cases)
    i, j = counts.groups.index(group), counts.groups.index(reference)
    return Strata.of(successes[:, i], cases[:, i], successes[:, j], cases[:, j])


def homogeneity_words(c: StratifiedComparison) -> list[str]:
    """What the tests of homogeneity say, also where there is none."""
    lines = []
    for test in c.tests:
        if test.alternative != "heterogeneity":
            continue
        what = test.null.partition(" in all of ")
        if math.isnan(test.pvalue):
            why = f"not defined for {what[2]}"
            if not what[2].startswith(("0 ", "1 ")):
                why = f"not defined where the pooled {what[0].removeprefix('one ')} is 0, infinite or 0/0"
            lines.append(f"{test.method} {why}.")
            continue
        end = f": {what[0]} does not describe all strata." if test.pvalue < 0.05 else "."
        lines.append(f"{test.method}, H0 {test.null}: p = {test.pvalue:.3g}{end}")
    return lines
