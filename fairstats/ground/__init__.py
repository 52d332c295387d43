"""Ground: input, sufficient statistics, results, errors, back ends. Imports nothing above it."""
