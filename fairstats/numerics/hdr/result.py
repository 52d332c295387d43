"""What `hdr` returns: one region per probability, the density it was cut from, and its settings."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.checks import float_array, is_plain, shown
from fairstats.ground.errors import InputError
from fairstats.ground.lazy import Axes
from fairstats.ground.results import Result, columns_of
from fairstats.ground.serialise import kept_in_memory, serialisable
from fairstats.numerics.hdr.grids import FloatArray, Surface
from fairstats.plots.hdr import plot_hdr


def level_error(at_samples: FloatArray, prob: float) -> float:
    """Monte Carlo error of f_α: half the distance of the density's quantiles at 1 − prob ± √(prob(1 − prob)/n)."""
    error = math.sqrt(prob * (1 - prob) / at_samples.size)
    low, high = np.quantile(at_samples, np.clip([1 - prob - error, 1 - prob + error], 0.0, 1.0))
    return float(high - low) / 2


def size_error(prob: float, n: int, level: float) -> float:
    """Monte Carlo error of a region's length, area or volume: √(prob(1 − prob)/n)/f_α."""
    return math.sqrt(prob * (1 - prob) / n) / level if level > 0 else math.inf


@serialisable()
class HdrRegion:
    """One highest density region.

    `prob` is the probability asked for, `mass` the share of the samples in the region, each judged by the density of
    the others; without samples, of the density's mass. `falpha` is the density at the boundary, so that the region is
    {f ≥ falpha} (for discrete draws the least probability of a value in it), and `falpha_error` its Monte Carlo
    standard error, 0 where the density was given without samples. `density_mass` is the share of the density's mass in
    the region, below `mass` by what smoothing moves out; None in three or more dimensions.

    In one dimension `intervals`, shape (k, 2), are its ends, ascending; `interval_masses`, shape (k,), what `mass` is
    of each; `errors`, shape (k, 2), the Monte Carlo standard error of each end: 0 at a bound of the support, infinite
    where the density is flat; None for discrete draws. `size` is the length or area, None in three or more dimensions
    and for discrete draws, and `size_error` its Monte Carlo standard error.
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


def _each(name: str, meaning: str, dimension: int = 0, what: str = "") -> Any:
    """Property: that of the one region where `prob` was one number, else a tuple; in one `dimension` only."""

    def of(result: HdrResult) -> Any:
        if dimension and result.dimension != dimension:
            raise _unanswerable(what, f"{result.dimension} quantities", f"regions in {dimension} dimension(s)")
        found = tuple(getattr(region, name) for region in result.regions)
        return found[0] if result.single else found

    return property(of, doc=meaning)


@serialisable()
class HdrResult(Result):
    """Highest density regions.

    `regions` has one region per `prob`, in the order asked. Where `prob` was one number (`single`), `intervals`,
    `falpha`, `mass`, `area` and `errors` are those of the one region, otherwise tuples with one entry per region.
    `kind` is "density" or "discrete", where the regions were cut from the frequencies of few distinct values.

    `mode` is where the density is highest: on the grid (1-D), at a draw (more dimensions); `modes`, shape (m,) or (m,
    d), are its local maxima inside the largest region, highest first (1-D, 2-D). `bandwidth` has the standard
    deviations of the kernel, or None; `axes` the grid, one array per dimension, or the distinct values, shape (m, d),
    and `values` their density or probability; `support` the bounds per dimension. `n` samples were there, or None;
    `method` and `backend` say how the density was found, and by what; `level` which density judged a draw
    ("leave_one_out", "in_sample"; None of a given density and of discrete draws); `note` names an atom.
    """

    title: ClassVar[str] = "Highest density region"
    lacks: ClassVar[Mapping[str, str]] = {
        "confidence_interval": "a highest density region is no confidence interval; .intervals, .area and "
        ".contains(points) describe it",
        "std_error": "the Monte Carlo errors of the ends are in .errors",
        "statistic": "nothing is tested",
        "pvalue": "nothing is tested; .contains(point) says whether a value lies in the region",
        "verdict": "nothing is judged",
        "comparisons": "no groups are compared; .regions has one region per probability",
    }

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
    level: str | None = None
    note: str = ""
    #: The density at any points, in three and more dimensions.
    _density: Callable[[FloatArray], FloatArray] | None = kept_in_memory(default=None, compare=False)

    @property
    def estimate(self) -> Any:
        """Where the density is highest: the mode."""
        return self.mode

    def __getitem__(self, prob: Any) -> HdrRegion:
        """The region of one probability, of those asked for; of None the first."""
        for region in self.regions:
            if prob is None or (is_plain(prob) and region.prob == prob):
                return region
        asked = ", ".join(f"{region.prob:g}" for region in self.regions)
        raise InputError("prob", got=shown(prob), allowed=f"one of {asked}", cure="ask hdr() for it, too")

    prob = _each("prob", "Probability asked for, or a tuple of them.")
    falpha = _each("falpha", "Density at the boundary, or a tuple of them.")
    intervals = _each("intervals", "Ends, shape (k, 2), or a tuple of such arrays (one dimension).", 1, "intervals")
    errors = _each("errors", "Monte Carlo standard errors of `intervals` (one dimension).", 1, "errors of the ends")
    mass = _each("mass", "Probability in the region, or a tuple of them.")
    area = _each("size", "Area of the region, or a tuple of them (two dimensions).", 2, "an area")

    @property
    def density(self) -> tuple[FloatArray, ...]:
        """As `hdr` takes it: (grid, values) or (x, y, values); InputError beyond two dimensions or discrete draws."""
        if self.kind != "density" or not self.axes:
            raise _unanswerable("density", "a density on a grid", "regions of one or two continuous quantities")
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
            Wrong number of columns, a `prob` that was not asked for, or three and more dimensions after `to_dict`,
            which does not carry the draws.

        Examples
        --------
        >>> import numpy as np
        >>> from fairstats.numerics.hdr.region import hdr
        >>> grid = np.linspace(-6, 6, 4001)
        >>> result = hdr(density=(grid, np.exp(-grid**2 / 2) / np.sqrt(2 * np.pi)))
        >>> result.contains([0.0, 1.9, 2.0])
        array([ True,  True, False])
        """
        region, places = self[prob], self._places(points)
        if self.kind == "discrete":
            members = self.axes[0][self.values >= region.falpha]
            return np.asarray((places[:, None, :] == members[None, :, :]).all(axis=2).any(axis=1))
        if region.intervals is not None:
            low, high = region.intervals.T
            return np.asarray(((places >= low) & (places <= high)).any(axis=1))
        return self._density_at(places) >= region.falpha

    def _density_at(self, places: FloatArray) -> FloatArray:
        if self.dimension == 2:
            return Surface(self.axes[0], self.axes[1], self.values).at(places)
        if self._density is None:
            raise _unanswerable("points", "membership in three or more dimensions", "the result that hdr() returned")
        return self._density(places)

    def _places(self, points: Any) -> FloatArray:
        places = float_array("points", points, "numbers")
        if places.ndim <= 1 and (self.dimension == 1 or places.shape == (self.dimension,)):
            places = places.reshape(-1, self.dimension)
        if places.ndim != 2 or places.shape[1] != self.dimension:
            got, allowed = f"shape {np.shape(points)}", f"an array of shape (k, {self.dimension})"
            raise InputError("points", got=got, allowed=allowed, cure="one row per point")
        return places

    def rows(self) -> list[dict[str, Any]]:
        """One row per interval (1-D), or per region of more dimensions, whose `estimate` is its area (2-D).

        An interval's ends are `ci_low` and `ci_high`, with the errors `low_error` and `high_error`; its `estimate` is
        where the density is highest in it.
        """
        rows: list[dict[str, Any]] = []
        for region in self.regions:
            common = columns_of(self, "n", "method", "backend") | columns_of(region, "prob", "falpha", "falpha_error")
            if region.intervals is not None:
                rows += [common | self._interval_row(region, k) for k in range(len(region.intervals))]
            else:
                whole = {"metric": "region" if region.size is None else "area", "estimate": region.size}
                rows.append(whole | {"std_error": region.size_error} | common | {"mass": region.mass})
        return rows

    def _interval_row(self, region: HdrRegion, k: int) -> dict[str, Any]:
        """What differs between the intervals of one region."""
        low, high = np.asarray(region.intervals)[k].tolist()
        grid = self.axes[0].ravel()
        inside = (grid >= low) & (grid <= high)
        peak = grid[inside][self.values[inside].argmax()] if inside.any() else np.mean([low, high])
        row = {"metric": "interval", "estimate": float(peak), "ci_low": low, "ci_high": high}
        if region.errors is not None:
            row |= dict(zip(("low_error", "high_error"), region.errors[k].tolist(), strict=True))
        if region.interval_masses is not None:
            row["mass"] = float(region.interval_masses[k])
        return row

    def sentences(self) -> list[str]:
        """One sentence per region: where it lies, and how much it holds."""
        of, found = "the density's mass" if self.n is None else f"{self.n:,} draws", []
        for region in self.regions:
            where = f"of {self.dimension} quantities"
            if region.intervals is not None:
                where = f"is {' and '.join(f'[{low:.4g}, {high:.4g}]' for low, high in region.intervals)} and"
            elif region.size is not None:
                where = f"has the area {region.size:.4g} and"
            name = f"The {100 * region.prob:g}% highest density region"
            found.append(f"{name} {where} holds {region.mass:.1%} of {of}.")
        return found

    def notes(self) -> list[str]:
        """Settings, and what `estimate` means."""
        lines = [f"{self.method}; {self.backend}."]
        if self.dimension == 1:
            lines.append("estimate: where the density is highest in the interval; ci_low, ci_high: its ends.")
        if self.bandwidth is not None:
            widths = np.array2string(np.atleast_1d(self.bandwidth), precision=4).strip("[]").strip()
            lines.append(f"Bandwidth {widths}; errors are Monte Carlo standard errors at it.")
        if self.level == "in_sample":
            lines.append("The level counts the kernel that each draw put on itself.")
        return [*lines, self.note] if self.note else lines

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the density and the regions; see `fairstats.plots.hdr.plot_hdr`."""
        return plot_hdr(self, ax)


def _unanswerable(argument: str, got: str, allowed: str) -> InputError:
    return InputError(argument, got=got, allowed=allowed, cure="call hdr() on the quantities of interest")
