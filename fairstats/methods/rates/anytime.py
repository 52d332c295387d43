"""Comparisons that may be looked at as often as one likes.

Limits, p-values and verdicts of a pair of rates that hold at every look at growing counts: by the
score (``"anytime"``), or exact, from counts alone (``"anytime-exact"``); see
`fairstats.numerics.rates.anytime`. The two-sided limits carry everything: a verdict is false only
where they exclude the truth.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

from fairstats.ground.counts import CellCounts
from fairstats.ground.errors import InputError
from fairstats.ground.registry import RATES, Metric
from fairstats.ground.results import HypothesisTest, Interval
from fairstats.ground.verdict import Evidence, Procedure, beside_equality, effective
from fairstats.methods.rates.decision import PairDecision, equivalence_test
from fairstats.methods.rates.estimates import RateEstimates
from fairstats.methods.rates.limits import Mover, Score
from fairstats.methods.rates.pair import Refused, pair_method
from fairstats.methods.rates.result import ANYTIME, ANYTIME_EXACT, ANYTIME_METHODS, Inference
from fairstats.numerics.rates import anytime
from fairstats.numerics.rates.score import Contrast, Table

#: Ends of ratio and difference where nothing is known.
_OPEN_ENDS: dict[Contrast, tuple[float, float]] = {
    "ratio": (0.0, math.inf),
    "difference": (-1.0, 1.0),
}


@dataclass(frozen=True)
class MixtureOfNormals:
    """By the score statistic of the pair, at the critical value of the mixture.

    `information`: τ = 8n/planned. A standard error at the estimate, in place of the score's, is too
    small where a small group has just its fifth failure: .067 of streams exclude the truth then
    (rates .9 and .98, share .05), of the score .038 at most.
    """

    contrast: Contrast
    estimate: float
    how: Score | Mover
    information: float

    def statistic(self, null: float) -> float:
        """Statistic z of H0: contrast = null."""
        return self.how.statistic(null)

    def pvalue(self, null: float) -> float:
        """Of H0: contrast = null, at every look."""
        return float(anytime.mixture_pvalue(self.statistic(null), self.information))

    def limits(self, confidence_level: float) -> tuple[float, float]:
        """All values that are not rejected, at every look."""
        return self.how.limits(float(anytime.critical_value(confidence_level, self.information)))


@dataclass(frozen=True)
class MixtureOfCounts:
    """By the counts (k, n, k₀, n₀) alone: E-value of Jeffreys's mixture."""

    contrast: Contrast
    estimate: float
    table: Table

    def statistic(self, null: float) -> float:
        """Statistic log E of H0: contrast = null, large on either side of it."""
        return float(anytime.log_evidence(*self.table, null, self.contrast))

    def pvalue(self, null: float) -> float:
        """Of H0: contrast = null, at every look."""
        return float(anytime.exact_pvalue(*self.table, null, self.contrast))

    def limits(self, confidence_level: float) -> tuple[float, float]:
        """All values that are not rejected, at every look."""
        return anytime.exact_limits(*self.table, self.contrast, confidence_level)


def check_watchable(
    metric: Metric,
    table: CellCounts,
    settings: Inference,
    reference: Hashable | None,
    *,
    whole_clusters: bool = False,
) -> None:
    """Refuse what limits at every look do not hold for.

    Gaps and functions of the cells have no such limits here; of weighted rows, and of clusters of
    which a part may still come, the increments between looks are not independent; a reference that
    the data choose may be another one at the next look. `whole_clusters`: no part can still come.
    """
    if settings.method not in ANYTIME_METHODS:
        return
    received = f"{settings.method!r}"
    of_parts = any(RATES[name].parts for name in metric.rates if name in RATES)
    is_smooth = any(name not in RATES or RATES[name].interval == "delta" for name in metric.rates)
    needs_one_rate = settings.method == ANYTIME_EXACT or metric.contrast == "ratio"
    if metric.contrast == "gap" or is_smooth or (of_parts and needs_one_rate):
        allowed = "ratios and differences of rates"
        if settings.method == ANYTIME:
            allowed += ", and differences of their means"
        raise InputError(
            "method",
            got=f"{received} for {metric.title or metric.name}",
            allowed=allowed,
            cure='comparisons="all" of the difference of one rate, for a largest gap',
        )
    watches_clusters = whole_clusters and table.clustered and settings.method == ANYTIME
    if table.weighted and not watches_clusters:
        kind = "weights"
        cure = "leave out sample_weight="
        if table.clustered:
            kind = "clusters"
            cure = "fairstats monitor --cluster, which sees that clusters arrive whole, or one row each"
        raise InputError(
            "method",
            got=f"{received} with {kind}",
            allowed="independent rows of equal weight",
            cure=cure,
        )
    several = len(table.groups) > 2
    if reference == "highest" or (
        several and reference is None and settings.comparisons == "reference"
    ):
        raise InputError(
            "reference",
            got=repr(reference),
            allowed=f"a group by its name with method={received}: the data may choose another one"
            " at the next look",
            cure=f"reference={table.groups[0]!r}, say",
        )


def decide_at_every_look(
    estimates: RateEstimates,
    pair: tuple[int, int],
    contrast: Contrast,
    settings: Inference,
    level: float,
    n_rows: float,
) -> PairDecision | Refused:
    """Everything that a row says, from a mixture; `level`: of its two-sided interval.

    Parameters
    ----------
    estimates : RateEstimates
        Of all groups.
    pair : tuple of int
        Group and reference.
    contrast : {"ratio", "difference"}
    settings : Inference
    level : float
        Of the printed interval, with its simultaneity.
    n_rows : float
        Rows of the table so far.
    """
    i, j = pair
    if settings.method == ANYTIME and (lacking := _name_lacking_cases(estimates, pair)):
        return Refused(ANYTIME, lacking)
    estimate, _ = estimates.contrast(i, j, contrast=contrast)
    mixture: MixtureOfNormals | MixtureOfCounts
    if settings.method == ANYTIME:
        planned = settings.planned
        score_method = pair_method(
            estimates, i, j, contrast, "score", n_resamples=settings.n_resamples, rng=None
        )
        if isinstance(score_method, Refused):
            return score_method
        how = score_method.how
        if planned is None or not isinstance(how, (Score, Mover)):
            raise TypeError("limits at every look need the planned rows and a score")
        mixture = MixtureOfNormals(
            contrast=contrast,
            estimate=estimate,
            how=how,
            information=float(anytime.information_of(n_rows, planned)),
        )
    else:
        mixture = MixtureOfCounts(contrast=contrast, estimate=estimate, table=estimates.table(i, j))
    return _decide_pair(mixture, settings, level)


def _name_lacking_cases(estimates: RateEstimates, pair: tuple[int, int]) -> str:
    """Which group has fewer successes or failures than a standard error needs, in words."""
    for part in estimates.parts or (estimates,):
        of_groups, cases = part.effective
        for group in pair:
            name = estimates.groups[group]
            if part.clustered and part.units is not None:
                units = float(part.units[group])
                if units < anytime.LEAST_CLUSTERS - 1e-9:
                    return (
                        f"{name}: {effective(units, 'clusters')}; nothing is said before"
                        f" {anytime.LEAST_CLUSTERS}."
                    )
            successes = float(of_groups[group])
            failures = float(cases[group]) - successes
            if min(successes, failures) >= anytime.LEAST_CASES - 1e-9:
                continue
            return (
                f"{name}: {successes:.4g} successes and {failures:.4g} failures;"
                f" nothing is said before {anytime.LEAST_CASES} of both."
            )
    return ""


def _decide_pair(
    mixture: MixtureOfNormals | MixtureOfCounts, settings: Inference, level: float
) -> PairDecision:
    """Evidence, limits and tests; each direction has the two-sided p-value, and 1 on its own side.

    One level serves all directions, at all looks: a p-value is at most α only where the two-sided
    limits at 1 − α exclude the value, and those exclude the truth ever with probability ≤ α.
    """
    contrast = mixture.contrast
    fair_low, fair_high = fair_range = settings._fair_range(contrast)
    null_values = settings._null_values(contrast)

    def pvalue_below(value: float) -> float:
        return mixture.pvalue(value) if mixture.estimate < value else 1.0

    def pvalue_above(value: float) -> float:
        return mixture.pvalue(value) if mixture.estimate > value else 1.0

    equal = null_values["two-sided"]
    tests = [
        _make_test(
            mixture,
            settings,
            f">= {null_values['less']:.6g}",
            "less",
            null_values["less"],
            pvalue_below(null_values["less"]),
        ),
        _make_test(
            mixture,
            settings,
            f"<= {null_values['greater']:.6g}",
            "greater",
            null_values["greater"],
            pvalue_above(null_values["greater"]),
        ),
        _make_test(mixture, settings, f"= {equal:g}", "two-sided", equal, mixture.pvalue(equal)),
    ]
    tests += equivalence_test(
        contrast,
        fair_range,
        statistics=(mixture.statistic(fair_low), mixture.statistic(fair_high)),
        pvalues=(pvalue_above(fair_low), pvalue_below(fair_high)),
        method=settings.method,
    )
    quoted = next(test for test in tests if test.alternative == settings.alternative)
    low, high = mixture.limits(level)
    if settings.alternative == "less":
        low = _OPEN_ENDS[contrast][0]
    if settings.alternative == "greater":
        high = _OPEN_ENDS[contrast][1]
    bounds = Interval(
        *mixture.limits(settings.confidence_level), settings.confidence_level, settings.method
    )
    evidence = Evidence(
        below=pvalue_below(fair_low),
        above=pvalue_above(fair_high),
        inside=max(pvalue_above(fair_low), pvalue_below(fair_high)),
    )
    return PairDecision(
        evidence=beside_equality(evidence, mixture.pvalue(equal), fair_range),
        bounds=bounds,
        interval=Interval(
            low=low, high=high, confidence_level=settings.confidence_level, method=settings.method
        ),
        statistic=quoted.statistic,
        pvalue=quoted.pvalue,
        tests=tuple(tests),
        procedure=Procedure(settings.method, "anytime"),
    )


def _make_test(
    mixture: Any,
    settings: Inference,
    null_words: str,
    alternative: str,
    null: float,
    pvalue: float,
) -> HypothesisTest:
    return HypothesisTest(
        null=f"{mixture.contrast} {null_words}",
        alternative=alternative,
        statistic=mixture.statistic(null),
        pvalue=pvalue,
        method=settings.method,
    )
