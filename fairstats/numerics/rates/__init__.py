"""Rates of two groups: kernels that broadcast over arrays of counts (``fairstats.rates``)."""

from fairstats.numerics.rates.pooled import StratifiedContrast, stratified

__all__ = ["StratifiedContrast", "stratified"]
