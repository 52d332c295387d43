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

_NAME_COLUMNS = ("attribute", "group", "reference")
_names_of_entry = attrgetter(*_NAME_COLUMNS)
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
        Where they come from, with the rows that attain them; those of the attaining value for a
        maximum.
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
    """D, D_f or HFM of one entry, with the range over subsamples of 80% and the labels of the rows
    that attain it.
    """

    further: ClassVar[tuple[str, ...]] = (
        "attribute",
        "stability_low",
        "stability_high",
        "row_group",
        "row_reference",
    )

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
        Columns of X left out as sensitive attributes; columns with a single value, which add
        nothing.
    n_resamples, n_subsamples : int
        Of the tests and of the stability ranges; 0 where none were made.
    seed : int or None
    """

    title: ClassVar[str] = "HFM: what a classifier adds to the distance between groups"
    backend: ClassVar[str] = "numpy"
    lacks: ClassVar[Mapping[str, str]] = {
        "confidence_interval": (
            "the distance of samples does not estimate that of populations; .stability() "
            "shows how far it moves when rows are left out, and claims no confidence"
        ),
        "std_error": "a maximum over rows has none; .stability() shows how far it moves",
        "verdict": (
            "without an interval nothing is judged; .pvalue tests whether the classifier adds any"
        ),
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
        if self.overall.tests:
            return self.overall.tests[2].pvalue
        return math.nan

    @property
    def comparisons(self) -> tuple[HfmComparison, ...]:
        """Three per entry: D, D_f, HFM."""
        result = []
        for entry in self.entries:
            for quantity_index in range(3):
                result.append(self._comparison_of_entry(entry, quantity_index))
        return tuple(result)

    def __getitem__(self, group: Hashable) -> HfmEntry:
        """The entry of one value; where several attributes have it, of ``(attribute, value)``."""
        if (
            isinstance(group, tuple)
            and len(group) == 2
            and group[0] in [entry.attribute for entry in self.entries]
        ):
            return self.entry(group[0], group[1])
        return self.entries[group_index([entry.group for entry in self.entries], group, "group")]

    def entry(self, attribute: str, group: str | None = None) -> HfmEntry:
        """The entry of an attribute (its maximum over values), or of one value of it.

        InputError if there is none.
        """
        check_label("attribute", attribute, "a sensitive column")
        check_label("group", group, "a group, or None")
        entries_of_attribute = []
        for each_entry in self.entries:
            if each_entry.attribute == attribute:
                entries_of_attribute.append(each_entry)
        entries_of_group = []
        for each_entry in entries_of_attribute:
            if group is None or group in (each_entry.group, each_entry.reference):
                entries_of_group.append(each_entry)
        if not entries_of_attribute:
            check_choice(
                "attribute",
                attribute,
                tuple(dict.fromkeys(each_entry.attribute for each_entry in self.entries)),
            )
        if not entries_of_group:
            check_choice(
                "group",
                group,
                tuple(dict.fromkeys(each_entry.group for each_entry in entries_of_attribute)),
            )
        exact_entries = []
        for each_entry in entries_of_group:
            if each_entry.group == group:
                exact_entries.append(each_entry)
        if exact_entries:
            return exact_entries[0]
        return entries_of_group[-1]

    def _comparison_of_entry(self, entry: HfmEntry, quantity_index: int) -> HfmComparison:
        row_label, nearest_label = (entry.distance.witnesses, entry.distance_f.witnesses, None)[
            quantity_index
        ] or (None, None)
        computed_fields: dict[str, Any] = {}  # what was not computed is NaN
        if entry.tests:
            computed_fields = {
                "statistic": entry.tests[quantity_index].statistic,
                "pvalue": entry.tests[quantity_index].pvalue,
            }
        if entry.pvalues_adjusted:
            computed_fields["pvalue_adjusted"] = entry.pvalues_adjusted[quantity_index]
        for range_of_subsamples in [
            stability_range
            for stability_range in entry.stability
            if stability_range.quantity == _QUANTITIES[quantity_index]
        ][:1]:
            computed_fields |= {
                "stability_low": range_of_subsamples.low,
                "stability_high": range_of_subsamples.high,
            }
        return HfmComparison(
            metric=_METRICS[quantity_index],
            group=entry.group,
            reference=entry.reference,
            attribute=entry.attribute,
            estimate=(entry.d, entry.d_f, entry.hfm)[quantity_index],
            n=entry.n + entry.n_reference,
            method=self.method,
            row_group=row_label,
            row_reference=nearest_label,
            **computed_fields,
        )

    def sentences(self) -> list[str]:
        """One sentence per entry: the distances, and what the classifier adds."""
        sentences = []
        for entry in self.entries:
            group_words = f"{entry.attribute}: {entry.group}" + (
                f" against {entry.reference}" if not entry.is_maximum else ""
            )
            if entry.hfm > 0:
                comparing_words = "further apart than"
            else:
                if entry.hfm == 0:
                    comparing_words = "as far apart as"
                else:
                    comparing_words = "less far apart than"
            if entry.tests:
                tested = f" (p = {entry.tests[2].pvalue:.3g} for no added distance)"
            else:
                tested = ""
            conclusion = f"in these rows the predictions set the groups {comparing_words} the labels do{tested}."
            sentences.append(
                f"{group_words}: D = {entry.d:.4g}, D_f = {entry.d_f:.4g}, HFM = {entry.hfm:.4g}; {conclusion}"
            )
        return sentences

    def _summary_columns(self, frame: pd.DataFrame) -> list[str]:
        """What says something, in a readable order."""
        hidden = {"backend", "method", "statistic", "attribute"}
        return [
            "attribute",
            *(
                column
                for column in frame.columns
                if column not in hidden and not frame[column].isna().all()
            ),
        ]

    def witnesses(self) -> pd.DataFrame:
        """The rows that drive each distance, by label; empty for the mean, which no row attains.

        Returns
        -------
        DataFrame
            Columns `attribute`, `group`, `reference`, `quantity` ("D", "D_f"), `direction` ("group
            to reference" or back), `row`, `nearest`, `distance`, `attains` (whether it is the
            larger direction).
        """
        table_rows = []
        for entry in (entry for entry in self.entries if not entry.is_maximum):
            for quantity, set_distance in (("D", entry.distance), ("D_f", entry.distance_f)):
                for direction, directed in (
                    ("group to reference", set_distance.a_to_b),
                    ("reference to group", set_distance.b_to_a),
                ):
                    if directed.row is not None:
                        attains = directed.value == set_distance.value
                        table_rows.append(
                            (
                                *_names_of_entry(entry),
                                quantity,
                                direction,
                                directed.row,
                                directed.nearest,
                                directed.value,
                                attains,
                            )
                        )
        column_names = ["quantity", "direction", "row", "nearest", "distance", "attains"]
        return pd.DataFrame(table_rows, columns=[*_NAME_COLUMNS, *column_names])

    def stability(self) -> pd.DataFrame:
        """Quantiles of D, D_f and HFM over subsamples of two sizes, with the drift.

        No confidence is claimed.

        Returns
        -------
        DataFrame
            Columns `attribute`, `group`, `reference`, `quantity`, `share`, `low` (5%), `median`,
            `high` (95%), `drift`, `n_subsamples`.
        """
        table_rows = []
        for entry in self.entries:
            for stability_range in entry.stability:
                table_rows.append((*_names_of_entry(entry), *astuple(stability_range)))
        return pd.DataFrame(
            table_rows,
            columns=[*_NAME_COLUMNS, *(range_field.name for range_field in fields(StabilityRange))],
        )

    def notes(self) -> list[str]:
        """Settings, what was left out, and how far the figures reach."""
        if self.seed is None:
            seed_words = ""
        else:
            seed_words = f" (seed {self.seed})"
        by_maximum = self.statistic == "max"
        tested = self.n_resamples > 0
        rows_sentence = (
            f"{self.n:,} rows in {len(self.columns)} coordinates and the label ({self.scale} scale); "
            f"statistic {self.statistic}. D_f is D with predictions in place of labels; HFM = D_f/D − 1."
        )
        left_out = f"Left out of the features as sensitive: {', '.join(self.left_out)}."
        constant = f"Constant, so without influence: {', '.join(self.constant)}."
        single_rows = (
            "The maximum is decided by single rows (see witnesses()): it is highly sensitive to the "
            "instances used, and has no confidence interval."
        )
        tests_sentence = (
            f"Tests with {self.n_resamples:,} resamples{seed_words}: sensitive values permuted among rows "
            "for D and D_f (groups no further apart than random), y and ŷ exchanged within rows for "
            "HFM (the classifier adds no distance); adjusted by Holm over values."
        )
        power_sentence = (
            "The test of HFM is valid and, of the maximum, nearly without power: a large p-value is "
            'no evidence that no distance was added; statistic="mean" asks with power.'
        )
        stability = (
            f"Stability: 5% and 95% quantiles over {self.n_subsamples:,} subsamples of 80% of the "
            "rows, no confidence range; stability() also has 40% and the drift."
        )
        sentences = [rows_sentence]
        if self.left_out:
            sentences.append(left_out)
        if self.constant:
            sentences.append(constant)
        if by_maximum:
            sentences.append(single_rows)
        if tested:
            sentences.append(tests_sentence)
        if tested and by_maximum:
            sentences.append(power_sentence)
        if not tested:
            sentences.append("No tests were made; pass n_resamples=199 for them.")
        if self.n_subsamples:
            sentences.append(stability)
        return sentences

    def plot(self, ax: Axes | None = None) -> Axes:
        """HFM of every entry with its stability range; see `fairstats.plots.hfm.plot_hfm`."""
        return plot_hfm(self, ax=ax)
