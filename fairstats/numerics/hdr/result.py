"""What `hdr` returns: one region per probability, the density it was cut from, and its settings."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from fairstats.ground.errors import InputError
from fairstats.ground.results import Result
from fairstats.ground.serialise import serialisable
from fairstats.numerics.hdr.contract import FloatArray, Surface
from fairstats.numerics.hdr.points import PointDensity
from fairstats.numerics.hdr.surface import interpolate
from fairstats.numerics.hdr.table import region_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

__all__ = ["HdrRegion", "HdrResult"]


@serialisable
@dataclass(frozen=True)
class HdrRegion:
    """One highest density region.

    Attributes
    ----------
    prob : float
        Probability asked for.
    falpha : float
        Density at the boundary: the region is {f ≥ falpha}. For discrete draws the least probability of a
        value in the region.
    falpha_error : float
        Monte Carlo standard error of `falpha`; 0 where the density was given without samples.
    mass : float
        Probability in the region: the share of the samples; without samples, of the density's mass.
    density_mass : float or None
        Share of the density's mass in the region; below `mass` by what smoothing moves out. None in
        three or more dimensions.
    intervals : array, shape (k, 2), or None
        Ends of its intervals, ascending (one dimension).
    interval_masses : array, shape (k,), or None
        Share of the samples in each; without samples, of the density's mass.
    errors : array, shape (k, 2), or None
        Monte Carlo standard error of each end: 0 at a bound of the support, infinite where the density is
        flat; None for discrete draws.
    size : float or None
        Length or area; None in three or more dimensions, and for discrete draws.
    size_error : float or None
        Monte Carlo standard error of `size`.
    """

    prob: float
    falpha: float
    falpha_error: float
    mass: float
    density_mass: float | None
    intervals: FloatArray | None = None
    interval_masses: FloatArray | None = None
    errors: FloatArray | None = None
    size: float | None = None
    size_error: float | None = None


@serialisable
@dataclass(frozen=True)
class HdrResult(Result):
    """Highest density regions.

    Attributes
    ----------
    regions : tuple of HdrRegion
        One per `prob`, in the order asked.
    single : bool
        Whether `prob` was one number: then `intervals`, `falpha`, `mass`, `area` and `errors` are those
        of the one region, otherwise tuples with one entry per region.
    dimension : int
        Number of quantities.
    kind : {"density", "discrete"}
        Whether the region was cut from a density or from the frequencies of few distinct values.
    mode : float or array, shape (d,)
        Where the density is highest: on the grid (1-D), at a draw (more dimensions).
    modes : array, shape (m,) or (m, d)
        Local maxima of the density inside the largest region, highest first (1-D, 2-D).
    bandwidth : float, array of shape (d,), or None
        Standard deviations of the kernel; None where no kernel was used.
    axes : tuple of arrays
        The grid, one array per dimension; in a discrete result the distinct values, shape (m, d).
    values : array
        Density at the grid, or the probabilities of the distinct values.
    support : tuple of pairs
        Bounds per dimension, infinite where there is none.
    n : int or None
        Number of samples.
    method, backend : str
        How the density was found, and by what.
    """

    title: ClassVar[str] = "Highest density region"

    regions: tuple[HdrRegion, ...]
    single: bool
    dimension: int
    kind: str
    mode: Any
    modes: FloatArray
    bandwidth: Any
    axes: tuple[FloatArray, ...]
    values: FloatArray
    support: tuple[tuple[float, float], ...]
    n: int | None
    method: str
    backend: str
    _points: PointDensity | None = field(default=None, init=False, repr=False, compare=False)

    @property
    def prob(self) -> Any:
        """Probability asked for, or a tuple of them."""
        return self._each("prob")

    @property
    def falpha(self) -> Any:
        """Density at the boundary, or a tuple of them."""
        return self._each("falpha")

    @property
    def intervals(self) -> Any:
        """Ends of the intervals, shape (k, 2), or a tuple of such arrays (one dimension)."""
        self._need(1, "intervals")
        return self._each("intervals")

    @property
    def errors(self) -> Any:
        """Monte Carlo standard errors of the ends, shape (k, 2), or a tuple of them (one dimension)."""
        self._need(1, "errors of the ends")
        return self._each("errors")

    @property
    def mass(self) -> Any:
        """Probability in the region, or a tuple of them."""
        return self._each("mass")

    @property
    def area(self) -> Any:
        """Area of the region, or a tuple of them (two dimensions)."""
        self._need(2, "an area")
        return self._each("size")

    @property
    def density(self) -> tuple[FloatArray, ...]:
        """The density as `hdr` takes it: (grid, values) or (x, y, values).

        Raises
        ------
        InputError
            In three or more dimensions, and for discrete draws.
        """
        if self.kind != "density" or not self.axes:
            raise _unanswerable(
                "density", "a density on a grid", "regions of one or two continuous quantities"
            )
        return (*self.axes, self.values)

    def contains(self, points: Any, prob: float | None = None) -> NDArray[np.bool_]:
        """Whether points lie in the region.

        Parameters
        ----------
        points : array, shape (k,) or (k, d)
            In the units of the samples.
        prob : float, optional
            Which region, where several were asked for; default the first.

        Returns
        -------
        array of bool, shape (k,)

        Raises
        ------
        InputError
            Wrong number of columns, a `prob` that was not asked for, or three and more dimensions after a
            round trip through `to_dict`, which does not carry the draws.

        Examples
        --------
        >>> import numpy as np
        >>> from fairstats.numerics.hdr.region import hdr
        >>> grid = np.linspace(-6, 6, 4001)
        >>> result = hdr(density=(grid, np.exp(-grid**2 / 2) / np.sqrt(2 * np.pi)))
        >>> result.contains([0.0, 1.9, 2.0])
        array([ True,  True, False])
        """
        region = self._region(prob)
        places = self._places(points)
        if self.kind == "discrete":
            members = self.axes[0][self.values >= region.falpha]
            found: NDArray[np.bool_] = (places[:, None, :] == members[None, :, :]).all(axis=2).any(axis=1)
            return found
        if region.intervals is not None:
            x = places[:, :1]
            low, high = region.intervals.T
            within: NDArray[np.bool_] = ((x >= low) & (x <= high)).any(axis=1)
            return within
        return self._density_at(places) >= region.falpha

    def _density_at(self, places: FloatArray) -> FloatArray:
        if self.dimension == 2:
            return interpolate(Surface(self.axes[0], self.axes[1], self.values), places)
        if self._points is None:
            raise _unanswerable(
                "points", "membership in three or more dimensions", "the result that hdr() returned"
            )
        return self._points.at(places)

    def _places(self, points: Any) -> FloatArray:
        places = np.asarray(points, dtype=np.float64)
        if places.ndim <= 1 and (self.dimension == 1 or places.shape == (self.dimension,)):
            places = places.reshape(-1, self.dimension)
        if places.ndim != 2 or places.shape[1] != self.dimension:
            allowed = f"an array of shape (k, {self.dimension})"
            raise InputError(
                "points", got=f"shape {np.shape(points)}", allowed=allowed, cure="one row per point"
            )
        return places

    def _region(self, prob: float | None) -> HdrRegion:
        if prob is None:
            return self.regions[0]
        for region in self.regions:
            if region.prob == prob:
                return region
        asked = ", ".join(f"{region.prob:g}" for region in self.regions)
        raise InputError("prob", got=repr(prob), allowed=f"one of {asked}", cure="ask hdr() for it, too")

    def _each(self, name: str) -> Any:
        found = tuple(getattr(region, name) for region in self.regions)
        return found[0] if self.single else found

    def _need(self, dimension: int, what: str) -> None:
        if self.dimension != dimension:
            raise _unanswerable(what, f"{self.dimension} quantities", f"regions in {dimension} dimension(s)")

    def rows(self) -> list[dict[str, Any]]:
        """One row per interval (1-D) or per region (more dimensions)."""
        return region_rows(self)

    def notes(self) -> list[str]:
        """Settings, and what `estimate` means."""
        lines = [f"{self.method}; {self.backend}."]
        if self.dimension == 1:
            lines.append("estimate: where the density is highest in the interval; ci_low, ci_high: its ends.")
        if self.bandwidth is not None:
            widths = np.array2string(np.atleast_1d(self.bandwidth), precision=4)
            lines.append(
                f"Bandwidth {widths.strip('[]').strip()}; errors are Monte Carlo standard errors at it."
            )
        return lines

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the density and the regions; see `fairstats.plots.hdr.plot_hdr`."""
        from fairstats.plots.hdr import plot_hdr

        return plot_hdr(self, ax)


def _unanswerable(argument: str, got: str, allowed: str) -> InputError:
    return InputError(argument, got=got, allowed=allowed, cure="call hdr() on the quantities of interest")
