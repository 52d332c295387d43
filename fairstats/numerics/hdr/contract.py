"""The contract of the two back ends: the same functions, arguments and return types.

A back end is a module (`scipy_backend`, `r_backend`) with the functions of `Kernel`. It does two things only:
estimate a density on a given grid at a given bandwidth, and find levels as quantiles of that density at the
samples. Everything that must not differ is decided outside, once, for both:

* the bandwidth (`bandwidth`, `bandwidth_2d`): deterministic, handed over, returned in the result;
* the grid (`grids`): its ends and size are handed over;
* a bounded support: the density comes on a wider grid and is folded at the bounds afterwards (`grids`);
* end points, areas, masses, local modes and Monte Carlo errors (`piecewise`, `surface`, `montecarlo`):
  computed from the returned grid, because hdrcde's own end points are 1e-4 off and vanish at small scales;
* a density that comes without samples (`piecewise.level_of_mass`): hdrcde draws 5,000 random numbers there;
* discrete samples and three or more dimensions: no back end is asked.

Samples are finite, at least ten, and not constant when a back end is called.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["Curve", "FloatArray", "Kernel", "Levels", "Surface"]

FloatArray = NDArray[np.float64]
#: Steps of a grid that differ by this share are equal up to rounding.
_EVEN = 1e-6


@dataclass(frozen=True)
class Curve:
    """A density on a line: linear between the points of the grid, 0 outside.

    Attributes
    ----------
    grid : array, shape (m,)
        Ascending, in the units of the samples.
    values : array, shape (m,)
        Density at `grid`, ≥ 0, per unit of the samples.
    """

    grid: FloatArray
    values: FloatArray


@dataclass(frozen=True)
class Surface:
    """A density on a plane: bilinear between the points of the grid, 0 outside.

    Attributes
    ----------
    x : array, shape (mx,)
        Ascending first coordinates.
    y : array, shape (my,)
        Ascending second coordinates.
    values : array, shape (mx, my)
        Density at ``(x[i], y[j])``, ≥ 0.
    """

    x: FloatArray
    y: FloatArray
    values: FloatArray

    @property
    def evenly_spaced(self) -> bool:
        """Whether both coordinates have equal steps."""
        steps = (np.diff(self.x), np.diff(self.y))
        return all(bool(np.ptp(step) <= _EVEN * step.mean()) for step in steps)


@dataclass(frozen=True)
class Levels:
    """Levels of a density such that a share `prob` of the samples lies above each.

    Attributes
    ----------
    falpha : array, shape (p,)
        Type-7 quantile, at 1 − prob, of the density at the samples; one for each `prob`, in the order given.
    at_samples : array, shape (n,)
        The interpolated density at the samples, in their order.
    """

    falpha: FloatArray
    at_samples: FloatArray


class Kernel(Protocol):
    """What `scipy_backend` and `r_backend` provide, as module-level functions."""

    def version(self) -> str:
        """Name and versions for `Result.backend`: ``"scipy 1.17.1"``, ``"r: hdrcde 3.5.0"``."""
        ...

    def density_1d(self, samples: FloatArray, bandwidth: float, low: float, high: float, size: int) -> Curve:
        """Gaussian kernel density by the rule of R's `density`, grid points exactly `size`.

        R: ``stats::density(samples, bw = bandwidth, from = low, to = high, n = size)``, with ``old.coords
        = TRUE`` where R is 4.4 or later (the recorded values, and hdrcde, are older than that change).
        Samples outside [low, high] count in the denominator. Agreement asked: 1e-12 of the largest value.
        """
        ...

    def levels_1d(self, curve: Curve, samples: FloatArray, probs: FloatArray) -> Levels:
        """Levels from a curve. R: ``hdrcde::hdr(x = samples, den = curve, prob = 100 * sorted(probs))``.

        hdrcde wants percentages, ascending; the answer is in the order of `probs`. Agreement asked: 1e-12
        relative.
        """
        ...

    def density_2d(
        self,
        samples: FloatArray,
        bandwidth: FloatArray,
        low: FloatArray,
        high: FloatArray,
        size: tuple[int, int],
    ) -> Surface:
        """Binned product-Gaussian density on a grid; `samples` (n, 2), the rest one value per axis.

        R: ``ks::kde(samples, H = diag(bandwidth^2), xmin = low, xmax = high, gridsize = size, bgridsize =
        size, binned = TRUE)``. Linear binning; a kernel ends at four times the larger bandwidth on both
        axes. Values below 0 (rounding of a Fourier transform) are returned as 0. Agreement asked: 1e-12
        of the largest value.
        """
        ...

    def shifted_histogram(self, samples: FloatArray, low: FloatArray, high: FloatArray) -> Surface:
        """Averaged shifted histogram of 20 × 20 bins and 5 × 5 shifts with biweight weights.

        R: ``ash::ash2(ash::bin2(samples, cbind(low, high), c(20, 20)), c(5, 5))``, which is what
        ``hdrcde::hdr.2d`` uses by default. Grid points are bin centres. Agreement asked: 1e-6 (single
        precision in R).
        """
        ...

    def levels_2d(self, surface: Surface, samples: FloatArray, probs: FloatArray) -> Levels:
        """Levels from a surface.

        R: ``hdrcde::hdr.2d(x, y, prob = 100 * sorted(probs), den = surface)$falpha``; hdrcde reads
        ``max(prob) <= 0.5`` as tail probability, hence percentages. It reads equally spaced grids only: R
        raises for others, and `region` asks SciPy. Agreement asked: 1e-12 relative.
        """
        ...
