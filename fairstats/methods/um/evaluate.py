"""Metrics over all draws of a posterior, block by block."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fairstats.ground.errors import InputError
from fairstats.methods.um.definitions import Metric
from fairstats.methods.um.draws import in_blocks

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Evaluator", "evaluate", "evaluator", "name_of"]

#: (counts (n, G, 4), reference) → (n, …).
Evaluator = Callable[[Any, int], Any]


def name_of(metric: Any) -> str:
    """Name of a metric in tables: its text, or the name of the function."""
    return metric if isinstance(metric, str) else str(getattr(metric, "__name__", type(metric).__name__))


def evaluator(metric: Metric | Callable[[Any], Any]) -> Evaluator:
    """The function of counts and reference that gives the draws of a metric."""
    if isinstance(metric, Metric):
        return metric.values
    name = name_of(metric)

    def of_counts(counts: Any, reference: int) -> Any:
        values = np.asarray(metric(counts), dtype=np.float64)
        if values.shape[:1] != counts.shape[:1]:
            raise InputError(
                "metric",
                got=f"{name}, which turns counts of shape {counts.shape} into {values.shape}",
                allowed="a function of counts (draws, groups, 4) whose answer has one entry per draw first",
                cure="tp, tn, fp, fn are the last axis; keep the first: lambda c: c[..., 0].sum(axis=1)",
            )
        return values

    return of_counts


def evaluate(
    block: Callable[[int, int, int], NDArray[np.float64]],
    draws: int,
    functions: Sequence[Evaluator],
    reference: int,
    n_jobs: int | None = None,
) -> list[NDArray[np.float64]]:
    """Draws of several metrics in one pass.

    Parameters
    ----------
    block : callable
        (index, first, last) → counts (last − first, G, 4).
    draws : int
    functions : sequence of callable
    reference : int
    n_jobs : int, optional
        Threads.
    """
    answers: list[NDArray[np.float64] | None] = [None] * len(functions)

    def first_block() -> None:
        counts = block(0, 0, min(draws, 2))
        for k, function in enumerate(functions):
            answers[k] = np.empty((draws, *np.shape(function(counts, reference))[1:]))

    def fill(index: int, first: int, last: int) -> None:
        counts = block(index, first, last)
        for answer, function in zip(answers, functions, strict=True):
            if answer is not None:
                answer[first:last] = function(counts, reference)

    first_block()
    in_blocks(draws, fill, n_jobs)
    return [answer for answer in answers if answer is not None]
