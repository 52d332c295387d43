"""Adjusted p-values, by R's `p.adjust`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from fairstats.report.crosscheck.bench import Bench

__all__ = ["ADJUSTED", "adjusted_in_r"]

#: Our name → that of `p.adjust`; Šidák's is not there and has a twin.
_NAMES = {"holm": "holm", "bonferroni": "bonferroni", "hommel": "hommel", "fdr_bh": "BH", "none": "none"}
ADJUSTED = "p-value, adjusted"


def adjusted_in_r(bench: Bench, pvalues: Sequence[float], method: str) -> tuple[list[float], str]:
    """Adjusted p-values and their source; unknown ones stay unknown and do not count.

    Parameters
    ----------
    bench : Bench
    pvalues : sequence of float
        One family.
    method : str
        As `fairstats` names it.
    """
    known = [p for p in pvalues if not math.isnan(p)]
    name = _NAMES.get(method)
    function = "stats::p.adjust" if name else "crosscheck_sidak"
    if not known:
        return list(pvalues), bench.source(function)
    found = bench.call(function, known, name) if name else bench.call(function, known)
    values = iter(np.atleast_1d(found).tolist())
    return [p if math.isnan(p) else float(next(values)) for p in pvalues], bench.source(function)
