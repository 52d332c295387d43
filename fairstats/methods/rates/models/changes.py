"""One change between two models before its level is known, and the row that it becomes."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fairstats.ground.counts import PairedCounts
from fairstats.ground.multiplicity import make_pairs, normal_quantile, two_sided_pvalue
from fairstats.ground.registry import RATES, Metric
from fairstats.ground.results import Interval
from fairstats.methods.rates.models.paired import Change, PairedRate
from fairstats.methods.rates.models.paired_score import Part, distance_limits
from fairstats.methods.rates.models.result import ModelPair, PairedChange

#: Quantity of scores → how a change of it is worded.
KINDS = {"auc": "better", "brier": "worse", "madd": "size", "abroca": "size"}
_WORDS = {
    "size": ("closer to parity", "further from parity"),
    "better": ("worse", "better"),
    "worse": ("better", "worse"),
}


@dataclass(frozen=True, eq=False)
class Found:
    """One change before its level is known.

    `kind`, {"ratio", "difference", "size", "better", "worse"}: of a size |after| is after; "better" where a
    larger value is.
    """

    name: str
    groups: tuple[str, ...]
    pair: ModelPair
    change: Change | str
    kind: str
    n: int
    method: str
    ends: tuple[float, float] = (float("nan"), float("nan"))

    def row(self, level: float, joint: float, chosen: bool, verdict_level: float | None) -> PairedChange:
        """At a confidence level; `joint`: that of each of simultaneous intervals."""
        ratio = self.kind == "ratio"
        open_ends = (0.0, np.inf) if ratio else (-np.inf, np.inf)
        empty = PairedChange(
            metric=f"{self.name}_change",
            group=self.groups[0],
            reference=self.groups[1] if len(self.groups) > 1 else "",
            model=self.pair.model,
            baseline=self.pair.baseline,
            before=self.ends[0],
            after=self.ends[1],
            confidence_interval=Interval(*open_ends, level, self.method),
            simultaneous=Interval(*open_ends, level, self.method),
            distance_interval=Interval(-np.inf, np.inf, level, self.method),
            verdict="insufficient evidence",
            n=self.n,
            method=self.method,
        )
        if isinstance(self.change, str):
            return replace(empty, note=self.change)
        shift, degrees = self.change.shift, self.change.degrees_of_freedom
        wide = self._ends(shift, joint, degrees)
        own = wide if chosen else self._ends(shift, level, degrees)
        judged = normal_quantile((1 + (verdict_level or level)) / 2, degrees)
        distance = shift.limits(judged)
        if self.kind in ("ratio", "difference"):
            distance = distance_limits(distance, self.change.total.limits(judged))
        less, more = _WORDS.get(self.kind, _WORDS["size"])
        verdict = less if distance[1] < 0 else more if distance[0] > 0 else "undecided"
        statistic = shift.statistic()
        estimate = float(np.exp(shift.estimate)) if ratio else shift.estimate
        with np.errstate(divide="ignore", invalid="ignore"):
            sizes = np.abs(np.log(self.ends) if ratio else np.array(self.ends))
            moved = float(sizes[1] - sizes[0])
        return replace(
            empty,
            estimate=estimate,
            std_error=self.change.std_error * (estimate if ratio else 1.0),
            confidence_interval=Interval(*own, level, self.method),
            simultaneous=Interval(*wide, level, self.method),
            statistic=statistic,
            pvalue=two_sided_pvalue(statistic, degrees),
            distance_change=moved,
            distance_interval=Interval(*distance, level, self.method),
            verdict="insufficient evidence" if own == (0.0, np.inf) else verdict,
            note=self.change.note,
        )

    def _ends(self, shift: Part, level: float, degrees: float) -> tuple[float, float]:
        low, high = shift.limits(normal_quantile((1 + level) / 2, degrees))
        if self.kind == "ratio":
            return float(np.exp(low)), float(np.exp(high))
        return max(low, -2.0), min(high, 2.0)


def change_of_rate(rate: PairedRate, groups: tuple[int, ...], name: str, pair: ModelPair, kind: str) -> Found:
    """The change of a rate in a group, or of its comparison with the reference."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ends = rate.values[:, groups[0]]
        if len(groups) > 1:
            other = rate.values[:, groups[1]]
            ends = ends / other if rate.ratio else ends - other
    return Found(
        name=name,
        groups=tuple(rate.counts.groups[g] for g in groups),
        pair=pair,
        change=rate.change(*groups),
        kind=kind,
        n=int(rate.counts.group_sizes[list(groups)].sum()),
        method=rate.method,
        ends=(float(ends[0]), float(ends[1])),
    )


def change_of_gap(metric: Metric, counts: PairedCounts, pair: ModelPair) -> Found:
    """The change of a largest gap, which all gaps under it bound at once (Bonferroni).

    max|b| − max|a| lies between the least and the largest |b_j| − |a_j|.
    """
    changes, gaps, groups = [], [], []
    for name in metric.rates:
        rate = PairedRate(counts, RATES[name], False)
        for i, j in make_pairs(len(counts.groups), 0, "all"):
            one = rate.change(i, j)
            if not isinstance(one, str):
                changes.append(one)
                gaps.append(np.abs(rate.values[:, i] - rate.values[:, j]))
                groups.append((counts.groups[i], counts.groups[j]))
    row = {
        "name": metric.name,
        "pair": pair,
        "kind": "size",
        "n": counts.n,
        "method": f"{rate.method}, all gaps",
    }
    if not changes:
        return Found(groups=counts.groups[:2], change="No gap is known under both models.", **row)  # type: ignore[arg-type]
    before, after = np.max(gaps, axis=0)
    top = int(np.argmax(np.array(gaps)[:, 1]))

    def end(z: float, side: int) -> float:
        share = two_sided_pvalue(z, degrees) / len(changes)
        critical = normal_quantile(1 - share / 2, degrees)
        found = [distance_limits(c.shift.limits(critical), c.total.limits(critical))[side] for c in changes]
        return max(found) if side else min(found)

    degrees = min(c.degrees_of_freedom for c in changes)
    part = Part(float(after - before), lambda z: end(z, 0), lambda z: end(z, 1))
    change = Change(part, part, changes[top].std_error, degrees)
    return Found(groups=groups[top], change=change, ends=(float(before), float(after)), **row)  # type: ignore[arg-type]
