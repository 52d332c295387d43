"""What a mitigation did: MADD and error before and after, on rows that the search has not seen."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from fairstats.ground.outcomes import Outcomes
from fairstats.ground.randomness import as_generator
from fairstats.ground.results import Interval, Result
from fairstats.ground.serialise import serialisable
from fairstats.methods.madd.metric import madd_of_scores, warn_of
from fairstats.methods.madd.result import MaddResult
from fairstats.methods.madd.scores import GroupScores
from fairstats.methods.madd.settings import make_settings

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

__all__ = ["MitigationResult", "mitigation_effect"]

_PAIRED = "paired difference"


@serialisable
@dataclass(frozen=True, eq=False)
class MitigationResult(Result):
    """MADD and error before and after.

    Attributes
    ----------
    before, after : MaddResult
        Of the scores as they were, and mapped.
    lambda_, threshold : float
    n : int
        Rows.
    wrong_before, wrong_after : int
        Wrong predictions.
    only_before, only_after : int
        Rows that are wrong before but not after, and the reverse.
    confidence_level : float
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
        found = [
            {**row, "stage": stage}
            for stage, result in (("before", self.before), ("after", self.after))
            for row in result.rows()
        ]
        found += [self._error("before", self.wrong_before), self._error("after", self.wrong_after)]
        return [*found, self._change()]

    def _error(self, stage: str, wrong: int) -> dict[str, Any]:
        from statsmodels.stats.proportion import proportion_confint

        low, high = proportion_confint(wrong, self.n, alpha=1 - self.confidence_level, method="wilson")
        share = wrong / self.n
        return self._row(
            "error", stage, share, float(np.sqrt(share * (1 - share) / self.n)), low, high, "Wilson"
        )

    def _change(self) -> dict[str, Any]:
        """Change of the error on the same rows, by the discordant ones; the exact McNemar p-value."""
        from scipy.special import ndtri
        from scipy.stats import binomtest

        worse, better = self.only_after, self.only_before
        change, discordant = (worse - better) / self.n, worse + better
        spread = float(np.sqrt(max(discordant - (worse - better) ** 2 / self.n, 0.0)) / self.n)
        reach = float(ndtri((1 + self.confidence_level) / 2)) * spread
        pvalue = float(binomtest(worse, discordant).pvalue) if discordant else 1.0
        row = self._row("error", "change", change, spread, change - reach, change + reach, _PAIRED)
        return {**row, "pvalue": pvalue}

    def _row(
        self, metric: str, stage: str, estimate: float, error: float, low: float, high: float, method: str
    ) -> dict[str, Any]:
        interval = Interval(float(low), float(high), self.confidence_level, method)
        return {
            "metric": metric,
            "group": "all",
            "reference": None,
            "estimate": estimate,
            "std_error": error,
            "ci_low": interval.low,
            "ci_high": interval.high,
            "n": self.n,
            "method": method,
            "backend": "numpy",
            "confidence_level": self.confidence_level,
            "stage": stage,
        }

    def summary_columns(self, frame: pd.DataFrame) -> list[str]:
        """Columns of the printed table."""
        wanted = [
            "metric",
            "stage",
            "group",
            "reference",
            "estimate",
            "null_mean",
            "ci_low",
            "ci_high",
            "pvalue",
        ]
        return [*(c for c in wanted if c in frame.columns), "n"]

    def notes(self) -> list[str]:
        """Sentences below the table."""
        return [
            f"λ = {self.lambda_:.3f}, predictions 1 from {self.threshold:g} on; MADD: see `before.notes()`. "
            "The change of the error is that of the same rows, with McNemar's exact p-value.",
        ]

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the distributions before and after; see `fairstats.plots.madd.plot_before_after`."""
        from fairstats.plots.madd import plot_before_after

        return plot_before_after(self, ax=ax)


def mitigation_effect(
    outcomes: Outcomes,
    mapped: NDArray[np.float64],
    *,
    lambda_: float,
    threshold: float,
    rng: Any,
    options: dict[str, Any],
) -> MitigationResult:
    """Compare scores as they are with mapped ones.

    Parameters
    ----------
    outcomes : Outcomes
        With scores and labels.
    mapped : ndarray, shape (n,)
        Mapped scores of the same rows.
    lambda_, threshold : float
    rng : None, int or numpy.random.Generator
    options : dict
        Of `madd`.
    """
    options = dict(options)
    reference = options.pop("reference", None)
    settings = make_settings(**options)
    generator, seed = as_generator(rng)
    results = []
    for score in (np.asarray(outcomes.score), mapped):
        scores = GroupScores.from_outcomes(replace(outcomes, score=score))
        result = madd_of_scores(scores, reference, settings, generator)
        result = replace(result, settings=replace(result.settings, seed=seed))
        warn_of(result, stacklevel=4)
        results.append(result)
    labels = np.asarray(outcomes.y_true) == 1
    wrong = [(score >= threshold) != labels for score in (np.asarray(outcomes.score), mapped)]
    return MitigationResult(
        before=results[0],
        after=results[1],
        lambda_=lambda_,
        threshold=threshold,
        n=int(labels.size),
        wrong_before=int(wrong[0].sum()),
        wrong_after=int(wrong[1].sum()),
        only_before=int((wrong[0] & ~wrong[1]).sum()),
        only_after=int((wrong[1] & ~wrong[0]).sum()),
        confidence_level=settings.confidence_level,
    )
