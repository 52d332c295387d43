"""`EcdResult`: extreme counterfactual discrimination of groups, with everything behind it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from fairstats.ground.groups import group_index
from fairstats.ground.results import OF_VERDICT, Comparison, Result, columns_of
from fairstats.ground.serialise import serialisable
from fairstats.ground.verdict import explain, fair_range
from fairstats.numerics.evt.tail import tail_row

if TYPE_CHECKING:
    from fairstats.methods.ecd.tail import EcdSettings, GroupTail


@serialisable
@dataclass(frozen=True, kw_only=True)
class EcdComparison(Comparison):
    """What is inferred on unprivileged − privileged.

    `root_mean`, `root_sd`: by which the signed root of the likelihood ratio was standardised; 0 and 1 where
    it was not, NaN where there is none.
    """

    root_mean: float = math.nan
    root_sd: float = math.nan


@serialisable
@dataclass(frozen=True, eq=False)
class EcdResult(Result):
    """Extreme counterfactual discrimination: unprivileged − privileged return level, one row per group.

    `estimate` is ECD = RL_u(m) − RL_p(m), in [−2, 2]: positive where the unprivileged group has more to
    lose by its membership, in the worst of m interactions (of several groups an array, as every name here).
    `std_error` is the delta method's, for display (a bootstrap of people where rows are not independent).
    `confidence_interval` is two-sided; `bounds` are the one-sided ones of the `verdict`: whether |ECD| lies
    above or below the margin, family-wise over the groups. `statistic` and `pvalue` are of equal return
    levels, by `test`. `tails` are those of the groups, the reference's last; `sensitivity` has the
    comparisons with half and with twice the exceedances.
    """

    title: ClassVar[str] = "Extreme counterfactual discrimination"
    metric: ClassVar[str] = "extreme_counterfactual_discrimination"

    attribute: str
    comparisons: tuple[EcdComparison, ...]
    tails: tuple[GroupTail, ...]
    settings: EcdSettings
    note: str = ""
    backend: str = "scipy"
    sensitivity: tuple[EcdComparison, ...] = ()

    def _of(self, name: str) -> Any:
        """An attribute of the only comparison, or of all as a tuple."""
        values = tuple(getattr(c, name) for c in self.comparisons)
        return values[0] if len(values) == 1 else values

    @property
    def unprivileged(self) -> Any:
        """The group that is compared; several: a tuple."""
        return self._of("group")

    @property
    def privileged(self) -> str:
        """The group that it is compared with."""
        return self.comparisons[0].reference

    @property
    def bounds(self) -> Any:
        """The one-sided limits of the verdict; of several groups a tuple."""
        return self._of("bounds")

    @property
    def test(self) -> Any:
        """Name of the test; of several groups a tuple."""
        return self._of("method")

    def __getitem__(self, group: Any) -> GroupTail:
        """The tail of a group."""
        return self.tails[group_index([tail.group for tail in self.tails], group, "group")]

    def rows(self) -> list[dict[str, Any]]:
        """ECD, then the return levels and the shape of each group."""
        more = {"interactions": self.settings.interactions}
        found = [{**c.row(self.backend), **more, **columns_of(c, *OF_VERDICT)} for c in self.comparisons]
        found += [{**c.row(self.backend), **more} for c in self.sensitivity]
        for tail in self.tails:
            for at in tail.ordered_levels:
                row = tail_row("return level", at.estimate, at.confidence_interval, tail.n, at.std_error)
                backend = "numpy" if at.empirical else self.backend
                found.append({**row.row(backend), "group": tail.group, "interactions": at.interactions})
            if tail.type is not None and tail.fit is not None:
                error = tail.fit.std_error["shape"]
                row = tail_row("shape", tail.type.estimate, tail.type.confidence_interval, tail.n, error)
                found.append({**row.row(self.backend), "group": tail.group})
        return found

    def sentences(self) -> list[str]:
        """The verdicts in words."""
        return [self._sentence(c) for c in self.comparisons]

    def _sentence(self, c: EcdComparison) -> str:
        if c.verdict == "insufficient evidence":
            return f"{self.title}: insufficient evidence. {c.note}".strip()
        low, high = c.confidence_interval
        level, margin = f"{100 * c.confidence_interval.confidence_level:g}%", self.settings.margin
        tail = {
            "violated": f"the data show a difference beyond {margin:g}",
            "satisfied": f"the data show that it lies within ±{margin:g}",
            "undecided": f"the data do not settle whether it exceeds {margin:g}",
        }[c.verdict]
        more = "more" if c.estimate >= 0 else "less"
        said = (
            f"In the worst of {self.settings.interactions:,.0f} interactions group membership costs "
            f"{c.group} {abs(c.estimate):.3f} {more} in score than {c.reference} "
            f"(difference {c.estimate:.3f}, {level} interval {low:.3f} to {high:.3f}): "
            f"{c.verdict}; {tail}."
        )
        fair = fair_range("difference", margin)
        family = self.settings.adjust != "none" and len(self.comparisons) > 1
        why = explain(c.confidence_interval, c.bounds, fair, c.verdict, adjusted=family)
        return f"{said} {why}".strip()

    def plot(self, axes: Any = None) -> Any:
        """Extremes, return levels, Q-Q: see `fairstats.plots.ecd.plot_ecd`."""
        from fairstats.plots.ecd import plot_ecd

        return plot_ecd(self, axes)

    def notes(self) -> list[str]:
        """Groups, types, and what the inference is conditional on."""
        return [*(tail.sentence for tail in self.tails), *([self.note] if self.note else [])]
