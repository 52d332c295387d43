"""`EcdResult`: extreme counterfactual discrimination of two groups, with everything behind it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from fairstats.ground.results import Interval, Result
from fairstats.ground.serialise import serialisable

if TYPE_CHECKING:
    from fairstats.methods.ecd.settings import EcdSettings
    from fairstats.methods.ecd.tail import GroupLevel, GroupTail

__all__ = ["EcdResult"]


@serialisable
@dataclass(frozen=True, eq=False)
class EcdResult(Result):
    """Extreme counterfactual discrimination: unprivileged − privileged return level.

    Attributes
    ----------
    attribute, unprivileged, privileged : str
    estimate : float
        ECD = RL_u(m) − RL_p(m), in [−2, 2]: positive where the unprivileged group has more to lose by its
        membership, in the worst of m interactions.
    std_error : float
        Delta method, for display (bootstrap of people where rows are not independent).
    confidence_interval, bounds : Interval
        Two-sided, and the one-sided bounds of the verdict.
    statistic, pvalue : float
        Of equal return levels.
    test : str
        Its name.
    delta_pvalue : float
        z-test by the delta method, for display.
    verdict : {"violated", "satisfied", "undecided", "insufficient evidence"}
        Whether |ECD| lies above or below the tolerance.
    tails : tuple of GroupTail
        Unprivileged, privileged.
    settings : EcdSettings
    note, backend : str
    """

    title: ClassVar[str] = "Extreme counterfactual discrimination"
    metric: ClassVar[str] = "extreme_counterfactual_discrimination"

    attribute: str
    unprivileged: str
    privileged: str
    estimate: float
    std_error: float
    confidence_interval: Interval
    bounds: Interval
    statistic: float
    pvalue: float
    test: str
    delta_pvalue: float
    verdict: str
    tails: tuple[GroupTail, ...]
    settings: EcdSettings
    note: str = ""
    backend: str = "scipy"

    def __getitem__(self, group: Any) -> GroupTail:
        """The tail of a group."""
        for tail in self.tails:
            if tail.group == str(group):
                return tail
        raise KeyError(group)

    def rows(self) -> list[dict[str, Any]]:
        """ECD, then the return levels and the shape of each group."""
        m = self.settings.interactions
        found = [
            {
                "metric": "ECD",
                "group": self.unprivileged,
                "reference": self.privileged,
                "estimate": self.estimate,
                "std_error": self.std_error,
                "ci_low": self.confidence_interval.low,
                "ci_high": self.confidence_interval.high,
                "statistic": self.statistic,
                "pvalue": self.pvalue,
                "pvalue_adjusted": self.pvalue,
                "n": sum(t.n for t in self.tails),
                "method": self.test,
                "backend": self.backend,
                "interactions": m,
                "verdict": self.verdict,
            }
        ]
        for tail in self.tails:
            found += [self._level_row(tail, level) for level in _ordered(tail)]
            if tail.type is not None:
                found.append(
                    {
                        "metric": "shape",
                        "group": tail.group,
                        "estimate": tail.type.shape,
                        "std_error": tail.fit.std_error["shape"] if tail.fit else float("nan"),
                        "ci_low": tail.type.interval.low,
                        "ci_high": tail.type.interval.high,
                        "n": tail.n,
                        "method": tail.type.interval.method,
                        "backend": self.backend,
                    }
                )
        return found

    def _level_row(self, tail: GroupTail, level: GroupLevel) -> dict[str, Any]:
        return {
            "metric": "return level",
            "group": tail.group,
            "estimate": level.estimate,
            "std_error": level.std_error,
            "ci_low": level.interval.low,
            "ci_high": level.interval.high,
            "n": tail.n,
            "method": level.interval.method,
            "backend": "numpy" if level.empirical else self.backend,
            "interactions": level.interactions,
        }

    def sentences(self) -> list[str]:
        """The verdict in words."""
        if self.verdict == "insufficient evidence":
            return [f"{self.title}: insufficient evidence. {self.note}".strip()]
        low, high = self.confidence_interval
        level = f"{100 * self.confidence_interval.confidence_level:g}%"
        tail = {
            "violated": f"the data show a difference beyond {self.settings.tolerance:g}",
            "satisfied": f"the data show that it lies within ±{self.settings.tolerance:g}",
            "undecided": f"the data do not settle whether it exceeds {self.settings.tolerance:g}",
        }[self.verdict]
        more = "more" if self.estimate >= 0 else "less"
        return [
            f"In the worst of {self.settings.interactions:,.0f} interactions group membership costs "
            f"{self.unprivileged} {abs(self.estimate):.3f} {more} in score than {self.privileged} "
            f"(difference {self.estimate:.3f}, {level} interval {low:.3f} to {high:.3f}): "
            f"{self.verdict}; {tail}."
        ]

    def plot(self, axes: Any = None) -> Any:
        """Extremes, return levels, Q-Q: see `fairstats.plots.ecd.plot_ecd`."""
        from fairstats.plots.ecd import plot_ecd

        return plot_ecd(self, axes)

    def notes(self) -> list[str]:
        """Groups, types, and what the inference is conditional on."""
        return [*(_tail_note(tail) for tail in self.tails), *([self.note] if self.note else [])]


def _ordered(tail: GroupTail) -> list[GroupLevel]:
    return sorted((tail.level, *tail.levels), key=lambda level: level.interactions)


def _tail_note(tail: GroupTail) -> str:
    size = f"{tail.group}: N = {tail.n_real:,}" + (
        f" and {tail.n_synthetic:,} synthetic" if tail.n_synthetic else ""
    )
    size += f", {tail.n_exceedances} above {tail.threshold:.4g}"
    if tail.degenerate:
        words = (
            f"no model of the tail, {tail.degenerate}; order statistics instead (maximum {tail.maximum:.4g})"
        )
        return f"{size}; {words}." + "".join(f" {n}" for n in tail.notes)
    kind = tail.type
    text = ""
    if kind is not None:
        low, high = kind.interval
        text = f"; type {kind.type} (ξ {kind.shape:.3f}, {low:.3f} to {high:.3f})"
        text += f"; horizon {_count(kind.horizon)}: {kind.horizon_reason}"
    if tail.goodness_pvalue == tail.goodness_pvalue:
        text += f"; goodness of fit p = {tail.goodness_pvalue:.3g}"
    return size + text + "." + "".join(f" {n}" for n in tail.notes)


def _count(value: float) -> str:
    if value != value:
        return "none"
    return "unlimited" if value == float("inf") else f"{value:,.0f} interactions"
