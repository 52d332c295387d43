"""Families of p-values: within one metric, or over the whole audit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fairstats.ground.results import Result
from fairstats.methods.rates.simultaneous import adjust_pvalues

__all__ = ["adjust_over_audit"]


def adjust_over_audit(results: Sequence[Result]) -> list[Result]:
    """The same results with p-values adjusted by Holm over all of them.

    Where the data chose a reference ("highest"), the comparisons that could have been chosen count too: the
    p-values of such a result enter multiplied by their number per comparison shown, and the adjustment is
    Bonferroni's.

    Parameters
    ----------
    results : sequence of Result
        Those with a method ``with_adjusted`` take part.
    """
    taking_part = [r for r in results if hasattr(r, "with_adjusted")]
    raw = [np.minimum(_pvalues(r) * _chosen_among(r), 1.0) for r in taking_part]
    chosen = any(_chosen_among(r) > 1 for r in taking_part)
    method = "bonferroni" if chosen else "holm"
    adjusted = adjust_pvalues(np.concatenate(raw).tolist() if raw else [], method)
    family = f"the {int(np.isfinite(adjusted).sum())} p-values of the audit"
    found: dict[int, Result] = {}
    start = 0
    for result, values in zip(taking_part, raw, strict=True):
        judged: Any = result
        found[id(result)] = judged.with_adjusted(adjusted[start : start + values.size], family)
        start += values.size
    return [found.get(id(r), r) for r in results]


def _pvalues(result: Result) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.asarray(result.to_frame()["pvalue"], dtype=np.float64)


def _chosen_among(result: Result) -> float:
    """Pairs that the data chose from, per comparison."""
    settings: Any = getattr(result, "settings", None)
    counts: Any = getattr(result, "counts", None)
    if getattr(settings, "reference_rule", "") != "highest" or counts is None:
        return 1.0
    return max(len(counts.groups) / 2, 1.0)
