"""Effect of a mitigation on rows that it was not fitted to: what changes in MADD, selection and error."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from fairstats.ground.checks import Floats, check_choice
from fairstats.ground.counts import PairedCounts
from fairstats.ground.errors import InsufficientEvidenceWarning, caution
from fairstats.ground.groups import find_reference
from fairstats.ground.lazy import Axes
from fairstats.ground.multiplicity import make_pairs
from fairstats.ground.outcomes import Outcomes
from fairstats.ground.registry import RATES
from fairstats.ground.results import Result
from fairstats.ground.serialise import serialisable
from fairstats.methods.madd.result import MaddResult
from fairstats.methods.madd.settings import MaddSettings
from fairstats.numerics.paired.change import KINDS, OVERALL, Found, ModelPair, OfPairs, PairedChange, finished
from fairstats.numerics.paired.distance import grid_table, madd
from fairstats.numerics.paired.rate import PairedRate, change_of_rate
from fairstats.plots.madd import plot_before_after

_WORDS = {"madd": "MADD", "disparate_impact": "disparate impact", "accuracy": "accuracy"}


@serialisable(eq=False)
class MitigationResult(OfPairs, Result):
    """What a mitigation changes on the same rows: MADD, disparate impact, and accuracy (1 − error) by group.

    `comparisons`: the changes, as `compare_models` computes them (metrics "madd_change", "disparate_impact_\
change", the latter as a ratio, of every group against `reference`; "accuracy_change" of every group and of
    all rows), each with `before`, `after`, paired interval and verdict; `before`, `after`: MADD of the scores
    as they were, and mapped; `pairs`: label × prediction before × prediction after, and the bins of both
    scores, per group: all that the changes rest on; predictions are 1 from `threshold` on.
    """

    before: MaddResult
    after: MaddResult
    comparisons: tuple[PairedChange, ...]
    pairs: tuple[ModelPair, ...]
    reference: str
    lambda_: float
    threshold: float

    title: ClassVar[str] = "MADD mitigation: what changes on the same rows"
    _shown: ClassVar[tuple[str, ...]] = (
        "metric", "stage", "group", "reference", "before", "after", "estimate", "ci_low", "ci_high", "pvalue",
        "n", "verdict",
    )  # fmt: skip
    backend: ClassVar[str] = "numpy"
    metrics: ClassVar[tuple[str, ...]] = tuple(_WORDS)
    models: ClassVar[tuple[str, ...]] = ("before", "after")

    @property
    def settings(self) -> MaddSettings:
        """Of level, adjustment and resamples."""
        return self.before.settings

    def change(self, metric: str, group: str = OVERALL) -> PairedChange:
        """The change of "madd", "disparate_impact" or "accuracy" of a group; of all rows for the last."""
        known = {(c.metric.removesuffix("_change"), c.group): c for c in self.comparisons}
        check_choice("metric, group", (metric, str(group)), tuple(known))
        return known[metric, str(group)]

    @property
    def error_before(self) -> float:
        """Share of wrong predictions before."""
        return 1 - self.change("accuracy").before

    @property
    def error_after(self) -> float:
        """Share of wrong predictions after."""
        return 1 - self.change("accuracy").after

    def rows(self) -> list[dict[str, Any]]:
        """Rows of the tidy table: MADD before and after, then the changes."""
        stages = {"before": self.before, "after": self.after}
        found = [{**row, "stage": s} for s, result in stages.items() for row in result.rows()]
        return found + [{**c.row(self.backend), "stage": "change"} for c in self.comparisons]

    def sentences(self) -> list[str]:
        """One sentence per change."""
        return [self._sentence(c) for c in self.comparisons]

    def _sentence(self, c: PairedChange) -> str:
        who = f"{c.group} against {c.reference}" if c.reference else c.group
        if c.verdict == "insufficient evidence":
            return f"{who}: insufficient evidence. {c.note}".strip()
        low, high = c.confidence_interval
        return (
            f"{who}: {_WORDS[c.metric.removesuffix('_change')]} {c.before:.3f} before, {c.after:.3f} after (change "
            f"{c.estimate:.3f}, {100 * self.confidence_level:g}% interval {low:.3f} to {high:.3f}): {c.verdict}."
        )

    def notes(self) -> list[str]:
        """Sentences below the table."""
        said = (
            f"λ = {self.lambda_:.3f}, predictions 1 from {self.threshold:g} on; MADD: see `before.notes()`. "
            "Changes are after − before, of disparate impact after / before; their intervals use that both "
            "are of the same rows, and take the map as given."
        )
        return [said, *sorted({c.note for c in self.comparisons if c.note})]

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the distributions before and after; see `fairstats.plots.madd.plot_before_after`."""
        return plot_before_after(self, ax=ax)


def mitigation_result(
    outcomes: Outcomes, scores: tuple[Floats, Floats],
    stages: tuple[MaddResult, MaddResult], rng: np.random.Generator, *, reference: Any, lambda_: float,
    threshold: float,
) -> MitigationResult:  # fmt: skip
    """Changes between the scores before and after, with labels, groups and weights of `outcomes`."""
    s, groups, codes = stages[0].settings, outcomes.groups.labels, outcomes.groups.codes
    cell = 7 - 4 * np.asarray(outcomes.y_true).astype(np.int64)
    cell -= 2 * (scores[0] >= threshold) + (scores[1] >= threshold)
    counts = PairedCounts.count_rows(outcomes, cell)
    index, _ = find_reference(groups, reference, sizes=counts.group_sizes)
    pairs = make_pairs(len(groups), index, "reference")
    pair = ModelPair("after", "before", counts, {})
    apart = []
    for i, j in pairs:
        members = [codes == g for g in (i, j)]
        weights = [None if outcomes.weight is None else outcomes.weight[m] for m in members]
        found = madd(
            (np.stack([x[members[0]] for x in scores]), np.stack([x[members[1]] for x in scores])),
            [(1, 0)], s.margin, s.n_resamples, rng, bins=s.grid_bins, weights=(weights[0], weights[1]),
        )  # fmt: skip
        row: dict[str, Any] = {"name": "madd", "groups": (groups[i], groups[j]), "kind": KINDS["madd"]}
        row |= {"n": int(counts.group_sizes[[i, j]].sum()), "method": "paired bootstrap, directional"}
        if isinstance(found, str):
            apart.append(Found(**row, pair=pair, change=f"{groups[i]} or {groups[j]}: {found}"))
            continue
        if pair.grids is not None and outcomes.weight is None and str(found.grid) not in pair.grids:
            pair.grids[str(found.grid)] = grid_table(scores, codes, len(groups), found.grid)
        before, after = found.level.estimates.tolist()
        apart.append(Found(**row, pair=pair, change=found.changes[1, 0], ends=(before, after)))
    selected, right = PairedRate(counts, RATES["selection_rate"], True), RATES["accuracy"]
    impact = [change_of_rate(selected, p, "disparate_impact", pair, "ratio") for p in pairs]
    both = [(counts, (g,)) for g in range(len(groups))]
    both.append((counts.regrouped((OVERALL,), [0] * len(groups)), (0,)))
    accuracy = [change_of_rate(PairedRate(c, right, False), g, "accuracy", pair, "better") for c, g in both]
    families = [finished(f, s.confidence_level, s.adjust) for f in (apart, impact, accuracy)]
    changes = tuple(c for family in families for c in family)
    lacking = sorted({c.note for c in changes if c.note})
    if lacking:
        caution(f"MaddMitigator.evaluate: {' '.join(lacking)}", InsufficientEvidenceWarning)
    return MitigationResult(*stages, changes, (pair,), groups[index], lambda_, threshold)
