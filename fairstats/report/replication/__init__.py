"""Which printed result of the five papers holds: items, computations, records and the table."""
