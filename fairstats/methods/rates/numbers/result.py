"""Results of comparisons of numbers: one row per group against its reference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from fairstats.ground import results
from fairstats.ground.serialise import serialisable
from fairstats.ground.tallies.moments import MomentCounts
from fairstats.methods.rates.result import COLUMNS_OF_STRATA, BesideStrata, RateComparison

#: Name of differences of means in standard deviations.
STANDARDISED = "standardised_mean_difference"
#: Name of the procedure of means.
HALL = "Welch, Hall's transformation"
#: A group with fewer units may have missed its tail.
FEW_UNITS = 100


@serialisable(kw_only=True)
class NumberComparison(RateComparison):
    """One group against its reference, with the value of both and its interval.

    Attributes
    ----------
    rate, rate_reference : float
        Value of the group and of its reference, "value" in tables: a mean, a quantile, an error.
    value_interval, value_reference_interval : Interval
        Of each by itself: by Student's t, or order statistics.
    """

    further: ClassVar[tuple[str, ...]] = (
        "n_reference",
        "value=rate",
        "value_low=value_interval.low",
        "value_high=value_interval.high",
        "value_reference=rate_reference",
        "value_reference_low=value_reference_interval.low",
        "value_reference_high=value_reference_interval.high",
        results.LEVEL,
        *results.OF_VERDICT,
        "note",
    )


@dataclass(frozen=True, eq=False)
class NumbersResult(BesideStrata):
    """Comparisons of numbers; `counts` are their moments.

    `column`: the number of the moments that is compared; `order`: of a quantile, None of others;
    `remarks`: where simulation shows more errors on such data.
    """

    column: str = "y"
    order: float | None = None
    remarks: tuple[str, ...] = ()

    lacks: ClassVar[dict[str, str]] = {
        "worst_case_bounds": "a number that is missing could have any value"
    }
    _shown: ClassVar[tuple[str, ...]] = (
        "metric",
        "group",
        "reference",
        "value",
        "value_low",
        "value_high",
        "value_reference",
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
    def moments(self) -> MomentCounts:
        """Moments of the numbers per group."""
        return self.counts  # type: ignore[return-value]

    def regime_notes(self) -> list[str]:
        """Where simulation (`vignettes/calibration.md`) shows more errors than are nominal."""
        if self.method != HALL:
            return list(self.remarks)
        sizes = dict(zip(self.moments.groups, self.moments.effective_units.tolist(), strict=True))
        few = []
        for comparison in self.comparisons:
            if comparison.verdict != "insufficient evidence":
                for name in (comparison.group, comparison.reference):
                    if sizes.get(name, FEW_UNITS) < FEW_UNITS:
                        few.append(name)
        sentences = []
        if few:
            names = ", ".join(dict.fromkeys(few))
            sentences.append(
                f"{names}: fewer than {FEW_UNITS} rows or clusters. If their numbers have a long tail"
                " that so few have not shown, limits err more often than they say."
            )
        if self.settings.comparisons == "overall" and "root_mean_squared_error" in self.metric:
            sentences.append(
                "Roots of mean squares beside that of all rows: where errors have a long tail and"
                " groups spread unequally a one-sided limit at 5% missed in up to .078 of samples."
            )
        return sentences

    def notes(self) -> list[str]:
        """Sentences below the table."""
        kind = self.settings.comparisons
        if kind not in ("rest", "overall"):
            return super().notes()
        first_note = "Each group is compared with all other rows."
        if kind == "overall":
            first_note = "Each group is compared with all rows, its own among them."
        return [first_note, *super().notes()[1:]]


@serialisable(eq=False)
class NumberDifferenceResult(NumbersResult):
    """Signed differences of means, quantiles or errors, with the verdict on a margin.

    Attributes
    ----------
    stratified : StratifiedNumberDifferenceResult or None
        The same comparisons within strata, where strata were given.
    column : str
        The number of `counts` that is compared.
    order : float or None
        Of a quantile.
    remarks : tuple of str
        Where simulation shows more errors on such data.

    Examples
    --------
    >>> import fairstats as fs
    >>> wage, sex = [20, 22, 25, 30, 18, 19] * 10, ["m", "f"] * 30
    >>> result = fs.means(wage, sensitive_features=sex, reference="m")
    >>> round(result.estimate, 2), result["f"].rate_reference, result["f"].n
    (2.67, 21.0, 30)
    """

    scale: ClassVar[str] = "difference"
    tails: ClassVar[dict[str, str]] = {
        "below": "show a difference below {low}",
        "above": "show a difference above {high}",
        "violated": "show a difference beyond ±{high}",
        "satisfied": "show a difference within ±{high}",
        "undecided": "do not settle whether it lies within ±{high}",
    }

    def _describe_finding(self, c: Any) -> str:
        interval_words = c.confidence_interval.words("+.4g", self.settings.alternative)
        value_words = f"{c.rate:.4g} against {c.rate_reference:.4g}"
        unit = " in standard deviations" if self.metric == STANDARDISED else ""
        return (
            f"{self._name_comparison(c)}: {value_words}, difference{unit} {c.estimate:+.4g}"
            f" ({interval_words})"
        )


@serialisable(eq=False)
class NumberRatioResult(NumbersResult):
    """Ratios of means, quantiles or errors, with the verdict on a threshold.

    Attributes
    ----------
    stratified : StratifiedNumberRatioResult or None
        The same comparisons within strata, where strata were given.
    column : str
        The number of `counts` that is compared.
    order : float or None
        Of a quantile.
    remarks : tuple of str
        Where simulation shows more errors on such data.
    """

    scale: ClassVar[str] = "ratio"
    tails: ClassVar[dict[str, str]] = {
        "below": "show a ratio below {low}",
        "above": "show a ratio above {high}",
        "violated": "show a ratio outside {low} to {high}",
        "satisfied": "show a ratio between {low} and {high}",
        "undecided": "do not settle whether it lies between {low} and {high}",
    }

    def _describe_finding(self, c: Any) -> str:
        interval_words = c.confidence_interval.words(".3f", self.settings.alternative)
        value_words = f"{c.rate:.4g} against {c.rate_reference:.4g}"
        return (
            f"{self._name_comparison(c)}: {value_words}, ratio {c.estimate:.3f} ({interval_words})"
        )
