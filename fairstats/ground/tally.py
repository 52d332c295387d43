"""The waist: rows, query engines and published counts become a `Tally`, and results are computed
from it alone.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.checks import check_choice, check_flag, check_that, check_type, check_whole
from fairstats.ground.columns import count_columns
from fairstats.ground.counts import CellCounts, ConfusionCounts, PairedCounts, SelectionCounts
from fairstats.ground.errors import DataWarning, InputError, caution
from fairstats.ground.groups import INTERSECTION
from fairstats.ground.outcomes import MissingReport
from fairstats.ground.parts import RowCounts, TailCounts
from fairstats.ground.scores import ScoreCounts
from fairstats.ground.serialise import decode, encode, parse_json, read_json, serialisable
from fairstats.ground.stored import check_length, damaged
from fairstats.ground.strata import StratumCounts, stratum_order
from fairstats.ground.tallies.classes import ClassCounts
from fairstats.ground.tallies.moments import MomentCounts
from fairstats.ground.tallies.stratum_moments import StratumMoments, cross_names
from fairstats.ground.writing import JSON, write_file

#: Rows that an interval of scores holds at least in a file that leaves the house.
LEAST_ROWS = 10


def counts_or_rows(counts: Any, *, needs: str, **columns: Any) -> bool:
    """Whether counts are given; both or neither is an error.

    `needs`: which of the columns would do instead.
    """
    given_columns = []
    for column_role, column in columns.items():
        if column is not None:
            given_columns.append(column_role)
    if counts is not None and given_columns:
        received = f"both counts and rows ({', '.join(given_columns)})"
        allowed = "either counts= or the columns"
        raise InputError("counts", got=received, allowed=allowed, cure="leave one of them out")
    lacking = []
    for column_role in columns:
        if column_role not in given_columns and column_role in needs.split(", "):
            lacking.append(column_role)
    if counts is None and lacking:
        allowed = f"{needs} and sensitive_features, row by row, or counts="
        advice = "pass the columns, or counts= with what is already counted"
        raise InputError(", ".join(lacking), got="None", allowed=allowed, cure=advice)
    return counts is not None


@serialisable(eq=False)
class Tally:
    """Sufficient statistics of one question.

    Everything that inference reads, and no row of a person.

    Attributes
    ----------
    attributes : tuple of str
        The sensitive columns, and last the column of strata where there is one.
    levels, orders : tuple of tuple of str
        Of every group (and stratum) its value of each attribute, length G; per attribute its values
        in their declared order, empty where groups are ordered by size.
    cells, scores, tails, distinct : CellCounts, ScoreCounts, TailCounts and RowCounts, or None
        Group × outcome × prediction (× second prediction); group × outcome × score value; sums and
        largest values of counterfactual differences; distinct rows of features, outcome,
        prediction.
    moments : MomentCounts or None
        Mean and centred sums of an outcome that is a number, and of the errors of its prediction.
    classes : ClassCounts or None
        Group × class × class, of labels and predictions of several classes.
    of_labels, stratified : bool
        Whether `cells` counts the recorded outcomes, for lack of predictions; whether the last
        attribute is a stratum.
    columns : dict of str to str
        What was counted → name of its column, for reports: ``{"y_pred": "hired", …}``.

    Examples
    --------
    >>> import pandas as pd, fairstats as fs
    >>> frame = pd.DataFrame({"hired": [1, 0, 1, 1], "sex": ["f", "f", "m", "m"]})
    >>> january = fs.tally(frame, y_pred="hired", sensitive_features="sex")
    >>> print((january + january).selection())
    group  selected  not_selected  n
        f         2             2  4
        m         4             0  4
    """

    attributes: tuple[str, ...]
    levels: tuple[tuple[str, ...], ...]
    orders: tuple[tuple[str, ...], ...]
    cells: CellCounts | None = None
    of_labels: bool = False
    scores: ScoreCounts | None = None
    tails: TailCounts | None = None
    distinct: RowCounts | None = None
    moments: MomentCounts | None = None
    classes: ClassCounts | None = None
    stratified: bool = False
    columns: dict[str, str] = field(default_factory=dict)

    def check_stored(self) -> None:
        """Raise unless the parts that were read from a file speak of the same groups."""
        n_groups = len(self.levels)
        check_length(self, "orders", self.orders, len(self.attributes))
        for level in self.levels:
            check_length(self, "levels", level, len(self.attributes))
        for tally_part in self._parts().values():
            if tally_part is not None:
                check_length(self, "groups", tally_part.groups, n_groups)
        if not self.attributes or n_groups == 0:
            raise damaged("a tally without groups", "the values of its sensitive columns")

    @property
    def groups(self) -> tuple[str, ...]:
        """Names of the groups (with strata: of groups within strata)."""
        return tuple(INTERSECTION.join(level) for level in self.levels)

    @property
    def sensitive(self) -> tuple[str, ...]:
        """The sensitive columns, without the strata."""
        if self.stratified:
            return self.attributes[:-1]
        return self.attributes

    @property
    def group_sizes(self) -> NDArray[np.int64]:
        """Rows per group, shape (G,)."""
        if (counted_part := self._counted_part) is not None:
            return np.asarray(counted_part.group_sizes)
        if self.tails is not None:
            return self.tails.n
        distinct_rows = self.distinct
        n_groups = len(self.levels)
        sizes = (
            np.zeros(n_groups)
            if distinct_rows is None
            else np.bincount(distinct_rows.group, distinct_rows.numbers, n_groups)
        )
        return sizes.astype(np.int64)

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.group_sizes.sum())

    @property
    def _counted_part(self) -> Any:
        """The first of the parts that know of rows left out; None where there is none."""
        return self.cells or self.classes or self.scores or self.moments

    @property
    def missing(self) -> MissingReport:
        """What was left out."""
        counted_part = self._counted_part
        if counted_part is None:
            return MissingReport(n_rows=self.n)
        report: MissingReport = counted_part.missing
        return report

    @classmethod
    def from_frame(
        cls,
        answer: Any,
        *,
        sensitive_features: str | Sequence[str],
        number: str = "number_of_rows",
        **columns: Any,
    ) -> Tally:
        """The tally that the query of `tally_sql` made where the table is.

        Parameters
        ----------
        answer : data frame
            One row per combination of values, as the warehouse answered.
        sensitive_features, number
            As in the query.
        **columns
            `y_true`, `y_pred`, `y_pred_b`, `score`, `strata`, `sample_weight` as in the query, and
            `pos_label`, `label_values`, `missing`, `groups`, `score_range`, `classes` as in
            `fairstats.tally`.

        Raises
        ------
        InputError
            Where a column is missing or cannot be used, or counts are no whole numbers.

        Examples
        --------
        >>> import pandas as pd, fairstats as fs
        >>> answer = pd.DataFrame({"sex": ["f", "m"], "referred": [1, 0], "number_of_rows": [20, 30]})
        >>> print(fs.Tally.from_frame(answer, y_pred="referred", sensitive_features="sex"))
        Tally of 50 rows by sex: m (30), f (20); cells.
        """
        for column_role in columns:
            check_choice(
                "columns",
                column_role,
                _OF_ANSWERS,
                cure="an answer holds no clusters, tails or features",
            )
        return cls(**count_columns(answer, sensitive_features, number=number, **columns))

    def __str__(self) -> str:
        names = ", ".join(
            f"{group_name} ({n_rows:,})"
            for group_name, n_rows in zip(self.groups, self.group_sizes, strict=True)
        )
        attribute_words = INTERSECTION.join(self.attributes)
        part_words = ", ".join(self._parts())
        return f"Tally of {self.n:,} rows by {attribute_words}: {names}; {part_words}."

    def by(self, *attributes: str) -> Tally:
        """The tally of some of the attributes: groups that agree in them become one."""
        are_attributes = attributes and all(
            isinstance(attribute, str) and attribute in self.attributes for attribute in attributes
        )
        known_words = ", ".join(map(repr, self.attributes))
        advice = "name the columns that the tally was made with"
        check_that(are_attributes, "attributes", attributes, f"some of {known_words}", advice)
        if attributes == self.attributes:
            return self
        columns = [self.attributes.index(attribute) for attribute in attributes]
        new_levels = []
        for level in self.levels:
            new_levels.append(tuple(level[attribute_position] for attribute_position in columns))
        orders = tuple(self.orders[attribute_position] for attribute_position in columns)
        stratified = self.stratified and columns[-1] == len(self.attributes) - 1
        return self._move_onto(
            attributes, list(dict.fromkeys(new_levels)), new_levels, orders, stratified
        )._in_group_order()

    def crossed(self) -> Tally:
        """The same groups as values of one attribute, the crossing of all (strata are added up)."""
        unstratified = self.by(*self.sensitive)
        crossed_levels: list[tuple[str, ...]] = [
            (crossed_name,) for crossed_name in unstratified.groups
        ]
        crossed_name = INTERSECTION.join(unstratified.attributes)
        orders = (unstratified.groups,)
        return unstratified._move_onto(
            (crossed_name,), crossed_levels, crossed_levels, orders, stratified=False
        )

    def _move_onto(
        self,
        attributes: tuple[str, ...],
        new_levels: list[tuple[str, ...]],
        levels_of_groups: list[tuple[str, ...]],
        orders: tuple[tuple[str, ...], ...],
        stratified: bool,
    ) -> Tally:
        """The same counts on the groups `new_levels`, where group g has become ``mine[g]``."""
        place_of_level = {level: level_number for level_number, level in enumerate(new_levels)}
        position = [place_of_level[level] for level in levels_of_groups]
        groups = tuple(INTERSECTION.join(level) for level in new_levels)
        moved_parts = {}
        for part_name, tally_part in self._parts().items():
            moved_parts[part_name] = tally_part._with_new_groups(groups, position)
        for part_name in ("cells", "classes"):
            if part_name in moved_parts:
                moved_parts[part_name] = replace(moved_parts[part_name], attributes=attributes)
        return replace(
            self,
            attributes=attributes,
            levels=tuple(new_levels),
            orders=orders,
            stratified=stratified,
            **moved_parts,
        )

    def _parts(self) -> dict[str, Any]:
        """The parts that there are, by name."""
        return {
            part_name: tally_part
            for part_name in _PART_NAMES
            if (tally_part := getattr(self, part_name)) is not None
        }

    def _in_group_order(self) -> Tally:
        """Groups in declared order, where every attribute has one, else by decreasing size."""
        keys: list[Any] = list(zip((-self.group_sizes).tolist(), self.groups, strict=True))
        if all(self.orders):
            places_of_values = [
                {
                    attribute_value: value_place
                    for value_place, attribute_value in enumerate(group_order)
                }
                for group_order in self.orders
            ]
            # a group "(missing)" is declared by nobody and comes last
            keys = []
            for group_level in self.levels:
                keys.append(
                    [
                        value_places.get(attribute_value, len(value_places))
                        for value_places, attribute_value in zip(
                            places_of_values, group_level, strict=True
                        )
                    ]
                )
        group_order = sorted(range(len(keys)), key=keys.__getitem__)
        if group_order == list(range(len(keys))):
            return self
        new_levels = [self.levels[group_index] for group_index in group_order]
        return self._move_onto(
            self.attributes, new_levels, list(self.levels), self.orders, self.stratified
        )

    def __add__(self, other: Tally) -> Tally:
        return self.add(other)

    def add(self, other: Tally, *, disjoint_clusters: bool = False) -> Tally:
        """The tally of both sets of rows together; ``a + b`` is ``a.add(b)``.

        Parameters
        ----------
        other : Tally
            Of other rows, with the same columns and parts.
        disjoint_clusters : bool, default False
            Say that no cluster has rows in both, without which clustered tallies are not added: it
            would be counted as two independent units.

        Raises
        ------
        InputError
            Where columns or parts differ.
        """
        check_type("other", other, Tally, "another Tally", "fs.tally(frame, …)")
        check_flag("disjoint_clusters", disjoint_clusters)
        both_tallies = (self, other)
        tally_kinds = []
        for each_tally in both_tallies:
            tally_kinds.append(
                (
                    each_tally.attributes,
                    each_tally.stratified,
                    each_tally.of_labels,
                    *(type(getattr(each_tally, part_field)) for part_field in _PART_NAMES),
                )
            )
        if tally_kinds[0] != tally_kinds[1]:
            received = f"a tally of {_describe_tally(other)}"
            allowed = f"a tally of the same kind: {_describe_tally(self)}"
            raise InputError(
                "other",
                got=received,
                allowed=allowed,
                cure="make both with the same columns",
            )
        clustered = any(
            tally_part is not None and tally_part.clustered
            for each_tally in both_tallies
            for tally_part in (each_tally.cells, each_tally.moments, each_tally.classes)
        )
        if clustered and not disjoint_clusters:
            allowed = (
                "clusters that lie in one of the two only: one in both would be counted as two"
            )
            advice = (
                "make one tally of all rows, or a.add(b, disjoint_clusters=True) where that is"
                " known"
            )
            raise InputError("other", got="clustered tallies", allowed=allowed, cure=advice)
        orders = tuple(
            tuple(dict.fromkeys([*own_order, *other_order])) if own_order and other_order else ()
            for own_order, other_order in zip(self.orders, other.orders, strict=True)
        )
        joined_levels = list(dict.fromkeys([*self.levels, *other.levels]))
        both_moved = []
        for each_tally in both_tallies:
            moved = each_tally._move_onto(
                each_tally.attributes,
                joined_levels,
                list(each_tally.levels),
                orders,
                each_tally.stratified,
            )
            both_moved.append(moved)
        own_moved, other_moved = both_moved
        return replace(
            own_moved,
            **{
                part_name: tally_part + getattr(other_moved, part_name)
                for part_name, tally_part in own_moved._parts().items()
            },
        )._in_group_order()

    def selection(self) -> SelectionCounts:
        """Selected and not selected per group."""
        cells = self._cells()
        return cells.selection() if isinstance(cells, ConfusionCounts) else cells

    def confusion(self) -> ConfusionCounts:
        """Confusion counts per group (of the first prediction, where there are two)."""
        cells = self._cells()
        if isinstance(cells, ConfusionCounts):
            return cells
        raise _lacking_part_error(self, "labels and predictions", "y_true= and y_pred=")

    def of_classes(self) -> ClassCounts:
        """Labels × predictions of several classes per group."""
        return self._part("classes", "classes", "classes=True")  # type: ignore[no-any-return]

    def paired(self) -> PairedCounts:
        """Label × two predictions per group."""
        if isinstance(self.cells, PairedCounts):
            return self._part("cells")  # type: ignore[no-any-return]
        raise _lacking_part_error(self, "a second prediction", "y_pred_b=")

    def strata(self) -> StratumCounts:
        """Cells of every group within the strata, of several classes all of them.

        Of two predictions those of the first.
        """
        cells: CellCounts | None = self.cells if self.classes is None else self.classes
        if not self.stratified or cells is None:
            raise _lacking_part_error(self, "strata", "strata=")
        if isinstance(cells, PairedCounts):
            cells = cells.confusion(0)
        strata, groups, positions = self._places_in_strata()
        return StratumCounts._of_crossings(strata, groups, cells, positions, self.attributes[-1])

    def stratum_numbers(self) -> StratumMoments:
        """Moments of the outcome, and of the errors of its prediction, within the strata."""
        if not self.stratified or self.moments is None:
            raise _lacking_part_error(self, "numbers within strata", "outcome= and strata=")
        strata, groups, positions = self._places_in_strata()
        return StratumMoments._from_cells(
            strata, groups, self.moments, positions, self.attributes[-1]
        )

    def _scores_in_strata(
        self,
    ) -> tuple[tuple[str, ...], tuple[str, ...], ScoreCounts | None, str]:
        """Strata, groups, rows by score of every group within the strata, and their column."""
        strata, groups, positions = self._places_in_strata()
        cells = self.scores
        if cells is not None:
            places = [stratum * len(groups) + group for stratum, group in positions]
            cells = cells._with_new_groups(cross_names(strata, groups), places)
        return strata, groups, cells, self.attributes[-1]

    def _places_in_strata(
        self,
    ) -> tuple[tuple[str, ...], tuple[str, ...], list[tuple[int, int]]]:
        """Strata and groups in order, and the places of both for every level."""
        groups = self.by(*self.sensitive).groups
        names = tuple(dict.fromkeys(level[-1] for level in self.levels))
        ordered_names = []
        for stratum_position in stratum_order(names, self.orders[-1]):
            ordered_names.append(names[stratum_position])
        positions = []
        for level in self.levels:
            stratum = ordered_names.index(level[-1])
            positions.append((stratum, groups.index(INTERSECTION.join(level[:-1]))))
        return tuple(ordered_names), groups, positions

    def histogram(self) -> ScoreCounts:
        """Score values per group and label."""
        return self._part("scores", "scores", "score=")  # type: ignore[no-any-return]

    def extremes(self) -> TailCounts:
        """Sums and largest counterfactual differences per group."""
        part_words = "counterfactual differences"
        argument_words = "score= and counterfactual_score="
        return self._part("tails", part_words, argument_words)  # type: ignore[no-any-return]

    def numbers(self) -> MomentCounts:
        """Moments of the outcome as a number, and of the errors of its prediction."""
        return self._part("moments", "numbers", "outcome=")  # type: ignore[no-any-return]

    def rows(self) -> RowCounts:
        """Distinct rows of features, outcome and prediction."""
        return self._part("distinct", "rows of features", "features=")  # type: ignore[no-any-return]

    def _part(
        self,
        name: str,
        part_words: str = "outcomes or predictions",
        argument_words: str = "y_pred= (and y_true=)",
    ) -> Any:
        """One part, of the groups without strata."""
        if getattr(self, name) is None:
            raise _lacking_part_error(self, part_words, argument_words)
        return getattr(self.by(*self.sensitive) if self.stratified else self, name)

    def _cells(self) -> Any:
        """The cells, of the first prediction where there are two."""
        cells = self._part("cells")
        return cells.confusion(0) if isinstance(cells, PairedCounts) else cells

    def withheld(self, min_cell: int) -> Tally:
        """The cells alone, without those of fewer than `min_cell` rows: what a site may send.

        Rows of withheld cells count as left out, so that the worst-case bounds of an audit say what
        withholding can cost. Where one cell alone would be withheld, which known totals would give
        away, the next smallest goes, too.

        Parameters
        ----------
        min_cell : int
            Least number of rows of a cell that is kept.

        Raises
        ------
        InputError
            For weighted or clustered rows, whose scatter gives single rows away.

        Warns
        -----
        DataWarning
            Where other parts are left out.

        Examples
        --------
        >>> import pandas as pd, fairstats as fs
        >>> frame = pd.DataFrame({"hired": [1] * 30 + [0] * 4 + [1] * 20, "sex": ["f"] * 34 + ["m"] * 20})
        >>> print(fs.tally(frame, y_pred="hired", sensitive_features="sex").withheld(5).selection())
        group  selected  not_selected  n
            f        30             0  30
            m         0             0  0
        """
        least_rows = check_whole("min_cell", min_cell, low=1, cure="10, say")
        cells = self.cells
        if cells is None or cells.weighted:
            if cells is None:
                received = "a tally without cells"
            else:
                received = "a tally of weighted or clustered rows"
            raise InputError(
                "min_cell",
                got=received,
                allowed="cells of plain rows",
                cure="count without weights",
            )
        row_counts = cells.rows
        is_small = (row_counts > 0) & (row_counts < least_rows)
        if is_small.sum() == 1 and (row_counts[~is_small] > 0).any():
            is_small |= row_counts == row_counts[~is_small & (row_counts > 0)].min()
        if other_parts := [part_name for part_name in self._parts() if part_name != "cells"]:
            caution(
                f"only cells can be withheld by size: {', '.join(other_parts)} left out",
                DataWarning,
            )
        n_withheld = int(row_counts[is_small].sum())
        kept_counts = np.where(is_small, 0, row_counts)
        report_before = cells.missing
        missing = replace(
            report_before,
            policy="drop" if n_withheld else report_before.policy,
            n_dropped=report_before.n_dropped + n_withheld,
            by_column={**report_before.by_column, "withheld": n_withheld},
            patterns=(*report_before.patterns, *([(-1, -1, -1, n_withheld)] if n_withheld else [])),
        )
        unit_counts = {"n_units": int(kept_counts.sum()), "group_units": kept_counts.sum(axis=1)}
        cells = replace(
            cells,
            rows=kept_counts,
            totals=kept_counts.astype(np.float64),
            missing=missing,
            **unit_counts,
        )
        return replace(
            self,
            cells=cells,
            scores=None,
            tails=None,
            distinct=None,
            moments=None,
            classes=None,
        )

    def to_json(self, path: str | Path | None = None, *, exact: bool = False) -> str:
        """The tally as JSON.

        Parameters
        ----------
        path : str or Path, optional
            Where to write it.
        exact : bool, default False
            Also keep `distinct` rows and single scores, which can point at people. Otherwise rows
            are left out and scores merged until each interval holds at least 10 rows.

        Warns
        -----
        DataWarning
            What merging the scores can change.
        """
        exact = check_flag("exact", exact)
        if self.scores is None or exact:
            scores = None
        else:
            scores = self.scores._merge_small_intervals(LEAST_ROWS)
        if exact:
            kept_tally = self
        else:
            kept_tally = replace(self, scores=scores, distinct=None)
        if scores is not None and scores.cost > 0:
            caution(
                f"scores are merged to {scores.values.size} intervals of at least {LEAST_ROWS}"
                f" rows: the share of a group below a cut can move by up to {scores.cost:.3g}"
                " (exact=True keeps every value).",
                DataWarning,
            )
        json_text = json.dumps(encode(kept_tally), ensure_ascii=False, allow_nan=False)
        if path is not None:
            write_file(path, json_text, JSON)
        return json_text

    @classmethod
    def from_json(cls, source: str | Path) -> Tally:
        """The tally that `to_json` wrote: its text, or the path of a file.

        An InputError where it is none.
        """
        written_words = "what Tally.to_json() writes: its text, or the path of a file"
        source_text = str(
            check_type("source", source, (str, Path), written_words, "tally.to_json('tally.json')")
        )
        allowed = "what Tally.to_json() writes"
        is_text = source_text.lstrip().startswith("{")
        if is_text:
            json_object = parse_json(source_text, "source", "text", allowed)
        else:
            json_object = read_json(source_text, "source", allowed)
        return check_type("source", decode(json_object), cls, allowed)


#: What the answer of a warehouse can hold, and how it is read.
_OF_ANSWERS = (
    "y_true",
    "y_pred",
    "y_pred_b",
    "score",
    "strata",
    "sample_weight",
    "pos_label",
    "label_values",
    "missing",
    "groups",
    "score_range",
    "classes",
)
#: The parts of a tally.
_PART_NAMES = ("cells", "scores", "tails", "distinct", "moments", "classes")


def _describe_tally(described_tally: Tally) -> str:
    part_words = ", ".join(
        type(tally_part).__name__ for tally_part in described_tally._parts().values()
    )
    return f"{INTERSECTION.join(described_tally.attributes)} with {part_words or 'nothing'}"


def _lacking_part_error(asked_tally: Tally, part_words: str, argument_words: str) -> InputError:
    received = f"a tally without {part_words} ({_describe_tally(asked_tally)})"
    return InputError(
        "counts",
        got=received,
        allowed=f"a tally with {part_words}",
        cure=f"make it with {argument_words}",
    )


def tally(
    frame: Any,
    *,
    sensitive_features: str | Sequence[str],
    y_true: str | None = None,
    y_pred: str | None = None,
    y_pred_b: str | None = None,
    score: str | None = None,
    counterfactual_score: str | None = None,
    outcome: str | None = None,
    predicted: str | None = None,
    features: Sequence[str] = (),
    strata: str | None = None,
    sample_weight: str | None = None,
    cluster: str | None = None,
    pos_label: Any = None,
    label_values: Any = None,
    missing: Any = "raise",
    groups: Sequence[Hashable] | None = None,
    score_range: tuple[float, float] = (0.0, 1.0),
    number: str | None = None,
    classes: bool | None = False,
    engine: Literal["auto", "rows", "duckdb", "polars", "spark"] = "auto",
) -> Tally:
    """Count the rows of a frame: everything that the named columns allow to be asked later.

    Parameters
    ----------
    frame : data frame, lazy table or path
        A file, folder or pattern, which `read_table` reads by the roles of its columns. Or pandas,
        polars, pyarrow, or any other that narwhals reads. Lazy tables (polars LazyFrame, DuckDB
        relation, Spark, Dask, Ibis, SQLFrame) are counted where they are: only grouped counts and
        sums come here.
    sensitive_features : str or sequence of str
        Sensitive columns; several are crossed, and `Tally.by` gives each by itself.
    y_true, y_pred, y_pred_b, strata, sample_weight, cluster : str, optional
        Columns of labels, predictions, predictions of a second model, strata, weights and sampling
        units.
    score, counterfactual_score : str, optional
        Columns of scores in [0, 1], and of the same rows' scores with the other value of the
        sensitive attribute, which gives the part `tails`.
    outcome, predicted : str, optional
        Columns of an outcome that is a number (a wage, a price) and of its prediction: give the
        part `moments`, which `means` and `prediction_errors` need.
    features : sequence of str, optional
        Columns of features: gives the part `distinct`, which set distances need.
    pos_label, label_values, missing, groups
        As in `disparate_impact`; `groups` for one sensitive column.
    score_range : tuple of float, default (0, 1)
        Ends of the scale of the scores, which become 0 and 1.
    number : str, optional
        Column with the rows that each row stands for, as in the answer to a query of `tally_sql`
        (of weights the sums, and those of their squares in a column with ``_squares``). Not with
        clusters, counterfactual scores or numbers as outcome.
    classes : bool or None, default False
        Whether labels and predictions are of several classes, which no `pos_label` divides into
        two: gives the part `classes` in place of `cells`, for ``classes=`` of the metrics. None:
        where a column has three values or more (at most 20), and there is no `pos_label`.
        `label_values` declares the classes, also those that no row has, and their order.
    engine : {"auto", "rows", "duckdb", "polars", "spark"}, default "auto"
        What counts. "auto": lazy tables by their own engine, frames by rows in NumPy. "rows" loads
        a lazy table; another name moves a frame's rows into that engine.

    Returns
    -------
    Tally

    Raises
    ------
    InputError
        Where a column is missing or cannot be used; in a lazy table more than 10⁶ distinct rows of
        `features`.
    EngineError
        Where the engine of a lazy table fails; it gives the engine's own words.

    Notes
    -----
    Of a lazy table up to 65,536 distinct scores are counted one by one, more in intervals between
    the fractions k/m with m ≤ 1,000: MADD in up to 1,000 bins is exact, and `ScoreCounts.auc_error`
    bounds the error of AUC and ABROCA.

    Examples
    --------
    >>> import pandas as pd, fairstats as fs
    >>> frame = pd.DataFrame({"y": [1, 0, 1, 0], "hat": [1, 0, 0, 1], "sex": ["f", "f", "m", "m"]})
    >>> counted = fs.tally(frame, y_true="y", y_pred="hat", sensitive_features="sex")
    >>> print(counted)
    Tally of 4 rows by sex: f (2), m (2); cells.
    """
    if classes is not None:
        check_flag("classes", classes)
    question_arguments = dict(locals())
    return Tally(
        **count_columns(
            question_arguments.pop("frame"),
            question_arguments.pop("sensitive_features"),
            **question_arguments,
        )
    )
