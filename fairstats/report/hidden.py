"""Subgroups in an audit: what `subgroups=` asks for, and what is found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from fairstats.ground.errors import InputError
from fairstats.ground.tally import Tally
from fairstats.methods.rates.subgroups import SubgroupResult, subgroups
from fairstats.report.inputs import AuditColumns, AuditInput, AuditSettings

#: What is compared of predictions alone, or of outcomes, and what beside it where there are both.
_OF_SELECTION = ("demographic_parity_difference",)
_OF_ERRORS = ("equal_opportunity_difference", "fpr_difference")
_ALLOWED = "names of columns, a mapping of columns to cuts, or what fs.subgroups returned"
_CURE = 'subgroups=["sex", "region"], or {"sex": None, "age": [25, 40, 60], "income": 4}'


def with_subgroup_columns(columns: AuditColumns, asked: Any) -> AuditColumns:
    """The columns of an audit with those that make subgroups."""
    if asked is None:
        return columns
    if isinstance(asked, SubgroupResult):
        return replace(columns, subgroups=asked.settings.attributes)
    names, cuts = _names_and_cuts(asked)
    return replace(columns, subgroups=names, subgroup_cuts=tuple(cuts))


def _names_and_cuts(asked: Any) -> tuple[tuple[str, ...], dict[str, Any]]:
    """Names of the columns, and cuts of those that have some."""
    cuts: dict[str, Any] = {}
    if isinstance(asked, Mapping):
        names = tuple(asked)
        for name, points in asked.items():
            if points is not None:
                cuts[name] = points
    elif isinstance(asked, Sequence) and not isinstance(asked, (str, bytes)):
        names = tuple(asked)
    else:
        names = ()
    if not names or not all(isinstance(name, str) for name in names):
        raise InputError(
            "subgroups",
            got=repr(asked)[:120],
            allowed=_ALLOWED,
            cure=_CURE,
        )
    return names, cuts


def find_subgroups(
    asked: Any,
    frame: Any,
    columns: AuditColumns,
    settings: AuditSettings,
    pos_label: Any,
) -> tuple[SubgroupResult, ...]:
    """Of every rate that the columns allow all subgroups against the rest; `frame`: rows, a lazy
    table or a tally.

    Raises InputError under weights and clusters, for which there are none.
    """
    if asked is None:
        return ()
    if isinstance(asked, SubgroupResult):
        return (asked,)
    names, cuts = _names_and_cuts(asked)
    if columns.sample_weight is not None or columns.cluster is not None:
        raise InputError(
            "subgroups",
            got="subgroups of weighted or clustered rows",
            allowed="independent rows of equal weight",
            cure="leave out subgroups=, or sample_weight= and cluster=",
        )
    options: dict[str, Any] = {
        "attributes": names,
        "confidence_level": settings.confidence_level,
        "rng": settings.seed,
    }
    if isinstance(frame, Tally):
        if cuts:
            raise InputError(
                "subgroups",
                got=f"cuts of {', '.join(cuts)} for a Tally",
                allowed="names of its columns: what it counted is fixed",
                cure="cut the numbers before the rows are counted",
            )
    else:
        options |= {
            "cuts": cuts or None,
            "y_true": columns.y_true,
            "y_pred": columns.y_pred,
            "pos_label": pos_label,
            "label_values": columns.label_values or None,
            "missing": settings.missing,
        }
    metrics: tuple[str, ...] = _OF_SELECTION
    if columns.y_true is not None and columns.y_pred is not None:
        metrics += _OF_ERRORS
    first = subgroups(frame, metric=metrics[0], **options)
    results = [first]
    of_counts = {name: options[name] for name in ("attributes", "confidence_level", "rng")}
    for metric in metrics[1:]:  # of the counts that are there
        result = subgroups(first.counts, metric=metric, **of_counts)
        with_cuts = replace(result.settings, cuts=first.settings.cuts)
        results.append(replace(result, settings=with_cuts))
    return tuple(results)


def attach_subgroups(
    inputs: Sequence[AuditInput], results: tuple[SubgroupResult, ...]
) -> list[AuditInput]:
    """The inputs, of which the last, the crossing where there is one, has what was found."""
    return [*inputs[:-1], replace(inputs[-1], subgroups=results)]
