"""Areas between ROC curves: exact areas and AUCs, the bootstrap within its Monte Carlo error."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from fairstats.report.crosscheck.adjusted import ADJUSTED, adjusted_in_r
from fairstats.report.crosscheck.bench import Bench, column
from fairstats.report.crosscheck.check import Check

if TYPE_CHECKING:
    from fairstats.methods.rates.abroca import AbrocaResult

__all__ = ["checks"]

_TWIN = "crosscheck_abroca"
#: A result stores at most so many bins of scores, with so many rows on average.
_BINS, _ROWS = 2048, 10
_BLURRED = "scores were stored in bins: within what these can blur; exact with the data"


def checks(result: AbrocaResult, bench: Bench) -> Iterator[Check]:
    """Every number of ABROCA."""
    scores: Any = result.counts
    groups = scores.groups
    given = bench.given("y_true", "score", "sensitive_features")
    if given is None:
        counts = np.asarray(scores.counts, dtype=np.float64)
        most = max(2, min(_BINS, int(counts.sum()) // _ROWS))
        blurred = scores.values.size >= most / 2
    else:
        y, score, group = given
        counts = bench.call("abroca_counts", score, np.asarray(y, dtype=float), list(group), list(groups))
        blurred = False
    resamples = int(result.settings.n_resamples)
    found = bench.call(
        _TWIN, counts,
        [groups.index(c.group) + 1 for c in result.comparisons],
        [groups.index(c.reference) + 1 for c in result.comparisons],
        result.settings.confidence_level, resamples,
    )  # fmt: skip
    twin = {name: column(found, name) for name in found}
    source = bench.source(_TWIN)
    for k, c in enumerate(result.comparisons):
        place = bench.place(c.metric, c.group, c.reference)
        row = {name: values[k] for name, values in twin.items()}
        near: dict[str, Any] = {"absolute": 1e-10 + (row["slack"] if blurred else 0.0)}
        near["note"] = _BLURRED if blurred else ""
        yield place.compare("AUC", c.rate, row["auc"], source, **near)
        yield place.compare("AUC of the reference", c.rate_reference, row["auc_reference"], source, **near)
        if not c.tests:
            continue
        yield place.compare("estimate", c.estimate, row["estimate"], source, **near)
        low, high = max(row["estimate"] - row["reach"], 0.0), min(row["estimate"] + row["reach"], 1.0)
        error = row["reach_error"]
        yield place.compare("interval, lower end", c.interval.low, low, source, error=error, **near)
        yield place.compare("interval, upper end", c.interval.high, high, source, error=error, **near)
        yield place.compare("standard error", c.std_error, row["sd"], source, error=row["sd_error"])
        expected = result.expected_if_equal[k]
        yield place.compare("mean if equal", expected, row["mean"], source, error=row["mean_error"])
        yield place.compare("p-value", c.pvalue, row["pvalue"], source, error=row["pvalue_error"])
    if bench.adjusted_here:
        adjusted, of = adjusted_in_r(bench, [c.pvalue for c in result.comparisons], result.settings.adjust)
        for c, p in zip(result.comparisons, adjusted, strict=True):
            yield bench.place(c.metric, c.group, c.reference).compare(ADJUSTED, c.pvalue_adjusted, p, of)
