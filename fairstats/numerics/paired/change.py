"""One change of a quantity from a baseline to a model, on the same people: row, level, family.

With a the value before and b after, the change is b − a (b/a of a ratio), and what it means for
parity the change of distance |b| − |a| (|log b| − |log a|), whose range is that over all
(b − a, b + a) within the limits of change and sum: `score.distance_limits`. Of K changes of a metric each has
the level 1 − α/K in the simultaneous intervals (Bonferroni).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from fairstats.ground import results
from fairstats.ground.checks import check_choice
from fairstats.ground.counts import PairedCounts
from fairstats.ground.multiplicity import adjust_pvalues, normal_quantile, two_sided_pvalue
from fairstats.ground.results import Interval
from fairstats.ground.serialise import serialisable
from fairstats.ground.verdict import Procedure, side_of
from fairstats.numerics.paired.score import Part, distance_limits

_NAN = float("nan")
#: Where a quantity of single groups is of all rows.
OVERALL = "all rows"
#: Quantity of scores → how a change of it is worded.
KINDS = {"auc": "better", "brier": "worse", "madd": "size", "abroca": "size"}
#: What is said where no row tells two models apart.
UNCHANGED = (
    "No row tells the models apart: the change is 0, and the interval is what rows without a change"
    " leave open of others."
)
_PARITY_WORDS = "closer to parity", "further from parity"
_CHANGE_WORDS = {"better": ("worse", "better"), "worse": ("better", "worse")}


@serialisable(kw_only=True)
class PairedChange(results.Comparison):
    """Change of one metric from a baseline to a model, on the same people.

    The estimate is after − before, for a ratio after / before; statistic and p-values are of H0: no
    change; n counts the rows of the group and the reference together.

    `before`, `after`: the metric of the baseline and of the model; `simultaneous`: interval that
    holds for all changes of the metric at once (Bonferroni); `distance_change`: |after| − |before|,
    or |log after| −
    |log before| for a ratio: negative is closer to parity; `distance_interval`: what change and sum allow for
    it, at the level of `simultaneous`; `verdict`, {"closer to parity", "further from parity",
    "undecided", "insufficient evidence"}; of accuracy, AUC and Brier score "better" or "worse".
    """

    further: ClassVar[tuple[str, ...]] = (
        "model",
        "baseline",
        "before",
        "after",
        "simultaneous_low=simultaneous.low",
        "simultaneous_high=simultaneous.high",
        "distance_change",
        "distance_low=distance_interval.low",
        "distance_high=distance_interval.high",
        results.LEVEL,
        "verdict",
        "note",
    )

    model: str = "B"
    baseline: str = "A"
    before: float
    after: float
    simultaneous: Interval
    distance_change: float = _NAN
    distance_interval: Interval


@serialisable(eq=False)
class ModelPair:
    """What was counted of two models: label × prediction × prediction, and scores in bins.

    `counts`: None where only scores were compared; `grids`: of every comparison whose MADD was
    compared its "group", "reference", inner "edges" of the bins of the baseline's and of the
    model's scores, and "rows" of the group and of the reference by both bins, shape (2, m, m').
    """

    model: str
    baseline: str
    counts: PairedCounts | None = None
    grids: tuple[dict[str, Any], ...] = ()


class OfPairs:
    """What results of changes on the same people have in common: settings, and pairs of models."""

    @property
    def confidence_level(self: Any) -> float:
        """Of the intervals."""
        return float(self.settings.confidence_level)

    @property
    def adjust(self: Any) -> str:
        """How p-values are adjusted over the changes of a metric."""
        return str(self.settings.adjust)

    def pair(self: Any, model: str, baseline: str) -> ModelPair:
        """What was counted of two models."""
        known_pairs: dict[Any, ModelPair] = {}
        for model_pair in self.pairs:
            known_pairs[(model_pair.model, model_pair.baseline)] = model_pair
        check_choice("model, baseline", (model, baseline), tuple(known_pairs))
        return known_pairs[model, baseline]


@dataclass(frozen=True)
class Change:
    """The change of a quantity, the sum of both models' values, and what limits are computed
    with.
    """

    shift: Part
    total: Part
    std_error: float
    degrees_of_freedom: float = float("inf")
    note: str = ""


@dataclass(frozen=True, eq=False)
class Found:
    """One change before its level is known.

    `kind`, {"ratio", "difference", "size", "better", "worse"}: of a size |after| is after; "better"
    where a larger value is.
    """

    name: str
    groups: tuple[str, ...]
    pair: ModelPair
    change: Change | str
    kind: str
    n: int
    method: str
    ends: tuple[float, float] = (float("nan"), float("nan"))

    def row(
        self,
        level: float,
        joint: float,
        chosen: bool,
        verdict_level: float | None,
    ) -> PairedChange:
        """At a confidence level; `joint`: that of each of simultaneous intervals."""
        is_ratio = self.kind == "ratio"
        open_ends = Interval(low=-np.inf, high=np.inf, confidence_level=level, method=self.method)
        if is_ratio:
            possible_range = replace(open_ends, low=0.0)
        else:
            possible_range = open_ends
        before, after = np.array(self.ends)
        value_sizes = np.abs(self.ends)
        with np.errstate(divide="ignore", invalid="ignore"):
            estimate = float(after / before if is_ratio else after - before)
            size_change = float(
                np.diff(np.abs(np.log(value_sizes)) if is_ratio else value_sizes)[0]
            )
        group, reference, *_ = (*self.groups, "")
        unjudged_row = PairedChange(
            metric=f"{self.name}_change",
            group=group,
            reference=reference,
            model=self.pair.model,
            baseline=self.pair.baseline,
            before=self.ends[0],
            after=self.ends[1],
            estimate=estimate,
            distance_change=size_change,
            confidence_interval=possible_range,
            simultaneous=possible_range,
            distance_interval=open_ends,
            verdict="insufficient evidence",
            n=self.n,
            method=self.method,
        )
        if isinstance(self.change, str):
            return replace(unjudged_row, note=self.change)
        change_part = self.change.shift
        degrees = self.change.degrees_of_freedom
        joint_limits = self._ends(change_part, joint, degrees)
        if chosen:
            lower_limit, upper_limit = joint_limits
        else:
            lower_limit, upper_limit = self._ends(change_part, level, degrees)
        verdict_critical = normal_quantile((1 + (verdict_level or level)) / 2, degrees)
        distance_range = change_part.limits(verdict_critical)
        if self.kind in ("ratio", "difference"):
            distance_range = distance_limits(
                distance_range, self.change.total.limits(verdict_critical)
            )
        lower_word, higher_word = _CHANGE_WORDS.get(self.kind, _PARITY_WORDS)
        side_words = {"below": lower_word, "above": higher_word}
        verdict = side_words.get(side_of(*distance_range, fair=(0.0, 0.0)), "undecided")
        statistic = change_part.statistic()
        if is_ratio:
            estimate = float(np.exp(change_part.estimate))
        else:
            estimate = change_part.estimate
        return replace(
            unjudged_row,
            estimate=estimate,
            std_error=self.change.std_error * (estimate if is_ratio else 1.0),
            confidence_interval=Interval(
                low=lower_limit, high=upper_limit, confidence_level=level, method=self.method
            ),
            simultaneous=Interval(*joint_limits, level, self.method),
            statistic=statistic,
            pvalue=two_sided_pvalue(statistic, degrees),
            distance_interval=Interval(*distance_range, level, self.method),
            verdict="insufficient evidence"
            if (lower_limit, upper_limit) == (0.0, np.inf)
            else verdict,
            note=self.change.note,
            procedure=Procedure(self.method, "standard error", df=degrees),
        )

    def _ends(self, change_part: Part, level: float, degrees: float) -> tuple[float, float]:
        lower_limit, upper_limit = change_part.limits(normal_quantile((1 + level) / 2, degrees))
        if self.kind == "ratio":
            return float(np.exp(lower_limit)), float(np.exp(upper_limit))
        return max(lower_limit, -2.0), min(upper_limit, 2.0)


def finished(
    changes: Sequence[Found],
    confidence_level: float,
    adjust: str,
    chosen: float = 1.0,
) -> tuple[PairedChange, ...]:
    """Rows of one metric, with intervals, simultaneous ones, adjusted p-values and verdicts.

    `chosen`: comparisons that the data could have chosen, per one that was made.
    """
    n_comparisons = chosen * max(len(changes), 1)
    joint_level = 1 - (1 - confidence_level) / n_comparisons
    if adjust != "none" or chosen > 1:
        verdict_level = joint_level
    else:
        verdict_level = None
    change_rows = []
    for change in changes:
        change_rows.append(change.row(confidence_level, joint_level, chosen > 1, verdict_level))
    pvalues = [change_row.pvalue for change_row in change_rows]
    adjusted_pvalues = (
        [min(pvalue * n_comparisons, 1.0) for pvalue in pvalues]
        if chosen > 1
        else adjust_pvalues(pvalues, adjust)
    )
    result = []
    for change_row, pvalue in zip(change_rows, adjusted_pvalues, strict=True):
        result.append(replace(change_row, pvalue_adjusted=float(pvalue)))
    return tuple(result)
