"""`hdr`: the smallest region that holds a stated probability."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from fairstats.ground.backends import BACKENDS, resolve
from fairstats.ground.checks import LARGEST, check_choice, check_that, check_whole, finite_array
from fairstats.ground.errors import BackendError, DataWarning, InputError, caution
from fairstats.numerics.hdr import r_backend, scipy_backend
from fairstats.numerics.hdr.bandwidth import hdr_bandwidth, hdr_bandwidth_2d
from fairstats.numerics.hdr.grids import LEVELS, Curve, FloatArray, Kernel, Surface
from fairstats.numerics.hdr.line import errors_with_atoms, find_atom, given_curve, line_regions
from fairstats.numerics.hdr.plane import given_surface, histogram_regions, plane_regions
from fairstats.numerics.hdr.result import HdrResult
from fairstats.numerics.hdr.space import discrete_regions, is_constant, is_discrete, space_regions

#: Fewer draws than this give no density worth a region.
LEAST_SAMPLES = 10
#: Draws beyond this, or below one over it, are brought to about 1 and the region back.
MODERATE = 1e50
#: A bandwidth of more ranges of the draws than this leaves a density that is flat up to rounding.
WIDEST = 1e6
#: A given density may integrate to 1 ± this before it is pointed out.
MASS_OFF = 0.05


def hdr(
    samples: Any = None,
    prob: Any = 0.95,
    *,
    density: Any = None,
    bandwidth: Any = None,
    support: Any = None,
    backend: str | None = None,
    estimator: str = "kde",
    discrete: bool | None = None,
    gridsize: int | None = None,
    level: str = "leave_one_out",
) -> HdrResult:
    """Highest density region: the smallest region that holds the probability `prob`.

    The region is {f ≥ f_α}. The density f is estimated from `samples`, or given; f_α is the 1 − prob quantile (type 7)
    of f at the samples, or, for a density without samples, the level above which it has the mass `prob`, exactly. In
    one dimension the region is one or several intervals whose ends are exact crossings of the piecewise-linear density.

    Parameters
    ----------
    samples : array-like, shape (n,) or (n, d), optional
        Independent draws, at least ten (and at least 5·d).
    prob : float or sequence of float, default 0.95
        In (0, 1). All regions are cut from one density, so that they are nested.
    density : (grid, values) or (x, y, values), optional
        A density on an ascending grid, `values` ≥ 0 of shape (len(grid),) or (len(x), len(y)): (bi)linear between the
        points and 0 outside. With `samples` too, these only set the level.
    bandwidth : float or sequence of d floats, optional
        Standard deviation of the Gaussian kernel, in the units of the samples. Default: 1-D, Samworth and Wand's rule
        for the mean of `prob`; 2-D, 1.3 times a direct plug-in for each coordinate; more, the normal reference.
    support : (low, high), or one such pair per dimension, optional
        Bounds of the quantities (None or infinite for none), one or two dimensions. The density is reflected at them:
        it keeps mass 1, and no region reaches beyond them.
    backend : {"auto", "scipy", "r"}, optional
        What estimates the density and finds the level: R (hdrcde, ks, stats) or NumPy; default: as `use_backend` says.
    estimator : {"kde", "ash"}, default "kde"
        "ash" is hdrcde's default in two dimensions, an averaged shifted histogram on 20 × 20 cells: quick and coarse.
    discrete : bool, optional
        Whether to take the draws as discrete: the region is then the set of the most frequent values. Default: if they
        are constant; and, without a `bandwidth`, if they are whole numbers each of which occurs twice on average, or
        have at most 25 distinct values, each 5 times on average.
    gridsize : int, optional
        Points per axis. Default 1001 (1-D) and 151 (2-D), more where they would be over 1.5 bandwidths apart.
    level : {"leave_one_out", "in_sample"}, default "leave_one_out"
        Which density judges a draw when f_α is found: that of the others, or that of all with the draw's own kernel
        counted, as hdrcde does. The same with either back end; without effect on a `density` that is given, which is
        used as it is, and on discrete draws.

    Returns
    -------
    HdrResult
        A region per `prob`: intervals (1-D) with Monte Carlo standard errors of their ends, or area (2-D), and mass.

    Raises
    ------
    InputError
        Neither samples nor density; NaN or infinite values; too few draws; draws outside the support or the grid of the
        density; a constant or linearly dependent column among several; tails too long for any grid; a bandwidth or
        support beside a density.
    BackendError
        The back end asked for cannot be had, or has no method for this case.

    Warns
    -----
    DataWarning
        The draws are taken as discrete; a tenth of otherwise continuous draws are one value; a given density does not
        integrate to 1, or is flat at its level; R cannot read its grid, so that SciPy finds the level.

    Notes
    -----
    Each draw is judged by the density of the *others*: its own kernel is left out at the draw, else the estimate is
    highest where the samples happen to be, and new draws fall into a 95% region too rarely (simulated: 93.4% at n = 100
    on a line, 92–93% at n = 200 and 94.1–94.5% at 1,000 on a plane; left out, 94.4–95.1%). hdrcde counts it:
    ``level="in_sample"`` is its level, whichever back end computes it.

    Monte Carlo errors of the ends are infinitesimal-jackknife standard errors for independent draws at the bandwidth
    used (`fairstats.numerics.hdr.line` has the formula), .93–1.0 of the actual ones. Where a tenth of the draws are one
    value they come from 50 resamples that choose the bandwidth anew (.7–1.2 of the actual ones).

    References
    ----------
    Hyndman, R. J. (1996). Computing and graphing highest density regions. The American Statistician 50, 120–126.
    Samworth, R. J. and Wand, M. P. (2010). Asymptotics and optimal bandwidth selection for highest density region
    estimation. Annals of Statistics 38, 1767–1792.

    Examples
    --------
    >>> import numpy as np
    >>> from fairstats.numerics.hdr.region import hdr
    >>> rng = np.random.default_rng(1)
    >>> draws = np.concatenate([rng.normal(-2, 0.7, 6000), rng.normal(2, 1.0, 4000)])
    >>> region = hdr(draws, 0.9)
    >>> region.intervals.round(1)
    array([[-3.3, -0.7],
           [ 0.6,  3.3]])
    >>> grid = np.linspace(0, 1, 1001)
    >>> hdr(density=(grid, 2 * (1 - grid)), prob=0.75).intervals.round(6)
    array([[0. , 0.5]])
    """
    check_choice("estimator", estimator, ("kde", "ash"))
    check_choice("level", level, LEVELS)
    check_choice("backend", backend, (None, *BACKENDS))
    probs, single = _as_probs(prob)
    draws = None if samples is None else _as_samples(samples)
    if gridsize is not None:
        gridsize = check_whole("gridsize", gridsize, low=16, cure="leave it out for the default")
    settings = {"bandwidth": bandwidth, "support": support, "gridsize": gridsize}
    if density is not None:
        others = {"discrete": discrete, "estimator": None if estimator == "kde" else estimator}
        cure = "the density that is given is used as it is: leave this out"
        _refuse(settings | others, "nothing beside density=", cure)
        return _from_density(_as_density(density), draws, probs, single, backend)
    if draws is None:
        raise InputError("samples", got="neither samples nor density", allowed="either", cure="hdr(draws, 0.95)")
    dimension = draws.shape[1]
    bounds = _as_support(support, dimension)
    _check_inside(draws, np.array(bounds), "support")
    h = None if bandwidth is None else _as_bandwidth(bandwidth, np.ptp(draws, axis=0))
    common: dict[str, Any] = {"single": single, "support": bounds, "n": len(draws)}
    if _take_as_discrete(draws, discrete, h is not None):
        return HdrResult(**discrete_regions(draws, probs), **common, backend="exact counts")
    for k, column in enumerate(draws.T):  # there is no density where one of several columns is constant
        if is_constant(column):
            got, cure = f"column {k}, {draws[0, k]:g} in every draw", "leave it out: its value is certain"
            raise InputError("samples", got=got, allowed="columns that vary", cure=cure)
    unit = _unit(draws)
    draws, h = draws / unit, None if h is None else h / unit
    bounds = tuple((low / u, high / u) for (low, high), u in zip(bounds, unit.tolist(), strict=True))
    common["support"] = bounds
    if estimator == "ash":
        if dimension != 2:
            got = f"'ash' in {dimension} dimension(s)"
            raise InputError("estimator", got=got, allowed="'ash' in two dimensions", cure="estimator='kde'")
        _refuse(settings, "None for estimator='ash'", "estimator='kde'")
    kernel = _kernel(backend, dimension, estimator)
    density_at = None
    if dimension > 2:
        fields, density_at = space_regions(draws, probs, h, level)
    elif estimator == "ash":
        fields = histogram_regions(draws, probs, kernel, level)
    elif dimension == 2:
        h = hdr_bandwidth_2d(draws, (bounds[0], bounds[1])) if h is None else h
        fields = plane_regions(draws, probs, bandwidth=h, support=bounds, gridsize=gridsize, kernel=kernel, level=level)
    else:
        fields, note = _on_line(draws[:, 0], probs, h, bounds[0], gridsize, kernel, float(unit[0]), level)
        if note and discrete is None:
            caution(note, DataWarning)
    density = None
    if density_at is not None:
        density = partial(_density_in_units, density_at, unit)
    result = HdrResult(**fields, **common, backend=kernel.version(), _density=density)
    return _in_units(result, unit)


def _density_in_units(density_at: Any, unit: FloatArray, places: FloatArray) -> FloatArray:
    """The density at places in the units of the draws: f(x/u)/∏u."""
    return np.asarray(density_at(places / unit) / unit.prod())


def _on_line(
    x: FloatArray, probs: FloatArray, bandwidth: FloatArray | None, support: tuple[float, float],
    gridsize: int | None, kernel: Kernel, unit: float, level: str,
) -> tuple[dict[str, Any], str]:  # fmt: skip
    """Fields of the result of one column, and what is to be said of an atom; `unit`: that of the draws."""

    def regions_by(values: FloatArray, by: Kernel) -> dict[str, Any]:
        h = hdr_bandwidth(values, float(probs.mean()), support) if bandwidth is None else float(bandwidth[0])
        return line_regions(values, probs, bandwidth=h, support=support, gridsize=gridsize, kernel=by, level=level)

    fields, atom = regions_by(x, kernel), find_atom(x)
    if atom is None:
        return fields, ""
    spike = "a density shows such an atom as a spike as wide as the bandwidth"
    cure = "Report its probability beside the region, or pass discrete=True"
    note = f"{atom[1]:.0%} of the draws equal {atom[0] * unit:g}: {spike}. {cure}"
    again = errors_with_atoms(x, fields["regions"], lambda v: regions_by(v, scipy_backend)["regions"])
    return fields | {"regions": again, "note": f"{note}."}, note


def _unit(draws: FloatArray) -> FloatArray:
    """A power of two per column, shape (d,), that brings numbers whose squares are none to about 1."""
    top = np.abs(draws).max(axis=0)
    extreme = (top < 1 / MODERATE) | (top > MODERATE)
    return np.asarray(np.where(extreme, np.ldexp(1.0, np.frexp(top)[1] - 1), 1.0))


def _in_units(result: HdrResult, unit: FloatArray) -> HdrResult:
    """The result of draws that were divided by `unit`, in the units in which they came."""
    if (unit == 1).all():
        return result
    volume, one = math.prod(unit.tolist()), unit if result.dimension > 1 else float(unit[0])

    def times(value: Any, factor: Any) -> Any:
        return None if value is None else value * factor

    with np.errstate(over="ignore", under="ignore", divide="ignore"):
        regions = tuple(
            replace(
                region, falpha=float(np.divide(region.falpha, volume)),
                falpha_error=float(np.divide(region.falpha_error, volume)),
                intervals=times(region.intervals, one), errors=times(region.errors, one),
                size=times(region.size, volume), size_error=times(region.size_error, volume),
            )
            for region in result.regions
        )  # fmt: skip
        if not all(0 < region.falpha < math.inf for region in regions):
            got = f"draws about {' × '.join(f'{u:.1g}' for u in unit)}, whose density is no float"
            raise InputError("samples", got=got, allowed="draws with a density", cure="change the unit")
        return replace(
            result, regions=regions, mode=result.mode * one, modes=result.modes * one,
            bandwidth=times(result.bandwidth, one), values=result.values / volume,
            axes=tuple(axis * u for axis, u in zip(result.axes, unit, strict=False)),
            support=tuple((low * u, high * u) for (low, high), u in zip(result.support, unit.tolist(), strict=True)),
        )  # fmt: skip


def _from_density(
    density: Curve | Surface, draws: FloatArray | None, probs: FloatArray, single: bool, backend: str | None
) -> HdrResult:
    dimension, box = len(density.axes), np.array([[axis[0], axis[-1]] for axis in density.axes])
    if draws is not None:
        if draws.shape[1] != dimension:
            got, allowed = f"{draws.shape[1]} columns", f"{dimension}, as the density has dimensions"
            raise InputError("samples", got=got, allowed=allowed, cure="pass the density of these quantities")
        _check_inside(draws, box, "grid of the density")
    kernel = scipy_backend if draws is None else _kernel(backend, dimension)
    if kernel is not scipy_backend and isinstance(density, Surface) and not density.evenly_spaced:
        said = "hdrcde reads equally spaced grids only, and that of the density is not: the level is SciPy's"
        caution(said, DataWarning)
        kernel = scipy_backend
    if abs(density.mass - 1) > MASS_OFF:
        over = f"the density integrates to {density.mass:.4g} over its grid"
        caution(f"{over}; regions hold their probability as a share of that", DataWarning)
    if isinstance(density, Curve):
        fields = given_curve(density, None if draws is None else draws[:, 0], probs, kernel)
    else:
        fields = given_surface(density, draws, probs, kernel)
    for region in fields["regions"]:
        if draws is None and region.mass > region.prob + 0.005:
            flat = f"the density is flat at its {region.prob:g} level"
            caution(f"{flat}: the region {{f ≥ falpha}} holds {region.mass:.4g}", DataWarning)
        if draws is not None and region.falpha <= 0:
            got = "a density that is 0 at more of the draws than the region may leave out"
            cure = "leave out samples= to use the density alone, or density= to estimate it"
            raise InputError("density", got=got, allowed="a density of the samples", cure=cure)
    return HdrResult(
        **fields, single=single, support=tuple((float(low), float(high)) for low, high in box),
        n=None if draws is None else len(draws), backend="exact" if draws is None else kernel.version(),
    )  # fmt: skip


def _kernel(backend: str | None, dimension: int, estimator: str = "kde") -> Kernel:
    """The back end's module: R's with hdrcde and what it estimates densities by, or ours."""
    if dimension > 2 and backend == "r":
        raise BackendError(
            f"highest density regions in {dimension} dimensions with backend='r': hdrcde has one and two. "
            "To fix: leave out backend=, or choose two columns."
        )
    packages = ["hdrcde", {"kde": "ks", "ash": "ash"}[estimator]][:dimension]
    if dimension > 2 or resolve(backend, purpose="highest density regions", r_packages=packages) == "scipy":
        return scipy_backend
    return r_backend


def _take_as_discrete(draws: FloatArray, discrete: bool | None, bandwidth_given: bool) -> bool:
    check_choice("discrete", discrete, (None, True, False))
    if discrete:
        return True
    if is_constant(draws):
        caution("all draws are one point: the region is that point", DataWarning)
        return True
    taken = discrete is None and not bandwidth_given and is_discrete(draws)
    if taken:
        few = "the draws have few distinct values and are taken as discrete"
        cure = "discrete=False estimates a density, discrete=True silences this"
        caution(f"{few}: the region is the set of the most frequent ones. {cure}", DataWarning)
    return taken


def _refuse(arguments: dict[str, Any], allowed: str, cure: str) -> None:
    """Raise for the first argument that is not None."""
    for name, value in arguments.items():
        if value is not None:
            raise InputError(name, got=repr(value), allowed=allowed, cure=cure)


def _as_samples(samples: Any) -> FloatArray:
    """Draws as an array of shape (n, d)."""
    allowed = "finite numbers: shape (n,) for one dimension, (n, d) for d dimensions"
    array = finite_array("samples", samples, allowed, largest=1e307)
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2 or array.shape[1] == 0:
        cure = "one row per draw, one column per quantity"
        raise InputError("samples", got=f"an array of shape {array.shape}", allowed=allowed, cure=cure)
    least = max(LEAST_SAMPLES, 5 * array.shape[1])
    if len(array) < least:
        got, cure = f"{len(array)} draws of {array.shape[1]} quantities", "draw more, or density=(grid, values)"
        raise InputError("samples", got=got, allowed=f"at least {least} draws", cure=cure)
    return array


def _as_probs(prob: Any) -> tuple[FloatArray, bool]:
    """Probabilities as an array of shape (p,), and whether a single number came."""
    allowed = "numbers between 0 and 1, both excluded"
    probs = finite_array("prob", prob, allowed)
    fine = probs.ndim <= 1 and probs.size > 0 and bool(((probs > 0) & (probs < 1)).all())
    check_that(fine, "prob", prob, allowed, "0.95 for a 95% region")
    return np.atleast_1d(probs), probs.ndim == 0


def _as_support(support: Any, dimension: int) -> tuple[tuple[float, float], ...]:
    """Bounds per dimension, infinite for None."""
    allowed = "a pair (low, high) with low < high, None for no bound; one such pair per dimension"
    if support is None:
        return ((-math.inf, math.inf),) * dimension
    if dimension > 2:
        got = f"bounds in {dimension} dimensions"
        raise InputError("support", got=got, allowed="bounds in one or two dimensions", cure="leave it out")
    try:
        pairs = [support] if dimension == 1 and np.shape(support) == (2,) else list(support)
        bounds = [(float(-math.inf if a is None else a), float(math.inf if b is None else b)) for a, b in pairs]
    except (TypeError, ValueError):
        bounds = []
    if len(bounds) != dimension or not all(low < high for low, high in bounds):
        raise InputError("support", got=repr(support), allowed=allowed, cure="support=(0, 1)")
    return tuple(bounds)


def _check_inside(samples: FloatArray, bounds: FloatArray, what: str) -> None:
    """Raise unless every row of `samples` lies in the box `bounds`, shape (d, 2)."""
    beyond = (samples < bounds[:, 0]) | (samples > bounds[:, 1])
    if beyond.any():
        got = f"{int(beyond.any(axis=1).sum())} of {len(samples)} draws outside the {what}"
        allowed = f"draws inside the {what} " + " × ".join(f"[{a:g}, {b:g}]" for a, b in bounds)
        cure = f"widen the {what}, or leave out draws that cannot occur"
        raise InputError("samples", got=got, allowed=allowed, cure=cure)


def _as_bandwidth(bandwidth: Any, ranges: FloatArray) -> FloatArray:
    """Positive bandwidths, shape (d,); one number stands for all dimensions. `ranges`: of the draws."""
    dimension = ranges.size
    allowed = "a positive number" + (f", or {dimension} of them" if dimension > 1 else "")
    array = np.atleast_1d(finite_array("bandwidth", bandwidth, allowed, largest=1e307))
    fine = array.ndim == 1 and array.size in {1, dimension} and bool((array > 0).all())
    fine = fine and bool(((array / WIDEST <= ranges) | (ranges == 0)).all())
    allowed += f", at most {WIDEST:g} times the range of the draws"
    check_that(fine, "bandwidth", bandwidth, allowed, "leave it out for the default")
    return np.broadcast_to(array, (dimension,)).copy()


def _as_density(density: Any) -> Curve | Surface:
    """A density on a grid; values below 0 by no more than rounding (1e-9 of the largest) become 0."""
    allowed = "(grid, values) on a line or (x, y, values) on a plane, values of shape (len(x), len(y))"
    if isinstance(density, (Curve, Surface)):
        density = tuple(vars(density).values())
    if not isinstance(density, (tuple, list)) or len(density) not in {2, 3}:
        raise InputError("density", got=f"a {type(density).__name__}", allowed=allowed, cure="density=(grid, values)")
    *axes, values = (finite_array("density", part, allowed) for part in density)
    shape, top = tuple(axis.size for axis in axes), float(values.max(initial=0.0))
    fault = ""
    if any(axis.ndim != 1 for axis in axes) or values.shape != shape or min(shape) < 2:
        fault = "arrays of shapes " + ", ".join(str(part.shape) for part in (*axes, values))
    elif any((np.diff(axis) <= 0).any() for axis in axes):
        fault = "a grid that does not ascend"
    elif top < 1 / LARGEST or float(values.min()) < -1e-9 * top:
        fault = f"values from {values.min():g} to {values.max():g}"
    if fault:
        allowed = f"{allowed}; values ≥ 0, the largest at least {1 / LARGEST:g}"
        raise InputError("density", got=fault, allowed=allowed, cure="sort, transpose")
    values = np.maximum(values, 0.0)
    return Curve(axes[0], values) if len(axes) == 1 else Surface(axes[0], axes[1], values)
