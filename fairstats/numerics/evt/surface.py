"""What the likelihoods of many samples have in common: the samples, their fits, and the maximum."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["SampleSurface"]


class SampleSurface:
    """Standardised samples with their maximum likelihood fits; `samples` and `fits` are its fields."""

    samples: Any
    fits: Any

    @property
    def upper(self) -> Floats:
        """Largest standardised value of each sample."""
        return np.asarray(self.samples.largest)

    @property
    def n(self) -> Floats:
        """Values of each sample."""
        return np.asarray(self.samples.n)

    @property
    def theta(self) -> Floats:
        """θ at the maximum."""
        return np.asarray(self.fits.theta)

    @property
    def nu(self) -> Floats:
        """ν at the maximum."""
        return np.asarray(self.fits.nu)
