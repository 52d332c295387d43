"""Two binomial rates: score intervals, exact tests and p-values of whole arrays of tables (``fairstats.rates``)."""
