"""Rates and ratios: disparate impact and its kin (Besse et al. 2018)."""
