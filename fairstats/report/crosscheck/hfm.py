"""HFM: set distances of features with labels and with predictions, which need the rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from fairstats.ground.encoding import label_text
from fairstats.ground.groups import sensitive_columns
from fairstats.report.crosscheck.bench import Bench
from fairstats.report.crosscheck.check import Check

if TYPE_CHECKING:
    from fairstats.methods.hfm.entries import HfmEntry
    from fairstats.methods.hfm.result import HfmResult

__all__ = ["checks"]

_TWIN = "crosscheck_hfm"
_QUANTITIES = ("D", "D_f", "HFM")
_PERMUTED = "of permutations of the rows, each with its own set distances: R has no twin as fast"
#: HFM is a ratio less 1: what is lost of the distances is lost of their ratio.
_RATIO = 1e-7


def checks(result: HfmResult, bench: Bench) -> Iterator[Check]:
    """D, D_f and HFM of every entry; HFM from the distances of the report without rows."""
    given = bench.given("X", "y_true", "y_pred", "sensitive_features")
    learnt = bench.data is not None and bench.data.get("reference_data") is not None
    columns = None if given is None or learnt else _columns(given[0], result)
    groups = {} if given is None else _groups(given[3], bench, result)
    found: dict[tuple[str, str], dict[str, float]] = {}
    for entry in result.entries:
        place = bench.place("hfm", f"{entry.attribute}: {entry.group}", entry.reference)
        mine = (entry.d, entry.d_f, entry.hfm)
        ratio = bench.call("harmonic_measure", entry.d, entry.d_f)
        source = bench.source("harmonic_measure")
        yield place.compare("HFM of these distances", entry.hfm, ratio, source, relative=_RATIO)
        if columns is None or given is None or (entry.attribute not in groups and not entry.is_maximum):
            for quantity, value in zip(_QUANTITIES[:2], mine[:2], strict=True):
                yield place.needs_data(quantity, value, "a distance between sets of rows")
            continue
        theirs = _distances(result, entry, columns, given, groups, found, bench)
        source = bench.source(_TWIN)
        for quantity, value, name in zip(_QUANTITIES, mine, ("d", "d_f", "hfm"), strict=True):
            yield place.compare(quantity, value, theirs[name], source, relative=_RATIO)
    yield from _tests(result, bench)


def _columns(X: Any, result: HfmResult) -> dict[str, Any]:
    """Columns as R takes them: numbers, or text."""
    import pandas as pd

    frame = X if isinstance(X, pd.DataFrame) else pd.DataFrame(np.asarray(X))
    return {
        str(name): (
            frame[name].to_numpy(dtype=np.float64)
            if pd.api.types.is_numeric_dtype(frame[name].dtype)
            else [label_text(v) for v in frame[name]]
        )
        for name in frame.columns
        if str(name) not in result.left_out
    }


def _groups(sensitive: Any, bench: Bench, result: HfmResult) -> dict[str, list[str]]:
    """Attribute → group of every row."""
    name = bench.data.get("attribute") if bench.data is not None else None
    if isinstance(sensitive, Mapping) or hasattr(sensitive, "columns"):
        given: Mapping[str, Any] = sensitive_columns(sensitive)
    else:
        given = {str(name or result.entries[0].attribute): sensitive}
    return {str(k): [label_text(v) for v in np.asarray(column).tolist()] for k, column in given.items()}


def _distances(
    result: HfmResult,
    entry: HfmEntry,
    columns: dict[str, Any],
    given: list[Any],
    groups: dict[str, list[str]],
    found: dict[tuple[str, str], dict[str, float]],
    bench: Bench,
) -> dict[str, float]:
    """D, D_f and HFM of one value against all others; a maximum is that of its values."""
    if entry.is_maximum:
        own = [v for (attribute, _), v in found.items() if attribute == entry.attribute or len(groups) > 1]
        if entry.attribute in groups:
            own = [v for (attribute, _), v in found.items() if attribute == entry.attribute]
        d, d_f = (max(v[name] for v in own) for name in ("d", "d_f"))
        return {"d": d, "d_f": d_f, "hfm": bench.call("harmonic_measure", d, d_f)}
    labels = [[label_text(v) for v in np.asarray(y).tolist()] for y in given[1:3]]
    value = bench.call(
        _TWIN, columns, *labels, groups[entry.attribute], entry.group, result.scale, result.statistic
    )
    found[entry.attribute, entry.group] = value
    return dict(value)


def _tests(result: HfmResult, bench: Bench) -> Iterator[Check]:
    for entry in result.entries:
        place = bench.place("hfm", f"{entry.attribute}: {entry.group}", entry.reference)
        for quantity, test in zip(_QUANTITIES, entry.tests, strict=False):
            yield place.left_out(f"p-value of {quantity}", test.pvalue, _PERMUTED)
