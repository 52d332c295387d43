"""What the intervals, tests and verdicts do where users are: ``python -m tests.calibration``.

A module of this folder lists its cells (`study.Cell`) in ``CELLS``; the record is
``results/calibration.jsonl``, the page made of both ``vignettes/calibration.md``.
"""
