"""Tallies made where the data are: lazy tables of polars, DuckDB, Spark, Dask and others, by narwhals.

Nothing is collected but grouped counts and sums. `sources` opens tables, `table` counts cells and clusters,
`scores` and `parts` the rest.
"""
