"""Generators of synthetic people: built in, or anything with `fit` and `sample`."""
