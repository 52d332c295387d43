"""The pictures of a report that show all groups beside each other, made from its counts.

Page, `AuditReport.plot` and the files of ``--plots`` draw the same ones.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairstats.ground.checks import Floats
from fairstats.ground.counts import CellCounts, ConfusionCounts, SizeCounts
from fairstats.ground.groups import INTERSECTION
from fairstats.ground.multiplicity import normal_quantile
from fairstats.ground.registry import RATES, Rate, without_class
from fairstats.ground.tallies.classes import ClassCounts
from fairstats.methods.madd.result import MaddResult
from fairstats.methods.rates import own_values
from fairstats.methods.rates.abroca import AbrocaResult
from fairstats.methods.rates.classes.rates import events_of, rate_of_event
from fairstats.methods.rates.estimates import estimate_rate, rate_in
from fairstats.methods.rates.numbers.result import NumbersResult
from fairstats.methods.rates.result import RatioResult
from fairstats.numerics.paired.score import wilson_limits
from fairstats.plots.groups import (
    MOST_GROUPS,
    MOST_RATES,
    CrossedGroup,
    GroupCurve,
    curves_of_groups,
    intersections,
    numbers_by_group,
    rates_of_groups,
    score_distributions,
)
from fairstats.plots.picture import Picture
from fairstats.report import questions
from fairstats.report.contents import Contents
from fairstats.report.format import printable
from fairstats.report.questions import Concern
from fairstats.report.sets import numbers_of_groups
from fairstats.report.view import SetView

#: Rates that are drawn, by the question that they answer, in order.
_DRAWN_RATES = {
    questions.SELECTED: ("selection_rate", "base_rate"),
    questions.ERRORS: ("tpr", "tnr", "ppv", "npv"),
}
_BINS = 20
#: Classes whose shares are drawn.
_MOST_CLASSES = 6
#: Points of a ROC curve whose band is drawn.
_ROC_POINTS = 60


@dataclass(frozen=True)
class NamedPicture:
    """A picture of a report: `name`, of its file and for `AuditReport.plot`; its `concern`."""

    name: str
    concern: Concern
    picture: Picture


def pictures_of(report: Contents, view: SetView) -> tuple[NamedPicture, ...]:
    """Every picture of one set of groups: rates, intersections, scores, ROC and calibration."""
    table = next((one for one in report.tables if tuple(one.attributes) == view.attributes), None)
    made: list[NamedPicture] = []
    level = report.settings.confidence_level
    if isinstance(table, ClassCounts):
        made += _pictures_of_classes(view, table, level)
    elif table is not None and not isinstance(table, SizeCounts):
        made += _pictures_of_rates(view, table, level)
        if len(view.attributes) == 2:
            made += _picture_of_intersections(view, table)
    if table is not None:
        made += _pictures_of_numbers(view, table)
    for result in view.results:
        if isinstance(result, MaddResult):
            made.append(_picture_of_scores(result))
        if isinstance(result, AbrocaResult):
            made += _pictures_of_curves(result, level)
    return tuple(made)


def _largest(sizes: Any, most: int) -> list[int]:
    """Positions of the largest groups, in their order."""
    order = np.argsort(-np.asarray(sizes, dtype=np.float64), kind="stable")[:most]
    return sorted(order.tolist())


def _note_of_left_out(n_groups: int, n_shown: int) -> str:
    if n_shown < n_groups:
        return f" (the {n_shown} largest of {n_groups} groups)"
    return ""


def wilson_of_groups(table: CellCounts, rate: str, level: float) -> tuple[Floats, Floats, Floats]:
    """A rate of every group and its Wilson interval, of effective counts under weights or clusters.

    Returns
    -------
    rates, low, high : ndarray of float, shape (G,)
        NaN for a group without cases.
    """
    return wilson_of_rate(table, rate_in(table, RATES[rate]), level)


def wilson_of_rate(table: CellCounts, rate: Rate, level: float) -> tuple[Floats, Floats, Floats]:
    """As `wilson_of_groups`, of any rate that is successes among cases in this table."""
    estimates = estimate_rate(table, rate)
    low, high = np.transpose(own_values.wilson_of_groups(estimates, level))
    return np.asarray(estimates.rate, dtype=np.float64), low, high


def _reference_of(view: SetView) -> str:
    """The reference of the ratios of a set; empty where pairs have several."""
    for result in view.results:
        if isinstance(result, (RatioResult, NumbersResult)):
            references = {comparison.reference for comparison in result.comparisons}
            if len(references) == 1:
                return printable(references.pop())
    return ""


def _pictures_of_rates(view: SetView, table: CellCounts, level: float) -> Iterator[NamedPicture]:
    """Rates of the largest groups with Wilson's intervals, a picture for each rate."""
    shown = _largest(table.group_sizes, MOST_RATES)
    names = [printable(table.groups[position]) for position in shown]
    note = _note_of_left_out(len(table.groups), len(shown))
    for concern, rates in _DRAWN_RATES.items():
        for name in rates:
            if not isinstance(table, ConfusionCounts) and name != _rate_of_selections(view):
                continue
            values, low, high = wilson_of_groups(table, name, level)
            title = RATES[name].title
            yield NamedPicture(
                name=f"rates-{name.replace('_', '-')}",
                concern=concern,
                picture=rates_of_groups(
                    names,
                    values[shown],
                    low[shown],
                    high[shown],
                    title=f"{title[:1].upper()}{title[1:]} by group, {100 * level:g}%"
                    f" intervals{note}",
                    words=title,
                    reference=_reference_of(view),
                ),
            )


def _pictures_of_classes(view: SetView, table: ClassCounts, level: float) -> Iterator[NamedPicture]:
    """Shares of every class by group, of the first few classes."""
    shown = _largest(table.group_sizes, MOST_RATES)
    names = [printable(table.groups[position]) for position in shown]
    note = _note_of_left_out(len(table.groups), len(shown))
    of_labels = not any(
        without_class(row["metric"]) == "disparate_impact"
        for result in view.results
        for row in result.rows()
    )
    rate = RATES["base_rate" if of_labels and table.labelled else "selection_rate"]
    for event in events_of(table, "one-vs-rest")[:_MOST_CLASSES]:
        of_class = rate_of_event(table, rate, event)
        values, low, high = wilson_of_rate(table, of_class, level)
        words = f"share of the class {printable(event.label)}"
        yield NamedPicture(
            name=f"class-{event.positions[0] + 1}",
            concern=questions.SELECTED,
            picture=rates_of_groups(
                names,
                values[shown],
                low[shown],
                high[shown],
                title=f"{words[:1].upper()}{words[1:]} by group, {100 * level:g}% intervals{note}",
                words=words,
                reference=_reference_of(view),
            ),
        )


def _pictures_of_numbers(view: SetView, table: CellCounts) -> Iterator[NamedPicture]:
    """Numbers of the largest groups with their intervals, a picture for each metric."""
    shown = _largest(table.group_sizes, MOST_RATES)
    note = _note_of_left_out(len(table.groups), len(shown))
    for numbers in numbers_of_groups(view.results):
        own = [numbers.of_group(table.groups[position]) for position in shown]
        values, low, high = np.asarray(own, dtype=np.float64).T
        yield NamedPicture(
            name=f"numbers-{numbers.metric.replace('_', '-')}",
            concern=questions.AMOUNTS,
            picture=numbers_by_group(
                [printable(table.groups[position]) for position in shown],
                values,
                low,
                high,
                title=f"{numbers.title} by group, {100 * numbers.confidence_level:g}%"
                f" intervals{note}",
                words=numbers.title,
                reference=_reference_of(view),
            ),
        )


def _rate_of_selections(view: SetView) -> str:
    """What counts of selections are counts of: predictions, or labels where there is no other."""
    for result in view.results:
        if isinstance(result, RatioResult) and result.metric == "disparate_impact_labels":
            return "base_rate"
    return "selection_rate"


def _picture_of_intersections(view: SetView, table: CellCounts) -> Iterator[NamedPicture]:
    """Selection rates of two crossed attributes as a table of cells, where each has a value in
    both.
    """
    ratios = [
        result
        for result in view.results
        if isinstance(result, RatioResult)
        and result.metric in ("disparate_impact", "disparate_impact_labels")
    ]
    if not ratios:
        return
    result = ratios[0]
    reference = _reference_of(view)
    values = [group.split(INTERSECTION) for group in table.groups]
    # a value that holds the sign between values has no place in a table
    if not reference or any(len(parts) != 2 for parts in values):
        return
    comparisons = {comparison.group: comparison for comparison in result.comparisons}
    if result.metric.endswith("labels"):
        name = "base_rate"
    else:
        name = "selection_rate"
    rates = estimate_rate(table, rate_in(table, RATES[name])).rate
    cells = []
    for group, (row, column), rate in zip(table.groups, values, rates, strict=True):
        comparison = comparisons.get(group)
        change = 0.0
        verdict = ""
        if comparison is not None:
            verdict = comparison.verdict
            estimate = comparison.estimate
            if math.isfinite(estimate):
                change = math.log(max(estimate, 1e-3))
            else:
                change = math.nan
        cells.append(
            CrossedGroup(
                row=printable(row),
                column=printable(column),
                rate=float(rate),
                change=change,
                decided=verdict in ("", "violated", "satisfied"),
                violated=verdict == "violated",
            )
        )
    rows, columns = map(printable, view.attributes)
    title = RATES[name].title
    yield NamedPicture(
        name="intersections",
        concern=questions.SELECTED,
        picture=intersections(cells, rows, columns, f"{title[:1].upper()}{title[1:]}", reference),
    )


def _picture_of_scores(result: MaddResult) -> NamedPicture:
    shown = _largest(result.counts.sizes, MOST_GROUPS)
    counts = np.asarray(result.counts._counts_on_grid(_BINS), dtype=np.float64)[shown]
    names = [printable(result.counts.groups[position]) for position in shown]
    return NamedPicture(
        name="scores",
        concern=questions.MEANING,
        picture=score_distributions(names, counts),
    )


def _pictures_of_curves(result: AbrocaResult, level: float) -> Iterator[NamedPicture]:
    """ROC and calibration curves of the largest groups; no ROC curve where a label is missing."""
    counts: Any = result.counts
    shown = _largest(counts.counts.sum(axis=(1, 2)), MOST_GROUPS)
    bands = f"bands: {100 * level:g}% at each place"
    note = _note_of_left_out(len(counts.groups), len(shown))
    roc = []
    for position in shown:
        if (counts.counts[position].sum(axis=1) > 0).all():
            roc.append(
                _roc_of_group(printable(counts.groups[position]), counts.counts[position], level)
            )
    if roc:
        yield NamedPicture(
            name="roc",
            concern=questions.MEANING,
            picture=curves_of_groups(
                roc,
                f"ROC curves by group ({bands}){note}",
                "false positive rate",
                "true positive rate",
            ),
        )
    calibration = [_calibration_of_group(result, position, level) for position in shown]
    yield NamedPicture(
        name="calibration",
        concern=questions.MEANING,
        picture=curves_of_groups(
            calibration, f"Calibration by group ({bands}){note}", "score", "share with Y = 1"
        ),
    )


def _roc_of_group(name: str, counts: Any, level: float) -> GroupCurve:
    """The ROC curve of a group, with the Wilson interval of the true positive rate at a cut-off."""
    negatives = np.concatenate([[0], np.cumsum(counts[0][::-1])])
    positives = np.concatenate([[0], np.cumsum(counts[1][::-1])])
    points = np.unique(np.linspace(0, negatives.size - 1, _ROC_POINTS).round().astype(int))
    critical = normal_quantile((1 + level) / 2)
    limits = np.array(
        [
            wilson_limits(float(positives[place]), float(positives[-1]), critical, ratio=False)
            for place in points
        ]
    )
    return GroupCurve(
        name=name,
        x=negatives[points] / negatives[-1],
        y=positives[points] / positives[-1],
        low=limits[:, 0],
        high=limits[:, 1],
    )


def _calibration_of_group(result: AbrocaResult, position: int, level: float) -> GroupCurve:
    counts: Any = result.counts
    score, _, shares, low, high = counts._calibration_bins(position, level)
    return GroupCurve(
        name=printable(counts.groups[position]),
        x=score,
        y=shares,
        low=low,
        high=high,
    )
