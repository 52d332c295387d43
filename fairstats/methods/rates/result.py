"""Results of comparisons of rates: one row per group against its reference."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from fairstats.ground.counts import CellCounts
from fairstats.ground.groups import group_index
from fairstats.ground.results import HypothesisTest, Interval, Result
from fairstats.ground.scores import ScoreCounts
from fairstats.ground.serialise import serialisable

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

__all__ = ["Comparison", "ComparisonResult", "DifferenceResult", "Inference", "RatioResult"]


@serialisable
@dataclass(frozen=True)
class Inference:
    """The settings of an inference, all of them reported.

    Attributes
    ----------
    method : str
        "log", "delta", "score", "koopman"/"mee" (score without N/(N−1)) or "bootstrap".
    confidence_level : float
        Level of the intervals; verdicts use one-sided bounds at 1 − confidence_level.
    alternative : {"two-sided", "less", "greater"}
        Of the test in the tidy table, and of its interval.
    threshold : float
        Ratio, or size of a difference, that separates violated from satisfied.
    simultaneous : {None, "bonferroni", "max-z"}
        Intervals that hold for all comparisons at once.
    adjust : str
        Adjustment of the p-values.
    family : str
        What the p-values are adjusted over.
    reference_rule : {"named", "largest", "highest"}
        How the reference group was chosen.
    comparisons : {"reference", "all"}
        Each group against the reference, or all pairs.
    n_resamples, seed : int or None
        Of the bootstrap.
    """

    method: str = "log"
    confidence_level: float = 0.95
    alternative: str = "two-sided"
    threshold: float = 0.8
    simultaneous: str | None = None
    adjust: str = "holm"
    family: str = "metric"
    reference_rule: str = "largest"
    comparisons: str = "reference"
    n_resamples: int = 9_999
    seed: int | None = None


@serialisable
@dataclass(frozen=True)
class Comparison:
    """One group against its reference.

    Attributes
    ----------
    metric, group, reference : str
    estimate, std_error : float
        On the natural scale; NaN where the data cannot give them.
    interval : Interval
        At the confidence level, one-sided where the alternative is.
    bounds : Interval
        The two one-sided bounds at level 1 − confidence_level: what the verdict rests on.
    statistic, pvalue, pvalue_adjusted : float
        Of the test that `alternative` names.
    tests : tuple of HypothesisTest
        Both one-sided tests against the threshold, equality, equivalence; exact ones for small tables.
    verdict : {"violated", "satisfied", "undecided", "insufficient evidence"}
    rate, rate_reference : float
        The two rates; NaN where the metric compares something else.
    n, n_reference : int
        Rows behind each.
    method : str
        Method of interval and test, which may differ from the one asked for (then `note` says why).
    note : str
        What could not be computed, and why.
    """

    metric: str
    group: str
    reference: str
    estimate: float
    std_error: float
    interval: Interval
    bounds: Interval
    statistic: float
    pvalue: float
    pvalue_adjusted: float
    tests: tuple[HypothesisTest, ...]
    verdict: str
    rate: float
    rate_reference: float
    n: int
    n_reference: int
    method: str
    note: str = ""

    def row(self, backend: str) -> dict[str, Any]:
        """Row of the tidy table."""
        return {
            "metric": self.metric,
            "group": self.group,
            "reference": self.reference,
            "estimate": self.estimate,
            "std_error": self.std_error,
            "ci_low": self.interval.low,
            "ci_high": self.interval.high,
            "statistic": self.statistic,
            "pvalue": self.pvalue,
            "pvalue_adjusted": self.pvalue_adjusted,
            "n": self.n,
            "method": self.method,
            "backend": backend,
            "n_reference": self.n_reference,
            "rate": self.rate,
            "rate_reference": self.rate_reference,
            "bound_low": self.bounds.low,
            "bound_high": self.bounds.high,
            "confidence_level": self.interval.confidence_level,
            "verdict": self.verdict,
            "note": self.note,
        }


@dataclass(frozen=True, eq=False)
class ComparisonResult(Result):
    """Comparisons of one metric between groups.

    Attributes
    ----------
    metric : str
        Key of the metric.
    comparisons : tuple of Comparison
        One per group (or pair), in the order of the groups.
    settings : Inference
        Everything that was chosen.
    counts : CellCounts
        The sufficient statistics.
    backend : str
        What computed it.
    words : str
        The metric in words.
    """

    metric: str
    comparisons: tuple[Comparison, ...]
    settings: Inference
    counts: CellCounts | ScoreCounts
    words: str = ""
    backend: str = "numpy"

    scale: ClassVar[str] = "estimate"

    @property
    def title(self) -> str:  # type: ignore[override]
        """One line above the table."""
        return self.words or self.metric

    def rows(self) -> list[dict[str, Any]]:
        """Rows of the tidy table."""
        return [c.row(self.backend) for c in self.comparisons]

    def summary_columns(self, frame: pd.DataFrame) -> list[str]:
        """Columns of the printed table."""
        wanted = [
            "metric", "group", "reference", "rate", "rate_reference", "estimate", "ci_low", "ci_high",
            "pvalue", "pvalue_adjusted", "n", "n_reference", "verdict",
        ]  # fmt: skip
        if len(self.comparisons) < 2:
            wanted.remove("pvalue_adjusted")
        if frame["metric"].nunique() < 2:
            wanted.remove("metric")
        return [c for c in wanted if not frame[c].isna().all()]

    def __getitem__(self, group: Any) -> Comparison:
        """The comparison of one group; where pairs are compared, of ``(group, reference)``."""
        if isinstance(group, tuple) and len(group) == 2:
            for comparison in self.comparisons:
                if (comparison.group, comparison.reference) == (str(group[0]), str(group[1])):
                    return comparison
        labels = [c.group for c in self.comparisons]
        return self.comparisons[group_index(labels, group, "group")]

    def _values(self, values: list[float]) -> Any:
        return values[0] if len(values) == 1 else np.array(values)

    @property
    def estimate(self) -> Any:
        """Estimate: a float for one comparison, else an array in the order of `comparisons`."""
        return self._values([c.estimate for c in self.comparisons])

    @property
    def std_error(self) -> Any:
        """Standard error on the natural scale, float or array as `estimate`."""
        return self._values([c.std_error for c in self.comparisons])

    @property
    def statistic(self) -> Any:
        """Test statistic, float or array as `estimate`."""
        return self._values([c.statistic for c in self.comparisons])

    @property
    def pvalue(self) -> Any:
        """p-value, float or array as `estimate`."""
        return self._values([c.pvalue for c in self.comparisons])

    @property
    def confidence_interval(self) -> Any:
        """Interval for one comparison, else a tuple of intervals."""
        intervals = tuple(c.interval for c in self.comparisons)
        return intervals[0] if len(intervals) == 1 else intervals

    @property
    def verdict(self) -> Any:
        """Verdict for one comparison, else a tuple of verdicts."""
        verdicts = tuple(c.verdict for c in self.comparisons)
        return verdicts[0] if len(verdicts) == 1 else verdicts

    @property
    def reference(self) -> str:
        """The reference group (of the first comparison where pairs are compared)."""
        return self.comparisons[0].reference

    def tests(self) -> pd.DataFrame:
        """Every test of every comparison: both directions against the threshold, equality, equivalence."""
        import pandas as pd

        return pd.DataFrame(
            [
                {
                    "metric": c.metric,
                    "group": c.group,
                    "reference": c.reference,
                    "null": test.null,
                    "alternative": test.alternative,
                    "statistic": test.statistic,
                    "pvalue": test.pvalue,
                    "method": test.method,
                }
                for c in self.comparisons
                for test in c.tests
            ]
        )

    def sentences(self) -> list[str]:
        """One sentence per comparison: the verdict in words."""
        return [self._sentence(c) for c in self.comparisons]

    def _sentence(self, c: Comparison) -> str:
        raise TypeError(f"{type(self).__name__} words no verdicts")

    def notes(self) -> list[str]:
        """Sentences below the table."""
        s = self.settings
        level = f"{100 * s.confidence_level:g}%"
        lines = []
        if s.comparisons == "all":
            lines.append("All pairs of groups are compared.")
        else:
            why = {
                "named": "named by the user",
                "largest": "the largest group",
                "highest": "the highest rate: chosen by the data, hence simultaneous over all pairs",
            }[s.reference_rule]
            lines.append(f"Reference: {self.reference} ({why}).")
        simultaneous = f", simultaneous ({s.simultaneous})" if s.simultaneous else ""
        lines.append(f"{level} intervals{simultaneous}; verdicts by one-sided bounds at that level.")
        if len(self.comparisons) > 1:
            lines.append(f"p-values adjusted by {s.adjust} over {s.family}.")
        small = [
            c.group
            for c in self.comparisons
            if c.bounds.method != c.interval.method and c.bounds.method.startswith("score") and not c.note
        ]
        if small:
            names = ", ".join(dict.fromkeys(small))
            lines.append(f"Fewer than 5 successes or failures: tests and verdict on {names} are by score.")
        if self.counts.missing.n_dropped:
            lines.append(self.counts.missing.sentence)
        lines.extend(sorted({c.note for c in self.comparisons if c.note}))
        return lines

    def worst_case_bounds(self) -> pd.DataFrame:
        """Range of every estimate over all values that the missing entries could have (Manski bounds).

        Returns
        -------
        DataFrame
            metric, group, reference, estimate, low, high, n_missing. Without missing rows all three agree.
            For average odds the range is that of its two parts and may not be attained.

        Raises
        ------
        InputError
            Under weights or clusters, and for metrics that are not rates.
        """
        from fairstats.methods.rates.bounds import worst_case_frame

        return worst_case_frame(self)

    def with_adjusted(self, adjusted: NDArray[np.float64], family: str) -> Any:
        """The same result with these adjusted p-values and this family."""
        comparisons = tuple(
            replace(c, pvalue_adjusted=float(p)) for c, p in zip(self.comparisons, adjusted, strict=True)
        )
        return replace(self, comparisons=comparisons, settings=replace(self.settings, family=family))

    def plot(self, ax: Axes | None = None) -> Axes:
        """Forest plot: estimate and interval of every comparison.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; default a new figure.
        """
        from fairstats.plots.forest import forest_plot

        return forest_plot(self, ax=ax)


def _percent(value: float) -> str:
    return f"{100 * value:.1f}%"


@serialisable
@dataclass(frozen=True, eq=False)
class RatioResult(ComparisonResult):
    """Ratios of rates against a reference group, with the verdict on the four-fifths rule."""

    scale: ClassVar[str] = "ratio"

    def _sentence(self, c: Comparison) -> str:
        s = self.settings
        if c.verdict == "insufficient evidence":
            return f"{c.group} against {c.reference}: insufficient evidence. {c.note}".strip()
        head = (
            f"{c.group} against {c.reference}: {_percent(c.rate)} against {_percent(c.rate_reference)}, "
            f"ratio {c.estimate:.3f} ({100 * s.confidence_level:g}% interval "
            f"{c.interval.low:.3f} to {c.interval.high:.3f})"
        )
        tail = {
            "violated": f"the data show a ratio below {s.threshold:g}",
            "satisfied": f"the data show a ratio above {s.threshold:g}",
            "undecided": f"the data do not settle on which side of {s.threshold:g} it lies",
        }[c.verdict]
        if c.bounds.low > 1 / s.threshold:
            tail += f", and that {c.reference} falls below {s.threshold:g} of {c.group}"
        return f"{head}: {c.verdict}; {tail}."


@serialisable
@dataclass(frozen=True, eq=False)
class DifferenceResult(ComparisonResult):
    """Signed differences against a reference group, with the verdict on a tolerance."""

    scale: ClassVar[str] = "difference"

    def _sentence(self, c: Comparison) -> str:
        s = self.settings
        if c.verdict == "insufficient evidence":
            return f"{c.group} against {c.reference}: insufficient evidence. {c.note}".strip()
        head = (
            f"{c.group} against {c.reference}: difference {c.estimate:+.3f} "
            f"({100 * s.confidence_level:g}% interval {c.interval.low:+.3f} to {c.interval.high:+.3f})"
        )
        tail = {
            "violated": f"the data show a difference beyond ±{s.threshold:g}",
            "satisfied": f"the data show a difference within ±{s.threshold:g}",
            "undecided": f"the data do not settle whether it lies within ±{s.threshold:g}",
        }[c.verdict]
        return f"{head}: {c.verdict}; {tail}."
