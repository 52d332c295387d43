"""Results of comparisons of rates: one row per group against its reference, and the settings behind it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeVar

from numpy.typing import NDArray

from fairstats.ground import results
from fairstats.ground.counts import CellCounts
from fairstats.ground.errors import DataWarning, InsufficientEvidenceWarning, caution
from fairstats.ground.lazy import Axes, pd
from fairstats.ground.multiplicity import adjust_pvalues
from fairstats.ground.registry import RATES, Rate, find_metric
from fairstats.ground.results import HypothesisTest, Interval, Result, columns_of
from fairstats.ground.scores import ScoreCounts
from fairstats.ground.serialise import serialisable
from fairstats.ground.stored import damaged
from fairstats.ground.verdict import Evidence, decide, explain, fair_range
from fairstats.methods.rates.bounds import worst_case_rows
from fairstats.methods.rates.estimates import estimate_rate
from fairstats.methods.rates.pair import SMALL_CELL, worth_notes
from fairstats.plots.forest import forest_plot

_Result = TypeVar("_Result", bound=Result)


@serialisable()
class Inference:
    """The settings of an inference, all of them reported.

    As in `disparate_impact`; `threshold` (of ratios) or `margin` separates violated from satisfied; `family`: what the
    p-values are adjusted over; `reference_rule`, {"named", "largest", "highest"}; `seed`: of the bootstrap.
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

    def _fair(self, scale: str) -> tuple[float, float]:
        """The range that counts as fair: (θ, 1/θ) for a ratio, ± the margin for a difference."""
        return fair_range(scale, self.limit)

    def _nulls(self, contrast: str) -> dict[str, float]:
        """Alternative → value under its null hypothesis."""
        if contrast == "ratio":
            return {"less": self.limit, "greater": self.limit, "two-sided": 1.0}
        return {"less": -self.limit, "greater": self.limit, "two-sided": 0.0}


@serialisable(kw_only=True)
class RateComparison(results.Comparison):
    """One group against its reference, with both rates, all tests, and what the verdict rests on.

    `tests`: both one-sided tests against the threshold, equality, equivalence; exact ones for small tables; `rate`,
    `rate_reference`: NaN where the metric compares something else; `n_reference`: rows behind the reference's rate.
    """

    further: ClassVar[tuple[str, ...]] = (
        "n_reference", "rate", "rate_reference", results.LEVEL, *results.OF_VERDICT, "note",
    )  # fmt: skip

    tests: tuple[HypothesisTest, ...] = ()
    rate: float = float("nan")
    rate_reference: float = float("nan")
    n_reference: int | None = None

    @classmethod
    def _unknown(
        cls, metric: str, settings: Inference, pair: tuple[int, int], groups: Sequence[str], rates: NDArray[Any],
        sizes: NDArray[Any], ends: tuple[float, float] = (float("nan"), float("nan")),
    ) -> RateComparison:  # fmt: skip
        """A comparison of a pair of groups before anything is computed: insufficient evidence."""
        (i, j), interval = pair, Interval(*ends, settings.confidence_level, settings.method)
        return cls(
            metric=metric, group=groups[i], reference=groups[j], confidence_interval=interval, bounds=interval,
            verdict="insufficient evidence", rate=float(rates[i]), rate_reference=float(rates[j]), n=int(sizes[i]),
            n_reference=int(sizes[j]), method=settings.method,
        )  # fmt: skip


def with_adjusted(comparisons: Iterable[Any], pvalues: Iterable[float]) -> tuple[Any, ...]:
    """The comparisons with these adjusted p-values."""
    return tuple(replace(c, pvalue_adjusted=float(p)) for c, p in zip(comparisons, pvalues, strict=True))


def as_family(
    compared: Sequence[tuple[Any, Evidence]], settings: Inference, *, chosen_among: int = 0,
    of_all: Sequence[float] | None = None,
) -> tuple[Any, ...]:  # fmt: skip
    """The comparisons of one metric, each given with its evidence, with verdicts and adjusted p-values.

    `chosen_among`: number of comparisons among which the data chose these (``reference="highest"``); 0 where
    they are the family; `of_all`: their p-values over all of those, by default Bonferroni's.
    """
    comparisons = [comparison for comparison, _ in compared]
    evidence = [shown for _, shown in compared]
    pvalues = [comparison.pvalue for comparison in comparisons]
    rulings = decide(
        evidence, confidence_level=settings.confidence_level, adjust=settings.adjust, chosen_among=chosen_among
    )
    among: Iterable[float]
    if chosen_among:
        among = of_all or [min(chosen_among * p, 1.0) for p in pvalues]
    else:
        among = adjust_pvalues(pvalues, settings.adjust)
    ruled = [comparison._ruled(ruling) for comparison, ruling in zip(comparisons, rulings, strict=True)]
    return with_adjusted(ruled, among)


_RULES = {
    "named": "named by the user",
    "largest": "the largest group",
    "highest": "the highest rate: chosen by the data, hence simultaneous over all pairs",
}


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
    #: Verdict, or direction where it is violated → what the data do, with the ends of the fair range.
    tails: ClassVar[dict[str, str]] = {}
    _shown: ClassVar[tuple[str, ...]] = (
        "metric", "group", "reference", "attained_by", "rate", "rate_reference", "estimate", "ci_low",
        "ci_high", "pvalue", "pvalue_adjusted", "n", "n_reference", "verdict", "adjusted", "adjusted_ci_low",
        "adjusted_ci_high", "adjusted_pvalue", "adjusted_verdict", "pvalue_homogeneity", "crude", "crude_verdict",
    )  # fmt: skip

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
        idle = {"pvalue_adjusted": len(self.comparisons) < 2, "metric": frame["metric"].nunique() < 2}
        return [c for c in super()._summary_columns(frame) if not idle.get(c)]

    def tests(self) -> pd.DataFrame:
        """Every test of every comparison: both directions against the threshold, equality, equivalence."""
        told = ((columns_of(c, "metric", "group", "reference"), test) for c in self.comparisons for test in c.tests)
        return pd.DataFrame([{**who, **vars(test)} for who, test in told])

    def sentences(self) -> list[str]:
        """One sentence per comparison: the verdict in words."""
        lines, settings = [], self.settings
        family = settings.reference_rule == "highest" or (settings.adjust != "none" and len(self.comparisons) > 1)
        for c in self.comparisons:
            if c.verdict == "insufficient evidence":
                lines.append(f"{self._subject(c)}: insufficient evidence. {c.note}".strip())
                continue
            low, high = fair = settings._fair(self.scale if self.scale in ("ratio", "difference") else "gap")
            tail = self.tails.get(c.direction if c.verdict == "violated" else "", self.tails[c.verdict])
            if low == high and c.verdict == "undecided":
                tail = "do not settle whether it is {low}"
            told = tail.format(low=f"{low:.4g}", high=f"{high:.4g}") + self._who(c)
            limits, asked = (c.confidence_interval, c.bounds, fair), settings.alternative
            why = explain(*limits, c.verdict, adjusted=family, alternative=asked)
            lines.append(f"{self._finding(c)}: {c.verdict}; the data {told}. {why}".strip())
        return lines

    def _subject(self, c: RateComparison) -> str:
        return f"{c.group} against {c.reference}"

    def _finding(self, c: RateComparison) -> str:
        raise TypeError(f"{type(self).__name__} words no verdicts")

    def _who(self, c: RateComparison) -> str:
        """Where a violation is shown, who has the lower rate, and whether that is to a disadvantage."""
        if c.verdict != "violated" or c.direction not in ("below", "above"):
            return ""
        lower, higher, rate = self._by_value(c)
        if rate is None:
            return f": {lower} has the lower value"
        loses = {"higher": lower, "lower": higher}.get(rate.favourable)
        return f": {lower} has the lower {rate.title}" + (f", to the disadvantage of {loses}" if loses else "")

    def _by_value(self, c: RateComparison) -> tuple[str, str, Rate | None]:
        """The group with the lower value of a comparison outside the fair range, the other one, and their rate."""
        metric, low = find_metric(c.metric), c.direction == "below"
        rate = RATES[metric.rates[0]] if metric and metric.rates else None
        return (c.group, c.reference, rate) if low else (c.reference, c.group, rate)

    def notes(self) -> list[str]:
        """Sentences below the table."""
        s, lines = self.settings, ["All pairs of groups are compared."]
        if s.comparisons != "all":
            lines = [f"Reference: {self.reference} ({_RULES[s.reference_rule]})."]
        simultaneous = f", simultaneous ({s.simultaneous})" if s.simultaneous else ""
        most, above = max((c.bounds.confidence_level for c in self.comparisons), default=0.0), ""
        if most > s.confidence_level + 5e-4:
            above = f", or up to {100 * most:.3g}% where the fair range is as narrow as their error"
        lines.append(f"{s.level_text} intervals{simultaneous}; verdicts by one-sided limits at that level{above}.")
        if len(self.comparisons) > 1:
            how = f"adjusted by {s.adjust} over {s.family}"
            if s.adjust == "none" and s.family == Inference.family:
                how = "not adjusted, each verdict by itself"
            if s.reference_rule == "highest" and s.family == Inference.family:
                how = "adjusted over all pairs: of equality as the intervals are, of verdicts by bonferroni"
            lines.append(f"p-values {how}.")
        if exact := {c.group: None for c in self.comparisons if c.procedure.exact}:
            lines.append(
                f"Few cases expected: {', '.join(exact)} by exact unconditional tests, tables ordered by the score; "
                "verdict, p-value and limits alike."
            )
        return lines + self.regime_notes() + self._common_notes()

    def regime_notes(self) -> list[str]:
        """Where simulation (`vignettes/calibration.md`) shows less than is nominal on such data."""
        counts, metric = self.counts, find_metric(self.metric)
        if not isinstance(counts, CellCounts) or self.backend != "numpy":
            return []
        answered = [c for c in self.comparisons if c.verdict != "insufficient evidence"]
        if counts.weighted and metric is not None:
            shown = {g for c in answered for g in (c.group, c.reference)}
            estimates = (estimate_rate(counts, RATES[name]) for name in metric.rates)
            return [note for estimate in estimates for note in worth_notes(estimate, shown)]
        if counts.weighted:
            return []
        if self.method in ("log", "delta"):
            told = f"The {self.method} method, asked for, is too liberal beside a small group: there its"
            return [f"{told} verdicts are wrong in up to 10% of samples."]
        few = []
        for c in answered:  # none where there is no rate
            if c.procedure.exact:  # its limits hold at every size
                continue
            sides = (c.group, c.n, c.rate), (c.reference, c.n_reference or 0, c.rate_reference)
            few += [name for name, n, rate in sides if n * min(rate, 1 - rate) < SMALL_CELL]
        if few and self.method in ("score", "koopman", "mee"):
            told = "Intervals may be too narrow where fewer than 5 successes or failures are expected"
            return [f"{told}: {', '.join(dict.fromkeys(few))}."]
        return []

    def _common_notes(self) -> list[str]:
        return [*self.counts.missing.sentences, *sorted({c.note for c in self.comparisons if c.note})]

    def worst_case_bounds(self) -> pd.DataFrame:
        """Range of every estimate over all values that the missing entries could have (Manski bounds).

        Returns
        -------
        DataFrame
            metric, group, reference, estimate, low, high, ci_low, ci_high, n_missing. For a mean of rates (average
            odds) the range is that of its parts and may not be attained. `ci_low` to `ci_high` holds the true value,
            somewhere between the bounds of the population, with the confidence level (Imbens & Manski 2004, with the
            shrinkage of Stoye 2009; limits by the score with continuity correction): it is conservative (.95 to .99).

        Raises
        ------
        InputError
            Under weights or clusters, and for metrics that are not rates.
        """
        return pd.DataFrame(worst_case_rows(self.counts, self.comparisons, self.scale, self.settings.confidence_level))

    def _with_adjusted(self, adjusted: Iterable[float], family: str) -> Any:
        """The same result with these adjusted p-values and this family."""
        comparisons = with_adjusted(self.comparisons, adjusted)
        return replace(self, comparisons=comparisons, settings=replace(self.settings, family=family))

    def plot(self, ax: Axes | None = None) -> Axes:
        """Forest plot: estimate and interval of every comparison.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; default a new figure.
        """
        return forest_plot(self, ax=ax)


@dataclass(frozen=True, eq=False)
class _BesideStrata(ComparisonResult):
    """Comparisons that may have adjusted ones beside them: `stratified`, a result of the same pairs."""

    stratified: Any = None

    def rows(self) -> list[dict[str, Any]]:
        """Rows of the tidy table; with strata also the adjusted comparison in columns of its own."""
        rows = super().rows()
        if self.stratified is None:
            return rows
        for row, c in zip(rows, self.stratified.comparisons, strict=True):
            row["adjusted"] = c.estimate
            row["adjusted_ci_low"], row["adjusted_ci_high"] = c.confidence_interval
            row["adjusted_pvalue"] = c.pvalue
            row["adjusted_verdict"] = c.verdict
            row["pvalue_homogeneity"] = c.pvalue_homogeneity
        return rows

    def disagreements(self) -> list[str]:
        """A sentence for every comparison where crude and adjusted disagree."""
        if self.stratified is None:
            return []
        return [c.disagreement for c in self.stratified.comparisons if c.disagreement]

    def sentences(self) -> list[str]:
        """One sentence per comparison; where the adjusted one disagrees, that one as well."""
        sentences = super().sentences()
        if self.stratified is None:
            return sentences
        pairs = zip(sentences, self.stratified.comparisons, strict=True)
        return [f"{sentence} {c.disagreement}".strip() for sentence, c in pairs]

    def notes(self) -> list[str]:
        """Sentences below the table."""
        lines = super().notes()
        if self.stratified is None:
            return lines
        own = [note for note in self.stratified.notes() if note not in lines]
        return [*lines, *(f"Within strata: {note}" for note in own), *self.disagreements()]


@serialisable(eq=False)
class RatioResult(_BesideStrata):
    """Ratios of rates against a reference group, with the verdict on the four-fifths rule.

    Attributes
    ----------
    stratified : StratifiedRatioResult or None
        The same comparisons within strata, where strata were given.
    """

    scale: ClassVar[str] = "ratio"
    tails: ClassVar[dict[str, str]] = {
        "below": "show a ratio below {low}", "above": "show a ratio above {high}",
        "violated": "show a ratio outside {low} to {high}", "satisfied": "show a ratio between {low} and {high}",
        "undecided": "do not settle whether it lies between {low} and {high}",
    }  # fmt: skip

    def _finding(self, c: RateComparison) -> str:
        told = c.confidence_interval.words(".3f", self.settings.alternative)
        rates = f"{100 * c.rate:.1f}% against {100 * c.rate_reference:.1f}%"
        return f"{self._subject(c)}: {rates}, ratio {c.estimate:.3f} ({told})"


@serialisable(eq=False)
class DifferenceResult(_BesideStrata):
    """Signed differences against a reference group, with the verdict on a margin.

    Attributes
    ----------
    stratified : StratifiedDifferenceResult or None
        The same comparisons within strata, where strata were given.
    """

    scale: ClassVar[str] = "difference"
    tails: ClassVar[dict[str, str]] = {
        "below": "show a difference below {low}", "above": "show a difference above {high}",
        "violated": "show a difference beyond ±{high}", "satisfied": "show a difference within ±{high}",
        "undecided": "do not settle whether it lies within ±{high}",
    }  # fmt: skip

    def _finding(self, c: RateComparison) -> str:
        told = c.confidence_interval.words("+.3f", self.settings.alternative)
        return f"{self._subject(c)}: difference {c.estimate:+.3f} ({told})"


def warned(result: _Result, name: str, *, plain: str = "") -> _Result:
    """The result, after warning of what could not be computed, and of methods that had to be replaced.

    `plain`: a note that is no warning.
    """
    lacking = {c.note for c in result.comparisons if c.note and c.verdict == "insufficient evidence"}
    replaced = {c.note for c in result.comparisons if c.note} - lacking - {plain}
    for notes, kind in ((lacking, InsufficientEvidenceWarning), (replaced, DataWarning)):
        if notes:
            caution(f"{name}: {' '.join(sorted(notes))}", kind)
    return result
