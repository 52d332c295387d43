"""Results of comparisons of rates.

One row per group against its reference, and the settings behind it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeVar

from numpy.typing import NDArray

from fairstats.ground import results
from fairstats.ground.counts import CellCounts
from fairstats.ground.errors import DataWarning, InputError, InsufficientEvidenceWarning, caution
from fairstats.ground.lazy import Axes, pd
from fairstats.ground.multiplicity import adjust_pvalues
from fairstats.ground.registry import RATES, Rate, find_metric
from fairstats.ground.results import HypothesisTest, Interval, Result, columns_of
from fairstats.ground.scores import ScoreCounts
from fairstats.ground.serialise import serialisable
from fairstats.ground.stored import damaged
from fairstats.ground.verdict import Evidence, decide, explain, fair_range, with_fields
from fairstats.methods.rates.bounds import worst_case_rows
from fairstats.methods.rates.estimates import estimate_rate
from fairstats.methods.rates.pair import SMALL_CELL, worth_notes
from fairstats.plots.forest import forest_plot

_Result = TypeVar("_Result", bound=Result)

#: Methods whose limits, p-values and verdicts hold at every look at growing counts.
ANYTIME = "anytime"
ANYTIME_EXACT = "anytime-exact"
ANYTIME_METHODS = (ANYTIME, ANYTIME_EXACT)


@serialisable()
class Inference:
    """The settings of an inference, all of them reported.

    As in `disparate_impact`; `threshold` (of ratios) or `margin` separates violated from satisfied;
    `family`: what the p-values are adjusted over; `reference_rule`, {"named", "largest",
    "highest"}; `seed`: of the bootstrap; `planned`: rows about which limits at every look are
    narrowest.
    """

    method: str = "score"
    confidence_level: float = 0.95
    alternative: str = "two-sided"
    threshold: float | None = None
    margin: float | None = None
    simultaneous: str | None = None
    adjust: str = "holm"
    family: str = "metric"
    reference_rule: str = "largest"
    comparisons: str = "reference"
    n_resamples: int = 9_999
    seed: int | None = None
    planned: int | None = None

    def check_stored(self) -> None:
        """Raise unless the threshold that was read from a file separates ratios."""
        if self.threshold is not None and not 0 < self.threshold <= 1:
            raise damaged(f"a threshold of {self.threshold!r:.40}", "a ratio above 0 and at most 1")

    @property
    def limit(self) -> float:
        """The threshold or the margin, whichever is set."""
        return float(self.margin if self.threshold is None else self.threshold)  # type: ignore[arg-type]

    @property
    def level_text(self) -> str:
        """The confidence level in words: "95%"."""
        return f"{100 * self.confidence_level:g}%"

    def _fair_range(self, scale: str) -> tuple[float, float]:
        """The range that counts as fair: (θ, 1/θ) for a ratio, ± the margin for a difference."""
        return fair_range(scale, self.limit)

    def _null_values(self, contrast: str) -> dict[str, float]:
        """Alternative → value under its null hypothesis."""
        if contrast in ("ratio", "odds_ratio"):
            return {"less": self.limit, "greater": self.limit, "two-sided": 1.0}
        return {"less": -self.limit, "greater": self.limit, "two-sided": 0.0}


_NO_INTERVAL = Interval(
    low=float("nan"), high=float("nan"), confidence_level=float("nan"), method=""
)
#: Columns of a group's own rate and of its reference's.
_OWN_INTERVALS = (
    "rate_low=value_interval.low",
    "rate_high=value_interval.high",
    "rate_reference_low=value_reference_interval.low",
    "rate_reference_high=value_reference_interval.high",
)


@serialisable(kw_only=True)
class RateComparison(results.Comparison):
    """One group against its reference, with both rates, all tests, and what the verdict rests on.

    `tests`: both one-sided tests against the threshold, equality, equivalence; exact ones for small
    tables; `rate`, `rate_reference`: NaN where the metric compares something else;
    `value_interval`, `value_reference_interval`: of each by itself, two-sided at the confidence
    level; `n_reference`: rows behind the reference's rate.
    """

    further: ClassVar[tuple[str, ...]] = (
        "n_reference",
        "rate",
        "rate_reference",
        *_OWN_INTERVALS,
        results.LEVEL,
        *results.OF_VERDICT,
        "note",
    )

    tests: tuple[HypothesisTest, ...] = ()
    rate: float = float("nan")
    rate_reference: float = float("nan")
    value_interval: Interval = _NO_INTERVAL
    value_reference_interval: Interval = _NO_INTERVAL
    n_reference: int | None = None

    def _row(self, backend: str) -> dict[str, Any]:
        """Row of the tidy table; where nothing has an interval of its own without columns of it."""
        row = super()._row(backend)
        if not (self.value_interval.method or self.value_reference_interval.method):
            for column in _OWN_INTERVALS:
                row.pop(column.partition("=")[0], None)
        return row

    def _of_pair(
        self,
        pair: tuple[int, int],
        groups: Sequence[str],
        rates: NDArray[Any],
        sizes: NDArray[Any],
        own_intervals: Sequence[Interval] = (),
    ) -> RateComparison:
        """The same of a pair of groups.

        `own_intervals`: of every group's value, where they have any.
        """
        group_index, reference_index = pair
        value_interval = _NO_INTERVAL
        value_reference_interval = _NO_INTERVAL
        if own_intervals:
            value_interval = own_intervals[group_index]
            value_reference_interval = own_intervals[reference_index]
        return with_fields(
            self,
            group=groups[group_index],
            reference=groups[reference_index],
            rate=float(rates[group_index]),
            rate_reference=float(rates[reference_index]),
            n=int(sizes[group_index]),
            n_reference=int(sizes[reference_index]),
            value_interval=value_interval,
            value_reference_interval=value_reference_interval,
        )


#: What rows are copies of, which take a third of the time that new ones take.
_WITHOUT_EVIDENCE = RateComparison(verdict="insufficient evidence")


def before_evidence(
    metric: str,
    settings: Inference,
    ends: tuple[float, float] = (float("nan"), float("nan")),
) -> RateComparison:
    """What all comparisons of a metric are before anything is computed, of no groups yet."""
    interval = Interval(*ends, settings.confidence_level, settings.method)
    return with_fields(
        _WITHOUT_EVIDENCE,
        metric=metric,
        confidence_interval=interval,
        bounds=interval,
        method=settings.method,
    )


def with_adjusted(comparisons: Iterable[Any], pvalues: Iterable[float]) -> tuple[Any, ...]:
    """The comparisons with these adjusted p-values."""
    result = []
    for comparison, pvalue in zip(comparisons, pvalues, strict=True):
        result.append(replace(comparison, pvalue_adjusted=float(pvalue)))
    return tuple(result)


def as_family(
    compared: Sequence[tuple[Any, Evidence]],
    settings: Inference,
    *,
    chosen_among: int = 0,
    of_all: Sequence[float] | None = None,
) -> tuple[Any, ...]:
    """The comparisons of one metric, each given with its evidence, with verdicts and adjusted
    p-values.

    `chosen_among`: number of comparisons among which the data chose these
    (``reference="highest"``); 0 where they are the family; `of_all`: their p-values over all of
    those, by default Bonferroni's.
    """
    comparisons = [comparison for comparison, _ in compared]
    evidence = [evidence_shown for _, evidence_shown in compared]
    pvalues = [comparison.pvalue for comparison in comparisons]
    unanswered = [math.isnan(evidence_shown.smallest[0]) for evidence_shown in evidence]
    if settings.method in ANYTIME_METHODS:
        # what has no answer yet may have one at the next look, and counts in the family from the
        # first
        evidence = [
            Evidence(1.0, 1.0, 1.0) if lacking else evidence_shown
            for evidence_shown, lacking in zip(evidence, unanswered, strict=True)
        ]
        pvalues = [1.0 if math.isnan(pvalue) else pvalue for pvalue in pvalues]
    adjusted_pvalues: Sequence[float]
    if chosen_among:
        adjusted_pvalues = of_all or [min(chosen_among * pvalue, 1.0) for pvalue in pvalues]
    else:
        adjusted_pvalues = adjust_pvalues(pvalues, settings.adjust).tolist()
    rulings = decide(
        evidence,
        confidence_level=settings.confidence_level,
        adjust=settings.adjust,
        chosen_among=chosen_among,
        adjusted_equality=adjusted_pvalues if settings.alternative == "two-sided" else None,
    )
    ruled_comparisons = []
    for comparison, ruling, pvalue, lacking in zip(
        comparisons, rulings, adjusted_pvalues, unanswered, strict=True
    ):
        if lacking and settings.method in ANYTIME_METHODS:
            ruled_comparisons.append(comparison)
            continue
        ruled_comparisons.append(comparison._with_ruling(ruling, pvalue_adjusted=float(pvalue)))
    return tuple(ruled_comparisons)


#: Effective rows below which limits of differences, and of ratios, of functions of weighted cells
#: err, see `vignettes/calibration.md`.
FEW_EFFECTIVE = 100
FEW_OF_WEIGHTED_RATIOS = 500
#: Columns of what stands beside comparisons within strata, and they beside the crude ones.
COLUMNS_OF_STRATA = (
    "adjusted",
    "adjusted_ci_low",
    "adjusted_ci_high",
    "adjusted_pvalue",
    "adjusted_verdict",
    "pvalue_homogeneity",
    "crude",
    "crude_verdict",
)
_REFERENCE_RULES = {
    "named": "named by the user",
    "largest": "the largest group",
    "highest": "the highest rate: chosen by the data, hence simultaneous over all pairs",
}


def _notes_of_weighted_delta(counts: CellCounts, *, ratio: bool) -> list[str]:
    """What is said of the delta method where weights leave few rows."""
    if not counts.weighted:
        return []
    fewest = fewest_effective_rows(ratio=ratio)
    worth = counts._effective_rows(slice(None))
    few = [name for name, rows in zip(counts.groups, worth, strict=True) if rows < fewest]
    return words_of_few_rows(few, ratio=ratio)


def fewest_effective_rows(*, ratio: bool) -> int:
    """Effective rows below which limits of functions of weighted cells err."""
    return FEW_OF_WEIGHTED_RATIOS if ratio else FEW_EFFECTIVE


def words_of_few_rows(few: Sequence[str], *, ratio: bool) -> list[str]:
    """What is said of functions of weighted cells of groups with few effective rows."""
    if not few:
        return []
    if ratio:
        return [
            f"Of fewer than {FEW_OF_WEIGHTED_RATIOS} effective rows ({', '.join(few)}) limits of ratios of"
            " weighted functions are too near on one side: verdicts are wrong in up to 7.5% of"
            " samples."
        ]
    return [
        f"Of fewer than {FEW_EFFECTIVE} effective rows ({', '.join(few)}) limits of weighted functions"
        " are too near on one side: verdicts are wrong in up to 9% of samples."
    ]


@dataclass(frozen=True, eq=False)
class ComparisonResult(Result):
    """Comparisons of one metric between groups.

    Attributes
    ----------
    metric : str
        Key of the metric.
    comparisons : tuple of RateComparison
        One per group (or pair), in the order of the groups.
    settings : Inference
        Everything that was chosen.
    counts : CellCounts or ScoreCounts
        The sufficient statistics.
    words, backend : str
        The metric in words, and what computed it.
    """

    metric: str
    comparisons: tuple[RateComparison, ...]
    settings: Inference
    counts: CellCounts | ScoreCounts
    words: str = ""
    backend: str = "numpy"

    scale: ClassVar[str] = "estimate"
    #: Verdict, or direction where it is violated → what the data do, with the ends of the fair
    #: range.
    tails: ClassVar[dict[str, str]] = {}
    _shown: ClassVar[tuple[str, ...]] = (
        "metric",
        "group",
        "reference",
        "attained_by",
        "rate",
        "rate_reference",
        "estimate",
        "ci_low",
        "ci_high",
        "pvalue",
        "pvalue_adjusted",
        "n",
        "n_reference",
        "verdict",
        *COLUMNS_OF_STRATA,
    )

    @property
    def title(self) -> str:  # type: ignore[override]
        """One line above the table."""
        return self.words or self.metric

    @property
    def method(self) -> str:
        """Method that was asked for; what a row was computed with stands in the row."""
        return self.settings.method

    @property
    def reference(self) -> str:
        """The reference group (of the first comparison where pairs are compared)."""
        return self.comparisons[0].reference

    def _summary_columns(self, frame: pd.DataFrame) -> list[str]:
        idle_columns = {
            "pvalue_adjusted": len(self.comparisons) < 2,
            "metric": frame["metric"].nunique() < 2,
        }
        summary_columns: list[str] = []
        for column in super()._summary_columns(frame):
            if not idle_columns.get(column):
                summary_columns.append(column)
        return summary_columns

    def tests(self) -> pd.DataFrame:
        """Every test of every comparison.

        Both directions against the threshold, equality, equivalence.
        """
        named_tests = (
            (columns_of(comparison, "metric", "group", "reference"), hypothesis_test)
            for comparison in self.comparisons
            for hypothesis_test in comparison.tests
        )
        return pd.DataFrame(
            [
                {**name_columns, **vars(hypothesis_test)}
                for name_columns, hypothesis_test in named_tests
            ]
        )

    def sentences(self) -> list[str]:
        """One sentence per comparison: the verdict in words."""
        sentences = []
        settings = self.settings
        is_adjusted = settings.reference_rule == "highest" or (
            settings.adjust != "none" and len(self.comparisons) > 1
        )
        for comparison in self.comparisons:
            if comparison.verdict == "insufficient evidence":
                sentences.append(
                    f"{self._name_comparison(comparison)}: insufficient evidence. {comparison.note}".strip()
                )
                continue
            fair_low, fair_high = range_held_fair = settings._fair_range(
                self.scale if self.scale in ("ratio", "difference", "odds_ratio") else "gap"
            )
            verdict_words = self.tails.get(
                comparison.direction if comparison.verdict == "violated" else "",
                self.tails[comparison.verdict],
            )
            if fair_low == fair_high and comparison.verdict == "undecided":
                verdict_words = "do not settle whether it is {low}"
            data_words = verdict_words.format(
                low=f"{fair_low:.4g}", high=f"{fair_high:.4g}"
            ) + self._name_disadvantaged(comparison)
            limits = (comparison.confidence_interval, comparison.bounds, range_held_fair)
            alternative = settings.alternative
            explanation = explain(
                *limits, comparison.verdict, adjusted=is_adjusted, alternative=alternative
            )
            sentences.append(
                (
                    f"{self._describe_finding(comparison)}: {comparison.verdict}; the "
                    f"data {data_words}. {explanation}"
                ).strip()
            )
        return sentences

    def _name_comparison(self, c: RateComparison) -> str:
        return f"{c.group} against {c.reference}"

    def _describe_finding(self, c: RateComparison) -> str:
        raise TypeError(f"{type(self).__name__} words no verdicts")

    def _name_disadvantaged(self, comparison: RateComparison) -> str:
        """Where a violation is shown, who has the lower rate, and whether that is to a
        disadvantage.
        """
        if comparison.verdict != "violated" or comparison.direction not in ("below", "above"):
            return ""
        lower_group, higher_group, rate_compared = self._by_value(comparison)
        if rate_compared is None:
            return f": {lower_group} has the lower value"
        disadvantaged = {"higher": lower_group, "lower": higher_group}.get(rate_compared.favourable)
        return f": {lower_group} has the lower {rate_compared.title}" + (
            f", to the disadvantage of {disadvantaged}" if disadvantaged else ""
        )

    def _by_value(self, c: RateComparison) -> tuple[str, str, Rate | None]:
        """The group with the lower value of a comparison outside the fair range, the other one, and
        their rate.
        """
        metric = find_metric(c.metric)
        is_below = c.direction == "below"
        if metric and metric.rates:
            rate_compared = RATES[metric.rates[0]]
        else:
            rate_compared = None
        if is_below:
            return (c.group, c.reference, rate_compared)
        return (c.reference, c.group, rate_compared)

    def notes(self) -> list[str]:
        """Sentences below the table."""
        settings = self.settings
        sentences = ["All pairs of groups are compared."]
        if settings.comparisons == "rest":
            sentences = ["Each group is compared with all other rows."]
        elif settings.comparisons == "overall":
            sentences = [
                "Each group is compared with all rows, its own among them; shares of groups are"
                " held fixed."
            ]
        elif settings.comparisons != "all":
            sentences = [
                f"Reference: {self.reference} ({_REFERENCE_RULES[settings.reference_rule]})."
            ]
        if settings.simultaneous:
            simultaneous = f", simultaneous ({settings.simultaneous})"
        else:
            simultaneous = ""
        highest_level = max(
            (comparison.bounds.confidence_level for comparison in self.comparisons), default=0.0
        )
        level_remark = ""
        if highest_level > settings.confidence_level + 5e-4:
            level_remark = f", or up to {100 * highest_level:.3g}% where the fair range is as narrow as their error"
        if settings.method in ANYTIME_METHODS:
            sentences.append(
                f"{settings.level_text} intervals{simultaneous}; limits, p-values and verdicts hold"
                " at every look, however often and for whatever reason one looks."
            )
        else:
            sentences.append(
                f"{settings.level_text} intervals{simultaneous}; verdicts by one-sided limits at"
                f" that level{level_remark}."
            )
        if len(self.comparisons) > 1:
            adjustment_words = f"adjusted by {settings.adjust} over {settings.family}"
            if settings.adjust == "none" and settings.family == Inference.family:
                adjustment_words = "not adjusted, each verdict by itself"
            if settings.reference_rule == "highest" and settings.family == Inference.family:
                adjustment_words = (
                    "adjusted over all pairs: of equality as the intervals are, of verdicts by"
                    " bonferroni"
                )
            sentences.append(f"p-values {adjustment_words}.")
        if exact_groups := {
            comparison.group: None for comparison in self.comparisons if comparison.procedure.exact
        }:
            sentences.append(
                f"Few cases expected: {', '.join(exact_groups)} by exact unconditional tests, tables"
                " ordered by the score; verdict, p-value and limits alike."
            )
        return sentences + self.regime_notes() + self._common_notes()

    def regime_notes(self) -> list[str]:
        """Where simulation (`vignettes/calibration.md`) shows less than is nominal on such data."""
        counts = self.counts
        metric = find_metric(self.metric)
        if not isinstance(counts, CellCounts):
            return []
        if self.backend != "numpy":
            return _notes_of_weighted_delta(counts, ratio=self.scale == "ratio")
        answered = []
        for comparison in self.comparisons:
            if comparison.verdict != "insufficient evidence":
                answered.append(comparison)
        if counts.weighted and metric is not None:
            groups_shown = {
                group_name
                for comparison in answered
                for group_name in (comparison.group, comparison.reference)
            }
            estimates = (estimate_rate(counts, RATES[side_name]) for side_name in metric.rates)
            result: list[str] = []
            for estimate in estimates:
                for note in worth_notes(estimate, groups_shown):
                    result.append(note)
            return result
        if counts.weighted:
            return []
        if self.method in ("log", "delta"):
            sentence = (
                f"The {self.method} method, asked for, is too liberal beside a small group:"
                " there its"
            )
            return [f"{sentence} verdicts are wrong in up to 10% of samples."]
        groups_of_few = []
        for comparison in answered:  # none where there is no rate
            if comparison.procedure.exact:  # its limits hold at every size
                continue
            both_sides = (
                (comparison.group, comparison.n, comparison.rate),
                (comparison.reference, comparison.n_reference or 0, comparison.rate_reference),
            )
            for side_name, n_rows, group_rate in both_sides:
                if n_rows * min(group_rate, 1 - group_rate) < SMALL_CELL:
                    groups_of_few.append(side_name)
        if groups_of_few and self.method in ("score", "koopman", "mee"):
            sentence = (
                "Intervals may be too narrow where fewer than 5 successes or failures are expected"
            )
            return [f"{sentence}: {', '.join(dict.fromkeys(groups_of_few))}."]
        return []

    def _common_notes(self) -> list[str]:
        return [
            *self.counts.missing.sentences,
            *sorted({comparison.note for comparison in self.comparisons if comparison.note}),
        ]

    def worst_case_bounds(self) -> pd.DataFrame:
        """Range of every estimate over all values that the missing entries could have (Manski
        bounds).

        Returns
        -------
        DataFrame
            metric, group, reference, estimate, low, high, ci_low, ci_high, n_missing. For a mean of
            rates (average odds) the range is that of its parts and may not be attained. `ci_low` to
            `ci_high` holds the true value, somewhere between the bounds of the population, with the
            confidence level (Imbens & Manski 2004, with the shrinkage of Stoye 2009; limits by the
            score with continuity correction): it is conservative (.95 to .99).

        Raises
        ------
        InputError
            Under weights or clusters, and for metrics that are not rates.
        """
        if self.settings.comparisons in ("rest", "overall"):
            raise InputError(
                "comparisons",
                got=repr(self.settings.comparisons),
                allowed="'reference' or 'all': which rows are missing is known by group",
                cure="comparisons='all'",
            )
        return pd.DataFrame(
            worst_case_rows(
                self.counts, self.comparisons, self.scale, self.settings.confidence_level
            )
        )

    def _with_adjusted(self, adjusted: Iterable[float], family: str) -> Any:
        """The same result with these adjusted p-values and this family."""
        comparisons = with_adjusted(self.comparisons, adjusted)
        return replace(
            self, comparisons=comparisons, settings=replace(self.settings, family=family)
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Forest plot: estimate and interval of every comparison.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; default a new figure.
        """
        return forest_plot(self, ax=ax)


@dataclass(frozen=True, eq=False)
class BesideStrata(ComparisonResult):
    """Comparisons that may have adjusted ones beside them.

    `stratified`, a result of the same pairs.
    """

    stratified: Any = None

    def rows(self) -> list[dict[str, Any]]:
        """Rows of the tidy table; with strata also the adjusted comparison in columns of its
        own.
        """
        table_rows = super().rows()
        if self.stratified is None:
            return table_rows
        for table_row, comparison in zip(table_rows, self.stratified.comparisons, strict=True):
            table_row["adjusted"] = comparison.estimate
            table_row["adjusted_ci_low"], table_row["adjusted_ci_high"] = (
                comparison.confidence_interval
            )
            table_row["adjusted_pvalue"] = comparison.pvalue
            table_row["adjusted_verdict"] = comparison.verdict
            table_row["pvalue_homogeneity"] = comparison.pvalue_homogeneity
        return table_rows

    def disagreements(self) -> list[str]:
        """A sentence for every comparison where crude and adjusted disagree."""
        if self.stratified is None:
            return []
        result: list[str] = []
        for comparison in self.stratified.comparisons:
            if comparison.disagreement:
                result.append(comparison.disagreement)
        return result

    def sentences(self) -> list[str]:
        """One sentence per comparison; where the adjusted one disagrees, that one as well."""
        sentences = super().sentences()
        if self.stratified is None:
            return sentences
        crude_and_adjusted = zip(sentences, self.stratified.comparisons, strict=True)
        result: list[str] = []
        for sentence, comparison in crude_and_adjusted:
            result.append(f"{sentence} {comparison.disagreement}".strip())
        return result

    def notes(self) -> list[str]:
        """Sentences below the table."""
        crude_notes = super().notes()
        if self.stratified is None:
            return crude_notes
        strata_notes = []
        for note in self.stratified.notes():
            if note not in crude_notes:
                strata_notes.append(note)
        return [
            *crude_notes,
            *(f"Within strata: {note}" for note in strata_notes),
            *self.disagreements(),
        ]


@serialisable(eq=False)
class RatioResult(BesideStrata):
    """Ratios of rates against a reference group, with the verdict on the four-fifths rule.

    Attributes
    ----------
    stratified : StratifiedRatioResult or None
        The same comparisons within strata, where strata were given.

    Examples
    --------
    >>> import fairstats as fs
    >>> result = fs.disparate_impact(counts={"men": (390, 610), "women": (250, 750)}, reference="men")
    >>> round(result.estimate, 3), [round(end, 3) for end in result.confidence_interval]
    (0.641, [0.561, 0.731])
    >>> result.verdict, result["women"].rate, result["women"].rate_reference
    ('violated', 0.25, 0.39)
    """

    scale: ClassVar[str] = "ratio"
    tails: ClassVar[dict[str, str]] = {
        "below": "show a ratio below {low}",
        "above": "show a ratio above {high}",
        "violated": "show a ratio outside {low} to {high}",
        "satisfied": "show a ratio between {low} and {high}",
        "undecided": "do not settle whether it lies between {low} and {high}",
    }

    def _describe_finding(self, c: RateComparison) -> str:
        interval_words = c.confidence_interval.words(".3f", self.settings.alternative)
        rate_words = f"{100 * c.rate:.1f}% against {100 * c.rate_reference:.1f}%"
        return (
            f"{self._name_comparison(c)}: {rate_words}, ratio {c.estimate:.3f} ({interval_words})"
        )


@serialisable(eq=False)
class OddsRatioResult(BesideStrata):
    """Ratios of the odds of rates, r/(1 − r), against a reference group.

    With the verdict on a threshold. An odds ratio is further from 1 than the ratio of the rates,
    and near to it where rates are small: the four-fifths rule is about the latter.

    Attributes
    ----------
    stratified : StratifiedOddsRatioResult or None
        The same comparisons within strata, where strata were given.
    """

    scale: ClassVar[str] = "odds_ratio"
    tails: ClassVar[dict[str, str]] = {
        "below": "show an odds ratio below {low}",
        "above": "show an odds ratio above {high}",
        "violated": "show an odds ratio outside {low} to {high}",
        "satisfied": "show an odds ratio between {low} and {high}",
        "undecided": "do not settle whether it lies between {low} and {high}",
    }

    def _describe_finding(self, c: RateComparison) -> str:
        interval_words = c.confidence_interval.words(".3f", self.settings.alternative)
        rate_words = f"{100 * c.rate:.1f}% against {100 * c.rate_reference:.1f}%"
        return (
            f"{self._name_comparison(c)}: {rate_words}, odds ratio {c.estimate:.3f}"
            f" ({interval_words})"
        )


@serialisable(eq=False)
class DifferenceResult(BesideStrata):
    """Signed differences against a reference group, with the verdict on a margin.

    Attributes
    ----------
    stratified : StratifiedDifferenceResult or None
        The same comparisons within strata, where strata were given.

    Examples
    --------
    >>> import fairstats as fs
    >>> counts = {"men": (390, 610), "women": (250, 750)}
    >>> result = fs.demographic_parity_difference(counts=counts, reference="men")
    >>> round(result.estimate, 3), result.verdict, result["women"].direction
    (-0.14, 'violated', 'below')
    """

    scale: ClassVar[str] = "difference"
    tails: ClassVar[dict[str, str]] = {
        "below": "show a difference below {low}",
        "above": "show a difference above {high}",
        "violated": "show a difference beyond ±{high}",
        "satisfied": "show a difference within ±{high}",
        "undecided": "do not settle whether it lies within ±{high}",
    }

    def _describe_finding(self, c: RateComparison) -> str:
        interval_words = c.confidence_interval.words("+.3f", self.settings.alternative)
        return f"{self._name_comparison(c)}: difference {c.estimate:+.3f} ({interval_words})"


def warned(result: _Result, name: str, *, plain: str = "") -> _Result:
    """The result, after warning of what could not be computed, and of methods that had to be
    replaced.

    `plain`: a note that is no warning.
    """
    lacking_notes = set()
    for comparison in result.comparisons:
        if comparison.note and comparison.verdict == "insufficient evidence":
            lacking_notes.add(comparison.note)
    replaced_notes = (
        {comparison.note for comparison in result.comparisons if comparison.note}
        - lacking_notes
        - {plain}
    )
    for notes_of_kind, warning_class in (
        (lacking_notes, InsufficientEvidenceWarning),
        (replaced_notes, DataWarning),
    ):
        if notes_of_kind:
            caution(f"{name}: {' '.join(sorted(notes_of_kind))}", warning_class)
    return result
