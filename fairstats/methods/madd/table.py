"""The tidy table of MADD."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fairstats.methods.madd.entries import LargestMadd, MaddComparison
    from fairstats.methods.madd.settings import MaddSettings

__all__ = ["comparison_rows", "largest_row"]

_NAN = float("nan")


def comparison_rows(c: MaddComparison, settings: MaddSettings, backend: str) -> list[dict[str, Any]]:
    """Rows of one comparison.

    With given bins one row: MADD, with the interval of the binned distance and the test. Where the estimate
    rests on other bins than the grid, after a search above all, two: "madd", whose interval is the lower
    limit of the L1 distance, and "madd_binned", MADD on the label-blind grid with interval and test, which
    alone has a verdict (None: not judged).
    """
    common = {"group": c.group, "reference": c.reference, "n": c.n, "backend": backend}
    more = {"n_reference": c.n_reference, "h_sup": c.h_sup, "lower_limit": c.lower_limit, "note": c.note}
    on_grid = {
        **common,
        "estimate": c.binned,
        "std_error": c.std_error,
        "ci_low": c.interval.low,
        "ci_high": c.interval.high,
        "statistic": c.binned,
        "pvalue": c.pvalue,
        "pvalue_adjusted": c.pvalue_adjusted,
        "method": c.method,
        **more,
        "null_mean": c.binned_null_mean,
        "bias_corrected": c.bias_corrected,
        "mid_pvalue": c.mid_pvalue,
        "n_bins": c.grid_bins,
        "h_low": 1 / c.grid_bins,
        "h_high": 1 / c.grid_bins,
        "n_searched": 1,
        "bound_low": c.bounds.low,
        "bound_high": c.bounds.high,
        "confidence_level": c.interval.confidence_level,
        "verdict": c.verdict,
    }
    if not settings.apart:
        return [{"metric": "madd", **on_grid}]
    stable = c.bandwidth
    estimate = {
        **common,
        "estimate": c.estimate,
        "std_error": _NAN,
        "ci_low": c.lower_limit,
        "ci_high": 2.0,
        "statistic": c.estimate,
        "pvalue": c.search_pvalue,
        "pvalue_adjusted": _NAN,
        "method": "lower limit for the L1 distance",
        **more,
        "null_mean": c.null_mean,
        "bias_corrected": _NAN,
        "mid_pvalue": _NAN,
        "n_bins": settings.n_bins,
        "h_low": stable.low if stable else _NAN,
        "h_high": stable.high if stable else _NAN,
        "n_searched": stable.n_searched if stable else 1,
        "bound_low": c.lower_limit,
        "bound_high": 2.0,
        "confidence_level": c.interval.confidence_level,
        "verdict": None,
    }
    return [{"metric": "madd", **estimate}, {"metric": "madd_binned", **on_grid}]


def largest_row(largest: LargestMadd, backend: str) -> dict[str, Any]:
    """Row of the largest MADD."""
    return {
        "metric": "madd_max",
        "group": largest.group,
        "reference": largest.reference,
        "estimate": largest.estimate,
        "std_error": _NAN,
        "ci_low": largest.interval.low,
        "ci_high": largest.interval.high,
        "statistic": largest.statistic,
        "pvalue": largest.pvalue,
        "pvalue_adjusted": largest.pvalue_adjusted,
        "n": largest.n,
        "method": largest.method,
        "backend": backend,
        "null_mean": largest.null_mean,
        "mid_pvalue": largest.mid_pvalue,
        "bound_low": largest.bounds.low,
        "bound_high": largest.bounds.high,
        "confidence_level": largest.interval.confidence_level,
        "verdict": largest.verdict,
        "note": "",
    }
