"""Conditional demographic disparity: how much more often a group is among the rejected.

Wachter, Mittelstadt, Russell (2021) compare the make-up of the rejected with that of the accepted,
within strata of what may justify a decision. With R_s rejected and A_s accepted rows in stratum s,
n_s = R_s + A_s, of which the group has r_s and a_s,

    d_s = r_s/R_s − a_s/A_s,        CDD = Σ_s n_s d_s / Σ_s n_s.

Given R_s and A_s the members among both are binomial, and independent over strata. Each d_s has the
score limits l_s, u_s of Miettinen and Nurminen; those of the weighted sum, the weights held fixed,
are Σ w_s d_s − √Σ w_s² (d_s − l_s)² and Σ w_s d_s + √Σ w_s² (u_s − d_s)² (MOVER; Zou, Donner 2008),
and of several strata no nearer than z standard errors. A stratum without rejected or without
accepted rows has no d_s: it is left out, and said.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from fairstats.ground.checks import Floats, check_choice, check_that
from fairstats.ground.counts import CellCounts
from fairstats.ground.errors import InputError
from fairstats.ground.results import Interval
from fairstats.ground.serialise import serialisable
from fairstats.ground.strata import StratumCounts
from fairstats.ground.verdict import Evidence
from fairstats.methods.rates.decision import decide_by_method
from fairstats.methods.rates.limits import LimitsByCriticalValue, statistic_by_limits
from fairstats.methods.rates.pair import Chosen
from fairstats.methods.rates.result import (
    DifferenceResult,
    Inference,
    RateComparison,
    as_family,
    warned,
)
from fairstats.methods.rates.setup import RateArguments, check_groups, count_tables, make_settings
from fairstats.numerics.rates import strata
from fairstats.numerics.rates.strata import Strata

#: Its name in `group_metric`.
CONDITIONAL_DISPARITY = "conditional_demographic_disparity"
ACCEPTED = "the accepted"
METHOD = "score (MOVER over strata)"
#: Rejected and accepted rows that a comparison needs, in the strata that have both.
FEWEST_ROWS = 50


@serialisable(eq=False)
class DisparityResult(DifferenceResult):
    """Share of each group among the rejected less its share among the accepted, within strata.

    Above 0 the group is more often among the rejected than among the accepted.

    Attributes
    ----------
    stratified : None
        The comparisons are within strata themselves.
    stratum_counts : StratumCounts
        Selections of every group within the strata.
    """

    stratum_counts: StratumCounts = None  # type: ignore[assignment]

    lacks: ClassVar[dict[str, str]] = {
        "worst_case_bounds": "rows that lack a value may lack their stratum, too"
    }

    def _name_comparison(self, c: RateComparison) -> str:
        return f"{c.group} among the rejected and the accepted"

    def _describe_finding(self, c: RateComparison) -> str:
        interval_words = c.confidence_interval.words("+.3f", self.settings.alternative)
        shares = f"{100 * c.rate:.1f}% and {100 * c.rate_reference:.1f}%"
        return (
            f"{self._name_comparison(c)}: {shares}, difference {c.estimate:+.3f} ({interval_words})"
        )

    def _name_disadvantaged(self, comparison: RateComparison) -> str:
        if comparison.verdict != "violated":
            return ""
        if comparison.direction == "above":
            return f": {comparison.group} is more often among the rejected"
        return f": {comparison.group} is less often among the rejected"

    def notes(self) -> list[str]:
        """Sentences below the table."""
        counts = self.stratum_counts
        among = f"{len(counts.strata)} strata"
        if counts.attribute:
            among += f" of {counts.attribute}"
        first_note = (
            "Shares of each group among the rejected and among the accepted, compared within"
            f" {among}, which count by their rows."
        )
        if len(counts.strata) == 1:
            first_note = "Shares of each group among the rejected and among the accepted."
        return [first_note, *super().notes()[1:]]


@dataclass
class WeightedScores(LimitsByCriticalValue):
    """A weighted sum of differences over strata, from the score limits of each (MOVER)."""

    tables: Strata
    weights: Floats

    @property
    def estimate(self) -> float:
        """Σ w_s d_s."""
        return float(self.weights @ self._differences)

    @property
    def std_error(self) -> float:
        """√Σ w_s² [p(1 − p)/R + q(1 − q)/A]."""
        tables = self.tables
        variances = tables.rate1 * (1 - tables.rate1) / tables.n1
        variances = variances + tables.rate0 * (1 - tables.rate0) / tables.n0
        return math.sqrt(float(self.weights**2 @ variances[:, 0]))

    @property
    def _differences(self) -> Floats:
        return np.asarray(self.tables.rate1 - self.tables.rate0)[:, 0]

    def limits(self, critical: float) -> tuple[float, float]:
        """Ends at a critical value."""
        return max(self._end(critical, -1), -1.0), min(self._end(critical, 1), 1.0)

    def _end(self, critical: float, side: int) -> float:
        """The lower (side −1) or the upper end (side 1), before the range of differences."""
        ends = strata.score_limit(self.tables, critical, "difference", side=side)
        distances = self.weights * (ends - self._differences)
        distance = float(np.sqrt((distances**2).sum()))
        if self.weights.size > 1:
            # each stratum's limit stands where its variance is smaller than at that of the sum
            distance = max(distance, critical * self.std_error)
        return self.estimate + side * distance

    def statistic(self, null: float) -> float:
        """The z at which the interval ends at `null`, at most 30 in size."""
        distance = self.estimate - null
        if abs(distance) < 1e-12:
            return 0.0
        side = -1 if distance > 0 else 1

        return statistic_by_limits(lambda z: side * (self._end(z, side) - self.estimate), distance)


def conditional_disparity(arguments: RateArguments, contrast: str | None) -> DisparityResult:
    """Conditional demographic disparity of every group, from the arguments of `group_metric`."""
    check_choice("contrast", contrast, (None, "difference"), cure="leave it out")
    check_choice("method", arguments.method, (None, "score"), cure="leave it out")
    check_choice("agg", arguments.agg, (None,), cure="leave it out")
    check_choice("simultaneous", arguments.simultaneous, (None, "bonferroni"))
    check_choice("comparisons", arguments.comparisons, ("reference",), cure="leave it out")
    check_choice("classes", arguments.classes, (None,), cure="pos_label=, for one class")
    check_that(
        arguments.sensitive_probabilities is None,
        "sensitive_probabilities",
        "probabilities of groups",
        f"None of {CONDITIONAL_DISPARITY}: the group of every row",
        "metric='selection_rate'",
    )
    nothing = "None: the rejected are compared with the accepted"
    check_that(arguments.reference is None, "reference", arguments.reference, nothing)
    for argument in ("sample_weight", "cluster"):
        value = getattr(arguments, argument)
        allowed = "None: rows of equal weight, independent of each other"
        check_that(value is None, argument, "a column", allowed, "leave it out")
    settings = make_settings("difference", arguments)
    counts, by_stratum = count_tables(arguments, ("predictions",))
    check_groups(counts.groups)
    if counts.weighted:
        raise InputError(
            "counts",
            got="weighted or clustered counts",
            allowed="counts of independent rows",
            cure="leave out the weights",
        )
    if by_stratum is None:
        by_stratum = _one_stratum(counts)
    return _compare_shares(counts, by_stratum.selection(), settings)


def _one_stratum(counts: CellCounts) -> StratumCounts:
    """All rows as one stratum: demographic disparity without conditions."""
    return StratumCounts(
        strata=("all",),
        groups=counts.groups,
        cells=counts.cells,
        rows=np.rint(counts.rows).astype(np.int64)[None],
    )


def _compare_shares(
    counts: CellCounts, by_stratum: StratumCounts, settings: Inference
) -> DisparityResult:
    """Share of each group among the rejected minus its share among the accepted, over strata."""
    accepted = by_stratum.total("selected")
    rejected = by_stratum.total("not_selected")
    n_rejected = rejected.sum(axis=1)
    n_accepted = accepted.sum(axis=1)
    usable = (n_rejected > 0) & (n_accepted > 0)
    settings = replace(settings, method=METHOD)
    level = settings.confidence_level
    n_groups = len(by_stratum.groups)
    alone = 1 - (1 - level) / (n_groups if settings.simultaneous else 1)
    note = ""
    if not usable.all():
        n_left = int((~usable).sum())
        rows = int((n_rejected + n_accepted)[~usable].sum())
        note = f"{n_left} strata ({rows:,} rows) without rejected or without accepted rows are left out."
    too_few = min(n_rejected[usable].sum(), n_accepted[usable].sum()) < FEWEST_ROWS
    compared = []
    for place, group in enumerate(by_stratum.groups):
        nothing = Interval(low=-1.0, high=1.0, confidence_level=level, method=METHOD)
        comparison = RateComparison(
            metric=CONDITIONAL_DISPARITY,
            group=group,
            reference=ACCEPTED,
            confidence_interval=nothing,
            bounds=nothing,
            verdict="insufficient evidence",
            n=int(n_rejected[usable].sum()),
            n_reference=int(n_accepted[usable].sum()),
            method=METHOD,
            note=note,
        )
        if not usable.any():
            compared.append((comparison, Evidence()))
            continue
        method = make_weighted_scores(
            rejected[usable, place], n_rejected[usable], accepted[usable, place], n_accepted[usable]
        )
        comparison = replace(
            comparison,
            estimate=method.estimate,
            std_error=method.std_error,
            rate=float(method.weights @ method.tables.rate1[:, 0]),
            rate_reference=float(method.weights @ method.tables.rate0[:, 0]),
        )
        if too_few:
            words = f"fewer than {FEWEST_ROWS} rejected or accepted rows, too few for limits."
            comparison = replace(comparison, note=f"{note} {words}".strip())
            compared.append((comparison, Evidence()))
            continue
        decision = decide_by_method(
            Chosen(method, METHOD), "difference", settings, (alone, 2 * alone - 1)
        )
        decided = replace(
            comparison,
            **decision.fields_of_row(),
        )
        compared.append((decided, decision.evidence))
    result = DisparityResult(
        metric=CONDITIONAL_DISPARITY,
        comparisons=as_family(compared, settings),
        settings=settings,
        counts=counts,
        words="Conditional demographic disparity: shares among the rejected and the accepted",
        stratum_counts=by_stratum,
    )
    return warned(result, CONDITIONAL_DISPARITY)


def make_weighted_scores(
    rejected: Floats, n_rejected: Floats, accepted: Floats, n_accepted: Floats
) -> WeightedScores:
    """The disparity of one group, from its rows and all rows in every stratum, shape (H,)."""
    rows = n_rejected + n_accepted
    tables = Strata.of(*(x[:, None] for x in (rejected, n_rejected, accepted, n_accepted)))
    return WeightedScores(math.inf, tables, np.asarray(rows / rows.sum()))
