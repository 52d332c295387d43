"""What the module of a method works with: R, the rows where they were given, and the tolerance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fairstats.report.crosscheck.check import Place
from fairstats.report.crosscheck.door import Door

__all__ = ["Bench", "column"]


@dataclass(frozen=True)
class Bench:
    """R and the data.

    Attributes
    ----------
    door : Door
    data : mapping or None
        Arguments of the function that made the result (y_true, score, sensitive_features, …); None where no
        rows were given.
    tolerance : float or None
        The user's, in place of those of the modules.
    adjusted_here : bool
        Whether adjusted p-values are those of one result; otherwise the family is the audit.
    """

    door: Door
    data: Mapping[str, Any] | None = None
    tolerance: float | None = None
    adjusted_here: bool = True

    def place(self, metric: str, group: str = "", reference: str = "") -> Place:
        """Where checks belong."""
        return Place(metric, group, reference, self.tolerance)

    def call(self, function: str, *args: Any, **kwargs: Any) -> Any:
        """What the function of R returns."""
        return self.door.call(function, *args, **kwargs)

    def source(self, function: str) -> str:
        """The function of R with package and version."""
        return self.door.source(function)

    def given(self, *names: str) -> list[Any] | None:
        """The named columns of the data, or None where one of them is missing."""
        if self.data is None or any(self.data.get(name) is None for name in names):
            return None
        return [self.data[name] for name in names]


def column(found: Mapping[str, Any], name: str) -> list[float]:
    """A column of what R returned: always a list, also of one number."""
    import numpy as np

    return [float(value) for value in np.atleast_1d(found[name]).tolist()]
