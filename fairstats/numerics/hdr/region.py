"""`hdr`: the smallest region that holds a stated probability.

    R = {x : f(x) ≥ f_α},      f_α the largest value with P(f(X) ≥ f_α) ≥ prob      (Hyndman 1996),

which has the least length (area, volume) of all regions with that probability. f_α is the 1 − prob
quantile of f at the draws. This module checks and dispatches; `line`, `circle`, `plane` and `space`
cut the region.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from fairstats.ground.backends import BACKENDS, resolve
from fairstats.ground.checks import (
    LARGEST,
    check_choice,
    check_number,
    check_that,
    check_whole,
    finite_array,
)
from fairstats.ground.errors import BackendError, DataWarning, InputError, caution
from fairstats.numerics.hdr import r_backend, scipy_backend
from fairstats.numerics.hdr.bandwidth import hdr_bandwidth, hdr_bandwidth_2d, hdr_bandwidth_circular
from fairstats.numerics.hdr.circle import circle_regions, joined_runs
from fairstats.numerics.hdr.grids import LEVELS, Curve, FloatArray, Kernel, Surface, onto_circle
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
    period: float | None = None,
) -> HdrResult:
    """Highest density region: the smallest region that holds the probability `prob`.

    The region is {f ≥ f_α}. The density f is estimated from `samples`, or given; f_α is the 1 −
    prob quantile (type 7) of f at the samples, or, for a density without samples, the level above
    which it has the mass `prob`, exactly. In one dimension the region is one or several intervals
    whose ends are exact crossings of the piecewise-linear density.

    Parameters
    ----------
    samples : array-like, shape (n,) or (n, d), optional
        Independent draws, at least ten (and at least 5·d).
    prob : float or sequence of float, default 0.95
        In (0, 1). All regions are cut from one density, so that they are nested.
    density : (grid, values) or (x, y, values), optional
        A density on an ascending grid, `values` ≥ 0 of shape (len(grid),) or (len(x), len(y)):
        (bi)linear between the points and 0 outside. With `samples` too, these only set the level.
    bandwidth : float or sequence of d floats, optional
        Standard deviation of the Gaussian kernel, in the units of the samples. Default: 1-D,
        Samworth and Wand's rule for the mean of `prob`; 2-D, 1.3 times a direct plug-in for each
        coordinate; more, the normal reference.
    support : (low, high), or one such pair per dimension, optional
        Bounds of the quantities (None or infinite for none), one or two dimensions. The density is
        reflected at them: it keeps mass 1, and no region reaches beyond them.
    backend : {"auto", "scipy", "r"}, optional
        What estimates the density and finds the level: R (hdrcde, ks, stats) or NumPy; default: as
        `use_backend` says.
    estimator : {"kde", "ash"}, default "kde"
        "ash" is hdrcde's default in two dimensions, an averaged shifted histogram on 20 × 20 cells:
        quick and coarse.
    discrete : bool, optional
        Whether to take the draws as discrete: the region is then the set of the most frequent
        values. Default: if they are constant; and, without a `bandwidth`, if they are whole numbers
        each of which occurs twice on average, or have at most 25 distinct values, each 5 times on
        average.
    gridsize : int, optional
        Points per axis. Default 1001 (1-D) and 151 (2-D), more where they would be over 1.5
        bandwidths apart.
    level : {"leave_one_out", "in_sample"}, default "leave_one_out"
        Which density judges a draw when f_α is found: that of the others, or that of all with the
        draw's own kernel counted, as hdrcde does. The same with either back end; without effect on
        a `density` that is given, which is used as it is, and on discrete draws.
    period : float, optional
        Of a circular quantity: 24 of hours, 360 of degrees; one dimension. Draws are taken modulo
        the period, the kernel is wrapped around it, and every interval begins in [0, period): one
        that ends beyond the period goes on from 0, so that [22, 26] of 24 hours is from 22 to 2
        o'clock.

    Returns
    -------
    HdrResult
        A region per `prob`: intervals (1-D) with Monte Carlo standard errors of their ends, or area
        (2-D), and mass.

    Raises
    ------
    InputError
        Neither samples nor density; NaN or infinite values; too few draws; draws outside the
        support or the grid of the density; a constant or linearly dependent column among several;
        tails too long for any grid; a bandwidth or support beside a density; a period in more
        dimensions, beside a support or a density, or below two bandwidths.
    BackendError
        The back end asked for cannot be had, or has no method for this case.

    Warns
    -----
    DataWarning
        The draws are taken as discrete; a tenth of otherwise continuous draws are one value; a
        given density does not integrate to 1, or is flat at its level; R cannot read its grid, so
        that SciPy finds the level.

    Notes
    -----
    Each draw is judged by the density of the *others*: its own kernel is left out at the draw, else
    the estimate is highest where the samples happen to be, and new draws fall into a 95% region too
    rarely (simulated: 93.4% at n = 100 on a line, 92–93% at n = 200 and 94.1–94.5% at 1,000 on a
    plane; left out, 94.4–95.1%). hdrcde counts it: ``level="in_sample"`` is its level, whichever
    back end computes it.

    Monte Carlo errors of the ends are infinitesimal-jackknife standard errors for independent draws
    at the bandwidth used (`fairstats.numerics.hdr.line` has the formula), .93–1.0 of the actual
    ones. Where a tenth of the draws are one value they come from 50 resamples that choose the
    bandwidth anew (.7–1.2 of the actual ones).

    References
    ----------
    Hyndman, R. J. (1996). Computing and graphing highest density regions. The American Statistician
    50, 120–126. Samworth, R. J. and Wand, M. P. (2010). Asymptotics and optimal bandwidth selection
    for highest density region estimation. Annals of Statistics 38, 1767–1792.

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
    >>> hours = rng.normal(24, 1, 2000)  # around midnight
    >>> hdr(hours, 0.9, period=24).intervals.round(1)
    array([[22.3, 25.6]])
    """
    check_choice("estimator", estimator, ("kde", "ash"))
    check_choice("level", level, LEVELS)
    check_choice("backend", backend, (None, *BACKENDS))
    probs, is_single = _as_probs(prob)
    draws = None if samples is None else _as_samples(samples)
    if gridsize is not None:
        gridsize = check_whole("gridsize", gridsize, low=16, cure="leave it out for the default")
    settings = {"bandwidth": bandwidth, "support": support, "gridsize": gridsize, "period": period}
    if density is not None:
        other_settings = {
            "discrete": discrete,
            "estimator": None if estimator == "kde" else estimator,
        }
        cure = "the density that is given is used as it is: leave this out"
        _refuse_arguments(settings | other_settings, "nothing beside density=", cure)
        return _from_density(_as_density(density), draws, probs, is_single, backend)
    if draws is None:
        raise InputError(
            "samples",
            got="neither samples nor density",
            allowed="either",
            cure="hdr(draws, 0.95)",
        )
    dimension = draws.shape[1]
    if period is not None:
        period = _as_period(period, dimension, support)
        draws = onto_circle(draws, period)
    support_bounds = _as_support(support, dimension)
    _check_inside(draws, np.array(support_bounds), "support")
    if bandwidth is None:
        bandwidths = None
    else:
        bandwidths = _as_bandwidth(bandwidth, np.ptp(draws, axis=0))
    common_fields: dict[str, Any] = {
        "single": is_single,
        "support": support_bounds,
        "n": len(draws),
        "period": period,
    }
    if _take_as_discrete(draws, discrete, bandwidths is not None):
        return HdrResult(
            **_discrete_fields(draws, probs, period), **common_fields, backend="exact counts"
        )
    # there is no density where one of several columns is constant
    for column_index, column in enumerate(draws.T):
        if is_constant(column):
            got = f"column {column_index}, {draws[0, column_index]:g} in every draw"
            cure = "leave it out: its value is certain"
            raise InputError("samples", got=got, allowed="columns that vary", cure=cure)
    column_units = _power_of_two_units(draws)
    if period is None:
        scaled_period = None
    else:
        scaled_period = period / float(column_units[0])
    common_fields["period"] = scaled_period
    draws = draws / column_units
    if bandwidths is None:
        bandwidths = None
    else:
        bandwidths = bandwidths / column_units
    support_bounds = tuple(
        (lower_bound / column_unit, upper_bound / column_unit)
        for (lower_bound, upper_bound), column_unit in zip(
            support_bounds, column_units.tolist(), strict=True
        )
    )
    common_fields["support"] = support_bounds
    if estimator == "ash":
        if dimension != 2:
            got = f"'ash' in {dimension} dimension(s)"
            raise InputError(
                "estimator",
                got=got,
                allowed="'ash' in two dimensions",
                cure="estimator='kde'",
            )
        _refuse_arguments(settings, "None for estimator='ash'", "estimator='kde'")
    chosen_kernel = _choose_kernel(backend, dimension, estimator)
    density_at = None
    if dimension > 2:
        result_fields, density_at = space_regions(draws, probs, bandwidths, level)
    elif estimator == "ash":
        result_fields = histogram_regions(draws, probs, chosen_kernel, level)
    elif dimension == 2:
        if bandwidths is None:
            bandwidths = hdr_bandwidth_2d(draws, (support_bounds[0], support_bounds[1]))
        result_fields = plane_regions(
            draws,
            probs,
            bandwidth=bandwidths,
            support=support_bounds,
            gridsize=gridsize,
            kernel=chosen_kernel,
            level=level,
        )
    else:
        line_options: dict[str, Any] = {
            "bandwidth": bandwidths,
            "support": support_bounds[0],
            "gridsize": gridsize,
            "period": scaled_period,
        }
        result_fields, atom_note = _on_line(
            draws[:, 0],
            probs,
            kernel=chosen_kernel,
            unit=float(column_units[0]),
            level=level,
            **line_options,
        )
        if atom_note and discrete is None:
            caution(atom_note, DataWarning)
    density = None
    if density_at is not None:
        density = partial(_density_in_units, density_at, column_units)
    scaled_result = HdrResult(
        **result_fields, **common_fields, backend=chosen_kernel.version(), _density=density
    )
    return _in_units(scaled_result, column_units)


def _density_in_units(density_at: Any, column_units: FloatArray, places: FloatArray) -> FloatArray:
    """The density at places in the units of the draws: f(x/u)/∏u."""
    return np.asarray(density_at(places / column_units) / column_units.prod())


def _on_line(
    column_values: FloatArray,
    probs: FloatArray,
    *,
    bandwidth: FloatArray | None,
    support: tuple[float, float],
    gridsize: int | None,
    kernel: Kernel,
    unit: float,
    level: str,
    period: float | None,
) -> tuple[dict[str, Any], str]:
    """Fields of the result of one column, and what is to be said of an atom; `unit`: that of the
    draws.
    """

    def regions_by(values: FloatArray, line_kernel: Kernel) -> dict[str, Any]:
        shared_settings: dict[str, Any] = {
            "gridsize": gridsize,
            "kernel": line_kernel,
            "level": level,
        }
        coverage = float(probs.mean())
        if period is not None:
            if bandwidth is None:
                chosen_bandwidth = hdr_bandwidth_circular(values, coverage, period)
            else:
                chosen_bandwidth = float(bandwidth[0])
            return circle_regions(
                values, probs, bandwidth=chosen_bandwidth, period=period, **shared_settings
            )
        if bandwidth is None:
            chosen_bandwidth = hdr_bandwidth(values, coverage, support)
        else:
            chosen_bandwidth = float(bandwidth[0])
        return line_regions(
            values, probs, bandwidth=chosen_bandwidth, support=support, **shared_settings
        )

    result_fields = regions_by(column_values, kernel)
    atom = find_atom(column_values)
    if atom is None:
        return result_fields, ""
    spike_meaning = "a density shows such an atom as a spike as wide as the bandwidth"
    cure = "Report its probability beside the region, or pass discrete=True"
    atom_note = f"{atom[1]:.0%} of the draws equal {atom[0] * unit:g}: {spike_meaning}. {cure}"
    resampled_regions = errors_with_atoms(
        column_values,
        result_fields["regions"],
        lambda resample: regions_by(resample, scipy_backend)["regions"],
    )
    return result_fields | {"regions": resampled_regions, "note": f"{atom_note}."}, atom_note


def _power_of_two_units(draws: FloatArray) -> FloatArray:
    """A power of two per column, shape (d,), that brings numbers whose squares are none to about
    1.
    """
    largest_size = np.abs(draws).max(axis=0)
    is_extreme = (largest_size < 1 / MODERATE) | (largest_size > MODERATE)
    return np.asarray(np.where(is_extreme, np.ldexp(1.0, np.frexp(largest_size)[1] - 1), 1.0))


def _in_units(result: HdrResult, column_units: FloatArray) -> HdrResult:
    """The result of draws that were divided by `column_units`, in the units in which they came."""
    if (column_units == 1).all():
        return result
    volume = math.prod(column_units.tolist())
    length_unit = column_units if result.dimension > 1 else float(column_units[0])

    def times(value: Any, factor: Any) -> Any:
        return None if value is None else value * factor

    with np.errstate(over="ignore", under="ignore", divide="ignore"):
        scaled_regions = tuple(
            replace(
                region,
                falpha=float(np.divide(region.falpha, volume)),
                falpha_error=float(np.divide(region.falpha_error, volume)),
                intervals=times(region.intervals, length_unit),
                errors=times(region.errors, length_unit),
                size=times(region.size, volume),
                size_error=times(region.size_error, volume),
            )
            for region in result.regions
        )
        if not all(0 < region.falpha < math.inf for region in scaled_regions):
            got = (
                f"draws about "
                f"{' × '.join(f'{column_unit:.1g}' for column_unit in column_units)}, whose density is no float"
            )
            raise InputError(
                "samples",
                got=got,
                allowed="draws with a density",
                cure="change the unit",
            )
        return replace(
            result,
            regions=scaled_regions,
            mode=result.mode * length_unit,
            modes=result.modes * length_unit,
            bandwidth=times(result.bandwidth, length_unit),
            period=times(result.period, length_unit),
            values=result.values / volume,
            axes=tuple(
                grid_axis * column_unit
                for grid_axis, column_unit in zip(result.axes, column_units, strict=False)
            ),
            support=tuple(
                (lower_bound * column_unit, upper_bound * column_unit)
                for (lower_bound, upper_bound), column_unit in zip(
                    result.support, column_units.tolist(), strict=True
                )
            ),
        )


def _from_density(
    density: Curve | Surface,
    draws: FloatArray | None,
    probs: FloatArray,
    single: bool,
    backend: str | None,
) -> HdrResult:
    """Regions of a density on a grid; their levels by draws, where there are any."""
    dimension = len(density.axes)
    grid_box = np.array([[grid_axis[0], grid_axis[-1]] for grid_axis in density.axes])
    if draws is not None:
        if draws.shape[1] != dimension:
            got = f"{draws.shape[1]} columns"
            allowed = f"{dimension}, as the density has dimensions"
            raise InputError(
                "samples",
                got=got,
                allowed=allowed,
                cure="pass the density of these quantities",
            )
        _check_inside(draws, grid_box, "grid of the density")
    chosen_kernel = scipy_backend if draws is None else _choose_kernel(backend, dimension)
    if (
        chosen_kernel is not scipy_backend
        and isinstance(density, Surface)
        and not density.evenly_spaced
    ):
        warning = (
            "hdrcde reads equally spaced grids only, and that of the density is not: the level is"
            " SciPy's"
        )
        caution(warning, DataWarning)
        chosen_kernel = scipy_backend
    if abs(density.mass - 1) > MASS_OFF:
        mass_in_words = f"the density integrates to {density.mass:.4g} over its grid"
        caution(f"{mass_in_words}; regions hold their probability as a share of that", DataWarning)
    if isinstance(density, Curve):
        result_fields = given_curve(
            density, None if draws is None else draws[:, 0], probs, chosen_kernel
        )
    else:
        result_fields = given_surface(density, draws, probs, chosen_kernel)
    for region in result_fields["regions"]:
        if draws is None and region.mass > region.prob + 0.005:
            level_in_words = f"the density is flat at its {region.prob:g} level"
            caution(
                f"{level_in_words}: the region {{f ≥ falpha}} holds {region.mass:.4g}", DataWarning
            )
        if draws is not None and region.falpha <= 0:
            got = "a density that is 0 at more of the draws than the region may leave out"
            cure = "leave out samples= to use the density alone, or density= to estimate it"
            raise InputError("density", got=got, allowed="a density of the samples", cure=cure)
    return HdrResult(
        **result_fields,
        single=single,
        support=tuple(
            (float(lower_bound), float(upper_bound)) for lower_bound, upper_bound in grid_box
        ),
        n=None if draws is None else len(draws),
        backend="exact" if draws is None else chosen_kernel.version(),
    )


def _choose_kernel(backend: str | None, dimension: int, estimator: str = "kde") -> Kernel:
    """The back end's module: R's with hdrcde and what it estimates densities by, or ours."""
    if dimension > 2 and backend == "r":
        raise BackendError(
            f"highest density regions in {dimension} dimensions with backend='r': hdrcde has one"
            " and two. To fix: leave out backend=, or choose two columns."
        )
    packages = ["hdrcde", {"kde": "ks", "ash": "ash"}[estimator]][:dimension]
    if (
        dimension > 2
        or resolve(backend, purpose="highest density regions", r_packages=packages) == "scipy"
    ):
        return scipy_backend
    return r_backend


def _take_as_discrete(draws: FloatArray, discrete: bool | None, bandwidth_given: bool) -> bool:
    check_choice("discrete", discrete, (None, True, False))
    if discrete:
        return True
    if is_constant(draws):
        caution("all draws are one point: the region is that point", DataWarning)
        return True
    is_taken = discrete is None and not bandwidth_given and is_discrete(draws)
    if is_taken:
        reason = "the draws have few distinct values and are taken as discrete"
        cure = "discrete=False estimates a density, discrete=True silences this"
        caution(f"{reason}: the region is the set of the most frequent ones. {cure}", DataWarning)
    return is_taken


def _refuse_arguments(arguments: dict[str, Any], allowed: str, cure: str) -> None:
    """Raise for the first argument that is not None."""
    for argument, argument_value in arguments.items():
        if argument_value is not None:
            raise InputError(argument, got=repr(argument_value), allowed=allowed, cure=cure)


def _as_samples(samples: Any) -> FloatArray:
    """Draws as an array of shape (n, d)."""
    allowed = "finite numbers: shape (n,) for one dimension, (n, d) for d dimensions"
    sample_array = finite_array("samples", samples, allowed, largest=1e307)
    if sample_array.ndim == 1:
        sample_array = sample_array[:, None]
    if sample_array.ndim != 2 or sample_array.shape[1] == 0:
        cure = "one row per draw, one column per quantity"
        raise InputError(
            "samples",
            got=f"an array of shape {sample_array.shape}",
            allowed=allowed,
            cure=cure,
        )
    least_draws = max(LEAST_SAMPLES, 5 * sample_array.shape[1])
    if len(sample_array) < least_draws:
        got = f"{len(sample_array)} draws of {sample_array.shape[1]} quantities"
        cure = "draw more, or density=(grid, values)"
        raise InputError("samples", got=got, allowed=f"at least {least_draws} draws", cure=cure)
    return sample_array


def _as_probs(prob: Any) -> tuple[FloatArray, bool]:
    """Probabilities as an array of shape (p,), and whether a single number came."""
    allowed = "numbers between 0 and 1, both excluded"
    probabilities = finite_array("prob", prob, allowed)
    are_valid = (
        probabilities.ndim <= 1
        and probabilities.size > 0
        and bool(((probabilities > 0) & (probabilities < 1)).all())
    )
    check_that(are_valid, "prob", prob, allowed, "0.95 for a 95% region")
    return np.atleast_1d(probabilities), probabilities.ndim == 0


def _as_support(support: Any, dimension: int) -> tuple[tuple[float, float], ...]:
    """Bounds per dimension, infinite for None."""
    allowed = "a pair (low, high) with low < high, None for no bound; one such pair per dimension"
    if support is None:
        return ((-math.inf, math.inf),) * dimension
    if dimension > 2:
        got = f"bounds in {dimension} dimensions"
        raise InputError(
            "support",
            got=got,
            allowed="bounds in one or two dimensions",
            cure="leave it out",
        )
    try:
        if dimension == 1 and np.shape(support) == (2,):
            bound_pairs = [support]
        else:
            bound_pairs = list(support)
        bounds = []
        for pair_low, pair_high in bound_pairs:
            bounds.append(
                (
                    float(-math.inf if pair_low is None else pair_low),
                    float(math.inf if pair_high is None else pair_high),
                )
            )
    except (TypeError, ValueError):
        bounds = []
    if len(bounds) != dimension or not all(low < high for low, high in bounds):
        raise InputError("support", got=repr(support), allowed=allowed, cure="support=(0, 1)")
    return tuple(bounds)


def _as_period(period: Any, dimension: int, support: Any) -> float:
    """The period of a circular quantity, or raise."""
    cure = "period=24 for hours of a day"
    period_value = check_number("period", period, low=0, high=1e307, open_low=True, cure=cure)
    if dimension > 1:
        got = f"a period of {dimension} quantities"
        raise InputError(
            "period",
            got=got,
            allowed="a period of one quantity",
            cure="choose a column",
        )
    if support is not None:
        cure = "drop support=: a circle has no bounds"
        raise InputError(
            "support",
            got="bounds beside a period",
            allowed="one or the other",
            cure=cure,
        )
    return period_value


def _discrete_fields(draws: FloatArray, probs: FloatArray, period: float | None) -> dict[str, Any]:
    """Fields of the result of discrete draws.

    Runs of values that meet across the cut of a circle are joined.
    """
    result_fields = discrete_regions(draws, probs)
    if period is not None:
        last_value = float(result_fields["axes"][0][-1, 0])
        first_value = float(result_fields["axes"][0][0, 0])
        joined_regions = (
            joined_runs(region, first_value, last_value, period)
            for region in result_fields["regions"]
        )
        result_fields["regions"] = tuple(joined_regions)
    return result_fields


def _check_inside(samples: FloatArray, bounds: FloatArray, place_name: str) -> None:
    """Raise unless every row of `samples` lies in the box `bounds`, shape (d, 2)."""
    is_beyond = (samples < bounds[:, 0]) | (samples > bounds[:, 1])
    if is_beyond.any():
        got = f"{int(is_beyond.any(axis=1).sum())} of {len(samples)} draws outside the {place_name}"
        allowed = f"draws inside the {place_name} " + " × ".join(
            f"[{lower_bound:g}, {upper_bound:g}]" for lower_bound, upper_bound in bounds
        )
        cure = f"widen the {place_name}, or leave out draws that cannot occur"
        raise InputError("samples", got=got, allowed=allowed, cure=cure)


def _as_bandwidth(bandwidth: Any, ranges: FloatArray) -> FloatArray:
    """Positive bandwidths, shape (d,); one number stands for all dimensions.

    `ranges`: of the draws.
    """
    dimension = ranges.size
    allowed = "a positive number" + (f", or {dimension} of them" if dimension > 1 else "")
    bandwidths = np.atleast_1d(finite_array("bandwidth", bandwidth, allowed, largest=1e307))
    are_valid = (
        bandwidths.ndim == 1 and bandwidths.size in {1, dimension} and bool((bandwidths > 0).all())
    )
    are_valid = are_valid and bool(((bandwidths / WIDEST <= ranges) | (ranges == 0)).all())
    allowed += f", at most {WIDEST:g} times the range of the draws"
    check_that(are_valid, "bandwidth", bandwidth, allowed, "leave it out for the default")
    return np.broadcast_to(bandwidths, (dimension,)).copy()


def _as_density(density: Any) -> Curve | Surface:
    """A density on a grid; values below 0 by no more than rounding (1e-9 of the largest) become
    0.
    """
    allowed = (
        "(grid, values) on a line or (x, y, values) on a plane, values of shape (len(x), len(y))"
    )
    if isinstance(density, (Curve, Surface)):
        density = tuple(vars(density).values())
    if not isinstance(density, (tuple, list)) or len(density) not in {2, 3}:
        raise InputError(
            "density",
            got=f"a {type(density).__name__}",
            allowed=allowed,
            cure="density=(grid, values)",
        )
    *grid_axes, densities = (
        finite_array("density", density_part, allowed) for density_part in density
    )
    grid_shape = tuple(grid_axis.size for grid_axis in grid_axes)
    largest_density = float(densities.max(initial=0.0))
    fault_in_words = ""
    if (
        any(grid_axis.ndim != 1 for grid_axis in grid_axes)
        or densities.shape != grid_shape
        or min(grid_shape) < 2
    ):
        fault_in_words = "arrays of shapes " + ", ".join(
            str(density_part.shape) for density_part in (*grid_axes, densities)
        )
    elif any((np.diff(grid_axis) <= 0).any() for grid_axis in grid_axes):
        fault_in_words = "a grid that does not ascend"
    elif largest_density < 1 / LARGEST or float(densities.min()) < -1e-9 * largest_density:
        fault_in_words = f"values from {densities.min():g} to {densities.max():g}"
    if fault_in_words:
        allowed = f"{allowed}; values ≥ 0, the largest at least {1 / LARGEST:g}"
        raise InputError("density", got=fault_in_words, allowed=allowed, cure="sort, transpose")
    densities = np.maximum(densities, 0.0)
    if len(grid_axes) == 1:
        return Curve(grid_axes[0], densities)
    return Surface(grid_axes[0], grid_axes[1], densities)
