"""`CounterfactualSample`: counterfactual discrimination of every individual, by group, and its averages."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fairstats.ground import checks
from fairstats.ground.encoding import label_text
from fairstats.ground.errors import InputError
from fairstats.ground.groups import INTERSECTION, find_group
from fairstats.ground.lazy import pd
from fairstats.ground.multiplicity import normal_quantile, two_sided_pvalue
from fairstats.ground.parts import TailCounts
from fairstats.ground.results import Comparison, HypothesisTest, Interval, Result
from fairstats.ground.serialise import kept_in_memory, serialisable
from fairstats.ground.tally import Tally
from fairstats.numerics.evt import ReturnLevel, empirical_return_level
from fairstats.numerics.evt.distributions import Floats
from fairstats.plots.ecd import plot_discrimination


@serialisable()
class Average:
    """A mean of n values with its standard error, NaN where there are too few (none, or fewer than two people)."""

    estimate: float
    std_error: float
    n: int
    n_people: int

    def inference(self, confidence_level: float = 0.95) -> tuple[Interval, HypothesisTest]:
        """Normal interval of the mean, and the z-test of mean 0.

        Parameters
        ----------
        confidence_level : float, default 0.95
            In (0, 1).

        Returns
        -------
        Interval, HypothesisTest

        Raises
        ------
        InputError
            For a level that is none.
        """
        return self._inference(checks.check_confidence_level(confidence_level))

    def _inference(self, confidence_level: float, null: str = "mean CD = 0") -> tuple[Interval, HypothesisTest]:
        """Normal interval, and the z-test of mean 0."""
        reach = normal_quantile((1 + confidence_level) / 2) * self.std_error
        interval = Interval(self.estimate - reach, self.estimate + reach, confidence_level, "normal")
        # no test where all values are equal, or there are too few of them
        z = self.estimate / self.std_error if self.std_error > 0 else math.nan
        return interval, HypothesisTest(null, "two-sided", z, two_sided_pvalue(z), "z")

    def _compared(self, confidence_level: float, **names: str) -> Comparison:
        """The mean, its interval and its test as a row; `names`: metric, group and reference."""
        interval, test = self._inference(confidence_level)
        about: dict[str, Any] = {**names, "statistic": test.statistic, "pvalue": test.pvalue, "method": "mean, z-test"}
        return Comparison(
            estimate=self.estimate, std_error=self.std_error, confidence_interval=interval, n=self.n, **about
        )


def average_of(values: Floats, person: NDArray[Any] | None = None) -> Average:
    """Mean of values; rows of one person are one cluster of the linearised mean."""
    if values.size == 0:
        return Average(math.nan, math.nan, 0, 0)
    mean = float(values.mean())
    total = values - mean
    if person is not None:
        total = np.bincount(np.unique(person, return_inverse=True)[1], weights=total).astype(np.float64)
    variance, people = math.nan, total.size
    if people > 1:  # not by BLAS, whose threads cost 5 ms to wake
        variance = float(np.square(total).sum()) * people / (people - 1) / values.size**2
    return Average(mean, variance**0.5, values.size, people)


def average_of_sums(n: int, total: float, squares: float) -> Average:
    """Mean of n independent values, from Σx and Σx²."""
    mean = total / n if n else math.nan
    variance = max((squares - n * mean**2) / (n - 1) / n, 0.0) if n > 1 else math.nan
    return Average(mean, variance**0.5, n, n)


def difference_of(first: Average, second: Average) -> Average:
    """Difference of the means of independent groups."""
    spread = float(np.hypot(first.std_error, second.std_error))
    people = first.n_people + second.n_people
    return Average(first.estimate - second.estimate, spread, first.n + second.n, people)


def thinned(weight: Floats, codes: NDArray[Any], n_groups: int, rng: Any) -> tuple[NDArray[np.bool_], str]:
    """Rows that stay when each is kept with probability weight / largest weight of its group, and a sentence.

    What is kept is an unweighted sample of every group's population (rejection sampling), with the inference of any
    sample. `weight`, `codes`, shape (n,): codes below 0 are in no group.
    """
    largest = np.zeros(n_groups + 1)  # the last is for rows in no group
    np.maximum.at(largest, codes, weight)
    generator, seed = checks.as_generator(rng)
    kept = generator.random(weight.size) * largest[codes] < weight
    used = codes >= 0
    stay, told = int((kept & used).sum()), "" if seed is None else f" (rng={seed})"
    share = f"weight / largest weight of its group{told}, which makes an unweighted sample of the population"
    return kept, f"Weighted rows: {stay:,} of {int(used.sum()):,} were kept, each with probability {share}."


@serialisable(eq=False)
class GroupSample:
    """Counterfactual discrimination in one group.

    `counterfactual`: the value that the rows were given; "worst" for the best of all others; `average`: ACD, the mean
    with its standard error; `n_real`, `n_synthetic`: rows from the data, and rows that a generator made. Not in
    `to_dict`, shape (n,): `cd` = ML(x, z′) − ML(x, z) in [−1, 1], positive where the other value would have helped;
    `rows`: labels of the rows; `actual`: ML(x, z); `person`: whose row it is, where people have several; `top`: all
    values from `complete` upwards, ascending, where a tally keeps the largest only.
    """

    group: str
    counterfactual: str
    average: Average
    maximum: float
    n_real: int
    n_synthetic: int
    cd: Floats | None = kept_in_memory(default=None)
    rows: NDArray[Any] | None = kept_in_memory(default=None)
    actual: Floats | None = kept_in_memory(default=None)
    person: NDArray[Any] | None = kept_in_memory(default=None)
    top: Floats | None = kept_in_memory(default=None)
    complete: float = kept_in_memory(default=-math.inf)

    @classmethod
    def _of(
        cls, group: str, counterfactual: str, cd: Floats, rows: NDArray[Any], actual: Floats | None = None,
        person: NDArray[Any] | None = None, n_synthetic: int = 0,
    ) -> GroupSample:  # fmt: skip
        """The group with its values."""
        return cls(
            group=group,
            counterfactual=counterfactual,
            average=average_of(cd, person),
            maximum=float(cd.max()) if cd.size else math.nan,
            n_real=cd.size - n_synthetic,
            n_synthetic=n_synthetic,
            cd=cd,
            rows=rows,
            actual=actual,
            person=person,
        )

    @classmethod
    def _of_tails(cls, tails: TailCounts, group: int) -> GroupSample:
        """A group of a tally; its values by row are known where all of them were kept."""
        name, n, top = tails.groups[group], int(tails.n[group]), tails._top(group)
        if tails.complete[group] == -math.inf:
            return cls._of(name, "other", top, np.arange(n))
        return cls(
            group=name,
            counterfactual="other",
            average=average_of_sums(n, float(tails.total[group]), float(tails.squares[group])),
            maximum=float(top[-1]),
            n_real=n,
            n_synthetic=0,
            top=top,
            complete=tails.complete[group],
        )

    def cvar(self, level: float) -> Average:
        """Mean of the worst share 1 − level of CD.

        Parameters
        ----------
        level : float in (0, 1)
            0.95 is the mean of the worst twentieth.

        Raises
        ------
        InputError
            For a level outside (0, 1), and where a tally kept fewer values.
        """
        level = checks.check_share("level", level)
        cd = self.top if self.top is not None else self.values()
        # where NumPy takes the quantile, (n − 1)·level, among the values that are there
        place = (self.n - 1) * level - (self.n - cd.size)
        if self.n == 0:
            return self.average
        if place < 0:
            self._largest(-math.inf)
        q = float(np.quantile(cd, level) if self.top is None else np.interp(place, np.arange(cd.size), cd))
        beyond = np.maximum(cd - q, 0.0) / (1.0 - level)
        if self.top is None:
            found = average_of(beyond, self.person)
        else:
            found = average_of_sums(self.n, float(beyond.sum()), float(np.square(beyond).sum()))
        return replace(found, estimate=q + found.estimate)

    def _largest(self, threshold: float = math.nan) -> Floats:
        """The values, or the largest that a tally kept: all from the threshold upwards, or an error."""
        if self.top is None:
            self.values()
        elif threshold < self.complete - 1e-11:
            got = f"a tally with the {self.top.size:,} largest of {self.n:,} values of {self.group!r}"
            cure = "a smaller k (threshold=), or the rows themselves"
            raise InputError("counts", got=got, allowed=f"one with all values from {threshold:.4g} on", cure=cure)
        return self._merged

    @cached_property
    def _merged(self) -> Floats:
        """The values; of rounded scores to twelve decimals: .93 − .84 is not .92 − .83 in floating point."""
        values = self.values() if self.top is None else self.top
        near = np.round(values, 12)
        return near if np.unique(near).size < np.unique(values).size else values

    @property
    def n(self) -> int:
        """Rows."""
        return self.n_real + self.n_synthetic

    def values(self) -> Floats:
        """`cd`, or an error for a sample that was read from a dictionary."""
        if self.cd is None:
            got = "a sample that was read from a dictionary or a tally, which holds no rows"
            cure = "call counterfactual_discrimination"
            raise InputError("sample", got=got, allowed="the sample itself", cure=cure)
        return self.cd


@serialisable(eq=False)
class CounterfactualSample(Result):
    """Counterfactual discrimination by group, and its averages.

    The table has the average causal discrimination (ACD) of every group and the differences of the groups' ACD against
    the first group, with normal intervals and z-tests; rows of one person are one cluster.

    `groups` has one entry per group, or per ordered pair of values of the sensitive `attribute`. `pairing` is "other"
    (two values), "worst" (the best of the other values) or "all" (every ordered pair). `n_left_out` counts the rows
    with a value that is not compared; `note` says what the values are conditional on.
    """

    title: ClassVar[str] = "Counterfactual discrimination"
    backend: ClassVar[str] = "numpy"
    lacks: ClassVar[dict[str, str]] = {
        "verdict": "averages are described, not judged; fs.ecd(sample, …) judges their extremes"
    }

    attribute: str
    groups: tuple[GroupSample, ...]
    pairing: str
    confidence_level: float
    n_left_out: int = 0
    note: str = ""

    def __getitem__(self, group: Any) -> GroupSample:
        """A group by its value; an ordered pair by (value, counterfactual)."""
        wanted = group if isinstance(group, tuple) else (group,)
        names = list(dict.fromkeys(name for g in self.groups for name in (g.group, g.counterfactual)))
        places = [find_group(names, w) for w in wanted]
        texts = tuple(None if k is None else names[k] for k in places)
        found = [g for g in self.groups if (g.group, g.counterfactual)[: len(texts)] == texts]
        if len(found) == 1:
            return found[0]
        known = ", ".join(map(repr, (self._name(g) for g in self.groups)))
        got = checks.shown(group) + (", which stands for several pairs" if found else "")
        cure = "for ordered pairs: sample[value, counterfactual]" if found else "check the spelling"
        raise InputError("group", got=got, allowed=f"one of {known}", cure=cure)

    def difference(self, unprivileged: Any, privileged: Any) -> tuple[float, Interval, HypothesisTest]:
        """ACD of the unprivileged group less that of the privileged one, with interval and test."""
        found = difference_of(self[unprivileged].average, self[privileged].average)
        return found.estimate, *found._inference(self.confidence_level, "difference of mean CD = 0")

    def cvar(self, group: Any, level: float = 0.95) -> tuple[float, Interval]:
        """Conditional value at risk: the mean of the worst share 1 − `level` of CD, and its normal interval.

        By q + E max(CD − q, 0)/(1 − level), q fixed at the minimiser (Rockafellar & Uryasev 2000, eq. 4).
        """
        found = self[group].cvar(level)
        return found.estimate, found._inference(self.confidence_level)[0]

    def quantile(self, group: Any, probability: float) -> ReturnLevel:
        """Quantile of CD with its binomial interval (see `fairstats.evt.empirical_return_level`)."""
        p = checks.check_share("probability", probability)
        return empirical_return_level(self[group].values(), 1.0 / (1.0 - p), confidence_level=self.confidence_level)

    def extremes(self, group: Any, k: int = 10) -> pd.DataFrame:
        """The k rows with the largest CD: row label, CD, and both scores; largest first."""
        chosen = self[group]
        cd = chosen.values()
        order = np.argsort(-cd, kind="stable")[: checks.check_whole("k", k, low=0)]
        rows = np.arange(cd.size) if chosen.rows is None else chosen.rows
        table = {"row": rows[order], "cd": cd[order]}
        if chosen.actual is not None:
            table |= {"score": chosen.actual[order], "counterfactual_score": chosen.actual[order] + cd[order]}
        return pd.DataFrame(table)

    def plot(self, tails: Any = (), ax: Any = None) -> Any:
        """CD of every row, with the thresholds of `tails`: see `fairstats.plots.ecd.plot_discrimination`."""
        return plot_discrimination(self, tails, ax)

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """ACD of every group, then the differences against the first."""
        level, first, metric = self.confidence_level, self.groups[0], "average causal discrimination"
        found = [g.average._compared(level, metric=metric, group=self._name(g)) for g in self.groups]
        names = {"metric": "difference of ACD", "reference": self._name(first)}
        for g in self.groups[1:] if self.pairing != "all" else ():
            found.append(difference_of(g.average, first.average)._compared(level, group=self._name(g), **names))
        return tuple(found)

    def rows(self) -> list[dict[str, Any]]:
        """Rows of the tidy table; those of the groups with their maximum and their synthetic rows."""
        found = super().rows()
        for row, g in zip(found, self.groups, strict=False):
            row |= {"maximum": g.maximum, "n_synthetic": g.n_synthetic}
        return found

    def sentences(self) -> list[str]:
        """One per row of the table."""
        found = []
        for c in self.comparisons:
            low, high = c.confidence_interval
            who = f"{c.group} less {c.reference}: difference of means" if c.reference else f"{c.group}: mean"
            found.append(f"{who} {c.estimate:.3f} ({100 * self.confidence_level:g}% interval {low:.3f} to {high:.3f}).")
        return found

    def notes(self) -> list[str]:
        """Meaning of the sign, and what was left out."""
        meaning = f"CD = score with another value of {self.attribute} − score as it is"
        lines = [f"{meaning}: positive where the other value would have helped."]
        if self.pairing == "worst":
            lines.append("The counterfactual is the best of all other values, which makes CD larger.")
        if self.n_left_out:
            lines.append(f"{self.n_left_out:,} rows with other values are left out.")
        if made := sum(g.n_synthetic for g in self.groups):
            rows = "row is" if made == 1 else "rows are"
            lines.append(f"{made:,} {rows} synthetic: intervals and tests describe the generator's law, not people.")
        return [*lines, self.note] if self.note else lines

    def _name(self, g: GroupSample) -> str:
        return f"{g.group} → {g.counterfactual}" if self.pairing == "all" else g.group

    @classmethod
    def of_groups(
        cls, *groups: Any, attribute: str | None = None, confidence_level: float = 0.95
    ) -> CounterfactualSample:
        """A sample of groups that were sampled one by one: a TailSample (`sample_tail`) or GroupSample each.

        The `attribute` is by default that of the first. Raises InputError for nothing, or a group twice.
        """
        _check_attribute(attribute)
        chosen = [_group_sample(g) for g in groups]
        names = [g.group for g in chosen]
        if not chosen or len(set(names)) < len(chosen):
            got, allowed = repr(names), "one TailSample or GroupSample for each of different groups"
            raise InputError("groups", got=got, allowed=allowed, cure="call sample_tail for each group")
        first = groups[0]
        name = str(attribute or ("group" if isinstance(first, GroupSample) else first.attribute))
        pairing = "worst" if any(g.counterfactual == "worst" for g in chosen) else "other"
        return cls(name, tuple(chosen), pairing, checks.check_confidence_level(confidence_level))

    @classmethod
    def from_tally(cls, tally: Tally, *, confidence_level: float = 0.95) -> CounterfactualSample:
        """A sample of a tally that was made with `score` and `counterfactual_score`, without weights."""
        tails = checks.check_type("tally", tally, Tally, "a Tally", "fs.tally(…)").extremes()
        if tally.cells is not None and tally.cells.weighted:
            got, cure = "a tally of weighted or clustered rows", "counterfactual_discrimination of the rows"
            raise InputError("tally", got=got, allowed="a tally of plain rows", cure=cure)
        groups = tuple(GroupSample._of_tails(tails, g) for g in range(len(tails.groups)))
        attribute = INTERSECTION.join(tally.sensitive)
        return cls(attribute, groups, "other", checks.check_confidence_level(confidence_level))

    @classmethod
    def from_values(
        cls, values: Mapping[Hashable, Any], *, attribute: str = "group",
        n_synthetic: Mapping[Hashable, int] | None = None, confidence_level: float = 0.95,
    ) -> CounterfactualSample:  # fmt: skip
        """A sample from values of CD in [−1, 1] of each group, else InputError, that were computed elsewhere.

        `n_synthetic` says how many of a group's values come from a generator.
        """
        allowed = "group → values of CD, or a CounterfactualSample"
        checks.check_type("values", values, Mapping, allowed, "{'a': [0.1, …], 'b': [0.0, …]}")
        _check_attribute(attribute)
        checks.check_type("n_synthetic", n_synthetic, (Mapping, type(None)), "group → number of rows", "{'a': 100}")
        for key in (*values, *(n_synthetic or {})):
            checks.check_label("values", key, "groups as keys: names, numbers or dates", "{'a': [0.1, …]}")
        by_group = {label_text(key): _as_cd(key, cd) for key, cd in values.items()}
        alike = len(by_group) < len(values)
        checks.check_that(not alike, "values", list(values), "groups that do not read alike", "rename one of them")
        made = {label_text(key): number for key, number in (n_synthetic or {}).items()}
        checks.check_names("n_synthetic", made, by_group)
        for name, number in made.items():
            cure = "count the values of the group that a generator made"
            checks.check_whole("n_synthetic", number, low=0, high=by_group[name].size, cure=cure)
        groups = [
            GroupSample._of(name, "other", cd, np.arange(cd.size), n_synthetic=made.get(name, 0))
            for name, cd in by_group.items()
        ]
        if not groups:
            raise InputError("values", got="an empty mapping", allowed="group → values of CD")
        return cls(attribute, tuple(groups), "other", checks.check_confidence_level(confidence_level))


def _check_attribute(attribute: Any) -> None:
    """Raise unless the name of the sensitive attribute is text, or None."""
    checks.check_type("attribute", attribute, (str, type(None)), "the name of the sensitive column", "'sex'")


def _group_sample(group: Any) -> GroupSample:
    """The sample of a group, of what `sample_tail` returned too."""
    sample = group if isinstance(group, GroupSample) else getattr(group, "sample", None)
    cure = "call sample_tail for each group"
    return checks.check_type("groups", sample, GroupSample, "one TailSample or GroupSample for each group", cure)


def _as_cd(group: Hashable, values: Any) -> Floats:
    allowed = "one-dimensional numbers in [−1, 1], without NaN"
    array = checks.finite_array("values", values, allowed)
    if array.ndim != 1 or (array.size and np.abs(array).max() > 1):
        ranged = f"values from {array.min():.4g} to {array.max():.4g}" if array.ndim == 1 else ""
        got, cure = ranged or f"an array of shape {array.shape}", "CD is a difference of two probabilities"
        raise InputError("values", got=f"for {group!r}: {got}", allowed=allowed, cure=cure)
    return array
