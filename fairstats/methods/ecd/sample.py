"""`CounterfactualSample`: counterfactual discrimination of every individual, by group, and its
averages.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fairstats.ground import checks
from fairstats.ground.checks import SeedOrGenerator
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

#: n·level is whole where it is so up to this.
_WHOLE = 1e-9


@serialisable()
class Average:
    """A mean of n values with its standard error, NaN where there are too few (none, or fewer than
    two people).

    `degrees_of_freedom`: people less one, as many as their unequal numbers of rows are worth,
    (Σm)²/Σm² − 1; of a difference those of Welch and Satterthwaite.
    """

    estimate: float
    std_error: float
    n: int
    n_people: int
    degrees_of_freedom: float = math.inf

    def inference(self, confidence_level: float = 0.95) -> tuple[Interval, HypothesisTest]:
        """Interval of the mean by Student's t, and the t-test of mean 0.

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

        Notes
        -----
        Over 5 to 300 people with 3 to 10 rows, of which 0 to 100% share the person's value, means
        covered .93 and more where values are normal or skewed as beta(2, 8) (4,000 samples each).
        Long tails need more people: exponential values .886 at 5, .924 at 30 and .943 at 100; seven
        zeros in ten .774, .926 and .939.
        """
        return self._inference(checks.check_confidence_level(confidence_level))

    def _inference(
        self, confidence_level: float, null: str = "mean CD = 0"
    ) -> tuple[Interval, HypothesisTest]:
        """Interval by Student's t, and the t-test of mean 0."""
        df = self.degrees_of_freedom
        reach = normal_quantile((1 + confidence_level) / 2, df) * self.std_error
        interval = Interval(
            low=self.estimate - reach,
            high=self.estimate + reach,
            confidence_level=confidence_level,
            method="Student's t",
        )
        # no test where all values are equal, or there are too few of them
        z = self.estimate / self.std_error if self.std_error > 0 else math.nan
        return interval, HypothesisTest(
            null=null,
            alternative="two-sided",
            statistic=z,
            pvalue=two_sided_pvalue(z, df),
            method="t",
        )

    def _compared(self, confidence_level: float, **names: str) -> Comparison:
        """The mean, its interval and its test as a row; `names`: metric, group and reference."""
        interval, test = self._inference(confidence_level)
        about: dict[str, Any] = {
            **names,
            "statistic": test.statistic,
            "pvalue": test.pvalue,
            "method": "mean, t-test",
        }
        return Comparison(
            estimate=self.estimate,
            std_error=self.std_error,
            confidence_interval=interval,
            n=self.n,
            **about,
        )


def average_of(values: Floats, cluster: NDArray[Any] | None = None) -> Average:
    """Mean of values; rows of one person are one cluster of the linearised mean."""
    if values.size == 0:
        return Average(estimate=math.nan, std_error=math.nan, n=0, n_people=0)
    mean = float(values.mean())
    total = values - mean
    n_clusters = effective_clusters = float(values.size)
    if cluster is not None:
        cluster_codes = np.unique(cluster, return_inverse=True)[1]
        rows = np.bincount(cluster_codes).astype(np.float64)
        total = np.bincount(cluster_codes, weights=total).astype(np.float64)
        n_clusters = float(rows.size)
        effective_clusters = float(values.size**2 / np.square(rows).sum())
    if n_clusters < 2:
        return Average(estimate=mean, std_error=math.nan, n=values.size, n_people=int(n_clusters))
    # not by BLAS, whose threads cost 5 ms to wake
    variance = float(np.square(total).sum()) * n_clusters / (n_clusters - 1) / values.size**2
    return Average(
        estimate=mean,
        std_error=variance**0.5,
        n=values.size,
        n_people=int(n_clusters),
        degrees_of_freedom=effective_clusters - 1,
    )


def average_of_sums(n: int, total: float, squares: float) -> Average:
    """Mean of n independent values, from Σx and Σx²."""
    mean = total / n if n else math.nan
    if n < 2:
        return Average(estimate=mean, std_error=math.nan, n=n, n_people=n)
    variance = max((squares - n * mean**2) / (n - 1) / n, 0.0)
    return Average(
        estimate=mean, std_error=variance**0.5, n=n, n_people=n, degrees_of_freedom=n - 1.0
    )


def difference_of(first: Average, second: Average) -> Average:
    """Difference of the means of independent groups, with the degrees of freedom of Welch and
    Satterthwaite.
    """
    spread = float(np.hypot(first.std_error, second.std_error))
    degrees = math.inf
    if spread > 0:
        of_both = (first, second)
        parts = sum(
            (average.std_error / spread) ** 4 / average.degrees_of_freedom for average in of_both
        )
        degrees = 1 / parts if parts > 0 else math.inf
    return Average(
        estimate=first.estimate - second.estimate,
        std_error=spread,
        n=first.n + second.n,
        n_people=first.n_people + second.n_people,
        degrees_of_freedom=degrees,
    )


def thinned(
    weight: Floats,
    codes: NDArray[Any],
    n_groups: int,
    rng: SeedOrGenerator,
) -> tuple[NDArray[np.bool_], str]:
    """Rows that stay when each is kept with probability weight / largest weight of its group, and a
    sentence.

    What is kept is an unweighted sample of every group's population (rejection sampling), with the
    inference of any sample. `weight`, `codes`, shape (n,): codes below 0 are in no group.
    """
    largest = np.zeros(n_groups + 1)  # the last is for rows in no group
    np.maximum.at(largest, codes, weight)
    generator, seed = checks.as_generator(rng)
    kept = generator.random(weight.size) * largest[codes] < weight
    used = codes >= 0
    stay = int((kept & used).sum())
    note = "" if seed is None else f" (rng={seed})"
    share = (
        f"weight / largest weight of its group{note}, which makes an unweighted sample of the"
        " population"
    )
    return (
        kept,
        f"Weighted rows: {stay:,} of {int(used.sum()):,} were kept, each with probability {share}.",
    )


@serialisable(eq=False)
class GroupSample:
    """Counterfactual discrimination in one group.

    `counterfactual`: the value that the rows were given; "worst" for the best of all others;
    `average`: ACD, the mean with its standard error; `n_real`, `n_synthetic`: rows from the data,
    and rows that a generator made. Not in `to_dict`, shape (n,): `cd` = ML(x, z′) − ML(x, z) in
    [−1, 1], positive where the other value would have helped; `rows`: labels of the rows; `actual`:
    ML(x, z); `cluster`: whose row it is, where people have several; `top`: all values from
    `complete` upwards, ascending, where a tally keeps the largest only.
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
    cluster: NDArray[Any] | None = kept_in_memory(default=None)
    top: Floats | None = kept_in_memory(default=None)
    complete: float = kept_in_memory(default=-math.inf)

    @classmethod
    def _of(
        cls,
        group: str,
        counterfactual: str,
        cd: Floats,
        rows: NDArray[Any],
        actual: Floats | None = None,
        cluster: NDArray[Any] | None = None,
        n_synthetic: int = 0,
    ) -> GroupSample:
        """The group with its values."""
        return cls(
            group=group,
            counterfactual=counterfactual,
            average=average_of(cd, cluster),
            maximum=float(cd.max()) if cd.size else math.nan,
            n_real=cd.size - n_synthetic,
            n_synthetic=n_synthetic,
            cd=cd,
            rows=rows,
            actual=actual,
            cluster=cluster,
        )

    @classmethod
    def _of_tails(cls, tails: TailCounts, group: int) -> GroupSample:
        """A group of a tally; its values by row are known where all of them were kept."""
        name = tails.groups[group]
        n = int(tails.n[group])
        top = tails._largest_ascending(group)
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
        if self.n == 0:
            return self.average
        # the value of rank ⌈n·level⌉ minimises q + E max(CD − q, 0)/(1 − level), and a quantile
        # between two values does not; n·level is taken as whole where it is so up to rounding
        rank = max(math.ceil(self.n * level - _WHOLE), 1)
        index = rank - 1 - (self.n - cd.size)
        if index < 0:
            self._largest(-math.inf)
        quantile = float(np.partition(cd, index)[index])
        beyond = np.maximum(cd - quantile, 0.0) / (1.0 - level)
        if self.top is None:
            average = average_of(beyond, self.cluster)
        else:
            average = average_of_sums(self.n, float(beyond.sum()), float(np.square(beyond).sum()))
        return replace(average, estimate=quantile + average.estimate)

    def _largest(self, threshold: float = math.nan) -> Floats:
        """The values, or the largest that a tally kept.

        All from the threshold upwards, or an error.
        """
        if self.top is None:
            self.values()
        elif threshold < self.complete - 1e-11:
            got = (
                f"a tally with the {self.top.size:,} largest of {self.n:,} values of {self.group!r}"
            )
            cure = "a smaller k (threshold=), or the rows themselves"
            raise InputError(
                "counts",
                got=got,
                allowed=f"one with all values from {threshold:.4g} on",
                cure=cure,
            )
        return self._merge_rounded

    @cached_property
    def _merge_rounded(self) -> Floats:
        """The values; of rounded scores to twelve decimals.

        .93 − .84 is not .92 − .83 in floating point.
        """
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

    The table has the average causal discrimination (ACD) of every group and the differences of the
    groups' ACD against the first group, with intervals and tests by Student's t over people: rows
    of one person are one cluster.

    `groups` has one entry per group, or per ordered pair of values of the sensitive `attribute`.
    `pairing` is "other" (two values), "worst" (the best of the other values) or "all" (every
    ordered pair). `n_left_out` counts the rows with a value that is not compared; `note` says what
    the values are conditional on.
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
        names = list(
            dict.fromkeys(name for g in self.groups for name in (g.group, g.counterfactual))
        )
        places = [find_group(names, w) for w in wanted]
        texts = tuple(None if k is None else names[k] for k in places)
        parts = []
        for g in self.groups:
            if (g.group, g.counterfactual)[: len(texts)] == texts:
                parts.append(g)
        if len(parts) == 1:
            return parts[0]
        group_names = ", ".join(map(repr, (self._name(g) for g in self.groups)))
        got = checks.shown(group) + (", which stands for several pairs" if parts else "")
        cure = "for ordered pairs: sample[value, counterfactual]" if parts else "check the spelling"
        raise InputError("group", got=got, allowed=f"one of {group_names}", cure=cure)

    def difference(
        self, unprivileged: Any, privileged: Any
    ) -> tuple[float, Interval, HypothesisTest]:
        """ACD of the unprivileged group less that of the privileged one, with interval and test."""
        average = difference_of(self[unprivileged].average, self[privileged].average)
        return average.estimate, *average._inference(
            self.confidence_level, "difference of mean CD = 0"
        )

    def cvar(self, group: Any, level: float = 0.95) -> tuple[float, Interval]:
        """Conditional value at risk.

        The mean of the worst share 1 − `level` of CD, and its interval by t.

        By q + E max(CD − q, 0)/(1 − level), q fixed at the minimiser, the value of rank ⌈n·level⌉
        (Rockafellar & Uryasev 2000, eq. 4).
        """
        average = self[group].cvar(level)
        return average.estimate, average._inference(self.confidence_level)[0]

    def quantile(self, group: Any, probability: float) -> ReturnLevel:
        """Quantile of CD with its binomial interval (see
        `fairstats.evt.empirical_return_level`).
        """
        p = checks.check_share("probability", probability)
        return empirical_return_level(
            self[group].values(), 1.0 / (1.0 - p), confidence_level=self.confidence_level
        )

    def extremes(self, group: Any, k: int = 10) -> pd.DataFrame:
        """The k rows with the largest CD: row label, CD, and both scores; largest first."""
        chosen = self[group]
        cd = chosen.values()
        order = np.argsort(-cd, kind="stable")[: checks.check_whole("k", k, low=0)]
        rows = np.arange(cd.size) if chosen.rows is None else chosen.rows
        table = {"row": rows[order], "cd": cd[order]}
        if chosen.actual is not None:
            table |= {
                "score": chosen.actual[order],
                "counterfactual_score": chosen.actual[order] + cd[order],
            }
        return pd.DataFrame(table)

    def plot(self, tails: Any = (), ax: Any = None) -> Any:
        """CD of every row, with the thresholds of `tails`.

        See `fairstats.plots.ecd.plot_discrimination`.
        """
        return plot_discrimination(self, tails, ax)

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """ACD of every group, then the differences against the first."""
        level = self.confidence_level
        reference = self._name(self.groups[0])
        averages = self._averages
        count = len(self.groups)
        comparisons = []
        for group, average in zip(self.groups, averages[:count], strict=True):
            comparisons.append(
                average._compared(
                    level, metric="average causal discrimination", group=self._name(group)
                )
            )
        for group, average in zip(self.groups[1:], averages[count:], strict=False):
            names = {
                "metric": "difference of ACD",
                "group": self._name(group),
                "reference": reference,
            }
            comparisons.append(average._compared(level, **names))
        return tuple(comparisons)

    @property
    def _averages(self) -> tuple[Average, ...]:
        """What the comparisons are of: every group's ACD, then the differences.

        None of ordered pairs.
        """
        group_averages = [group.average for group in self.groups]
        if self.pairing == "all":
            return tuple(group_averages)
        return (
            *group_averages,
            *(difference_of(average, group_averages[0]) for average in group_averages[1:]),
        )

    def rows(self) -> list[dict[str, Any]]:
        """Rows of the tidy table; those of the groups with their maximum and their synthetic
        rows.
        """
        table_rows = super().rows()
        for row, group in zip(table_rows, self.groups, strict=False):
            row |= {"maximum": group.maximum, "n_synthetic": group.n_synthetic}
        return table_rows

    def sentences(self) -> list[str]:
        """One per row of the table."""
        sentences = []
        for comparison in self.comparisons:
            low, high = comparison.confidence_interval
            subject = (
                f"{comparison.group} less {comparison.reference}: difference of means"
                if comparison.reference
                else f"{comparison.group}: mean"
            )
            sentences.append(
                f"{subject} {comparison.estimate:.3f} ({100 * self.confidence_level:g}% interval {low:.3f} to"
                f" {high:.3f})."
            )
        return sentences

    def notes(self) -> list[str]:
        """Meaning of the sign, and what was left out."""
        meaning = f"CD = score with another value of {self.attribute} − score as it is"
        note_lines = [f"{meaning}: positive where the other value would have helped."]
        if self.pairing == "worst":
            note_lines.append(
                "The counterfactual is the best of all other values, which makes CD larger."
            )
        if self.n_left_out:
            note_lines.append(f"{self.n_left_out:,} rows with other values are left out.")
        if n_synthetic := sum(group.n_synthetic for group in self.groups):
            rows = "row is" if n_synthetic == 1 else "rows are"
            note_lines.append(
                f"{n_synthetic:,} {rows} synthetic: intervals and tests describe the generator's law, not"
                " people."
            )
        return [*note_lines, self.note] if self.note else note_lines

    def _name(self, group: GroupSample) -> str:
        return f"{group.group} → {group.counterfactual}" if self.pairing == "all" else group.group

    @classmethod
    def of_groups(
        cls, *groups: Any, attribute: str | None = None, confidence_level: float = 0.95
    ) -> CounterfactualSample:
        """A sample of groups that were sampled one by one.

        A TailSample (`sample_tail`) or GroupSample each.

        The `attribute` is by default that of the first. Raises InputError for nothing, or a group
        twice.
        """
        _check_attribute(attribute)
        chosen = [_group_sample(group) for group in groups]
        names = [group.group for group in chosen]
        if not chosen or len(set(names)) < len(chosen):
            got = repr(names)
            allowed = "one TailSample or GroupSample for each of different groups"
            raise InputError(
                "groups",
                got=got,
                allowed=allowed,
                cure="call sample_tail for each group",
            )
        first = groups[0]
        name = str(attribute or ("group" if isinstance(first, GroupSample) else first.attribute))
        pairing = "worst" if any(group.counterfactual == "worst" for group in chosen) else "other"
        return cls(name, tuple(chosen), pairing, checks.check_confidence_level(confidence_level))

    @classmethod
    def from_tally(cls, tally: Tally, *, confidence_level: float = 0.95) -> CounterfactualSample:
        """A sample of a tally that was made with `score` and `counterfactual_score`, without
        weights.
        """
        tails = checks.check_type("tally", tally, Tally, "a Tally", "fs.tally(…)").extremes()
        if tally.cells is not None and tally.cells.weighted:
            got = "a tally of weighted or clustered rows"
            cure = "counterfactual_discrimination of the rows"
            raise InputError("tally", got=got, allowed="a tally of plain rows", cure=cure)
        groups = tuple(GroupSample._of_tails(tails, g) for g in range(len(tails.groups)))
        attribute = INTERSECTION.join(tally.sensitive)
        return cls(attribute, groups, "other", checks.check_confidence_level(confidence_level))

    @classmethod
    def from_values(
        cls,
        values: Mapping[Hashable, Any],
        *,
        attribute: str = "group",
        n_synthetic: Mapping[Hashable, int] | None = None,
        confidence_level: float = 0.95,
    ) -> CounterfactualSample:
        """A sample from values of CD in [−1, 1] of each group, else InputError, that were computed
        elsewhere.

        `n_synthetic` says how many of a group's values come from a generator.
        """
        allowed = "group → values of CD, or a CounterfactualSample"
        checks.check_type("values", values, Mapping, allowed, "{'a': [0.1, …], 'b': [0.0, …]}")
        _check_attribute(attribute)
        checks.check_type(
            "n_synthetic",
            n_synthetic,
            (Mapping, type(None)),
            "group → number of rows",
            "{'a': 100}",
        )
        for key in (*values, *(n_synthetic or {})):
            checks.check_label(
                "values", key, "groups as keys: names, numbers or dates", "{'a': [0.1, …]}"
            )
        by_group = {label_text(key): _as_cd(key, cd) for key, cd in values.items()}
        has_duplicates = len(by_group) < len(values)
        checks.check_that(
            not has_duplicates,
            "values",
            list(values),
            "groups that do not read alike",
            "rename one of them",
        )
        synthetic_counts = {label_text(key): number for key, number in (n_synthetic or {}).items()}
        checks.check_names("n_synthetic", synthetic_counts, by_group)
        for name, number in synthetic_counts.items():
            cure = "count the values of the group that a generator made"
            checks.check_whole("n_synthetic", number, low=0, high=by_group[name].size, cure=cure)
        groups = []
        for name, cd in by_group.items():
            groups.append(
                GroupSample._of(
                    name, "other", cd, np.arange(cd.size), n_synthetic=synthetic_counts.get(name, 0)
                )
            )
        if not groups:
            raise InputError("values", got="an empty mapping", allowed="group → values of CD")
        return cls(
            attribute, tuple(groups), "other", checks.check_confidence_level(confidence_level)
        )


def _check_attribute(attribute: Any) -> None:
    """Raise unless the name of the sensitive attribute is text, or None."""
    checks.check_type(
        "attribute", attribute, (str, type(None)), "the name of the sensitive column", "'sex'"
    )


def _group_sample(group: Any) -> GroupSample:
    """The sample of a group, of what `sample_tail` returned too."""
    sample = group if isinstance(group, GroupSample) else getattr(group, "sample", None)
    cure = "call sample_tail for each group"
    return checks.check_type(
        "groups", sample, GroupSample, "one TailSample or GroupSample for each group", cure
    )


def _as_cd(group: Hashable, values: Any) -> Floats:
    allowed = "one-dimensional numbers in [−1, 1], without NaN"
    array = checks.finite_array("values", values, allowed)
    if array.ndim != 1 or (array.size and np.abs(array).max() > 1):
        ranged = f"values from {array.min():.4g} to {array.max():.4g}" if array.ndim == 1 else ""
        got = ranged or f"an array of shape {array.shape}"
        cure = "CD is a difference of two probabilities"
        raise InputError("values", got=f"for {group!r}: {got}", allowed=allowed, cure=cure)
    return array
