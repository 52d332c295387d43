"""Scores of several models on the same people, recomputed from the rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from fairstats.methods.rates.models.result import OVERALL
from fairstats.report.crosscheck.check import Check, Line, Place, ends

if TYPE_CHECKING:
    from fairstats.methods.rates.models.result import ModelComparison, PairedChange
    from fairstats.report.crosscheck.door import Bench

_CALLED = "crosscheck_paired_scores"
_EXACT = (
    Line("before", "before"),
    Line("after", "after"),
    Line("estimate", "estimate"),
    Line("standard error", "std_error"),
    *ends("interval", "confidence_interval"),
    *ends("simultaneous interval", "simultaneous", "joint_"),
    Line("statistic", "statistic"),
    Line("p-value", "pvalue"),
)
_DRAWN = (
    Line("before", "before"),
    Line("after", "after"),
    Line("estimate", "estimate"),
    Line("standard error", "std_error", error="std_error_error"),
    *ends("interval", "confidence_interval", random=True),
)


def score_change(
    result: ModelComparison, c: PairedChange, family: int, place: Place, bench: Bench
) -> Iterator[Check]:
    """One change of AUC, Brier score, MADD or ABROCA."""
    name = c.metric.removesuffix("_change")
    rows = _rows(bench, labelled=name != "madd")
    if rows is None or not {c.model, c.baseline} <= set(rows[1]):
        yield place.needs_data("estimate", c.estimate, "scores of single rows: pass data=")
        return
    group, scores, y = rows
    named = [g for g in (c.group, c.reference) if g and g != OVERALL]
    members = [np.flatnonzero(group == g) + 1 for g in named] or [np.arange(group.size) + 1]
    level = result.confidence_level
    levels = [level, 1 - (1 - level) / family]
    both = [np.asarray(scores[m], dtype=np.float64) for m in (c.baseline, c.model)]
    found = bench.call(
        _CALLED, name, both, y, [list(m) for m in members], levels, result.settings.n_resamples
    )
    yield from bench.compare(place, _DRAWN if name in ("madd", "abroca") else _EXACT, c, found, _CALLED)


def _rows(bench: Bench, *, labelled: bool) -> tuple[Any, Mapping[str, Any], Any] | None:
    """Group, scores by model, and label of every row: those of a report, or the arguments of a call."""
    known = bench.given("models")
    if known is not None:
        out = known[0].outcomes
        return np.array(out.groups.labels)[out.groups.codes], known[0].scores, known[0].labels.astype(float)
    found = bench.given("sensitive_features", "score", *(("y_true",) if labelled else ()))
    if found is None or not isinstance(found[1], Mapping):
        return None
    group = np.asarray(found[0]).astype(str)
    return group, found[1], np.asarray(found[2], dtype=np.float64) if labelled else np.zeros(group.size)
