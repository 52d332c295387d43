"""Inference-grade algorithmic fairness: every figure with an interval and a test, in Python and R.

Every public name is loaded on first use, so that ``import fairstats`` costs little more than
pandas; result classes are in `fairstats.results`.
"""

from fairstats.ground.lazy import attach_stub

__all__, __getattr__, __dir__ = attach_stub(__name__, __file__)
