"""Coverage and size studies: ``python -m tests.calibration NAME [--replicates N] [--seed S]``.

A study is a module of this folder with a function ``run(*, replicates, seed) -> DataFrame``. Small parts of
each, with a fixed seed, run in the suite.
"""
