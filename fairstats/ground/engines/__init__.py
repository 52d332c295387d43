"""Tallies made where the data are: lazy tables of any engine; only grouped counts and sums are collected."""
