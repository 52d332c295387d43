"""`EcdResult`: extreme counterfactual discrimination of groups, with everything behind it."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from fairstats.ground.checks import MOST, check_number
from fairstats.ground.errors import InputError
from fairstats.ground.groups import group_index
from fairstats.ground.lazy import pd
from fairstats.ground.results import OF_VERDICT, Comparison, Interval, Result, columns_of
from fairstats.ground.serialise import serialisable
from fairstats.ground.verdict import explain, fair_range
from fairstats.methods.ecd.sample import Average
from fairstats.methods.ecd.settings import EcdSettings
from fairstats.methods.ecd.tail import CHARACTERISTICS, GroupTail
from fairstats.numerics.evt.backends import scipy_backend
from fairstats.numerics.evt.tail import tail_row
from fairstats.plots.ecd import plot_ecd

#: Columns beside ECD: its simultaneous interval, and the differences of ACD and of CVaR.
_BESIDE = (
    "simultaneous_low", "simultaneous_high",
    *(f"{name}{part}" for name in ("acd", "cvar") for part in ("", "_low", "_high", "_pvalue")),
)  # fmt: skip
#: Columns of the tidy table that the printed one leaves out.
_TABLE = {*_BESIDE, *CHARACTERISTICS}
_UNKNOWN, _NOTHING = Interval(math.nan, math.nan, math.nan, ""), Average(math.nan, math.nan, 0, 0)


@serialisable(kw_only=True)
class EcdComparison(Comparison):
    """What is inferred on unprivileged − privileged.

    `root_mean`, `root_sd`: by which the signed root of the likelihood ratio was standardised (0 and 1: it was not), or
    NaN. `simultaneous`: interval that holds together with those of the other groups; `exceedances`: of both tails;
    `acd`, `cvar`: differences of the means and of the worst shares.
    """

    root_mean: float = math.nan
    root_sd: float = math.nan
    simultaneous: Interval = _UNKNOWN
    exceedances: tuple[int, int] = (0, 0)
    acd: Average = _NOTHING
    cvar: Average = _NOTHING

    def _beside(self, level: float, *, tested: bool) -> dict[str, Any]:
        """Simultaneous interval, and the differences of ACD and CVaR with intervals and z-tests."""
        found: list[float] = list(self.simultaneous)
        for average in (self.acd, self.cvar):
            interval, test = average._inference(level)
            found += [average.estimate, *interval, test.pvalue if tested else math.nan]
        return dict(zip(_BESIDE, found, strict=True))


def _of(name: str, meaning: str) -> Any:
    """Property: an attribute of the only comparison, or of all as a tuple."""

    def values(result: EcdResult) -> Any:
        found = tuple(getattr(c, name) for c in result.comparisons)
        return found[0] if len(found) == 1 else found

    return property(values, doc=meaning)


@serialisable(eq=False)
class EcdResult(Result):
    """Extreme counterfactual discrimination: unprivileged − privileged return level, one row per group.

    `estimate` is ECD = RL_u(m) − RL_p(m), in [−2, 2]: positive where the unprivileged group has more to lose by its
    membership, in the worst of m interactions (of several groups an array, as every name here). `std_error` is the
    delta method's, for display (a bootstrap of people where rows are not independent). `confidence_interval` is
    two-sided; `bounds` are the one-sided ones of the `verdict`: whether |ECD| lies above or below the margin,
    family-wise over the groups. `statistic` and `pvalue` are of equal return levels, by `test`. `tails` are those of
    the groups, the reference's last; `sensitivity` has the comparisons with half and with twice the exceedances.

    In `to_frame()` the rows of ECD and of the groups' levels are those of the paper's table IV: location (the level of
    m interactions), scale and shape of the largest value in m interactions, threshold, type and horizon of the group's
    tail; beside ECD the differences of ACD and of CVaR with intervals and tests.
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

    unprivileged = _of("group", "The group that is compared; several: a tuple.")
    bounds = _of("bounds", "The one-sided limits of the verdict; of several groups a tuple.")
    test = _of("method", "Name of the test; of several groups a tuple.")

    @property
    def privileged(self) -> str:
        """The group that it is compared with."""
        return self.comparisons[0].reference

    @property
    def largest(self) -> Comparison:
        """The largest |ECD|, with the largest ends of the simultaneous intervals: these hold whichever group it is."""
        limits = [np.nan_to_num(list(c.simultaneous), nan=math.inf).tolist() for c in self.comparisons]
        low = max(max(a, -b, 0.0) if a < b else 0.0 for a, b in limits)
        high = min(max(max(-a, b) for a, b in limits), 2.0)
        top = max(self.comparisons, key=lambda c: np.nan_to_num(abs(c.estimate), nan=-1.0))
        interval = Interval(low, high, self.settings.confidence_level, "largest of simultaneous intervals")
        return Comparison(
            metric="largest |ECD|", group=top.group, reference=top.reference, estimate=abs(top.estimate),
            confidence_interval=interval, n=sum(tail.n for tail in self.tails), method="max over groups",
        )  # fmt: skip

    def rows_for(self, width: float) -> dict[str, int]:
        """Rows of every group for intervals of ECD no wider than this, with this sample as the pilot.

        With `threshold=` in proportion standard errors fall with the square root of the rows, so that all groups are
        multiplied by (width here / width)², that of the widest interval. A pilot of 50 exceedances knows its own width
        to a factor of two only. Raises InputError for a width outside (0, 4], and where a group has no level, or that
        of order statistics or a power tail: such widths do not fall so.

        Examples
        --------
        >>> import numpy as np
        >>> import fairstats as fs
        >>> r = np.random.default_rng(1)
        >>> cd = {"a": 0.3 * r.beta(2, 8, 2000), "b": 0.5 * r.beta(2, 8, 1000)}
        >>> pilot = fs.ecd(cd, backend="scipy", n_resamples=0, rng=1)
        >>> wanted = pilot.rows_for(pilot.confidence_interval.width / 2)
        >>> wanted["a"], wanted["b"]
        (8000, 4000)
        """
        width = check_number("width", width, low=0, high=4, open_low=True, cure="0.1")
        lacking = [t.group for t in self.tails if t.fit is None or t.fit.by_power or t.level.empirical]
        if lacking:
            got = f"a pilot without a regular tail of {', '.join(lacking)}"
            allowed = "one whose levels are all by the likelihood of a generalised Pareto tail"
            raise InputError("pilot", got=got, allowed=allowed, cure="more rows, or a lower threshold=")
        ratio = max(c.confidence_interval.width / width for c in self.comparisons)
        factor = ratio * ratio
        if factor * sum(tail.n for tail in self.tails) > MOST:
            got = f"{width:g}, for which more than {MOST:,} rows would be needed"
            raise InputError("width", got=got, allowed="a width that people can be found for", cure="0.1")
        return {tail.group: math.ceil(round(tail.n * factor, 6)) for tail in self.tails}

    def __getitem__(self, group: Any) -> GroupTail:
        """The tail of a group."""
        return self.tails[group_index([tail.group for tail in self.tails], group, "group")]

    def rows(self) -> list[dict[str, Any]]:
        """ECD, then the return levels and the shape of each group."""
        more = {"interactions": self.settings.interactions}
        level, found = self.settings.confidence_level, list[dict[str, Any]]()
        for c, tail in zip(self.comparisons, self.tails, strict=False):
            real = not (tail.n_synthetic or self.tails[-1].n_synthetic)
            judged = {**c._row(self.backend), **more, **columns_of(c, *OF_VERDICT)}
            found.append({**judged, **c._beside(level, tested=real), **tail.characteristics})
        if len(self.comparisons) > 1:
            found.append({**self.largest._row(self.backend), **more})
        found += [{**c._row(scipy_backend.version()), **more} for c in self.sensitivity]
        for tail in self.tails:
            for at in tail.ordered_levels:
                row = tail_row("return level", at.estimate, at.confidence_interval, tail.n, at.std_error)
                about = {"group": tail.group, "interactions": at.interactions}
                about |= tail.characteristics if at is tail.level else {}
                found.append({**row._row("numpy" if at.empirical else self.backend), **about})
            if tail.type is not None and tail.fit is not None:
                error = tail.fit.std_error["shape"]
                row = tail_row("shape", tail.type.estimate, tail.type.confidence_interval, tail.n, error)
                found.append({**row._row(self.backend), "group": tail.group})
        return found

    def _summary_columns(self, frame: pd.DataFrame) -> list[str]:
        return [name for name in super()._summary_columns(frame) if name not in _TABLE]

    def sentences(self) -> list[str]:
        """The verdicts in words; of several groups the largest, too."""
        found = [self._sentence(c) for c in self.comparisons]
        if len(found) > 1:
            top = self.largest
            words = f"{top.group}, {top.estimate:.3f} ({top.confidence_interval.words()})"
            if unknown := [c.group for c in self.comparisons if math.isnan(c.estimate)]:
                words = f"at least {top.confidence_interval.low:.3f}: {', '.join(unknown)} may lie anywhere"
            found.append(f"Largest over the groups: {words}.")
        return found

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
            f"In the worst of {self.settings.interactions:,.0f} interactions group membership costs {c.group} "
            f"{abs(c.estimate):.3f} {more} in score than {c.reference} (difference {c.estimate:.3f}, {level} interval "
            f"{low:.3f} to {high:.3f}): {c.verdict}; {tail}."
        )
        fair, family = fair_range("difference", margin), self.settings.adjust != "none" and len(self.comparisons) > 1
        why = explain(c.confidence_interval, c.bounds, fair, c.verdict, adjusted=family)
        return f"{said} {why}".strip()

    def plot(self, axes: Any = None) -> Any:
        """Extremes, return levels, Q-Q: see `fairstats.plots.ecd.plot_ecd`."""
        return plot_ecd(self, axes)

    def notes(self) -> list[str]:
        """Groups, types, and what the inference is conditional on."""
        return [*(tail.sentence for tail in self.tails), *([self.note] if self.note else [])]
