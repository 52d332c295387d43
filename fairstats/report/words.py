"""What a report says about a metric: its name, its definition, where it comes from."""

from __future__ import annotations

from dataclasses import dataclass

from fairstats.ground.serialise import serialisable

__all__ = ["MetricWords"]


@serialisable
@dataclass(frozen=True)
class MetricWords:
    """A metric in words.

    Attributes
    ----------
    title : str
        Name in headings.
    definition : str
        Formula and estimator, for the methods paragraph.
    references : tuple of str
        Keys of the section's ``REFERENCES``.
    """

    title: str
    definition: str
    references: tuple[str, ...] = ()
