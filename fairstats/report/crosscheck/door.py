"""What the cross-check asks R for, and which function of which package answered."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from fairstats._version import __version__
from fairstats.ground import rsession
from fairstats.ground.errors import BackendError, FairstatsWarning
from fairstats.ground.rprobe import RProbe, probe_r

__all__ = ["Door", "RDoor", "open_door"]


class Door(Protocol):
    """Something that answers for R."""

    def call(self, function: str, *args: Any, **kwargs: Any) -> Any:
        """What the function of R returns."""

    def source(self, function: str) -> str:
        """The function, and the package with its version."""

    def has(self, package: str) -> bool:
        """Whether an R package is installed."""


@dataclass(frozen=True)
class RDoor:
    """The running R; every call draws its random numbers from one seed.

    Attributes
    ----------
    probe : RProbe
    seed : int
    """

    probe: RProbe
    seed: int = 20180721

    def call(self, function: str, *args: Any, **kwargs: Any) -> Any:
        """What the function of R returns; what R warns of is passed over, since the values are compared."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FairstatsWarning)
            return rsession.call(function, *args, rng=np.random.default_rng(self.seed), **kwargs)

    def source(self, function: str) -> str:
        """The function, and the package with its version.

        ``"stats::p.adjust (R 4.2.2)"`` for a function of R, ``"madd (fairstats 0.1.0, base R 4.2.2)"``
        for one of the project's R code.
        """
        package, sign, _ = function.partition("::")
        version = self.probe.r_version
        if not sign:
            return f"{function} (fairstats {__version__}, base R {version})"
        installed = self.probe.packages.get(package)
        return f"{function} ({package} {installed})" if installed else f"{function} (R {version})"

    def has(self, package: str) -> bool:
        """Whether an R package is installed."""
        return package in self.probe.packages


def open_door() -> RDoor:
    """The door to R.

    Raises
    ------
    BackendError
        If R or rpy2 cannot be used; the message has cause and cure.
    """
    found = probe_r()
    if not found.works:
        raise BackendError(
            f"The cross-check recomputes in R, which cannot be used here: {found.cause}. "
            f"To fix: {found.cure}; or take the report's JSON to a machine with R."
        )
    return RDoor(found)
