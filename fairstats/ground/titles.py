"""Headings in two parts."""

from __future__ import annotations


class Title(str):
    """A heading ``"label: quantity"``: what it is called, and what is measured; or a label alone.

    >>> title = Title("MADD: distance between the score distributions")
    >>> title.label, title.quantity
    ('MADD', 'distance between the score distributions')
    >>> Title("Threshold").label, Title("Threshold").quantity
    ('Threshold', '')
    """

    __slots__ = ()

    @property
    def label(self) -> str:
        """What it is called in few words."""
        return self.partition(":")[0]

    @property
    def quantity(self) -> str:
        """What is measured; empty where the title is a label alone."""
        return self.partition(":")[2].strip()
