"""Tables of a selection process: from rows, a tally or counts to selections by sex, by race, and crossed."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from fairstats.ground.checks import check_choice, check_that, check_whole, column_name, column_names
from fairstats.ground.counts import SelectionCounts
from fairstats.ground.encoding import (
    as_float_column,
    as_frame_columns,
    binary_codes,
    binary_columns,
    declared_labels,
    label_text,
)
from fairstats.ground.errors import InputError, MissingValuesWarning, caution
from fairstats.ground.groups import INTERSECTION
from fairstats.ground.tally import Tally, tally

_COUNTS = "a table {group: (selected, not selected)}, or several by name {'sex': {…}, 'race': {…}}"
_CURE = "pass a data frame with names of columns, a Tally, or {'women': (2, 8), 'men': (15, 10)}"


@dataclass(frozen=True)
class Counted:
    """One table: what its groups are, step of the process, counts; the tally where it has strata."""

    by: tuple[str, ...]
    step: str
    counts: SelectionCounts
    tally: Tally | None = None


def count_tables(
    data: Any, *, selected: Any, score: str | None, sex: str | None, race: str | None, strata: str | None,
    number: str | None, pos_label: Any, missing: str, unknown: Any, label_values: Any = None,
) -> tuple[list[Counted], tuple[float, int] | None]:  # fmt: skip
    """All tables that the data give; where they are about scores the median, and how many have just it."""
    check_choice("missing", missing, ("drop", "raise"))
    steps = () if selected is None else column_names("selected", selected)
    for name, column in (("score", score), ("sex", sex), ("race", race), ("strata", strata)):
        column_name(name, column)
    attributes = tuple(c for c in (sex, race) if c is not None)
    if isinstance(data, Tally):
        return _with_unknown(_of_tally(data, attributes), unknown), None
    if isinstance(data, Mapping):
        return _with_unknown(_of_counts(data, steps), unknown), None
    check_that(unknown is None, "unknown", unknown, "None where the rows themselves are given", "leave it out")
    if (score is None) == (not steps):
        got = "neither of them" if score is None else "both"
        cure = "selected: who went on; score: who scores above the median of all"
        raise InputError("selected, score", got=got, allowed="one of the two", cure=cure)
    if not attributes:
        raise InputError("sex, race", got="None", allowed="a column of groups, or two", cure='sex="sex"')
    named = [c for c in (score, *attributes, strata, number) if c is not None]
    frame = as_frame_columns(data, [*steps, *named], "data")
    if frame.empty:
        raise InputError("data", got="0 rows", allowed="at least one row", cure="pass data")
    sets = _sets(attributes)
    weight = np.ones(len(frame)) if number is None else as_float_column(frame[number], "number")
    median = None
    not_selected: dict[str, dict[str, int]] = {}
    if score is not None:
        parts, median = _by_median(frame, score, weight)
    else:
        parts, not_selected = _by_step(frame, steps, pos_label, label_values, weight)
    options: dict[str, Any] = {"strata": strata, "number": number, "missing": missing}
    tables = []
    for step, rows, passed in parts:
        here = frame.loc[rows].assign(**{_PASSED: passed[rows]})
        for names in sets:
            with warnings.catch_warnings():  # said once, of all tables
                warnings.simplefilter("ignore", MissingValuesWarning)
                counted = tally(here, y_pred=_PASSED, sensitive_features=list(names), **options)
            counts = counted.selection()
            if step in not_selected:
                left_out = replace(counts.missing, unfavourable={_argument(step): not_selected[step]})
                counts = replace(counts, missing=left_out)
            tables.append(Counted(names, step, counts, counted if strata else None))
    lacking = {INTERSECTION.join(t.by): t.counts.missing.n_dropped for t in tables[: len(sets)]}
    if said := ", ".join(f"{n:,} (by {name})" for name, n in lacking.items() if n):
        caution(f"People of unknown category or outcome are in no rate: {said}.", MissingValuesWarning)
    return tables, median


_PASSED = "(selected)"


def _sets(attributes: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Each attribute, and all of them crossed."""
    return [*((a,) for a in attributes), *([attributes] if len(attributes) > 1 else [])]


def _by_median(frame: Any, score: str, weight: Any) -> tuple[list[Any], tuple[float, int]]:
    """Who scores above the median of all who have a score, whether or not their category is known."""
    values = as_float_column(frame[score], "score")
    known = ~np.isnan(values)
    if not known.any():
        raise InputError("score", got="no score at all", allowed="numbers", cure="name another column")
    order = np.argsort(values[known], kind="stable")
    ranked, sums = values[known][order], np.cumsum(weight[known][order])
    # the mean of the two middle ones, as of that many rows
    middle = [ranked[np.searchsorted(sums, sums[-1] / 2, side)] for side in ("left", "right")]
    value = float(sum(middle) / 2)
    passed = np.where(known, values > value, np.nan)
    return [("", np.full(len(frame), True), passed)], (value, int(weight[values == value].sum()))


def _argument(step: str) -> str:
    """The argument that a step came by; its name where there are several."""
    return f"selected ({step})" if step else "selected"


def _by_step(
    frame: Any, steps: Sequence[str], pos_label: Any, label_values: Any, weight: Any
) -> tuple[list[Any], dict[str, dict[str, int]]]:
    """(step, its applicants, who passed it): the whole process first, where it has several steps.

    With the people of each label, by step, where several labels count as not selected.
    """
    columns = {step: frame[step] for step in steps}
    declared = declared_labels(label_values, **columns)
    if pos_label is not None or label_values is not None:
        binary_columns(pos_label, label_values, **columns)  # raises where it does not occur
    applicants = np.full(len(frame), True)
    parts, outcome = [], np.ones(len(frame))
    not_selected: dict[str, dict[str, int]] = {}
    for step in steps:
        name = step if len(steps) > 1 else ""
        label = pos_label.get(step) if isinstance(pos_label, Mapping) else pos_label
        codes = np.full(len(frame), np.nan)
        passed = binary_codes(frame.loc[applicants, step], f"selected ({step})", label, declared[step])
        codes[applicants] = passed.codes
        codes[codes < 0] = np.nan
        parts.append((name, applicants, codes))
        if passed.beside is not None:
            not_selected[name] = passed.unfavourable_labels(weight[applicants])
        outcome = np.where(applicants, codes, outcome)
        applicants = applicants & (codes == 1)
        if not applicants.any():
            break
    if len(steps) > 1:
        parts.insert(0, ("overall", np.full(len(frame), True), outcome))
    return parts, not_selected


def _of_tally(data: Tally, names: tuple[str, ...]) -> list[Counted]:
    attributes = names or data.sensitive
    for name in attributes:
        check_choice("sex, race", name, data.sensitive, cure="name attributes of the tally")
    strata, found = data.attributes[-1:] if data.stratified else (), []
    for own in _sets(attributes):
        table = data.by(*own, *strata)
        counts = table.selection().without_even_weights()
        if counts.weighted:
            got, cure = "a tally of weighted or clustered rows", "count people, each once"
            raise InputError("data", got=got, allowed="independent rows of equal weight", cure=cure)
        found.append(Counted(own, "", counts, table if strata else None))
    return found


def _of_counts(data: Mapping[Any, Any], steps: tuple[str, ...]) -> list[Counted]:
    """Of one mapping, of tuples (sex, race), or of several tables by name."""
    if not data:
        raise InputError("data", got="{}", allowed=_COUNTS, cure=_CURE)
    tables: list[tuple[tuple[str, ...], Mapping[Any, Any]]] = [(("group",), data)]
    if all(isinstance(cells, Mapping) and not {"selected", "not_selected"} & set(cells) for cells in data.values()):
        tables = [(tuple(label_text(name).split(INTERSECTION)), table) for name, table in data.items()]
    elif all(isinstance(group, tuple) and len(group) == 2 for group in data):
        crossed = {INTERSECTION.join(map(label_text, group)): cells for group, cells in data.items()}
        tables = [(("sex",), _added(data, 0)), (("race",), _added(data, 1)), (("sex", "race"), crossed)]
    return [counted for by, table in tables for counted in _of_steps(by, table, steps)]


def _added(data: Mapping[Any, Any], place: int) -> dict[Any, Any]:
    """Cells added up over the other part of the group's name."""
    sums: dict[Any, Any] = {}
    for group, cells in data.items():
        own = np.array(list(cells.values()) if isinstance(cells, Mapping) else cells)
        sums[group[place]] = sums.get(group[place], 0) + own
    return {group: tuple(cells.tolist()) for group, cells in sums.items()}


def _of_steps(by: tuple[str, ...], table: Mapping[Any, Any], steps: tuple[str, ...]) -> list[Counted]:
    """(selected, not selected) of each group; or with several steps (applicants, passed 1, passed 2, …)."""
    if len(steps) < 2:
        return [Counted(by, "", SelectionCounts.from_counts(table))]
    passed, allowed = {}, f"{1 + len(steps)} numbers: applicants, then those who passed {', '.join(steps)}"
    for group, cells in table.items():
        fine = hasattr(cells, "__len__") and not isinstance(cells, (str, Mapping)) and len(cells) == 1 + len(steps)
        check_that(fine, "data", cells, f"{allowed} (group {group!r})", _CURE)
        k = passed[group] = [check_whole("data", value, low=0) for value in cells]
        falling = all(a >= b for a, b in pairwise(k))
        check_that(falling, "data", cells, f"{allowed}, none more than before (group {group!r})", "check the order")
    spans = [("overall", 0, len(steps)), *((name, at, at + 1) for at, name in enumerate(steps))]
    return [
        Counted(by, name, SelectionCounts.from_counts({g: (k[b], k[a] - k[b]) for g, k in passed.items()}))
        for name, a, b in spans
    ]


def _with_unknown(tables: list[Counted], unknown: Any) -> list[Counted]:
    """The tables with published numbers of people of unknown category: one, or by the name of the table."""
    if unknown is None:
        return tables
    names = {INTERSECTION.join(t.by) for t in tables}
    by_table = isinstance(unknown, Mapping)
    if by_table and not set(unknown) <= names:
        allowed = f"numbers of people by table ({', '.join(sorted(names))}), or one number"
        raise InputError("unknown", got=repr(unknown), allowed=allowed, cure="{'sex': 12, 'race': (3, 20)}")
    found = []
    for t in tables:
        number = unknown.get(INTERSECTION.join(t.by)) if by_table else unknown
        if number is not None:
            both = isinstance(number, Sequence) and not isinstance(number, str) and len(number) == 2
            left_out = {(None, 1): number[0], (None, 0): number[1]} if both else {(None, None): number}
            t = replace(t, counts=replace(t.counts, missing=t.counts._left_out_report(left_out, "unknown")))
        found.append(t)
    return found
