"""Means, medians and quantiles of two groups: statistics and limits that take arrays only."""
