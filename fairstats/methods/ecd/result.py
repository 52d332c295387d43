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
    "simultaneous_low",
    "simultaneous_high",
    *(f"{name}{part}" for name in ("acd", "cvar") for part in ("", "_low", "_high", "_pvalue")),
)
#: Columns of the tidy table that the printed one leaves out.
_TABLE = {*_BESIDE, *CHARACTERISTICS}
_UNKNOWN = Interval(low=math.nan, high=math.nan, confidence_level=math.nan, method="")
_NOTHING = Average(estimate=math.nan, std_error=math.nan, n=0, n_people=0)


@serialisable(kw_only=True)
class EcdComparison(Comparison):
    """What is inferred on unprivileged − privileged.

    `root_mean`, `root_sd`: by which the signed root of the likelihood ratio of no difference was
    standardised (0 and 1: it was not), or NaN; `root_law`: roots with the mean and standard
    deviation at each, linear between them. `reference_tail`: the reference's tail of this
    comparison, where it has another threshold than in `tails`. `simultaneous`: interval that holds
    together with those of the other groups; `exceedances`: of both tails; `acd`, `cvar`:
    differences of the means and of the worst shares.
    """

    root_mean: float = math.nan
    root_sd: float = math.nan
    root_law: tuple[tuple[float, float, float], ...] = ()
    reference_tail: GroupTail | None = None
    simultaneous: Interval = _UNKNOWN
    exceedances: tuple[int, int] = (0, 0)
    acd: Average = _NOTHING
    cvar: Average = _NOTHING

    def _beside(self, level: float, *, tested: bool) -> dict[str, Any]:
        """Simultaneous interval, and the differences of ACD and CVaR with intervals and t-tests."""
        numbers: list[float] = list(self.simultaneous)
        for average in (self.acd, self.cvar):
            interval, test = average._inference(level)
            numbers += [average.estimate, *interval, test.pvalue if tested else math.nan]
        return dict(zip(_BESIDE, numbers, strict=True))


def _values_of_comparisons(name: str, meaning: str) -> Any:
    """Property: an attribute of the only comparison, or of all as a tuple."""

    def values(result: EcdResult) -> Any:
        values_of_each = tuple(getattr(c, name) for c in result.comparisons)
        return values_of_each[0] if len(values_of_each) == 1 else values_of_each

    return property(values, doc=meaning)


@serialisable(eq=False)
class EcdResult(Result):
    """Extreme counterfactual discrimination.

    Unprivileged − privileged return level, one row per group.

    `estimate` is ECD = RL_u(m) − RL_p(m), in [−2, 2]: positive where the unprivileged group has
    more to lose by its membership, in the worst of m interactions (of several groups an array, as
    every name here). `std_error` is the delta method's, for display (over people where
    rows are not independent). `confidence_interval` is two-sided; `bounds` are the one-sided ones
    of the `verdict`: whether |ECD| lies above or below the margin, family-wise over the groups.
    `statistic` and `pvalue` are of equal return levels, by `test`. `tails` are those of the groups,
    the reference's last; `sensitivity` has the comparisons with half and with twice the
    exceedances.

    In `to_frame()` the rows of ECD and of the groups' levels are those of the paper's table IV:
    location (the level of m interactions), scale and shape of the largest value in m interactions,
    threshold, type and horizon of the group's tail; beside ECD the differences of ACD and of CVaR
    with intervals and tests.

    Examples
    --------
    >>> import numpy as np, fairstats as fs
    >>> rng = np.random.default_rng(1)
    >>> cd = {"white": 0.3 * rng.beta(2, 8, 8000), "black": 0.5 * rng.beta(2, 8, 3000)}
    >>> result = fs.ecd(cd, privileged="white", unprivileged="black", backend="scipy", rng=1)
    >>> round(result.estimate, 2), [round(end, 2) for end in result.confidence_interval]
    (0.15, [0.12, 0.21])
    >>> result.verdict, [tail.group for tail in result.tails]
    ('violated', ['black', 'white'])
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

    unprivileged = _values_of_comparisons("group", "The group that is compared; several: a tuple.")
    bounds = _values_of_comparisons(
        "bounds", "The one-sided limits of the verdict; of several groups a tuple."
    )
    test = _values_of_comparisons("method", "Name of the test; of several groups a tuple.")

    @property
    def privileged(self) -> str:
        """The group that it is compared with."""
        return self.comparisons[0].reference

    @property
    def largest(self) -> Comparison:
        """The largest |ECD|, with the largest ends of the simultaneous intervals.

        These hold whichever group it is.
        """
        limits = [
            np.nan_to_num(list(comparison.simultaneous), nan=math.inf).tolist()
            for comparison in self.comparisons
        ]
        low = max(max(lower, -upper, 0.0) if lower < upper else 0.0 for lower, upper in limits)
        high = min(max(max(-lower, upper) for lower, upper in limits), 2.0)
        largest_comparison = max(
            self.comparisons,
            key=lambda comparison: np.nan_to_num(abs(comparison.estimate), nan=-1.0),
        )
        interval = Interval(
            low=low,
            high=high,
            confidence_level=self.settings.confidence_level,
            method="largest of simultaneous intervals",
        )
        return Comparison(
            metric="largest |ECD|",
            group=largest_comparison.group,
            reference=largest_comparison.reference,
            estimate=abs(largest_comparison.estimate),
            confidence_interval=interval,
            n=sum(tail.n for tail in self.tails),
            method="max over groups",
        )

    def rows_for(self, width: float) -> dict[str, int]:
        """Rows of every group for intervals of ECD no wider than this, with this sample as the
        pilot.

        With `threshold=` in proportion standard errors fall with the square root of the rows, so
        that all groups are multiplied by (width here / width)², that of the widest interval. A
        pilot of 50 exceedances knows its own width to a factor of two only. Raises InputError for a
        width outside (0, 4], and where a group has no level, or that of order statistics or a power
        tail: such widths do not fall so.

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
        lacking = []
        for group_tail in self.tails:
            if group_tail.fit is None or group_tail.fit.by_power or group_tail.level.empirical:
                lacking.append(group_tail.group)
        if lacking:
            got = f"a pilot without a regular tail of {', '.join(lacking)}"
            allowed = "one whose levels are all by the likelihood of a generalised Pareto tail"
            raise InputError(
                "pilot",
                got=got,
                allowed=allowed,
                cure="more rows, or a lower threshold=",
            )
        ratio = max(comparison.confidence_interval.width / width for comparison in self.comparisons)
        factor = ratio * ratio
        if factor * sum(tail.n for tail in self.tails) > MOST:
            got = f"{width:g}, for which more than {MOST:,} rows would be needed"
            raise InputError(
                "width",
                got=got,
                allowed="a width that people can be found for",
                cure="0.1",
            )
        return {tail.group: math.ceil(round(tail.n * factor, 6)) for tail in self.tails}

    def __getitem__(self, group: Any) -> GroupTail:
        """The tail of a group."""
        return self.tails[group_index([tail.group for tail in self.tails], group, "group")]

    def rows(self) -> list[dict[str, Any]]:
        """ECD, then the return levels and the shape of each group."""
        more_columns = {"interactions": self.settings.interactions}
        level = self.settings.confidence_level
        table_rows = list[dict[str, Any]]()
        for comparison, tail in zip(self.comparisons, self.tails, strict=False):
            is_real = not (tail.n_synthetic or self.tails[-1].n_synthetic)
            judged_row = {
                **comparison._row(self.backend),
                **more_columns,
                **columns_of(comparison, *OF_VERDICT),
            }
            table_rows.append(
                {**judged_row, **comparison._beside(level, tested=is_real), **tail.characteristics}
            )
        if len(self.comparisons) > 1:
            table_rows.append({**self.largest._row(self.backend), **more_columns})
        table_rows += [
            {**comparison._row(scipy_backend.version()), **more_columns}
            for comparison in self.sensitivity
        ]
        for tail in self.tails:
            for group_level in tail.ordered_levels:
                row = tail_row(
                    "return level",
                    group_level.estimate,
                    group_level.confidence_interval,
                    tail.n,
                    group_level.std_error,
                )
                row_facts = {"group": tail.group, "interactions": group_level.interactions}
                row_facts |= tail.characteristics if group_level is tail.level else {}
                table_rows.append(
                    {**row._row("numpy" if group_level.empirical else self.backend), **row_facts}
                )
            if tail.type is not None and tail.fit is not None:
                error = tail.fit.std_error["shape"]
                row = tail_row(
                    "shape", tail.type.estimate, tail.type.confidence_interval, tail.n, error
                )
                table_rows.append({**row._row(self.backend), "group": tail.group})
        return table_rows

    def _summary_columns(self, frame: pd.DataFrame) -> list[str]:
        return [name for name in super()._summary_columns(frame) if name not in _TABLE]

    def sentences(self) -> list[str]:
        """The verdicts in words; of several groups the largest, too."""
        sentences = [self._sentence(comparison) for comparison in self.comparisons]
        if len(sentences) > 1:
            largest_comparison = self.largest
            interval = largest_comparison.confidence_interval
            words = f"{largest_comparison.group}, {largest_comparison.estimate:.3f} ({interval.words()})"
            if without_estimate := [
                comparison.group
                for comparison in self.comparisons
                if math.isnan(comparison.estimate)
            ]:
                names = ", ".join(without_estimate)
                words = f"at least {interval.low:.3f}: {names} may lie anywhere"
            sentences.append(f"Largest over the groups: {words}.")
        return sentences

    def _sentence(self, comparison: EcdComparison) -> str:
        """One comparison in words: costs of membership, interval, verdict."""
        if comparison.verdict == "insufficient evidence":
            return f"{self.title}: insufficient evidence. {comparison.note}".strip()
        low, high = comparison.confidence_interval
        level = f"{100 * comparison.confidence_interval.confidence_level:g}%"
        margin = self.settings.margin
        conclusion = {
            "violated": f"the data show a difference beyond {margin:g}",
            "satisfied": f"the data show that it lies within ±{margin:g}",
            "undecided": f"the data do not settle whether it exceeds {margin:g}",
        }[comparison.verdict]
        estimate = comparison.estimate
        direction = "more" if estimate >= 0 else "less"
        sentence = (
            f"In the worst of {self.settings.interactions:,.0f} interactions group membership costs"
            f" {comparison.group} {abs(estimate):.3f} {direction} in score than"
            f" {comparison.reference} (difference {estimate:.3f}, {level} interval {low:.3f} to"
            f" {high:.3f}): {comparison.verdict}; {conclusion}."
        )
        fair_differences = fair_range("difference", margin)
        family = self.settings.adjust != "none" and len(self.comparisons) > 1
        reason = explain(
            comparison.confidence_interval,
            comparison.bounds,
            fair_differences,
            comparison.verdict,
            adjusted=family,
        )
        return f"{sentence} {reason}".strip()

    def plot(self, axes: Any = None) -> Any:
        """Extremes, return levels, Q-Q: see `fairstats.plots.ecd.plot_ecd`."""
        return plot_ecd(self, axes)

    def notes(self) -> list[str]:
        """Groups, types, and what the inference is conditional on."""
        return [*(tail.sentence for tail in self.tails), *([self.note] if self.note else [])]
