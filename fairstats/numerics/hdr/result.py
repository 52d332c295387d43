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
from fairstats.numerics.hdr.grids import FloatArray, Surface, onto_circle
from fairstats.plots.hdr import plot_hdr


def level_error(at_samples: FloatArray, prob: float) -> float:
    """Monte Carlo error of f_α: half the distance of the density's quantiles at 1 − prob ± √(prob(1
    − prob)/n).
    """
    share_error = math.sqrt(prob * (1 - prob) / at_samples.size)
    lower_density, upper_density = np.quantile(
        at_samples, np.clip([1 - prob - share_error, 1 - prob + share_error], 0.0, 1.0)
    )
    return float(upper_density - lower_density) / 2


def size_error(prob: float, n: int, level: float) -> float:
    """Monte Carlo error of a region's length, area or volume: √(prob(1 − prob)/n)/f_α."""
    if level > 0:
        return math.sqrt(prob * (1 - prob) / n) / level
    return math.inf


@serialisable()
class HdrRegion:
    """One highest density region.

    `prob` is the probability asked for, `mass` the share of the samples in the region, each judged
    by the density of the others; without samples, of the density's mass. `falpha` is the density at
    the boundary, so that the region is {f ≥ falpha} (for discrete draws the least probability of a
    value in it), and `falpha_error` its Monte Carlo standard error, 0 where the density was given
    without samples. `density_mass` is the share of the density's mass in the region, below `mass`
    by what smoothing moves out; None in three or more dimensions.

    In one dimension `intervals`, shape (k, 2), are its ends, ascending; `interval_masses`, shape
    (k,), what `mass` is of each; `errors`, shape (k, 2), the Monte Carlo standard error of each
    end: 0 at a bound of the support, infinite where the density is flat; None for discrete draws.
    `size` is the length or area, None in three or more dimensions and for discrete draws, and
    `size_error` its Monte Carlo standard error.
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


def _region_property(field_name: str, meaning: str, dimension: int = 0, what: str = "") -> Any:
    """Property: that of the one region where `prob` was one number, else a tuple.

    In one `dimension` only.
    """

    def of(result: HdrResult) -> Any:
        if dimension and result.dimension != dimension:
            raise _unanswerable_error(
                what, f"{result.dimension} quantities", f"regions in {dimension} dimension(s)"
            )
        field_values = tuple(getattr(region, field_name) for region in result.regions)
        return field_values[0] if result.single else field_values

    return property(of, doc=meaning)


@serialisable()
class HdrResult(Result):
    """Highest density regions.

    Where `prob` was one number (`single`), `intervals`, `falpha`, `mass`, `area` and `errors` are
    those of the one region, otherwise tuples with one entry per region.

    Attributes
    ----------
    regions : tuple of HdrRegion
        One per `prob`, in the order asked.
    kind : {"density", "discrete"}
        "discrete" where the regions were cut from the frequencies of few distinct values.
    mode : float or ndarray of float, shape (d,)
        Where the density is highest: on the grid (1-D), at a draw (more dimensions).
    modes : ndarray of float, shape (m,) or (m, d)
        Its local maxima inside the largest region, highest first (1-D, 2-D).
    bandwidth : float, ndarray or None
        Standard deviations of the kernel.
    axes : tuple of ndarray
        The grid, one array per dimension, or the distinct values, shape (m, d).
    values : ndarray of float
        Their density or probability.
    support : tuple of (low, high)
        The bounds per dimension.
    n : int or None
        Draws.
    method, backend : str
        How the density was found, and by what.
    level : {"leave_one_out", "in_sample", None}
        Which density judged a draw; None of a given density and of discrete draws.
    note : str
        Names an atom.
    period : float or None
        Of a circular quantity: an interval that ends beyond it goes on from 0.

    Examples
    --------
    >>> import numpy as np, fairstats as fs
    >>> result = fs.hdr(np.random.default_rng(1).normal(size=2000), 0.9)
    >>> result.intervals.round(1), result.n, result.kind
    (array([[-1.7,  1.6]]), 2000, 'density')
    """

    title: ClassVar[str] = "Highest density region"
    lacks: ClassVar[Mapping[str, str]] = {
        "confidence_interval": (
            "a highest density region is no confidence interval; .intervals, .area and "
            ".contains(points) describe it"
        ),
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
    period: float | None = None
    #: The density at any points, in three and more dimensions.
    _density: Callable[[FloatArray], FloatArray] | None = kept_in_memory(
        default=None, compare=False
    )

    @property
    def estimate(self) -> Any:
        """Where the density is highest: the mode."""
        return self.mode

    def __getitem__(self, prob: Any) -> HdrRegion:
        """The region of one probability, of those asked for; of None the first."""
        for region in self.regions:
            if prob is None or (is_plain(prob) and region.prob == prob):
                return region
        known_probabilities = ", ".join(f"{region.prob:g}" for region in self.regions)
        raise InputError(
            "prob",
            got=shown(prob),
            allowed=f"one of {known_probabilities}",
            cure="ask hdr() for it, too",
        )

    prob = _region_property("prob", "Probability asked for, or a tuple of them.")
    falpha = _region_property("falpha", "Density at the boundary, or a tuple of them.")
    intervals = _region_property(
        "intervals",
        "Ends, shape (k, 2), or a tuple of such arrays (one dimension).",
        1,
        "intervals",
    )
    errors = _region_property(
        "errors",
        "Monte Carlo standard errors of `intervals` (one dimension).",
        1,
        "errors of the ends",
    )
    mass = _region_property("mass", "Probability in the region, or a tuple of them.")
    area = _region_property(
        "size", "Area of the region, or a tuple of them (two dimensions).", 2, "an area"
    )

    @property
    def density(self) -> tuple[FloatArray, ...]:
        """As `hdr` takes it: (grid, values) or (x, y, values).

        InputError beyond two dimensions or discrete draws.
        """
        if self.kind != "density" or not self.axes:
            raise _unanswerable_error(
                "density", "a density on a grid", "regions of one or two continuous quantities"
            )
        return (*self.axes, self.values)

    def pieces(self, prob: float | None = None) -> FloatArray:
        """Ends of the intervals, shape (k, 2), ascending.

        Of a circular quantity within [0, period].

        An interval that goes on across the cut of a circle is two pieces, one up to the period and
        one from 0.

        Parameters
        ----------
        prob : float, optional
            Which region, where several were asked for; default the first.

        Raises
        ------
        InputError
            In two and more dimensions, or a `prob` that was not asked for.

        Examples
        --------
        >>> import numpy as np
        >>> from fairstats.numerics.hdr.region import hdr
        >>> hours = np.repeat([22, 23, 0, 1, 12], [4, 9, 9, 4, 2])
        >>> result = hdr(hours, 0.9, discrete=True, period=24)
        >>> result.intervals, result.pieces()
        (array([[22., 25.]]), array([[ 0.,  1.],
               [22., 24.]]))
        """
        intervals = self[prob].intervals
        if intervals is None:
            raise _unanswerable_error(
                "pieces", f"{self.dimension} quantities", "regions in one dimension"
            )
        piece_ends = []
        for interval_low, interval_high in intervals.tolist():
            if self.period is None or interval_high <= self.period:
                piece_ends.append((interval_low, interval_high))
            else:
                piece_ends += [(interval_low, self.period), (0.0, interval_high - self.period)]
        return np.array(sorted(piece_ends))

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
            Wrong number of columns, a `prob` that was not asked for, or three and more dimensions
            after `to_dict`, which does not carry the draws.

        Examples
        --------
        >>> import numpy as np
        >>> from fairstats.numerics.hdr.region import hdr
        >>> grid = np.linspace(-6, 6, 4001)
        >>> result = hdr(density=(grid, np.exp(-grid**2 / 2) / np.sqrt(2 * np.pi)))
        >>> result.contains([0.0, 1.9, 2.0])
        array([ True,  True, False])
        """
        region = self[prob]
        places = self._places(points)
        if self.kind == "discrete":
            members = self.axes[0][self.values >= region.falpha]
            return np.asarray((places[:, None, :] == members[None, :, :]).all(axis=2).any(axis=1))
        if region.intervals is not None:
            return np.asarray(self._within_intervals(places, region.intervals).any(axis=1))
        return self._density_at(places) >= region.falpha

    def _within_intervals(self, places: FloatArray, intervals: FloatArray) -> NDArray[np.bool_]:
        """Whether places, shape (k, 1), lie in each interval, shape (m, 2): (k, m).

        A circle comes round again.
        """
        interval_lows, interval_highs = intervals.T
        is_inside = (places >= interval_lows) & (places <= interval_highs)
        if self.period is not None:
            is_inside |= places + self.period <= interval_highs
        return np.asarray(is_inside)

    def _density_at(self, places: FloatArray) -> FloatArray:
        if self.dimension == 2:
            return Surface(self.axes[0], self.axes[1], self.values).at(places)
        if self._density is None:
            raise _unanswerable_error(
                "points", "membership in three or more dimensions", "the result that hdr() returned"
            )
        return self._density(places)

    def _places(self, points: Any) -> FloatArray:
        places = float_array("points", points, "numbers")
        if places.ndim <= 1 and (self.dimension == 1 or places.shape == (self.dimension,)):
            places = places.reshape(-1, self.dimension)
        if places.ndim != 2 or places.shape[1] != self.dimension:
            got = f"shape {np.shape(points)}"
            allowed = f"an array of shape (k, {self.dimension})"
            raise InputError("points", got=got, allowed=allowed, cure="one row per point")
        if self.period is None:
            return places
        return onto_circle(places, self.period)

    def rows(self) -> list[dict[str, Any]]:
        """One row per interval (1-D), or per region of more dimensions, whose `estimate` is its
        area (2-D).

        An interval's ends are `ci_low` and `ci_high`, with the errors `low_error` and `high_error`;
        its `estimate` is where the density is highest in it.
        """
        table_rows: list[dict[str, Any]] = []
        for region in self.regions:
            common_columns = columns_of(self, "n", "method", "backend") | columns_of(
                region, "prob", "falpha", "falpha_error"
            )
            if region.intervals is not None:
                for interval_index in range(len(region.intervals)):
                    table_rows.append(common_columns | self._interval_row(region, interval_index))
            else:
                region_columns = {
                    "metric": "region" if region.size is None else "area",
                    "estimate": region.size,
                }
                table_rows.append(
                    region_columns
                    | {"std_error": region.size_error}
                    | common_columns
                    | {"mass": region.mass}
                )
        return table_rows

    def _interval_row(self, region: HdrRegion, interval_index: int) -> dict[str, Any]:
        """What differs between the intervals of one region."""
        interval_low, interval_high = np.asarray(region.intervals)[interval_index].tolist()
        grid_points = self.axes[0].ravel()
        is_inside = self._within_intervals(
            grid_points[:, None], np.array([[interval_low, interval_high]])
        )[:, 0]
        if is_inside.any():
            peak_place = grid_points[is_inside][self.values[is_inside].argmax()]
        else:
            peak_place = np.mean([interval_low, interval_high])
        interval_columns = {
            "metric": "interval",
            "estimate": float(peak_place),
            "ci_low": interval_low,
            "ci_high": interval_high,
        }
        if region.errors is not None:
            interval_columns |= dict(
                zip(
                    ("low_error", "high_error"), region.errors[interval_index].tolist(), strict=True
                )
            )
        if region.interval_masses is not None:
            interval_columns["mass"] = float(region.interval_masses[interval_index])
        return interval_columns

    def sentences(self) -> list[str]:
        """One sentence per region: where it lies, and how much it holds."""
        if self.n is None:
            total_in_words = "the density's mass"
        else:
            total_in_words = f"{self.n:,} draws"
        statements = []
        for region in self.regions:
            place_in_words = f"of {self.dimension} quantities"
            if region.intervals is not None:
                intervals = [f"[{low:.4g}, {high:.4g}]" for low, high in region.intervals]
                place_in_words = f"is {' and '.join(intervals)} and"
            elif region.size is not None:
                place_in_words = f"has the area {region.size:.4g} and"
            region_name = f"The {100 * region.prob:g}% highest density region"
            statements.append(
                f"{region_name} {place_in_words} holds {region.mass:.1%} of {total_in_words}."
            )
        return statements

    def notes(self) -> list[str]:
        """Settings, and what `estimate` means."""
        note_lines = [f"{self.method}; {self.backend}."]
        if self.dimension == 1:
            note_lines.append(
                "estimate: where the density is highest in the interval; ci_low, ci_high: its ends."
            )
        if self.bandwidth is not None:
            widths = np.array2string(np.atleast_1d(self.bandwidth), precision=4).strip("[]").strip()
            note_lines.append(f"Bandwidth {widths}; errors are Monte Carlo standard errors at it.")
        if self.period is not None:
            note_lines.append(
                f"On a circle of the period {self.period:g}: an interval that ends beyond it goes"
                " on from 0."
            )
        if self.level == "in_sample":
            note_lines.append("The level counts the kernel that each draw put on itself.")
        if self.note:
            return [*note_lines, self.note]
        return note_lines

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the density and the regions; see `fairstats.plots.hdr.plot_hdr`."""
        return plot_hdr(self, ax)


def _unanswerable_error(argument: str, got: str, allowed: str) -> InputError:
    return InputError(
        argument,
        got=got,
        allowed=allowed,
        cure="call hdr() on the quantities of interest",
    )
