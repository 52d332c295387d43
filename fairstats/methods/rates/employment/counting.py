"""Tables of a selection process.

From rows, a tally or counts to selections by sex, by race, and crossed.
"""

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

_ALLOWED_COUNTS = (
    "a table {group: (selected, not selected)}, or several by name {'sex': {…}, 'race': {…}}"
)
_ALLOWED_DATA = (
    "pass a data frame with names of columns, a Tally, or {'women': (2, 8), 'men': (15, 10)}"
)


@dataclass(frozen=True)
class Counted:
    """One table: what its groups are, step of the process, counts.

    The tally where it has strata.
    """

    by: tuple[str, ...]
    step: str
    counts: SelectionCounts
    tally: Tally | None = None


def count_tables(
    data: Any,
    *,
    selected: Any,
    score: str | None,
    sex: str | None,
    race: str | None,
    strata: str | None,
    number: str | None,
    pos_label: Any,
    missing: str,
    unknown: Any,
    label_values: Any = None,
) -> tuple[list[Counted], tuple[float, int] | None]:
    """All tables that the data give.

    Where they are about scores the median, and how many have just it.
    """
    check_choice("missing", missing, ("drop", "raise"))
    step_columns = () if selected is None else column_names("selected", selected)
    for argument_name, column in (
        ("score", score),
        ("sex", sex),
        ("race", race),
        ("strata", strata),
    ):
        column_name(argument_name, column)
    attributes = tuple(column_given for column_given in (sex, race) if column_given is not None)
    if isinstance(data, Tally):
        return _with_unknown(_of_tally(data, attributes), unknown), None
    if isinstance(data, Mapping):
        return _with_unknown(_of_counts(data, step_columns), unknown), None
    check_that(
        unknown is None,
        "unknown",
        unknown,
        "None where the rows themselves are given",
        "leave it out",
    )
    if (score is None) == (not step_columns):
        received = "neither of them" if score is None else "both"
        suggestion = "selected: who went on; score: who scores above the median of all"
        raise InputError("selected, score", got=received, allowed="one of the two", cure=suggestion)
    if not attributes:
        raise InputError(
            "sex, race",
            got="None",
            allowed="a column of groups, or two",
            cure='sex="sex"',
        )
    columns_named = []
    for column_given in (score, *attributes, strata, number):
        if column_given is not None:
            columns_named.append(column_given)
    people = as_frame_columns(data, [*step_columns, *columns_named], "data")
    if people.empty:
        raise InputError("data", got="0 rows", allowed="at least one row", cure="pass data")
    attribute_sets = _sets_of_attributes(attributes)
    if number is None:
        weight = np.ones(len(people))
    else:
        weight = as_float_column(people[number], "number")
    median = None
    not_selected: dict[str, dict[str, int]] = {}
    if score is not None:
        step_parts, median = _by_median(people, score, weight)
    else:
        step_parts, not_selected = _by_step(people, step_columns, pos_label, label_values, weight)
    options: dict[str, Any] = {"strata": strata, "number": number, "missing": missing}
    tables = []
    for step_name, applicants, passed in step_parts:
        step_people = people.loc[applicants].assign(**{_PASSED_COLUMN: passed[applicants]})
        for attribute_names in attribute_sets:
            with warnings.catch_warnings():  # said once, of all tables
                warnings.simplefilter("ignore", MissingValuesWarning)
                counted = tally(
                    step_people,
                    y_pred=_PASSED_COLUMN,
                    sensitive_features=list(attribute_names),
                    **options,
                )
            counts = counted.selection()
            if step_name in not_selected:
                left_out = replace(
                    counts.missing,
                    unfavourable={_argument_of_step(step_name): not_selected[step_name]},
                )
                counts = replace(counts, missing=left_out)
            tables.append(
                Counted(
                    by=attribute_names,
                    step=step_name,
                    counts=counts,
                    tally=counted if strata else None,
                )
            )
    lacking = {}
    for counted_table in tables[: len(attribute_sets)]:
        lacking[INTERSECTION.join(counted_table.by)] = counted_table.counts.missing.n_dropped
    if unknown_words := ", ".join(
        f"{n_unknown:,} (by {argument_name})"
        for argument_name, n_unknown in lacking.items()
        if n_unknown
    ):
        caution(
            f"People of unknown category or outcome are in no rate: {unknown_words}.",
            MissingValuesWarning,
        )
    return tables, median


_PASSED_COLUMN = "(selected)"


def _sets_of_attributes(attributes: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Each attribute, and all of them crossed."""
    return [
        *((attribute,) for attribute in attributes),
        *([attributes] if len(attributes) > 1 else []),
    ]


def _by_median(frame: Any, score: str, weight: Any) -> tuple[list[Any], tuple[float, int]]:
    """Who scores above the median of all who have a score, whether or not their category is
    known.
    """
    values = as_float_column(frame[score], "score")
    has_score = ~np.isnan(values)
    if not has_score.any():
        raise InputError(
            "score",
            got="no score at all",
            allowed="numbers",
            cure="name another column",
        )
    score_order = np.argsort(values[has_score], kind="stable")
    ranked = values[has_score][score_order]
    running_weight = np.cumsum(weight[has_score][score_order])
    # the mean of the two middle ones, as of that many rows
    middle = []
    for which_side in ("left", "right"):
        middle.append(ranked[np.searchsorted(running_weight, running_weight[-1] / 2, which_side)])
    median_score = float(sum(middle) / 2)
    passed = np.where(has_score, values > median_score, np.nan)
    return [("", np.full(len(frame), True), passed)], (
        median_score,
        int(weight[values == median_score].sum()),
    )


def _argument_of_step(step: str) -> str:
    """The argument that a step came by; its name where there are several."""
    return f"selected ({step})" if step else "selected"


def _by_step(
    frame: Any,
    steps: Sequence[str],
    pos_label: Any,
    label_values: Any,
    weight: Any,
) -> tuple[list[Any], dict[str, dict[str, int]]]:
    """(step, its applicants, who passed it): the whole process first, where it has several steps.

    With the people of each label, by step, where several labels count as not selected.
    """
    columns = {step_column: frame[step_column] for step_column in steps}
    declared = declared_labels(label_values, **columns)
    if pos_label is not None or label_values is not None:
        binary_columns(pos_label, label_values, **columns)  # raises where it does not occur
    applicants = np.full(len(frame), True)
    step_parts = []
    outcome = np.ones(len(frame))
    not_selected: dict[str, dict[str, int]] = {}
    for step_column in steps:
        step_name = step_column if len(steps) > 1 else ""
        if isinstance(pos_label, Mapping):
            passing_label = pos_label.get(step_column)
        else:
            passing_label = pos_label
        pass_codes = np.full(len(frame), np.nan)
        passed = binary_codes(
            frame.loc[applicants, step_column],
            f"selected ({step_column})",
            passing_label,
            declared[step_column],
        )
        pass_codes[applicants] = passed.codes
        pass_codes[pass_codes < 0] = np.nan
        step_parts.append((step_name, applicants, pass_codes))
        if passed.beside is not None:
            not_selected[step_name] = passed.unfavourable_labels(weight[applicants])
        outcome = np.where(applicants, pass_codes, outcome)
        applicants = applicants & (pass_codes == 1)
        if not applicants.any():
            break
    if len(steps) > 1:
        step_parts.insert(0, ("overall", np.full(len(frame), True), outcome))
    return step_parts, not_selected


def _of_tally(data: Tally, names: tuple[str, ...]) -> list[Counted]:
    """Tables of a tally: each attribute, and all of them crossed."""
    attributes = names or data.sensitive
    for attribute in attributes:
        check_choice("sex, race", attribute, data.sensitive, cure="name attributes of the tally")
    strata = data.attributes[-1:] if data.stratified else ()
    tables = []
    for attribute_set in _sets_of_attributes(attributes):
        tally_of_set = data.by(*attribute_set, *strata)
        counts = tally_of_set.selection().without_even_weights()
        if counts.weighted:
            received = "a tally of weighted or clustered rows"
            suggestion = "count people, each once"
            raise InputError(
                "data",
                got=received,
                allowed="independent rows of equal weight",
                cure=suggestion,
            )
        tables.append(
            Counted(
                by=attribute_set, step="", counts=counts, tally=tally_of_set if strata else None
            )
        )
    return tables


def _of_counts(data: Mapping[Any, Any], steps: tuple[str, ...]) -> list[Counted]:
    """Of one mapping, of tuples (sex, race), or of several tables by name."""
    if not data:
        raise InputError("data", got="{}", allowed=_ALLOWED_COUNTS, cure=_ALLOWED_DATA)
    tables: list[tuple[tuple[str, ...], Mapping[Any, Any]]] = [(("group",), data)]
    if all(
        isinstance(cells, Mapping) and not {"selected", "not_selected"} & set(cells)
        for cells in data.values()
    ):
        tables = []
        for table_name, table_cells in data.items():
            tables.append((tuple(label_text(table_name).split(INTERSECTION)), table_cells))
    elif all(isinstance(group, tuple) and len(group) == 2 for group in data):
        crossed = {}
        for group, cells in data.items():
            crossed[INTERSECTION.join(map(label_text, group))] = cells
        tables = [
            (("sex",), _add_up_cells(data, 0)),
            (("race",), _add_up_cells(data, 1)),
            (("sex", "race"), crossed),
        ]
    result: list[Counted] = []
    for attributes_of_table, table_cells in tables:
        for counted in _of_steps(attributes_of_table, table_cells, steps):
            result.append(counted)
    return result


def _add_up_cells(data: Mapping[Any, Any], place: int) -> dict[Any, Any]:
    """Cells added up over the other part of the group's name."""
    summed_cells: dict[Any, Any] = {}
    for group, cells in data.items():
        cell_numbers = np.array(list(cells.values()) if isinstance(cells, Mapping) else cells)
        summed_cells[group[place]] = summed_cells.get(group[place], 0) + cell_numbers
    return {group: tuple(cells.tolist()) for group, cells in summed_cells.items()}


def _of_steps(
    by: tuple[str, ...], table: Mapping[Any, Any], steps: tuple[str, ...]
) -> list[Counted]:
    """(selected, not selected) of each group.

    Or with several steps (applicants, passed 1, passed 2, …).
    """
    if len(steps) < 2:
        return [Counted(by, "", SelectionCounts.from_counts(table))]
    passed = {}
    allowed = f"{1 + len(steps)} numbers: applicants, then those who passed {', '.join(steps)}"
    for group, cells in table.items():
        has_step_numbers = (
            hasattr(cells, "__len__")
            and not isinstance(cells, (str, Mapping))
            and len(cells) == 1 + len(steps)
        )
        check_that(has_step_numbers, "data", cells, f"{allowed} (group {group!r})", _ALLOWED_DATA)
        step_numbers = passed[group] = [
            check_whole("data", step_number, low=0) for step_number in cells
        ]
        falling = all(first_step >= last_step for first_step, last_step in pairwise(step_numbers))
        check_that(
            falling,
            "data",
            cells,
            f"{allowed}, none more than before (group {group!r})",
            "check the order",
        )
    step_spans = [
        ("overall", 0, len(steps)),
        *((step_name, position, position + 1) for position, step_name in enumerate(steps)),
    ]
    result: list[Counted] = []
    for step_name, first_step, last_step in step_spans:
        result.append(
            Counted(
                by,
                step_name,
                SelectionCounts.from_counts(
                    {
                        group_name: (
                            step_numbers[last_step],
                            step_numbers[first_step] - step_numbers[last_step],
                        )
                        for group_name, step_numbers in passed.items()
                    }
                ),
            )
        )
    return result


def _with_unknown(tables: list[Counted], unknown: Any) -> list[Counted]:
    """The tables with published numbers of people of unknown category.

    One, or by the name of the table.
    """
    if unknown is None:
        return tables
    table_names = {INTERSECTION.join(counted_table.by) for counted_table in tables}
    by_table = isinstance(unknown, Mapping)
    if by_table and not set(unknown) <= table_names:
        allowed = f"numbers of people by table ({', '.join(sorted(table_names))}), or one number"
        raise InputError(
            "unknown",
            got=repr(unknown),
            allowed=allowed,
            cure="{'sex': 12, 'race': (3, 20)}",
        )
    tables_with_unknown = []
    for counted_table in tables:
        if by_table:
            number = unknown.get(INTERSECTION.join(counted_table.by))
        else:
            number = unknown
        if number is not None:
            is_pair = (
                isinstance(number, Sequence) and not isinstance(number, str) and len(number) == 2
            )
            left_out = (
                {(None, 1): number[0], (None, 0): number[1]} if is_pair else {(None, None): number}
            )
            counted_table = replace(
                counted_table,
                counts=replace(
                    counted_table.counts,
                    missing=counted_table.counts._left_out_report(left_out, "unknown"),
                ),
            )
        tables_with_unknown.append(counted_table)
    return tables_with_unknown
