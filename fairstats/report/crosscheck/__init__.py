"""Every number of a report recomputed in R by independent code: one module per method."""
