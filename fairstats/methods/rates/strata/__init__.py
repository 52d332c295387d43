"""Rates compared within the strata of a confounder."""
