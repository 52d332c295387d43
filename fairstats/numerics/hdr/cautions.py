"""What a user should know about the draws or the density before reading a region."""

from __future__ import annotations

import inspect
import warnings

import numpy as np

from fairstats.ground.errors import DataWarning, InputError
from fairstats.numerics.hdr.contract import FloatArray

__all__ = ["check_level", "warn", "warn_of_atoms", "warn_of_mass", "warn_of_plateau"]

#: A value that holds this share of the draws, and at least five of them, is pointed out as an atom.
ATOM = 0.1
#: A given density may integrate to 1 ± this before it is pointed out.
MASS_OFF = 0.05


def warn(message: str) -> None:
    """Issue a `DataWarning` that points at the code outside fairstats which asked."""
    frame, level = inspect.currentframe(), 0
    while frame is not None and frame.f_globals.get("__name__", "").startswith("fairstats."):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, DataWarning, stacklevel=level + 1)


def check_level(level: float) -> None:
    """Raise where draws have density 0 under the density that was given."""
    if level <= 0:
        raise InputError(
            "density",
            got="a density that is 0 at more of the draws than the region may leave out",
            allowed="a density of the samples",
            cure="leave out samples= to use the density alone, or density= to estimate it",
        )


def warn_of_mass(mass: float) -> None:
    """Say so where a given density does not integrate to 1."""
    if abs(mass - 1) > MASS_OFF:
        warn(
            f"the density integrates to {mass:.4g} over its grid; regions hold their probability as a "
            "share of that"
        )


def warn_of_plateau(prob: float, mass: float) -> None:
    """Say so where a given density is flat at its level, so that no region holds just `prob`."""
    if mass > prob + 0.005:
        warn(f"the density is flat at its {prob:g} level: the region {{f ≥ falpha}} holds {mass:.4g}")


def warn_of_atoms(samples: FloatArray) -> None:
    """Say so where one value holds a large share of otherwise continuous draws, shape (n,)."""
    ordered = np.sort(samples)
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    counts = np.diff(np.append(starts, ordered.size))
    most = int(counts.max())
    if most >= 5 and most >= ATOM * samples.size:
        warn(
            f"{most / samples.size:.0%} of the draws equal {ordered[starts[counts.argmax()]]:g}: a density "
            "shows such an atom as a spike as wide as the bandwidth. Report its probability beside the "
            "region, or pass discrete=True"
        )
