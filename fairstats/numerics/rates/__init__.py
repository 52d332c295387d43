"""Rates of two groups: kernels that broadcast over arrays of counts (``fairstats.rates``)."""

from fairstats.numerics.rates.intervals import Limits, contrast_interval, interval, pvalue

__all__ = ["Limits", "contrast_interval", "interval", "pvalue"]
