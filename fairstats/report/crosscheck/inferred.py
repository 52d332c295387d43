"""Rates of inferred groups: estimates, bounds and limits once more in R, from the same sums."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from fairstats.methods.rates.inferred.reading import InferredCounts, InferredDesign
from fairstats.methods.rates.inferred.result import InferredResult
from fairstats.report.crosscheck.check import Bench, Check, Line, ends, rows_of

_TWIN = "crosscheck_inferred"
_LINES = (
    Line("expected rows", "n"),
    Line("expected rows of the reference", "n_reference"),
    Line("rows with a true group", "n_audited"),
    Line("rate", "rate"),
    Line("rate of the reference", "rate_reference"),
    Line("estimate", "estimate"),
    Line("standard error", "std_error"),
    Line("smallest possible value", "set_low"),
    Line("largest possible value", "set_high"),
    *ends("interval of all that is possible", "set_interval", "set_ci_"),
    Line("weighted estimate", "weighted"),
    *ends("weighted interval", "weighted_interval", "weighted_"),
    Line("regression on the probabilities", "regression"),
    *ends("interval", "confidence_interval", "ci_"),
    Line("statistic", "statistic"),
    Line("p-value", "pvalue"),
    *ends("limit of the verdict", "bounds", "bound_"),
    Line("p-value of the verdict", "pvalue_verdict"),
)


def inferred(result: InferredResult, bench: Bench) -> Iterator[Check]:
    """Every number of every comparison, from the sums of the probabilities."""
    settings = result.settings
    for counts, rows in zip(result.counts, _split_rows(result), strict=True):
        groups = counts.groups
        answer = bench.call(
            _TWIN,
            *_flat(counts.number, counts.sums, counts.products),
            float(len(groups)),
            [float(groups.index(row.group) + 1) for row in rows],
            [float(groups.index(row.reference) + 1) for row in rows],
            result.scale,
            settings.confidence_level,
            settings.limit,
            sample=_sample_of(counts),
            true_sums=_true_sums_of(counts),
            design=_design_of(counts.design),
            true_design=_design_of(counts.true_design),
            cases=None if counts.cases is None else _flat(counts.cases)[0],
            n_known=None if counts.audited_rows is None else float(counts.audited_rows),
        )
        for comparison, row in zip(rows, rows_of(answer), strict=True):
            place = bench.place_of(comparison)
            yield from place.compare_all(_LINES, comparison, row, _TWIN)
    yield from bench.adjusted(result.comparisons, bench.place_of, settings.adjust)
    yield from bench.adjusted(result.comparisons, bench.place_of, settings.adjust, "pvalue_verdict")


def _split_rows(result: InferredResult) -> list[tuple[Any, ...]]:
    """The comparisons of each rate: they stand rate by rate."""
    size = len(result.comparisons) // len(result.counts)
    return [
        result.comparisons[start : start + size]
        for start in range(0, len(result.comparisons), size)
    ]


def _flat(*arrays: Any) -> list[Any]:
    """Arrays as vectors, row by row."""
    return [np.asarray(array, dtype=np.float64).ravel() for array in arrays]


def _sample_of(counts: InferredCounts) -> list[Any] | None:
    if counts.sample_number is None:
        return None
    return _flat(counts.sample_number, counts.sample_shift, counts.sample_covariance)


def _design_of(design: InferredDesign | None) -> list[Any] | None:
    """What weights and clusters add: three sums with squared weights, and the scatter."""
    if design is None:
        return None
    parts: list[Any] = []
    for part in (design.number, design.sums, design.products, design.scatter):
        parts.append([] if part is None else part)
    return _flat(*parts)


def _true_sums_of(counts: InferredCounts) -> list[Any] | None:
    if counts.true_number is None:
        return None
    return _flat(counts.true_number, counts.true_sums, counts.true_products)
