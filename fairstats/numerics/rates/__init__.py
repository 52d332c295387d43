"""Rates of two groups: kernels that broadcast over arrays of counts (``fairstats.rates``)."""

from fairstats.numerics.rates.intervals import Limits, contrast_interval, interval, pvalue
from fairstats.numerics.rates.pooled import StratifiedContrast, stratified

__all__ = ["Limits", "StratifiedContrast", "contrast_interval", "interval", "pvalue", "stratified"]
