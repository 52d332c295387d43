"""The tidy rows of a result: one per interval in one dimension, one per region otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from fairstats.numerics.hdr.contract import FloatArray
    from fairstats.numerics.hdr.result import HdrRegion, HdrResult

__all__ = ["region_rows"]


def region_rows(result: HdrResult) -> list[dict[str, Any]]:
    """Rows for `Result.to_frame`.

    An interval's ends are `ci_low` and `ci_high`, its `estimate` is where the density is highest in it,
    and `low_error`, `high_error` are the Monte Carlo errors of the ends. A region of two quantities has
    its area as `estimate`.
    """
    rows: list[dict[str, Any]] = []
    for region in result.regions:
        common = {
            "n": result.n,
            "method": result.method,
            "backend": result.backend,
            "prob": region.prob,
            "falpha": region.falpha,
            "falpha_error": region.falpha_error,
        }
        if region.intervals is None:
            name = "region" if region.size is None else "area"
            whole = {"metric": name, "estimate": region.size, "std_error": region.size_error}
            rows.append(whole | common | {"mass": region.mass})
        else:
            rows.extend(row | common | mass for row, mass in _intervals(result, region, region.intervals))
    return rows


def _intervals(
    result: HdrResult, region: HdrRegion, intervals: FloatArray
) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """What differs between the intervals of one region: the tidy columns, and those after them."""
    grid = result.axes[0].ravel()
    pairs = []
    for k, (low, high) in enumerate(intervals.tolist()):
        inside = (grid >= low) & (grid <= high)
        peak = grid[inside][result.values[inside].argmax()] if inside.any() else np.mean([low, high])
        row = {"metric": "interval", "estimate": float(peak), "ci_low": low, "ci_high": high}
        rest: dict[str, Any] = {}
        if region.errors is not None:
            rest |= {"low_error": float(region.errors[k, 0]), "high_error": float(region.errors[k, 1])}
        if region.interval_masses is not None:
            rest |= {"mass": float(region.interval_masses[k])}
        pairs.append((row, rest))
    return pairs
