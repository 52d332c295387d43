"""`hdr`: the smallest region that holds a stated probability."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairstats.ground.backends import BACKENDS, resolve
from fairstats.ground.errors import BackendError, InputError
from fairstats.ground.results import check_choice
from fairstats.numerics.hdr import scipy_backend
from fairstats.numerics.hdr.cautions import warn
from fairstats.numerics.hdr.checks import (
    as_bandwidth,
    as_density,
    as_gridsize,
    as_probs,
    as_samples,
    as_support,
    check_columns,
    check_inside,
)
from fairstats.numerics.hdr.contract import Curve, FloatArray, Kernel, Surface
from fairstats.numerics.hdr.discrete import is_constant, is_discrete
from fairstats.numerics.hdr.line import given_curve, line_regions
from fairstats.numerics.hdr.plane import given_surface, histogram_regions, plane_regions
from fairstats.numerics.hdr.result import HdrResult
from fairstats.numerics.hdr.space import discrete_regions, space_regions

__all__ = ["hdr"]


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
) -> HdrResult:
    """Highest density region: the smallest region that holds the probability `prob`.

    The region is {f ≥ f_α}. The density f is estimated from `samples`, or given; f_α is the 1 − prob
    quantile (type 7) of f at the samples, or, for a density without samples, the level above which it has
    the mass `prob`, exactly. In one dimension the region is one or several intervals whose ends are exact
    crossings of the piecewise-linear density.

    Parameters
    ----------
    samples : array-like, shape (n,) or (n, d), optional
        Independent draws, at least ten (and at least 5·d).
    prob : float or sequence of float, default 0.95
        Probability, or several, each in (0, 1). All regions are cut from one density, so that they are
        nested.
    density : (grid, values) or (x, y, values), optional
        A density on an ascending grid, `values` ≥ 0 of shape ``(len(grid),)`` or ``(len(x), len(y))``.
        Read as linear (bilinear) between the points and 0 outside. With `samples` too, these only set the
        level.
    bandwidth : float or sequence of d floats, optional
        Standard deviation of the Gaussian kernel, in the units of the samples. Default: 1-D, Samworth and
        Wand's rule for the mean of `prob` (deterministic); 2-D, 1.3 times a direct plug-in for each
        coordinate; more, the normal reference. Returned in the result.
    support : (low, high), or one such pair per dimension, optional
        Bounds of the quantities (None or infinite for none), one or two dimensions. The density is
        reflected at them: it keeps mass 1, and no region reaches beyond them.
    backend : {"auto", "scipy", "r"}, optional
        What estimates the density and finds the level: R (hdrcde, ks, stats) or NumPy; default: as
        `use_backend` says.
    estimator : {"kde", "ash"}, default "kde"
        "ash" is hdrcde's default in two dimensions, an averaged shifted histogram on 20 × 20 cells: quick
        and coarse.
    discrete : bool, optional
        Whether to take the draws as discrete. Default: if they are constant; and, unless a bandwidth is
        given, if they have at most 25 distinct values, each 5 times on average. The region is then the
        set of the most frequent values.
    gridsize : int, optional
        Points of the grid, per axis. Default 1001 (1-D) and 151 (2-D), more where they would be over 1.5
        bandwidths apart.

    Returns
    -------
    HdrResult
        ``.intervals`` (1-D, shape (k, 2)) with Monte Carlo standard errors ``.errors``, ``.area`` (2-D),
        ``.falpha``, ``.mass``, ``.mode``, ``.modes``, ``.bandwidth``, ``.density``,
        ``.contains(points)``, ``.to_frame()``, ``.plot()``; ``.regions`` has it all, per `prob`.

    Raises
    ------
    InputError
        Neither samples nor density; NaN or infinite values; too few draws; `prob` outside (0, 1); draws
        outside the support or the grid of the density; a constant or linearly dependent column among
        several; tails too long for any grid; a bandwidth or support beside a density.
    BackendError
        The back end asked for cannot be had, or has no method for this case.

    Warns
    -----
    DataWarning
        The draws are taken as discrete; a tenth of otherwise continuous draws are one value; a given
        density does not integrate to 1, or is flat at its level; R was to find the level of a density whose
        grid it cannot read (SciPy does, and `backend` says so).

    Notes
    -----
    The share of the *samples* in the region is `prob` by construction. New draws fall into it a little
    less often, because the estimate is highest where the samples happen to be: at n = 5,000 by about 0.1
    points in one dimension and 0.2–0.5 in two. In three or more dimensions a draw's own kernel is left
    out, which removes that bias.

    Monte Carlo errors of the ends are infinitesimal-jackknife standard errors for independent draws at
    the bandwidth used (`fairstats.numerics.hdr.montecarlo` has the formula).

    References
    ----------
    Hyndman, R. J. (1996). Computing and graphing highest density regions. The American Statistician 50,
    120–126.
    Samworth, R. J. and Wand, M. P. (2010). Asymptotics and optimal bandwidth selection for highest
    density region estimation. Annals of Statistics 38, 1767–1792.

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
    check_choice("backend", backend, (None, *BACKENDS))
    probs, single = as_probs(prob)
    draws = None if samples is None else as_samples(samples)
    gridsize = as_gridsize(gridsize)
    if density is not None:
        _refuse_beside_density(
            bandwidth=bandwidth,
            support=support,
            gridsize=gridsize,
            discrete=discrete,
            estimator=None if estimator == "kde" else estimator,
        )
        return _from_density(as_density(density), draws, probs, single, backend)
    if draws is None:
        raise InputError(
            "samples", got="neither samples nor density", allowed="either", cure="hdr(draws, 0.95)"
        )
    dimension = draws.shape[1]
    bounds = as_support(support, dimension)
    check_inside(draws, np.array(bounds), "support")
    h = None if bandwidth is None else as_bandwidth(bandwidth, dimension)
    common: dict[str, Any] = {"single": single, "support": bounds, "n": len(draws)}
    if _take_as_discrete(draws, discrete, h is not None):
        fields = discrete_regions(draws, probs)
        return HdrResult(**fields, **common, backend="exact counts")
    check_columns(draws)
    if estimator == "ash":
        _refuse_beside_histogram(dimension, bandwidth=bandwidth, support=support, gridsize=gridsize)
    if dimension > 2:
        kernel = _kernel(backend, dimension)
        fields, points = space_regions(draws, probs, h)
        result = HdrResult(**fields, **common, backend=kernel.version())
        object.__setattr__(result, "_points", points)  # a frozen result; not carried by to_dict
        return result
    kernel = _kernel(backend, dimension, estimator)
    if estimator == "ash":
        fields = histogram_regions(draws, probs, kernel)
    elif dimension == 2:
        fields = plane_regions(draws, probs, bandwidth=h, support=bounds, gridsize=gridsize, kernel=kernel)
    else:
        fields = line_regions(
            draws[:, 0],
            probs,
            bandwidth=None if h is None else float(h[0]),
            support=bounds[0],
            gridsize=gridsize,
            look_for_atoms=discrete is None,
            kernel=kernel,
        )
    return HdrResult(**fields, **common, backend=kernel.version())


def _from_density(
    density: Curve | Surface, draws: FloatArray | None, probs: FloatArray, single: bool, backend: str | None
) -> HdrResult:
    axes = (density.grid,) if isinstance(density, Curve) else (density.x, density.y)
    box = np.array([[axis[0], axis[-1]] for axis in axes])
    if draws is not None:
        if draws.shape[1] != len(axes):
            got, allowed = f"{draws.shape[1]} columns", f"{len(axes)}, as the density has dimensions"
            raise InputError("samples", got=got, allowed=allowed, cure="pass the density of these quantities")
        check_inside(draws, box, "grid of the density")
    kernel = scipy_backend if draws is None else _kernel(backend, len(axes))
    if kernel is not scipy_backend and isinstance(density, Surface) and not density.evenly_spaced:
        warn("hdrcde reads equally spaced grids only, and that of the density is not: the level is SciPy's")
        kernel = scipy_backend
    if isinstance(density, Curve):
        fields = given_curve(density, None if draws is None else draws[:, 0], probs, kernel)
    else:
        fields = given_surface(density, draws, probs, kernel)
    return HdrResult(
        **fields,
        single=single,
        support=tuple((float(low), float(high)) for low, high in box),
        n=None if draws is None else len(draws),
        backend="exact" if draws is None else kernel.version(),
    )


def _kernel(backend: str | None, dimension: int, estimator: str = "kde") -> Kernel:
    """The back end's module: R's with hdrcde and what it estimates densities by, or ours."""
    if dimension > 2 and backend == "r":
        raise BackendError(
            f"highest density regions in {dimension} dimensions with backend='r': hdrcde has one and two. "
            "To fix: leave out backend=, or choose two columns."
        )
    packages = ["hdrcde"] if dimension == 1 else ["hdrcde", {"kde": "ks", "ash": "ash"}[estimator]]
    purpose = "highest density regions"
    if dimension > 2 or resolve(backend, purpose=purpose, r_packages=packages) == "scipy":
        return scipy_backend
    from fairstats.numerics.hdr import r_backend

    return r_backend


def _take_as_discrete(draws: FloatArray, discrete: bool | None, bandwidth_given: bool) -> bool:
    if discrete:
        return True
    if is_constant(draws):
        warn("all draws are one point: the region is that point")
        return True
    if discrete is None and not bandwidth_given and is_discrete(draws):
        warn(
            "the draws have few distinct values and are taken as discrete: the region is the set of the "
            "most frequent ones. discrete=False estimates a density, discrete=True silences this"
        )
        return True
    return False


def _refuse_beside_density(**arguments: Any) -> None:
    for name, value in arguments.items():
        if value is not None:
            raise InputError(
                name,
                got=repr(value),
                allowed="nothing beside density=",
                cure="the density that is given is used as it is: leave this out",
            )


def _refuse_beside_histogram(dimension: int, **arguments: Any) -> None:
    if dimension != 2:
        got = f"'ash' in {dimension} dimension(s)"
        raise InputError("estimator", got=got, allowed="'ash' in two dimensions", cure="estimator='kde'")
    for name, value in arguments.items():
        if value is not None:
            raise InputError(
                name, got=repr(value), allowed="None for estimator='ash'", cure="estimator='kde'"
            )
