"""Tails and regions: extreme value fits, counterfactual discrimination, highest density regions."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from fairstats.ground.results import Comparison
from fairstats.methods.ecd.result import EcdComparison, EcdResult
from fairstats.methods.ecd.sample import CounterfactualSample, GroupSample
from fairstats.methods.ecd.tail import GroupLevel, GroupTail
from fairstats.numerics.evt.bootstrap import POWER_TAIL
from fairstats.numerics.evt.fit import EvtFit
from fairstats.numerics.hdr.result import HdrRegion, HdrResult
from fairstats.report.crosscheck.check import VERDICT, Bench, Check, Line, Place, column, ends

# ---------------------------------------------------------------- extreme value fits

#: Two optimisers stop within 1e-4 standard errors of each other (`vignettes/methods.md`: 1e-5 at best).
_OF_ERROR = 1e-4
#: Standard errors are second derivatives, symbolic in base R, by finite differences in the packages.
_SYMBOLIC, _NUMERICAL = 1e-5, 1e-2
#: Ends of likelihood intervals, as a share of their width.
_OF_WIDTH = 1e-4
#: Below this shape standard errors of two optimisers differ by more than that.
_REGULAR = -0.45
#: Package → model → its function.
_PACKAGES = {
    "extRemes": {"gpd": "fevd", "gev": "fevd", "point_process": "fevd"},
    "evd": {"gpd": "fpot", "gev": "fgev", "point_process": "fpot"},
}
_SHAPE = (Line("shape, lower end", "low"), Line("shape, upper end", "high"))
_LIKELIHOOD = (Line("negative log-likelihood", "nll", absolute=1e-6),)


def fit(result: EvtFit, bench: Bench) -> Iterator[Check]:
    """Every number of a fit."""
    place = bench.place(result.model)
    yield from _fit(result, place, bench)
    if result.method == "mle" and result.model != "gev" and not result.at_boundary:
        yield from _shape_interval(result, result.interval("shape"), place, bench)


def _fit(fitted: EvtFit, place: Place, bench: Bench) -> Iterator[Check]:
    """Parameters, standard errors and likelihood, by the twin and by the packages that are installed."""
    if fitted.method != "mle" or (fitted.at_boundary and fitted.model == "gev"):
        why = "at the edge of the parameter space" if fitted.at_boundary else "L-moments: R has no such errors"
        yield place.left_out("shape", fitted.shape, why)
        return
    if fitted.grid is not None and fitted.model != "gpd":
        yield place.left_out("shape", fitted.shape, "a process on a grid: R has no twin of it")
        return
    sample = np.asarray(fitted.sample, dtype=np.float64)
    twin = f"fs_fit_{fitted.model}"
    arguments: list[Any] = [sample if fitted.model == "gev" else sample - fitted.origin]
    if fitted.model == "point_process":
        arguments += [float(fitted.n_total), float(fitted.origin), float(fitted.block_size or 1)]
    of_grid = (fitted.grid,) if fitted.grid is not None else ()
    found = bench.call(twin, *arguments, "mle", "base", *of_grid)
    # standard errors of extRemes and evd are numerical, too
    loose = _SYMBOLIC if fitted.backend.startswith("scipy") and fitted.grid is None else _NUMERICAL
    yield from _parameters(fitted, found, place, twin, loose)
    for package, functions in _PACKAGES.items():
        if fitted.at_boundary or fitted.grid is not None or not bench.door.has(package):
            continue  # the packages know no edge, and no grid
        found = bench.call(twin, *arguments, "mle", package)
        yield from _parameters(fitted, found, place, f"{package}::{functions[fitted.model]}", _NUMERICAL)


def _parameters(fitted: EvtFit, found: dict[str, Any], place: Place, function: str, loose: float) -> Iterator[Check]:
    estimate, errors = column(found, "estimate"), column(found, "std_error")
    for k, (name, value) in enumerate(fitted.params.items()):
        mine = fitted.std_error[name]
        near = _OF_ERROR * mine if np.isfinite(mine) else 1e-4 * max(abs(value), 1e-6)
        yield place.compare(name, value, estimate[k], function, absolute=near)
        if fitted.regular and np.isfinite(errors[k]) and fitted.shape > _REGULAR:
            yield place.compare(f"standard error of {name}", mine, errors[k], function, relative=loose)
    yield from place.compare_all(_LIKELIHOOD, fitted, found, function)


def _shape_interval(fitted: EvtFit, mine: Any, place: Place, bench: Bench) -> Iterator[Check]:
    """Likelihood interval of the shape of a tail above a threshold."""
    excess = np.asarray(fitted.sample, dtype=np.float64) - fitted.origin
    found = bench.call("tail_shape", excess, mine.confidence_level, float(fitted.grid or 0.0))
    if mine.low <= -1 + 1e-9 and not np.isfinite(found["low"]):
        found = {**found, "low": -1.0}  # the profile ends there
    near = _OF_WIDTH * mine.width if np.isfinite(mine.width) else 1e-6
    yield from place.compare_all(_SHAPE, mine, found, "tail_shape", absolute=near)


# ---------------------------------------------------------------- extremes of counterfactual discrimination

_SIMULATED = "of a parametric bootstrap: R has no twin of it"
_DRAWN = "quantiles of draws: fs_ecd in R has draws of its own"
_OF_ROWS = (Line("exceedances", "n_exceedances"), Line("maximum", "maximum", function="base::max"))
_LEVEL = (Line("estimate", "estimate"),)
_LEVEL_ERROR = (Line("standard error (delta)", "std_error"),)
_INTERVAL = ends("interval", "confidence_interval")
_PROFILE = ends("interval", "confidence_interval", of=" (profile)")
#: A deviance of two optimisers agrees to this, absolutely.
_RATIO = (Line("statistic (likelihood ratio)", "statistic", absolute=1e-5, relative=1e-5),)
_PVALUE = (
    Line("p-value", "pvalue", relative=1e-4, absolute=1e-6),
    Line(VERDICT, "pvalue_verdict", relative=1e-4, absolute=1e-6),
)
_JOINT = ends("simultaneous interval", "simultaneous")
_CONTRAST = (*_INTERVAL, *ends("one-sided bound", "bounds", "bound_"))


def ecd(result: EcdResult, bench: Bench) -> Iterator[Check]:
    """Tails, return levels, their difference and its likelihood ratio."""
    for tail in result.tails:
        yield from _tail(tail, result.settings.grid, bench)
    for c in result.comparisons:
        yield from _difference(result, c, bench)


def _tail(tail: GroupTail, grid: float | str | None, bench: Bench) -> Iterator[Check]:
    place, cd = bench.place("tail", tail.group), _values(tail.group, tail.n, bench)
    if cd is not None:
        # values and threshold are compared to twelve decimals
        over = cd > tail.threshold + 1e-12
        above = float(bench.call("base::sum", over)) if math.isfinite(tail.threshold) else 0.0
        found = {"n_exceedances": above, "maximum": bench.call("base::max", cd)}
        yield from place.compare_all(_OF_ROWS, tail, found, "base::sum")
    if tail.fit is not None:
        yield from _fit(tail.fit, place, bench)
        if tail.type is not None and not tail.fit.at_boundary:
            yield from _shape_interval(tail.fit, tail.type.confidence_interval, place, bench)
    for level in (tail.level, *tail.levels):
        at = bench.place(f"return level, {level.interactions:g} interactions", tail.group)
        if not level.empirical and tail.fit is not None:
            yield from _fitted_level(tail.fit, level, at, bench)
        elif cd is None or math.isnan(level.estimate):
            yield at.needs_data("estimate", level.estimate, "an order statistic of the rows")
        else:
            lines = _LEVEL if level.confidence_interval.method == "none" else (*_LEVEL, *_INTERVAL)
            yield from at.compare_all(lines, level, _bounded(level, cd, grid, bench), "stats::quantile")
    if not math.isnan(tail.goodness_pvalue):
        yield place.left_out("goodness of fit, p-value", tail.goodness_pvalue, _SIMULATED)


def _values(group: str, n: int, bench: Bench) -> Any:
    """CD of the group's rows, where the data have all of them."""
    given = bench.given("score", "counterfactual_score", "sensitive_features")
    if given is None:
        return None
    score, changed, groups = (np.asarray(column) for column in given)
    cd = (changed.astype(float) - score.astype(float))[groups.astype(str) == group]
    return cd if cd.size == n else None


def _bounded(level: GroupLevel, cd: Any, grid: float | str | None, bench: Bench) -> Any:
    told = () if grid == "auto" else (grid or 0.0,)
    confidence = level.confidence_interval.confidence_level
    return bench.call("bounded_level", np.round(cd, 12), level.interactions, confidence, *told)


def _rounding(tail: GroupTail, grid: float | str | None, bench: Bench) -> float | None:
    """By how much a level of rounded scores may be off; None where the rows that say so are not at hand."""
    if not tail.level.confidence_interval.method.endswith("their cells"):
        return 0.0
    cd = _values(tail.group, tail.n, bench)
    return None if cd is None else float(_bounded(tail.level, cd, grid, bench)["off"])


def _law(fitted: EvtFit) -> str:
    """Law of the number of exceedances."""
    return "poisson" if fitted.model == "point_process" else "binomial"


def _arguments(fitted: EvtFit) -> tuple[Any, float, float]:
    """Excesses, number of values, threshold."""
    return np.asarray(fitted.sample) - fitted.origin, float(fitted.n_total), float(fitted.origin)


def _fitted_level(fitted: EvtFit, level: GroupLevel, place: Place, bench: Bench) -> Iterator[Check]:
    ci, twin = level.confidence_interval, "tail_level"
    if ci.method == POWER_TAIL:
        yield place.left_out("interval", ci.low, _DRAWN)
        return
    grid = float(fitted.grid or 0.0)
    found = bench.call(twin, *_arguments(fitted), level.interactions, ci.confidence_level, _law(fitted), grid)
    found = {**found, "high": min(found["high"], 1.0)}
    near = _OF_WIDTH * (level.std_error if math.isfinite(level.std_error) else ci.width)
    yield from place.compare_all(_LEVEL, level, found, twin, absolute=near)
    if ci.method == "none":
        return
    if fitted.regular and fitted.shape > _REGULAR:
        loose = 1e-4 if fitted.grid is None and fitted.backend.startswith("scipy") else _NUMERICAL
        yield from place.compare_all(_LEVEL_ERROR, level, found, twin, relative=loose)
    far = _OF_WIDTH * ci.width if math.isfinite(ci.width) else 1e-6
    yield from place.compare_all(_PROFILE, level, found, twin, absolute=far)


def _difference(result: EcdResult, c: EcdComparison, bench: Bench) -> Iterator[Check]:
    place, s = bench.place("ECD", c.group, c.reference), result.settings
    tails = {tail.group: tail for tail in result.tails}
    first, second = tails[c.group], tails[c.reference]
    a, b, ci = first.level, second.level, c.confidence_interval
    value = bench.call("base::sum", [a.estimate, -b.estimate])
    if s.location != "paper" and math.isfinite(c.estimate):
        yield place.compare("difference of the printed levels", c.estimate, value, "base::sum")
    if not c.method.startswith("likelihood ratio") or first.fit is None or second.fit is None:
        if c.method != "none" or not ci.method.startswith("from the two"):
            yield place.left_out("interval", ci.low, f"{c.method}: R has no twin of it")
            return
        off = [_rounding(tail, s.grid, bench) for tail in (first, second)]
        if None in off:
            yield place.needs_data("interval", ci.low, "what rounding does to the levels")
            return
        own = (a.estimate, *a.confidence_interval, b.estimate, *b.confidence_interval)
        low, high = bench.call("square_and_add", *own, off)
        yield from place.compare_all(_INTERVAL, c, {"low": low, "high": high}, "square_and_add")
        return
    twin, both = "level_contrast", (*_arguments(first.fit), *_arguments(second.fit), s.interactions)
    how = (
        _law(first.fit), s.margin, c.root_mean, c.root_sd,
        math.inf if s.calibrated else min(first.n_exceedances, second.n_exceedances) - 3,
        first.fit.grid or 0.0, second.fit.grid or 0.0,
    )  # fmt: skip
    found = bench.call(twin, *both, ci.confidence_level, *how)
    near, each = _OF_WIDTH * ci.width, c.simultaneous.confidence_level
    if math.isfinite(each) and each != ci.confidence_level:
        joint = bench.call(twin, *both, each, *how)
        yield from place.compare_all(_JOINT, c, joint, twin, absolute=near)
    yield from place.compare_all(_LEVEL, c, found, twin, absolute=near)
    yield from place.compare_all((*_RATIO, *_PVALUE), c, found, twin)
    yield from place.compare_all(_CONTRAST, c, found, twin, absolute=near)


# ---------------------------------------------------------------- averages of counterfactual discrimination

_MEAN = (Line("estimate", "estimate"), Line("standard error", "std_error"))
_NORMAL = (*_INTERVAL, Line("statistic (z)", "statistic"), Line("p-value", "pvalue"))


def averages(result: CounterfactualSample, bench: Bench) -> Iterator[Check]:
    """Means from rows, where they are there; intervals and tests, also of differences, from means."""
    for k, c in enumerate(result.comparisons):
        if k < len(result.groups):
            yield from _mean(result.groups[k], c, bench)
        found = bench.call("mean_inference", c.estimate, c.std_error, result.confidence_level)
        yield from bench.place_of(c).compare_all(_NORMAL, c, found, "stats::pnorm")


def _mean(g: GroupSample, c: Comparison, bench: Bench) -> Iterator[Check]:
    place, cd = bench.place_of(c), _values(g.group, g.n, bench)
    if cd is None:
        yield place.needs_data("estimate", c.estimate, "a mean over rows")
        yield place.needs_data("standard error", c.std_error, "a mean over rows")
        return
    person = bench.given("cluster", "sensitive_features")
    own = None if person is None else np.asarray(person[0])[np.asarray(person[1]).astype(str) == g.group]
    yield from place.compare_all(_MEAN, c, bench.call("mean_of_people", cd, own), "mean_of_people")


# ---------------------------------------------------------------- highest density regions on a line

#: R's density bins the samples on a grid of twice as many points and interpolates.
_DENSITY = 1e-6
_CUT = (Line("level f_alpha", "falpha"),)
_MASS = (Line("share of the density's mass", "density_mass"),)


def regions(result: HdrResult, bench: Bench) -> Iterator[Check]:
    """Levels, ends and masses from the density, levels also from the samples."""
    places = [(region, bench.place(f"region {region.prob:g}")) for region in result.regions]
    if result.kind != "density" or result.dimension != 1:
        why = "of discrete draws" if result.kind != "density" else f"in {result.dimension} dimensions"
        for region, place in places:
            yield place.left_out("level f_alpha", region.falpha, f"{why}: R has no twin")
        return
    samples = bench.given("samples")
    density = result.axes[0].ravel(), np.asarray(result.values).ravel()
    x = None if samples is None else np.asarray(samples[0], dtype=np.float64).ravel()
    if x is not None and result.bandwidth is not None and not np.isfinite(result.support[0]).any():
        yield from _density(float(result.bandwidth), x, *density, bench)
    for region, place in places:
        if result.n is None:
            found = {"falpha": bench.call("grid_level", *density, region.prob)}
            yield from place.compare_all(_CUT, region, found, "grid_level")
        elif x is None:
            yield place.needs_data("level f_alpha", region.falpha, "a quantile over the samples")
        else:
            # hdrcde counts the kernel that each draw put on itself
            counted = result.level != "leave_one_out"
            own = () if counted else (float(result.bandwidth), list(result.support[0]))
            found = {"falpha": bench.call("sample_level", *density, x, region.prob, *own)}
            yield from place.compare_all(_CUT, region, found, "stats::quantile")
            if counted and bench.door.has("hdrcde"):
                found = bench.call("fs_hdr_levels_1d", *density, x, [region.prob])
                yield from place.compare_all(_CUT, region, found, "hdrcde::hdr")
        yield from _region(region, *density, place, bench)


def _density(bandwidth: float, x: Any, grid: Any, values: Any, bench: Bench) -> Iterator[Check]:
    found = bench.call("fs_density_1d", x, bandwidth, float(grid[0]), float(grid[-1]), grid.size)
    theirs, near = np.asarray(found["values"]), _DENSITY * float(values.max())
    far = int(np.abs(theirs - values).argmax())
    quantity = f"density at {grid[far]:.4g} (the least alike)"
    yield bench.place("density").compare(quantity, values[far], theirs[far], "stats::density", absolute=near)


def _region(region: HdrRegion, grid: Any, values: Any, place: Place, bench: Bench) -> Iterator[Check]:
    mine, near, twin = np.asarray(region.intervals, dtype=float), 1e-9 * float(grid[-1] - grid[0]), "level_crossings"
    theirs = np.atleast_2d(bench.call(twin, grid, values, region.falpha))
    yield place.compare("number of intervals", len(mine), len(theirs), twin)
    for k, (ours, other) in enumerate(zip(mine, theirs, strict=False), start=1):
        yield place.compare(f"interval {k}, lower end", ours[0], other[0], twin, absolute=near)
        yield place.compare(f"interval {k}, upper end", ours[1], other[1], twin, absolute=near)
    if region.density_mass is not None and not math.isnan(region.density_mass):
        inside, total = (bench.call("mass_above", grid, values, level) for level in (region.falpha, -1.0))
        yield from place.compare_all(_MASS, region, {"density_mass": inside / total}, "mass_above")
