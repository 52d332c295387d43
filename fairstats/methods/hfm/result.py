"""The result of an HFM."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import astuple, dataclass, fields
from operator import attrgetter
from typing import Any, ClassVar

from fairstats.ground.checks import check_choice, check_label
from fairstats.ground.groups import group_index
from fairstats.ground.lazy import Axes, pd
from fairstats.ground.results import Comparison, HypothesisTest, Result
from fairstats.ground.serialise import serialisable
from fairstats.methods.hfm.encoding import ANY_VALUE
from fairstats.methods.hfm.set_distance import SetDistance
from fairstats.plots.hfm import plot_hfm

_NAMES = ("attribute", "group", "reference")
_WHO = attrgetter(*_NAMES)
_QUANTITIES = ("D", "D_f", "HFM")
_METRICS = ("hfm_distance_labels", "hfm_distance_predictions", "hfm")


def harmonic(d: float, d_f: float) -> float:
    """HFM = D_f/D − 1 (Eq. 3); 0/0 gives 0, x/0 gives +∞, as in the paper."""
    if d == 0:
        return 0.0 if d_f == 0 else float("inf")
    return d_f / d - 1


@serialisable()
class StabilityRange:
    """What subsamples of one size give: how far single rows decide. No confidence is claimed.

    Attributes
    ----------
    quantity : {"D", "D_f", "HFM"}
    share, low, median, high : float
        Share of the rows in a subsample; 5%, 50% and 95% quantiles over the subsamples.
    drift : float
        Median minus the value on all rows: distances depend on the number of rows.
    n_subsamples : int
        Subsamples in which both groups occur.
    """

    quantity: str
    share: float
    low: float
    median: float
    high: float
    drift: float
    n_subsamples: int


@serialisable()
class HfmEntry:
    """D, D_f and HFM of one comparison.

    Attributes
    ----------
    attribute : str
        Sensitive attribute, "all attributes" for the maximum over them, or an intersection.
    group, reference : str
        The value and all others; or "maximum over values".
    d, d_f, hfm : float
        D(S0, S1) of features and labels, D_f of features and predictions, D_f/D − 1.
    distance, distance_f : SetDistance
        Where they come from, with the rows that attain them; those of the attaining value for a maximum.
    tests : tuple of HypothesisTest
        For D, D_f and HFM in this order; empty where none were asked for.
    pvalues_adjusted : tuple of float
        Holm over all values of all attributes, per quantity; of single values only.
    stability : tuple of StabilityRange
    n, n_reference : int
        Rows of either side; of all rows and 0 for a maximum over attributes.
    """

    attribute: str
    group: str
    reference: str
    d: float
    d_f: float
    hfm: float
    distance: SetDistance
    distance_f: SetDistance
    n: int
    n_reference: int
    tests: tuple[HypothesisTest, ...] = ()
    pvalues_adjusted: tuple[float, ...] = ()
    stability: tuple[StabilityRange, ...] = ()

    @property
    def is_maximum(self) -> bool:
        """Whether it is a maximum over values or attributes."""
        return self.group == ANY_VALUE


@dataclass(frozen=True, kw_only=True)
class HfmComparison(Comparison):
    """D, D_f or HFM of one entry, with the range over subsamples of 80% and the labels of the rows that attain it."""

    further: ClassVar[tuple[str, ...]] = ("attribute", "stability_low", "stability_high", "row_group", "row_reference")

    attribute: str = ""
    stability_low: float = math.nan
    stability_high: float = math.nan
    row_group: Hashable | None = None
    row_reference: Hashable | None = None


@serialisable()
class HfmResult(Result):
    """D, D_f and HFM of every sensitive attribute and value.

    Attributes
    ----------
    entries : tuple of HfmEntry
        Values of each attribute, the maximum over them, and last the maximum over attributes.
    statistic : "max", "mean" or float
    columns, label_levels : tuple of str
        Coordinates of the rows after encoding, without the label; and the labels.
    n : int
        Rows.
    scale : {"minmax", "none"}
    left_out, constant : tuple of str
        Columns of X left out as sensitive attributes; columns with a single value, which add nothing.
    n_resamples, n_subsamples : int
        Of the tests and of the stability ranges; 0 where none were made.
    seed : int or None
    """

    title: ClassVar[str] = "HFM: what a classifier adds to the distance between groups"
    backend: ClassVar[str] = "numpy"
    lacks: ClassVar[Mapping[str, str]] = {
        "confidence_interval": "the distance of samples does not estimate that of populations; .stability() "
        "shows how far it moves when rows are left out, and claims no confidence",
        "std_error": "a maximum over rows has none; .stability() shows how far it moves",
        "verdict": "without an interval nothing is judged; .pvalue tests whether the classifier adds any",
    }

    entries: tuple[HfmEntry, ...]
    statistic: str | float
    columns: tuple[str, ...]
    label_levels: tuple[str, ...]
    n: int
    scale: str
    left_out: tuple[str, ...]
    constant: tuple[str, ...]
    n_resamples: int
    n_subsamples: int
    seed: int | None

    @property
    def method(self) -> str:
        """What was computed."""
        return f"exact set distances ({self.statistic})"

    @property
    def overall(self) -> HfmEntry:
        """The entry that sums up: the maximum over attributes, or over values, or the only one."""
        return self.entries[-1]

    @property
    def d(self) -> float:
        """D(S0, S1) of `overall`."""
        return self.overall.d

    @property
    def d_f(self) -> float:
        """D_f(S0, S1) of `overall`."""
        return self.overall.d_f

    @property
    def hfm(self) -> float:
        """HFM of `overall`."""
        return self.overall.hfm

    @property
    def estimate(self) -> float:
        """HFM of `overall`."""
        return self.overall.hfm

    @property
    def pvalue(self) -> float:
        """Of HFM of `overall`: the classifier adds no distance; NaN where no test was made."""
        return self.overall.tests[2].pvalue if self.overall.tests else math.nan

    @property
    def comparisons(self) -> tuple[HfmComparison, ...]:
        """Three per entry: D, D_f, HFM."""
        return tuple(self._comparison(entry, k) for entry in self.entries for k in range(3))

    def __getitem__(self, group: Hashable) -> HfmEntry:
        """The entry of one value; where several attributes have it, of ``(attribute, value)``."""
        if isinstance(group, tuple) and len(group) == 2 and group[0] in [e.attribute for e in self.entries]:
            return self.entry(group[0], group[1])
        return self.entries[group_index([e.group for e in self.entries], group, "group")]

    def entry(self, attribute: str, group: str | None = None) -> HfmEntry:
        """The entry of an attribute (its maximum over values), or of one value of it; InputError if there is none."""
        check_label("attribute", attribute, "a sensitive column")
        check_label("group", group, "a group, or None")
        own = [e for e in self.entries if e.attribute == attribute]
        found = [e for e in own if group is None or group in (e.group, e.reference)]
        if not own:
            check_choice("attribute", attribute, tuple(dict.fromkeys(e.attribute for e in self.entries)))
        if not found:
            check_choice("group", group, tuple(dict.fromkeys(e.group for e in own)))
        exact = [e for e in found if e.group == group]
        return exact[0] if exact else found[-1]

    def _comparison(self, entry: HfmEntry, k: int) -> HfmComparison:
        own, other = (entry.distance.witnesses, entry.distance_f.witnesses, None)[k] or (None, None)
        found: dict[str, Any] = {}  # what was not computed is NaN
        if entry.tests:
            found = {"statistic": entry.tests[k].statistic, "pvalue": entry.tests[k].pvalue}
        if entry.pvalues_adjusted:
            found["pvalue_adjusted"] = entry.pvalues_adjusted[k]
        for stable in [s for s in entry.stability if s.quantity == _QUANTITIES[k]][:1]:
            found |= {"stability_low": stable.low, "stability_high": stable.high}
        return HfmComparison(
            metric=_METRICS[k], group=entry.group, reference=entry.reference, attribute=entry.attribute,
            estimate=(entry.d, entry.d_f, entry.hfm)[k], n=entry.n + entry.n_reference, method=self.method,
            row_group=own, row_reference=other, **found,
        )  # fmt: skip

    def sentences(self) -> list[str]:
        """One sentence per entry: the distances, and what the classifier adds."""
        found = []
        for e in self.entries:
            who = f"{e.attribute}: {e.group}" + (f" against {e.reference}" if not e.is_maximum else "")
            more = "further apart than" if e.hfm > 0 else "as far apart as" if e.hfm == 0 else "less far apart than"
            tested = f" (p = {e.tests[2].pvalue:.3g} for no added distance)" if e.tests else ""
            said = f"in these rows the predictions set the groups {more} the labels do{tested}."
            found.append(f"{who}: D = {e.d:.4g}, D_f = {e.d_f:.4g}, HFM = {e.hfm:.4g}; {said}")
        return found

    def _summary_columns(self, frame: pd.DataFrame) -> list[str]:
        """What says something, in a readable order."""
        hidden = {"backend", "method", "statistic", "attribute"}
        return ["attribute", *(c for c in frame.columns if c not in hidden and not frame[c].isna().all())]

    def witnesses(self) -> pd.DataFrame:
        """The rows that drive each distance, by label; empty for the mean, which no row attains.

        Returns
        -------
        DataFrame
            Columns `attribute`, `group`, `reference`, `quantity` ("D", "D_f"), `direction` ("group to
            reference" or back), `row`, `nearest`, `distance`, `attains` (whether it is the larger direction).
        """
        rows = []
        for e in (e for e in self.entries if not e.is_maximum):
            for quantity, found in (("D", e.distance), ("D_f", e.distance_f)):
                for way, d in (("group to reference", found.a_to_b), ("reference to group", found.b_to_a)):
                    if d.row is not None:
                        attains = d.value == found.value
                        rows.append((*_WHO(e), quantity, way, d.row, d.nearest, d.value, attains))
        names = ["quantity", "direction", "row", "nearest", "distance", "attains"]
        return pd.DataFrame(rows, columns=[*_NAMES, *names])

    def stability(self) -> pd.DataFrame:
        """Quantiles of D, D_f and HFM over subsamples of two sizes, with the drift; no confidence is claimed.

        Returns
        -------
        DataFrame
            Columns `attribute`, `group`, `reference`, `quantity`, `share`, `low` (5%), `median`, `high`
            (95%), `drift`, `n_subsamples`.
        """
        rows = [(*_WHO(e), *astuple(found)) for e in self.entries for found in e.stability]
        return pd.DataFrame(rows, columns=[*_NAMES, *(f.name for f in fields(StabilityRange))])

    def notes(self) -> list[str]:
        """Settings, what was left out, and how far the figures reach."""
        seed = "" if self.seed is None else f" (seed {self.seed})"
        by_maximum, tested = self.statistic == "max", self.n_resamples > 0
        said = {
            f"{self.n:,} rows in {len(self.columns)} coordinates and the label ({self.scale} scale); statistic "
            f"{self.statistic}. D_f is D with predictions in place of labels; HFM = D_f/D − 1.": True,
            f"Left out of the features as sensitive: {', '.join(self.left_out)}.": self.left_out,
            f"Constant, so without influence: {', '.join(self.constant)}.": self.constant,
            "The maximum is decided by single rows (see witnesses()): it is highly sensitive to the instances used, "
            "and has no confidence interval.": by_maximum,
            f"Tests with {self.n_resamples:,} resamples{seed}: sensitive values permuted among rows for D and D_f "
            "(groups no further apart than random), y and ŷ exchanged within rows for HFM (the classifier adds no "
            "distance); adjusted by Holm over values.": tested,
            "The test of HFM is valid and, of the maximum, nearly without power: a large p-value is no evidence that "
            'no distance was added; statistic="mean" asks with power.': tested and by_maximum,
            "No tests were made; pass n_resamples=199 for them.": not tested,
            f"Stability: 5% and 95% quantiles over {self.n_subsamples:,} subsamples of 80% of the rows, no confidence "
            "range; stability() also has 40% and the drift.": self.n_subsamples,
        }
        return [text for text, holds in said.items() if holds]

    def plot(self, ax: Axes | None = None) -> Axes:
        """HFM of every entry with its stability range; see `fairstats.plots.hfm.plot_hfm`."""
        return plot_hfm(self, ax=ax)
