"""Every result class, and what results are made of; each is loaded on first use."""

from fairstats.ground.lazy import attach_stub

__all__, __getattr__, __dir__ = attach_stub(__name__, __file__)
