"""The waist: rows, query engines and published counts become a `Tally`, and results are computed from it alone."""

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
from fairstats.ground.strata import StratumCounts, refuse_weights, stratum_order
from fairstats.ground.writing import JSON, write_file

#: Rows that an interval of scores holds at least in a file that leaves the house.
LEAST_ROWS = 10


def counts_or_rows(counts: Any, *, needs: str, **columns: Any) -> bool:
    """Whether counts are given; both or neither is an error. `needs`: which of the columns would do instead."""
    given = [name for name, column in columns.items() if column is not None]
    if counts is not None and given:
        got, allowed = f"both counts and rows ({', '.join(given)})", "either counts= or the columns"
        raise InputError("counts", got=got, allowed=allowed, cure="leave one of them out")
    lacking = [name for name in columns if name not in given and name in needs.split(", ")]
    if counts is None and lacking:
        allowed = f"{needs} and sensitive_features, row by row, or counts="
        cure = "pass the columns, or counts= with what is already counted"
        raise InputError(", ".join(lacking), got="None", allowed=allowed, cure=cure)
    return counts is not None


@serialisable(eq=False)
class Tally:
    """Sufficient statistics of one question: everything that inference reads, and no row of a person.

    Attributes
    ----------
    attributes : tuple of str
        The sensitive columns, and last the column of strata where there is one.
    levels, orders : tuple of tuple of str
        Of every group (and stratum) its value of each attribute, length G; per attribute its values in their
        declared order, empty where groups are ordered by size.
    cells, scores, tails, distinct : CellCounts, ScoreCounts, TailCounts and RowCounts, or None
        Group × outcome × prediction (× second prediction); group × outcome × score value; sums and largest
        values of counterfactual differences; distinct rows of features, outcome, prediction.
    of_labels, stratified : bool
        Whether `cells` counts the recorded outcomes, for lack of predictions; whether the last attribute is a stratum.
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
    stratified: bool = False
    columns: dict[str, str] = field(default_factory=dict)

    def check_stored(self) -> None:
        """Raise unless the parts that were read from a file speak of the same groups."""
        n_groups = len(self.levels)
        check_length(self, "orders", self.orders, len(self.attributes))
        for level in self.levels:
            check_length(self, "levels", level, len(self.attributes))
        for part in (self.cells, self.scores, self.tails, self.distinct):
            if part is not None:
                check_length(self, "groups", part.groups, n_groups)
        if not self.attributes or n_groups == 0:
            raise damaged("a tally without groups", "the values of its sensitive columns")

    @property
    def groups(self) -> tuple[str, ...]:
        """Names of the groups (with strata: of groups within strata)."""
        return tuple(INTERSECTION.join(level) for level in self.levels)

    @property
    def sensitive(self) -> tuple[str, ...]:
        """The sensitive columns, without the strata."""
        return self.attributes[:-1] if self.stratified else self.attributes

    @property
    def group_sizes(self) -> NDArray[np.int64]:
        """Rows per group, shape (G,)."""
        if (part := self.cells or self.scores) is not None:
            return part.group_sizes
        if self.tails is not None:
            return self.tails.n
        rows, n_groups = self.distinct, len(self.levels)
        sizes = np.zeros(n_groups) if rows is None else np.bincount(rows.group, rows.numbers, n_groups)
        return sizes.astype(np.int64)

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.group_sizes.sum())

    @property
    def missing(self) -> MissingReport:
        """What was left out."""
        part = self.cells or self.scores
        return MissingReport(n_rows=self.n) if part is None else part.missing

    @classmethod
    def from_frame(
        cls, answer: Any, *, sensitive_features: str | Sequence[str], number: str = "number_of_rows", **columns: Any
    ) -> Tally:
        """The tally that the query of `tally_sql` made where the table is.

        Parameters
        ----------
        answer : data frame
            One row per combination of values, as the warehouse answered.
        sensitive_features, number
            As in the query.
        **columns
            `y_true`, `y_pred`, `y_pred_b`, `score`, `strata`, `sample_weight` as in the query, and `pos_label`,
            `label_values`, `missing`, `groups`, `score_range` as in `fairstats.tally`.

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
        for name in columns:
            check_choice("columns", name, _OF_ANSWERS, cure="an answer holds no clusters, tails or features")
        return cls(**count_columns(answer, sensitive_features, number=number, **columns))

    def __str__(self) -> str:
        names = ", ".join(f"{g} ({n:,})" for g, n in zip(self.groups, self.group_sizes, strict=True))
        by, held = INTERSECTION.join(self.attributes), ", ".join(self._parts())
        return f"Tally of {self.n:,} rows by {by}: {names}; {held}."

    def by(self, *attributes: str) -> Tally:
        """The tally of some of the attributes: groups that agree in them become one."""
        fine = attributes and all(isinstance(name, str) and name in self.attributes for name in attributes)
        known, cure = ", ".join(map(repr, self.attributes)), "name the columns that the tally was made with"
        check_that(fine, "attributes", attributes, f"some of {known}", cure)
        if attributes == self.attributes:
            return self
        columns = [self.attributes.index(name) for name in attributes]
        mine = [tuple(level[c] for c in columns) for level in self.levels]
        orders = tuple(self.orders[c] for c in columns)
        stratified = self.stratified and columns[-1] == len(self.attributes) - 1
        return self._onto(attributes, list(dict.fromkeys(mine)), mine, orders, stratified)._sorted()

    def crossed(self) -> Tally:
        """The same groups as values of one attribute, the crossing of all (strata are added up)."""
        whole = self.by(*self.sensitive)
        own: list[tuple[str, ...]] = [(name,) for name in whole.groups]
        name, orders = INTERSECTION.join(whole.attributes), (whole.groups,)
        return whole._onto((name,), own, own, orders, stratified=False)

    def _onto(
        self, attributes: tuple[str, ...], new: list[tuple[str, ...]], mine: list[tuple[str, ...]],
        orders: tuple[tuple[str, ...], ...], stratified: bool,
    ) -> Tally:  # fmt: skip
        """The same counts on the groups `new`, where group g has become ``mine[g]``."""
        place = {level: k for k, level in enumerate(new)}
        position = [place[level] for level in mine]
        groups = tuple(INTERSECTION.join(level) for level in new)
        moved = {name: part._regrouped(groups, position) for name, part in self._parts().items()}
        if self.cells is not None:
            moved["cells"] = replace(moved["cells"], attributes=attributes)
        return replace(self, attributes=attributes, levels=tuple(new), orders=orders, stratified=stratified, **moved)

    def _parts(self) -> dict[str, Any]:
        """The parts that there are, by name."""
        return {name: part for name in _PARTS if (part := getattr(self, name)) is not None}

    def _sorted(self) -> Tally:
        """Groups in declared order, where every attribute has one, else by decreasing size."""
        keys: list[Any] = list(zip((-self.group_sizes).tolist(), self.groups, strict=True))
        if all(self.orders):
            place = [{v: k for k, v in enumerate(order)} for order in self.orders]
            # a group "(missing)" is declared by nobody and comes last
            keys = [[p.get(v, len(p)) for p, v in zip(place, own, strict=True)] for own in self.levels]
        order = sorted(range(len(keys)), key=keys.__getitem__)
        if order == list(range(len(keys))):
            return self
        new = [self.levels[g] for g in order]
        return self._onto(self.attributes, new, list(self.levels), self.orders, self.stratified)

    def __add__(self, other: Tally) -> Tally:
        return self.add(other)

    def add(self, other: Tally, *, disjoint_clusters: bool = False) -> Tally:
        """The tally of both sets of rows together; ``a + b`` is ``a.add(b)``.

        Parameters
        ----------
        other : Tally
            Of other rows, with the same columns and parts.
        disjoint_clusters : bool, default False
            Say that no cluster has rows in both, without which clustered tallies are not added: it would be
            counted as two independent units.

        Raises
        ------
        InputError
            Where columns or parts differ.
        """
        check_type("other", other, Tally, "another Tally", "fs.tally(frame, …)")
        check_flag("disjoint_clusters", disjoint_clusters)
        both = (self, other)
        kinds = [(t.attributes, t.stratified, t.of_labels, *(type(getattr(t, p)) for p in _PARTS)) for t in both]
        if kinds[0] != kinds[1]:
            got, allowed = f"a tally of {_described(other)}", f"a tally of the same kind: {_described(self)}"
            raise InputError("other", got=got, allowed=allowed, cure="make both with the same columns")
        clustered = any(t.cells is not None and t.cells.clustered for t in both)
        if clustered and not disjoint_clusters:
            allowed = "clusters that lie in one of the two only: one in both would be counted as two"
            cure = "make one tally of all rows, or a.add(b, disjoint_clusters=True) where that is known"
            raise InputError("other", got="clustered tallies", allowed=allowed, cure=cure)
        orders = tuple(
            tuple(dict.fromkeys([*a, *b])) if a and b else () for a, b in zip(self.orders, other.orders, strict=True)
        )
        new = list(dict.fromkeys([*self.levels, *other.levels]))
        a, b = (t._onto(t.attributes, new, list(t.levels), orders, t.stratified) for t in both)
        return replace(a, **{name: part + getattr(b, name) for name, part in a._parts().items()})._sorted()

    def selection(self) -> SelectionCounts:
        """Selected and not selected per group."""
        cells = self._cells()
        return cells.selection() if isinstance(cells, ConfusionCounts) else cells

    def confusion(self) -> ConfusionCounts:
        """Confusion counts per group (of the first prediction, where there are two)."""
        cells = self._cells()
        if isinstance(cells, ConfusionCounts):
            return cells
        raise _lacks(self, "labels and predictions", "y_true= and y_pred=")

    def paired(self) -> PairedCounts:
        """Label × two predictions per group."""
        if isinstance(self.cells, PairedCounts):
            return self._part("cells")  # type: ignore[no-any-return]
        raise _lacks(self, "a second prediction", "y_pred_b=")

    def strata(self) -> StratumCounts:
        """Cells of every group within the strata (of the first prediction, where there are two)."""
        if not self.stratified or self.cells is None:
            raise _lacks(self, "strata", "strata=")
        cells = self.cells.confusion(0) if isinstance(self.cells, PairedCounts) else self.cells
        refuse_weights("counts", weighted=cells.weighted)
        groups = self.by(*self.sensitive).groups
        names = tuple(dict.fromkeys(level[-1] for level in self.levels))
        order = [names[h] for h in stratum_order(names, self.orders[-1])]
        rows = np.zeros((len(order), len(groups), len(cells.cells)), dtype=np.int64)
        for level, own in zip(self.levels, cells.rows, strict=True):
            rows[order.index(level[-1]), groups.index(INTERSECTION.join(level[:-1]))] = own
        return StratumCounts(tuple(order), groups, cells.cells, rows, self.attributes[-1])

    def histogram(self) -> ScoreCounts:
        """Score values per group and label."""
        return self._part("scores", "scores", "score=")  # type: ignore[no-any-return]

    def extremes(self) -> TailCounts:
        """Sums and largest counterfactual differences per group."""
        what, cure = "counterfactual differences", "score= and counterfactual_score="
        return self._part("tails", what, cure)  # type: ignore[no-any-return]

    def rows(self) -> RowCounts:
        """Distinct rows of features, outcome and prediction."""
        return self._part("distinct", "rows of features", "features=")  # type: ignore[no-any-return]

    def _part(self, name: str, what: str = "outcomes or predictions", cure: str = "y_pred= (and y_true=)") -> Any:
        """One part, of the groups without strata."""
        if getattr(self, name) is None:
            raise _lacks(self, what, cure)
        return getattr(self.by(*self.sensitive) if self.stratified else self, name)

    def _cells(self) -> Any:
        """The cells, of the first prediction where there are two."""
        cells = self._part("cells")
        return cells.confusion(0) if isinstance(cells, PairedCounts) else cells

    def withheld(self, min_cell: int) -> Tally:
        """The cells alone, without those of fewer than `min_cell` rows: what a site may send.

        Rows of withheld cells count as left out, so that the worst-case bounds of an audit say what withholding
        can cost. Where one cell alone would be withheld, which known totals would give away, the next smallest
        goes, too.

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
        least = check_whole("min_cell", min_cell, low=1, cure="10, say")
        cells = self.cells
        if cells is None or cells.weighted:
            got = "a tally without cells" if cells is None else "a tally of weighted or clustered rows"
            raise InputError("min_cell", got=got, allowed="cells of plain rows", cure="count without weights")
        rows = cells.rows
        small = (rows > 0) & (rows < least)
        if small.sum() == 1 and (rows[~small] > 0).any():
            small |= rows == rows[~small & (rows > 0)].min()
        if others := [name for name in self._parts() if name != "cells"]:
            caution(f"only cells can be withheld by size: {', '.join(others)} left out", DataWarning)
        n, kept, before = int(rows[small].sum()), np.where(small, 0, rows), cells.missing
        missing = replace(
            before, policy="drop" if n else before.policy, n_dropped=before.n_dropped + n,
            by_column={**before.by_column, "withheld": n},
            patterns=(*before.patterns, *([(-1, -1, -1, n)] if n else [])),
        )  # fmt: skip
        units = {"n_units": int(kept.sum()), "group_units": kept.sum(axis=1)}
        cells = replace(cells, rows=kept, totals=kept.astype(np.float64), missing=missing, **units)
        return replace(self, cells=cells, scores=None, tails=None, distinct=None)

    def to_json(self, path: str | Path | None = None, *, exact: bool = False) -> str:
        """The tally as JSON.

        Parameters
        ----------
        path : str or Path, optional
            Where to write it.
        exact : bool, default False
            Also keep `distinct` rows and single scores, which can point at people. Otherwise rows are left out
            and scores merged until each interval holds at least 10 rows.

        Warns
        -----
        DataWarning
            What merging the scores can change.
        """
        exact = check_flag("exact", exact)
        scores = None if self.scores is None or exact else self.scores._gridded(LEAST_ROWS)
        kept = self if exact else replace(self, scores=scores, distinct=None)
        if scores is not None and scores.cost > 0:
            caution(
                f"scores are merged to {scores.values.size} intervals of at least {LEAST_ROWS} rows: the share of a "
                f"group below a cut can move by up to {scores.cost:.3g} (exact=True keeps every value).",
                DataWarning,
            )
        text = json.dumps(encode(kept), ensure_ascii=False, allow_nan=False)
        if path is not None:
            write_file(path, text, JSON)
        return text

    @classmethod
    def from_json(cls, source: str | Path) -> Tally:
        """The tally that `to_json` wrote: its text, or the path of a file; an InputError where it is none."""
        written = "what Tally.to_json() writes: its text, or the path of a file"
        text = str(check_type("source", source, (str, Path), written, "tally.to_json('tally.json')"))
        allowed = "what Tally.to_json() writes"
        held = text.lstrip().startswith("{")
        data = parse_json(text, "source", "text", allowed) if held else read_json(text, "source", allowed)
        return check_type("source", decode(data), cls, allowed)


#: What the answer of a warehouse can hold, and how it is read.
_OF_ANSWERS = (
    "y_true", "y_pred", "y_pred_b", "score", "strata", "sample_weight",
    "pos_label", "label_values", "missing", "groups", "score_range",
)  # fmt: skip
#: The parts of a tally.
_PARTS = ("cells", "scores", "tails", "distinct")


def _described(counted: Tally) -> str:
    parts = ", ".join(type(part).__name__ for part in counted._parts().values())
    return f"{INTERSECTION.join(counted.attributes)} with {parts or 'nothing'}"


def _lacks(counted: Tally, what: str, cure: str) -> InputError:
    got = f"a tally without {what} ({_described(counted)})"
    return InputError("counts", got=got, allowed=f"a tally with {what}", cure=f"make it with {cure}")


def tally(
    frame: Any,
    *,
    sensitive_features: str | Sequence[str],
    y_true: str | None = None,
    y_pred: str | None = None,
    y_pred_b: str | None = None,
    score: str | None = None,
    counterfactual_score: str | None = None,
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
    engine: Literal["auto", "rows", "duckdb", "polars", "spark"] = "auto",
) -> Tally:
    """Count the rows of a frame: everything that the named columns allow to be asked later.

    Parameters
    ----------
    frame : data frame, lazy table or path
        A file, folder or pattern, which `read_table` reads by the roles of its columns. Or pandas, polars, pyarrow,
        or any other that narwhals reads. Lazy tables (polars LazyFrame, DuckDB relation,
        Spark, Dask, Ibis, SQLFrame) are counted where they are: only grouped counts and sums come here.
    sensitive_features : str or sequence of str
        Sensitive columns; several are crossed, and `Tally.by` gives each by itself.
    y_true, y_pred, y_pred_b, strata, sample_weight, cluster : str, optional
        Columns of labels, predictions, predictions of a second model, strata, weights and sampling units.
    score, counterfactual_score : str, optional
        Columns of scores in [0, 1], and of the same rows' scores with the other value of the sensitive
        attribute, which gives the part `tails`.
    features : sequence of str, optional
        Columns of features: gives the part `distinct`, which set distances need.
    pos_label, label_values, missing, groups
        As in `disparate_impact`; `groups` for one sensitive column.
    score_range : tuple of float, default (0, 1)
        Ends of the scale of the scores, which become 0 and 1.
    number : str, optional
        Column with the rows that each row stands for, as in the answer to a query of `tally_sql` (of weights the
        sums, and those of their squares in a column with ``_squares``). Not with clusters or counterfactual scores.
    engine : {"auto", "rows", "duckdb", "polars", "spark"}, default "auto"
        What counts. "auto": lazy tables by their own engine, frames by rows in NumPy. "rows" loads a lazy
        table; another name moves a frame's rows into that engine.

    Returns
    -------
    Tally

    Raises
    ------
    InputError
        Where a column is missing or cannot be used; in a lazy table more than 10⁶ distinct rows of `features`.
    EngineError
        Where the engine of a lazy table fails; it gives the engine's own words.

    Notes
    -----
    Of a lazy table up to 65,536 distinct scores are counted one by one, more in intervals between the fractions k/m
    with m ≤ 1,000: MADD in up to 1,000 bins is exact, and `ScoreCounts.auc_error` bounds the error of AUC and ABROCA.

    Examples
    --------
    >>> import pandas as pd, fairstats as fs
    >>> frame = pd.DataFrame({"y": [1, 0, 1, 0], "hat": [1, 0, 0, 1], "sex": ["f", "f", "m", "m"]})
    >>> counted = fs.tally(frame, y_true="y", y_pred="hat", sensitive_features="sex")
    >>> print(counted)
    Tally of 4 rows by sex: f (2), m (2); cells.
    """
    asked = dict(locals())
    return Tally(**count_columns(asked.pop("frame"), asked.pop("sensitive_features"), **asked))
