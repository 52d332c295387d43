"""What a mitigation did: MADD and error before and after, on rows that the search has not seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from fairstats.ground.multiplicity import normal_quantile
from fairstats.ground.results import Comparison, Interval, Result
from fairstats.ground.serialise import serialisable
from fairstats.methods.madd.result import MaddResult

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


@serialisable
@dataclass(frozen=True, eq=False)
class MitigationResult(Result):
    """MADD and error `before` and `after`: of the scores as they were, and mapped.

    `estimate`, `confidence_interval`, `pvalue` and `verdict` are those of the MADD after the mitigation. Of n
    rows `wrong_before` and `wrong_after` were predicted wrongly; `only_before` are wrong before but not
    after, `only_after` the reverse.
    """

    before: MaddResult
    after: MaddResult
    lambda_: float
    threshold: float
    n: int
    wrong_before: int
    wrong_after: int
    only_before: int
    only_after: int
    confidence_level: float = 0.95

    title: ClassVar[str] = "MADD mitigation: before and after"
    backend: ClassVar[str] = "numpy"

    @property
    def comparisons(self) -> Any:
        """The comparisons of the MADD after the mitigation."""
        return self.after.comparisons

    @property
    def error_before(self) -> float:
        """Share of wrong predictions before."""
        return self.wrong_before / self.n

    @property
    def error_after(self) -> float:
        """Share of wrong predictions after."""
        return self.wrong_after / self.n

    def rows(self) -> list[dict[str, Any]]:
        """Rows of the tidy table: MADD before and after, errors, and their paired change."""
        stages = {"before": (self.before, self.wrong_before), "after": (self.after, self.wrong_after)}
        found = [{**row, "stage": s} for s, (result, _) in stages.items() for row in result.rows()]
        errors = {s: self._error(wrong) for s, (_, wrong) in stages.items()} | {"change": self.change}
        more = {"reference": None, "confidence_level": self.confidence_level}
        return found + [{**c.row(self.backend), **more, "stage": s} for s, c in errors.items()]

    def _error(self, wrong: int) -> Comparison:
        from statsmodels.stats.proportion import proportion_confint

        level, share = self.confidence_level, wrong / self.n
        low, high = map(float, proportion_confint(wrong, self.n, alpha=1 - level, method="wilson"))
        return Comparison(
            metric="error",
            group="all",
            estimate=share,
            std_error=float((share * (1 - share) / self.n) ** 0.5),
            confidence_interval=Interval(low, high, level, "Wilson"),
            n=self.n,
            method="Wilson",
        )

    @property
    def change(self) -> Comparison:
        """Change of the error on the same rows, by the discordant ones; the exact McNemar p-value."""
        from scipy.stats import binomtest

        worse, better = self.only_after, self.only_before
        change, discordant = (worse - better) / self.n, worse + better
        spread = max(discordant - (worse - better) ** 2 / self.n, 0.0) ** 0.5 / self.n
        reach = normal_quantile((1 + self.confidence_level) / 2) * spread
        method = "paired difference"
        return Comparison(
            metric="error",
            group="all",
            estimate=change,
            std_error=spread,
            confidence_interval=Interval(change - reach, change + reach, self.confidence_level, method),
            pvalue=float(binomtest(worse, discordant).pvalue) if discordant else 1.0,
            n=self.n,
            method=method,
        )

    def sentences(self) -> list[str]:
        """MADD before and after, and what it cost."""
        change = self.change
        low, high = change.confidence_interval
        pairs = zip(self.before.comparisons, self.after.comparisons, strict=True)
        return [
            *(
                f"{b.group} against {b.reference}: MADD {b.estimate:.3f} before, {a.estimate:.3f} after."
                for b, a in pairs
            ),
            f"Wrong predictions: {self.error_before:.3f} before, {self.error_after:.3f} after (change "
            f"{change.estimate:+.3f}, {100 * self.confidence_level:g}% interval {low:.3f} to {high:.3f}).",
        ]

    def summary_columns(self, frame: pd.DataFrame) -> list[str]:
        """Columns of the printed table."""
        wanted = [
            "metric", "stage", "group", "reference", "estimate", "null_mean", "ci_low", "ci_high", "pvalue",
        ]  # fmt: skip
        return [*(c for c in wanted if c in frame.columns), "n"]

    def notes(self) -> list[str]:
        """Sentences below the table."""
        return [
            f"λ = {self.lambda_:.3f}, predictions 1 from {self.threshold:g} on; MADD: see `before.notes()`. "
            "The change of the error is that of the same rows, with McNemar's exact p-value."
        ]

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the distributions before and after; see `fairstats.plots.madd.plot_before_after`."""
        from fairstats.plots.madd import plot_before_after

        return plot_before_after(self, ax=ax)
