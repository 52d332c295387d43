"""`CounterfactualSample`: counterfactual discrimination of every individual, by group."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from fairstats.ground.encoding import label_text
from fairstats.ground.errors import InputError
from fairstats.ground.results import HypothesisTest, Interval, Result, check_confidence_level
from fairstats.ground.serialise import serialisable
from fairstats.methods.ecd.averages import Average, average_of, conditional_value_at_risk, difference_of

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from fairstats.numerics.evt.return_level import ReturnLevel

    Floats = NDArray[np.float64]

__all__ = ["CounterfactualSample", "GroupSample"]


@serialisable
@dataclass(frozen=True, eq=False)
class GroupSample:
    """Counterfactual discrimination in one group.

    Attributes
    ----------
    group : str
    counterfactual : str
        The value that the rows were given; "worst" for the best of all others.
    average : Average
        ACD: the mean with its standard error.
    maximum : float
    n_real, n_synthetic : int
        Rows from the data, and rows that a generator made.
    cd : ndarray of float, shape (n,), or None
        CD = ML(x, z′) − ML(x, z) in [−1, 1]: positive where the other value would have helped. Not in
        `to_dict`, as all that belongs to single rows.
    rows : ndarray, shape (n,), or None
        Labels of the rows.
    actual : ndarray of float, shape (n,), or None
        ML(x, z).
    person : ndarray, shape (n,), or None
        Whose row it is, where people have several.
    """

    group: str
    counterfactual: str
    average: Average
    maximum: float
    n_real: int
    n_synthetic: int
    cd: Floats | None = field(default=None, init=False, repr=False)
    rows: NDArray[Any] | None = field(default=None, init=False, repr=False)
    actual: Floats | None = field(default=None, init=False, repr=False)
    person: NDArray[Any] | None = field(default=None, init=False, repr=False)

    @classmethod
    def of(
        cls,
        group: str,
        counterfactual: str,
        cd: Floats,
        rows: NDArray[Any],
        actual: Floats | None = None,
        person: NDArray[Any] | None = None,
        n_synthetic: int = 0,
    ) -> GroupSample:
        """The group with its values."""
        largest = float(cd.max()) if cd.size else float("nan")
        made = cls(group, counterfactual, average_of(cd, person), largest, cd.size - n_synthetic, n_synthetic)
        for name, value in (("cd", cd), ("rows", rows), ("actual", actual), ("person", person)):
            object.__setattr__(made, name, value)
        return made

    @property
    def n(self) -> int:
        """Rows."""
        return self.n_real + self.n_synthetic

    def values(self) -> Floats:
        """`cd`, or an error for a sample that was read from a dictionary."""
        if self.cd is None:
            raise InputError(
                "sample",
                got="a sample that was read from a dictionary, which holds no rows",
                allowed="the sample itself",
                cure="call counterfactual_discrimination again",
            )
        return self.cd


@serialisable
@dataclass(frozen=True, eq=False)
class CounterfactualSample(Result):
    """Counterfactual discrimination by group, and its averages.

    The table has the average causal discrimination (ACD) of every group with its z-test, and the differences
    of the groups' ACD against the first group.

    Attributes
    ----------
    attribute : str
        The protected attribute.
    groups : tuple of GroupSample
        One per group, or per ordered pair of values.
    pairing : {"other", "worst", "all"}
        Two values; the best of the other values; every ordered pair.
    confidence_level : float
    n_left_out : int
        Rows with a value that is not compared.
    note : str
        What the values are conditional on.
    """

    title: ClassVar[str] = "Counterfactual discrimination"

    attribute: str
    groups: tuple[GroupSample, ...]
    pairing: str
    confidence_level: float
    n_left_out: int = 0
    note: str = ""

    def __getitem__(self, group: Any) -> GroupSample:
        """A group by its value; an ordered pair by (value, counterfactual)."""
        wanted = group if isinstance(group, tuple) else (group,)
        texts = tuple(label_text(w) for w in wanted)
        found = [g for g in self.groups if (g.group, g.counterfactual)[: len(texts)] == texts]
        if len(found) == 1:
            return found[0]
        names = ", ".join(map(repr, (self._name(g) for g in self.groups)))
        raise InputError(
            "group",
            got=repr(group) + (", which stands for several pairs" if found else ""),
            allowed=f"one of {names}",
            cure="for ordered pairs: sample[value, counterfactual]" if found else "check the spelling",
        )

    def difference(self, unprivileged: Any, privileged: Any) -> tuple[float, Interval, HypothesisTest]:
        """ACD of the unprivileged group less that of the privileged one, with interval and test."""
        return difference_of(self[unprivileged].average, self[privileged].average, self.confidence_level)

    def cvar(self, group: Any, level: float = 0.95) -> tuple[float, Interval]:
        """Conditional value at risk: the mean of CD beyond its quantile.

        Parameters
        ----------
        group : value, or pair of values
        level : float
            α in (0, 1): CVaR is the mean of the worst share 1 − α.

        Returns
        -------
        estimate : float
        interval : Interval
            Normal, from the influence function max(CD − q, 0)/(1 − α).
        """
        chosen = self[group]
        return conditional_value_at_risk(
            chosen.values(), check_confidence_level(level), self.confidence_level, chosen.person
        )

    def quantile(self, group: Any, probability: float) -> ReturnLevel:
        """Quantile of CD with its binomial interval (see `fairstats.evt.empirical_return_level`)."""
        from fairstats.numerics.evt.empirical import empirical_return_level

        p = check_confidence_level(probability)
        return empirical_return_level(
            self[group].values(), 1.0 / (1.0 - p), confidence_level=self.confidence_level
        )

    def extremes(self, group: Any, k: int = 10) -> pd.DataFrame:
        """The k rows with the largest CD: row label, CD, and both scores; largest first."""
        import pandas as pd

        chosen = self[group]
        cd = chosen.values()
        order = np.argsort(-cd, kind="stable")[: max(int(k), 0)]
        rows = np.arange(cd.size) if chosen.rows is None else chosen.rows
        table = {"row": rows[order], "cd": cd[order]}
        if chosen.actual is not None:
            table |= {"score": chosen.actual[order], "counterfactual_score": chosen.actual[order] + cd[order]}
        return pd.DataFrame(table)

    def plot(self, tails: Any = (), ax: Any = None) -> Any:
        """CD of every row, with the thresholds of `tails`: see `fairstats.plots.ecd.plot_discrimination`."""
        from fairstats.plots.ecd import plot_discrimination

        return plot_discrimination(self, tails, ax)

    def rows(self) -> list[dict[str, Any]]:
        """ACD of every group, then the differences against the first."""
        found = []
        for g in self.groups:
            found.append(
                {
                    "metric": "average causal discrimination",
                    "group": self._name(g),
                    **_inference(g.average.estimate, *g.average.inference(self.confidence_level)),
                    "std_error": g.average.std_error,
                    "n": g.n,
                    "method": "mean, z-test",
                    "backend": "numpy",
                    "maximum": g.maximum,
                    "n_synthetic": g.n_synthetic,
                }
            )
        first = self.groups[0]
        for g in self.groups[1:]:
            if self.pairing == "all":
                break
            value, interval, test = difference_of(g.average, first.average, self.confidence_level)
            found.append(
                {
                    "metric": "difference of ACD",
                    "group": self._name(g),
                    "reference": self._name(first),
                    **_inference(value, interval, test),
                    "std_error": float(np.hypot(g.average.std_error, first.average.std_error)),
                    "n": g.n + first.n,
                    "method": "mean, z-test",
                    "backend": "numpy",
                }
            )
        return found

    def notes(self) -> list[str]:
        """Meaning of the sign, and what was left out."""
        lines = [
            f"CD = score with another value of {self.attribute} − score as it is: positive where the other "
            "value would have helped."
        ]
        if self.pairing == "worst":
            lines.append("The counterfactual is the best of all other values, which makes CD larger.")
        if self.n_left_out:
            lines.append(f"{self.n_left_out:,} rows with other values are left out.")
        made = sum(g.n_synthetic for g in self.groups)
        if made:
            lines.append(
                f"{made:,} rows are synthetic: intervals and tests describe the generator's law, not people."
            )
        return [*lines, self.note] if self.note else lines

    def _name(self, g: GroupSample) -> str:
        return f"{g.group} → {g.counterfactual}" if self.pairing == "all" else g.group

    @classmethod
    def of_groups(
        cls, *groups: Any, attribute: str | None = None, confidence_level: float = 0.95
    ) -> CounterfactualSample:
        """A sample of groups that were sampled one by one.

        Parameters
        ----------
        *groups : TailSample or GroupSample
            From `sample_tail`, one per group.
        attribute : str, optional
            Default: that of the first.
        confidence_level : float

        Raises
        ------
        InputError
            Nothing, or a group twice.
        """
        chosen = [getattr(g, "sample", g) for g in groups]
        names = [g.group for g in chosen if isinstance(g, GroupSample)]
        if not chosen or len(set(names)) < len(chosen):
            raise InputError(
                "groups",
                got=repr(names),
                allowed="one TailSample or GroupSample for each of different groups",
                cure="call sample_tail for each group",
            )
        name = str(attribute or getattr(groups[0], "attribute", "group"))
        pairing = "worst" if any(g.counterfactual == "worst" for g in chosen) else "other"
        return cls(name, tuple(chosen), pairing, check_confidence_level(confidence_level))

    @classmethod
    def from_values(
        cls,
        values: Mapping[Hashable, Any],
        *,
        attribute: str = "group",
        n_synthetic: Mapping[Hashable, int] | None = None,
        confidence_level: float = 0.95,
    ) -> CounterfactualSample:
        """A sample from values of CD that were computed elsewhere.

        Parameters
        ----------
        values : mapping of group to array-like of float
            CD in [−1, 1].
        attribute : str
        n_synthetic : mapping of group to int, optional
            How many of a group's values come from a generator.
        confidence_level : float

        Raises
        ------
        InputError
            An empty mapping, values that are no numbers in [−1, 1].
        """
        made = {label_text(k): int(v) for k, v in (n_synthetic or {}).items()}
        groups = [
            GroupSample.of(name, "other", cd, np.arange(cd.size), n_synthetic=made.get(name, 0))
            for name, cd in ((label_text(k), _as_cd(k, v)) for k, v in values.items())
        ]
        if not groups:
            raise InputError("values", got="an empty mapping", allowed="group → values of CD")
        level = check_confidence_level(confidence_level)
        return cls(attribute, tuple(groups), "other", level)


def _inference(value: float, interval: Interval, test: HypothesisTest) -> dict[str, Any]:
    return {
        "estimate": value,
        "ci_low": interval.low,
        "ci_high": interval.high,
        "statistic": test.statistic,
        "pvalue": test.pvalue,
    }


def _as_cd(group: Hashable, values: Any) -> Floats:
    array = np.asarray(values)
    fine = array.ndim == 1 and array.dtype.kind in "fiu" and bool(np.isfinite(array).all())
    if not fine or (array.size and np.abs(array).max() > 1):
        raise InputError(
            "values",
            got=f"for {group!r}: {_what(array)}",
            allowed="one-dimensional numbers in [−1, 1], without NaN",
            cure="CD is a difference of two probabilities",
        )
    return array.astype(np.float64)


def _what(array: NDArray[Any]) -> str:
    if array.ndim != 1 or array.dtype.kind not in "fiu":
        return f"an array of shape {array.shape} and type {array.dtype}"
    if not np.isfinite(array).all():
        return f"{int((~np.isfinite(array)).sum())} NaN or infinite values"
    return f"values from {array.min():.4g} to {array.max():.4g}"
