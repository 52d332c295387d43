"""Tails and regions: extreme value fits, counterfactual discrimination, highest density regions."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from fairstats.ground.backends import computed_by_r
from fairstats.ground.results import Comparison
from fairstats.methods.ecd.contrast import BY_BOTH_INTERVALS, NEAR_END
from fairstats.methods.ecd.result import EcdComparison, EcdResult
from fairstats.methods.ecd.sample import CounterfactualSample, GroupSample
from fairstats.methods.ecd.tail import ORDER_STATISTICS_AND_CELLS, GroupLevel, GroupTail
from fairstats.numerics.evt.bootstrap import POWER_TAIL
from fairstats.numerics.evt.fit import EvtFit
from fairstats.numerics.hdr.result import HdrRegion, HdrResult
from fairstats.report.crosscheck.check import VERDICT, Bench, Check, Line, Place, column, ends

# ---------------------------------------------------------------- extreme value fits

#: Two optimisers stop within 1e-4 standard errors of each other (`vignettes/methods.md`: 1e-5 at
#: best).
_OF_ERROR = 1e-4
#: Standard errors are second derivatives, symbolic in base R, by finite differences in the
#: packages.
_SYMBOLIC = 1e-5
_NUMERICAL = 1e-2
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
    yield from _compare_fit(result, place, bench)
    if result.method == "mle" and result.model != "gev" and not result.at_boundary:
        yield from _shape_interval(result, result.interval("shape"), place, bench)


def _compare_fit(fitted: EvtFit, place: Place, bench: Bench) -> Iterator[Check]:
    """Parameters, standard errors and likelihood, by the twin and by the packages that are
    installed.
    """
    if fitted.method != "mle" or (fitted.at_boundary and fitted.model == "gev"):
        if fitted.at_boundary:
            reason = "at the edge of the parameter space"
        else:
            reason = "L-moments: R has no such errors"
        yield place.left_out("shape", fitted.shape, reason)
        return
    if fitted.grid is not None and fitted.model != "gpd":
        yield place.left_out("shape", fitted.shape, "a process on a grid: R has no twin of it")
        return
    sample = np.asarray(fitted.sample, dtype=np.float64)
    r_function = f"fs_fit_{fitted.model}"
    arguments: list[Any] = [sample if fitted.model == "gev" else sample - fitted.origin]
    if fitted.model == "point_process":
        arguments += [float(fitted.n_total), float(fitted.origin), float(fitted.block_size or 1)]
    of_grid = (fitted.grid,) if fitted.grid is not None else ()
    answer = bench.call(r_function, *arguments, "mle", "base", *of_grid)
    # standard errors of extRemes and evd are numerical, too
    if not computed_by_r(fitted.backend) and fitted.grid is None:
        relative_tolerance = _SYMBOLIC
    else:
        relative_tolerance = _NUMERICAL
    yield from _compare_parameters(fitted, answer, place, r_function, relative_tolerance)
    for package, functions in _PACKAGES.items():
        if fitted.at_boundary or fitted.grid is not None or not bench.door.has(package):
            continue  # the packages know no edge, and no grid
        answer = bench.call(r_function, *arguments, "mle", package)
        yield from _compare_parameters(
            fitted, answer, place, f"{package}::{functions[fitted.model]}", _NUMERICAL
        )


def _compare_parameters(
    fitted: EvtFit,
    answer: dict[str, Any],
    place: Place,
    function: str,
    relative_tolerance: float,
) -> Iterator[Check]:
    """Parameters of a fit and their standard errors."""
    estimate = column(answer, "estimate")
    errors = column(answer, "std_error")
    for index, (name, value) in enumerate(fitted.params.items()):
        our_error = fitted.std_error[name]
        if np.isfinite(our_error):
            tolerance = _OF_ERROR * our_error
        else:
            tolerance = 1e-4 * max(abs(value), 1e-6)
        yield place.compare(name, value, estimate[index], function, absolute=tolerance)
        if fitted.regular and np.isfinite(errors[index]) and fitted.shape > _REGULAR:
            yield place.compare(
                f"standard error of {name}",
                our_error,
                errors[index],
                function,
                relative=relative_tolerance,
            )
    yield from place.compare_all(_LIKELIHOOD, fitted, answer, function)


def _shape_interval(
    fitted: EvtFit,
    shape_interval: Any,
    place: Place,
    bench: Bench,
) -> Iterator[Check]:
    """Likelihood interval of the shape of a tail above a threshold."""
    excess = np.asarray(fitted.sample, dtype=np.float64) - fitted.origin
    answer = bench.call(
        "tail_shape", excess, shape_interval.confidence_level, float(fitted.grid or 0.0)
    )
    if shape_interval.low <= -1 + 1e-9 and not np.isfinite(answer["low"]):
        answer = {**answer, "low": -1.0}  # the profile ends there
    if np.isfinite(shape_interval.width):
        tolerance = _OF_WIDTH * shape_interval.width
    else:
        tolerance = 1e-6
    yield from place.compare_all(_SHAPE, shape_interval, answer, "tail_shape", absolute=tolerance)


# ---------------------------------------------------------------- extremes of counterfactual
# discrimination

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
        yield from _compare_tail(tail, result.settings.grid, bench)
    for comparison in result.comparisons:
        yield from _compare_difference(result, comparison, bench)


def _compare_tail(tail: GroupTail, grid: float | str | None, bench: Bench) -> Iterator[Check]:
    """What a group's tail says: exceedances, fit, type, and every level."""
    place = bench.place("tail", tail.group)
    changes = _values_of_group(tail.group, tail.n, bench)
    if changes is not None:
        # values and threshold are compared to twelve decimals
        is_above = changes > tail.threshold + 1e-12
        if math.isfinite(tail.threshold):
            above = float(bench.call("base::sum", is_above))
        else:
            above = 0.0
        answer = {"n_exceedances": above, "maximum": bench.call("base::max", changes)}
        yield from place.compare_all(_OF_ROWS, tail, answer, "base::sum")
    if tail.fit is not None:
        yield from _compare_fit(tail.fit, place, bench)
        if tail.type is not None and not tail.fit.at_boundary:
            yield from _shape_interval(tail.fit, tail.type.confidence_interval, place, bench)
    for level in (tail.level, *tail.levels):
        level_place = bench.place(f"return level, {level.interactions:g} interactions", tail.group)
        if not level.empirical and tail.fit is not None:
            yield from _fitted_level(tail.fit, level, level_place, bench)
        elif changes is None or math.isnan(level.estimate):
            yield level_place.needs_data(
                "estimate", level.estimate, "an order statistic of the rows"
            )
        else:
            lines: tuple[Line, ...] = _LEVEL
            if level.confidence_interval.method != "none":
                lines = (*_LEVEL, *_INTERVAL)
            yield from level_place.compare_all(
                lines, level, _recompute_bounded(level, changes, grid, bench), "stats::quantile"
            )
    if not math.isnan(tail.goodness_pvalue):
        yield place.left_out("goodness of fit, p-value", tail.goodness_pvalue, _SIMULATED)


def _values_of_group(group: str, n: int, bench: Bench) -> Any:
    """CD of the group's rows, where the data have all of them."""
    arguments = bench.given("score", "counterfactual_score", "sensitive_features")
    if arguments is None:
        return None
    score, changed, groups = (np.asarray(column) for column in arguments)
    changes = (changed.astype(float) - score.astype(float))[groups.astype(str) == group]
    if changes.size == n:
        return changes
    return None


def _recompute_bounded(
    level: GroupLevel,
    changes: Any,
    grid: float | str | None,
    bench: Bench,
) -> Any:
    grid_argument = () if grid == "auto" else (grid or 0.0,)
    confidence = level.confidence_interval.confidence_level
    return bench.call(
        "bounded_level", np.round(changes, 12), level.interactions, confidence, *grid_argument
    )


def _rounding_of_level(tail: GroupTail, grid: float | str | None, bench: Bench) -> float | None:
    """By how much a level of rounded scores may be off.

    None where the rows that say so are not at hand.
    """
    if tail.level.confidence_interval.method != ORDER_STATISTICS_AND_CELLS:
        return 0.0
    changes = _values_of_group(tail.group, tail.n, bench)
    if changes is None:
        return None
    return float(_recompute_bounded(tail.level, changes, grid, bench)["off"])


def _law_of_counts(fitted: EvtFit) -> str:
    """Law of the number of exceedances."""
    if fitted.model == "point_process":
        return "poisson"
    return "binomial"


def _arguments_of_fit(fitted: EvtFit) -> tuple[Any, float, float]:
    """Excesses, number of values, threshold."""
    return np.asarray(fitted.sample) - fitted.origin, float(fitted.n_total), float(fitted.origin)


def _fitted_level(fitted: EvtFit, level: GroupLevel, place: Place, bench: Bench) -> Iterator[Check]:
    """A level of a fitted tail, its standard error where regular, and its interval."""
    interval = level.confidence_interval
    r_function = "tail_level"
    if interval.method == POWER_TAIL:
        yield place.left_out("interval", interval.low, _DRAWN)
        return
    grid = float(fitted.grid or 0.0)
    answer = bench.call(
        r_function,
        *_arguments_of_fit(fitted),
        level.interactions,
        interval.confidence_level,
        _law_of_counts(fitted),
        grid,
    )
    answer = {**answer, "high": min(answer["high"], 1.0)}
    tolerance = _OF_WIDTH * (level.std_error if math.isfinite(level.std_error) else interval.width)
    yield from place.compare_all(_LEVEL, level, answer, r_function, absolute=tolerance)
    if interval.method == "none":
        return
    if fitted.regular and fitted.shape > _REGULAR:
        if fitted.grid is None and not computed_by_r(fitted.backend):
            relative_tolerance = 1e-4
        else:
            relative_tolerance = _NUMERICAL
        yield from place.compare_all(
            _LEVEL_ERROR, level, answer, r_function, relative=relative_tolerance
        )
    if math.isfinite(interval.width):
        tolerance_of_ends = _OF_WIDTH * interval.width
    else:
        tolerance_of_ends = 1e-6
    yield from place.compare_all(_PROFILE, level, answer, r_function, absolute=tolerance_of_ends)


def _compare_difference(
    result: EcdResult, comparison: EcdComparison, bench: Bench
) -> Iterator[Check]:
    """Difference of two groups' levels, and its interval where R has a twin of the method."""
    place = bench.place("ECD", comparison.group, comparison.reference)
    settings = result.settings
    tails = {tail.group: tail for tail in result.tails}
    first = tails[comparison.group]
    if comparison.reference_tail is None:
        second = tails[comparison.reference]
    else:
        second = comparison.reference_tail
    first_level = first.level
    second_level = second.level
    interval = comparison.confidence_interval
    value = bench.call("base::sum", [first_level.estimate, -second_level.estimate])
    if settings.location != "paper" and math.isfinite(comparison.estimate):
        yield place.compare(
            "difference of the printed levels", comparison.estimate, value, "base::sum"
        )
    by_likelihood = bool(comparison.root_law) and comparison.method != NEAR_END
    if not by_likelihood or first.fit is None or second.fit is None:
        if comparison.method != "none" or interval.method != BY_BOTH_INTERVALS:
            yield place.left_out(
                "interval", interval.low, f"{comparison.method}: R has no twin of it"
            )
            return
        roundings = [_rounding_of_level(tail, settings.grid, bench) for tail in (first, second)]
        if None in roundings:
            yield place.needs_data("interval", interval.low, "what rounding does to the levels")
            return
        levels = (
            first_level.estimate,
            *first_level.confidence_interval,
            second_level.estimate,
            *second_level.confidence_interval,
        )
        low, high = bench.call("square_and_add", *levels, roundings)
        yield from place.compare_all(
            _INTERVAL, comparison, {"low": low, "high": high}, "square_and_add"
        )
        return
    r_function = "level_contrast"
    both = (*_arguments_of_fit(first.fit), *_arguments_of_fit(second.fit), settings.interactions)
    root_places, root_means, root_deviations = (
        list(values) for values in zip(*comparison.root_law, strict=True)
    )
    options = (
        _law_of_counts(first.fit),
        settings.margin,
        root_means,
        root_deviations,
        min(first.n_exceedances, second.n_exceedances) - 3,
        first.fit.grid or 0.0,
        second.fit.grid or 0.0,
        root_places,
    )
    answer = bench.call(r_function, *both, interval.confidence_level, *options)
    tolerance = _OF_WIDTH * interval.width
    level_of_each = comparison.simultaneous.confidence_level
    if math.isfinite(level_of_each) and level_of_each != interval.confidence_level:
        joint = bench.call(r_function, *both, level_of_each, *options)
        yield from place.compare_all(_JOINT, comparison, joint, r_function, absolute=tolerance)
    yield from place.compare_all(_LEVEL, comparison, answer, r_function, absolute=tolerance)
    yield from place.compare_all((*_RATIO, *_PVALUE), comparison, answer, r_function)
    yield from place.compare_all(_CONTRAST, comparison, answer, r_function, absolute=tolerance)


# ---------------------------------------------------------------- averages of counterfactual
# discrimination

_MEAN = (Line("estimate", "estimate"), Line("standard error", "std_error"))
_STUDENT = (*_INTERVAL, Line("statistic (t)", "statistic"), Line("p-value", "pvalue"))


def averages(result: CounterfactualSample, bench: Bench) -> Iterator[Check]:
    """Means from rows, where they are there.

    Intervals and tests, also of differences, from means.
    """
    for index, (comparison, average) in enumerate(
        zip(result.comparisons, result._averages, strict=True)
    ):
        if index < len(result.groups):
            yield from _compare_mean(result.groups[index], comparison, bench)
        answer = bench.call(
            "mean_inference",
            comparison.estimate,
            comparison.std_error,
            result.confidence_level,
            average.degrees_of_freedom,
        )
        yield from bench.place_of(comparison).compare_all(_STUDENT, comparison, answer, "stats::pt")


def _compare_mean(group: GroupSample, comparison: Comparison, bench: Bench) -> Iterator[Check]:
    place = bench.place_of(comparison)
    changes = _values_of_group(group.group, group.n, bench)
    if changes is None:
        yield place.needs_data("estimate", comparison.estimate, "a mean over rows")
        yield place.needs_data("standard error", comparison.std_error, "a mean over rows")
        return
    cluster_and_groups = bench.given("cluster", "sensitive_features")
    cluster_of_group = None
    if cluster_and_groups is not None:
        cluster, groups = cluster_and_groups
        cluster_of_group = np.asarray(cluster)[np.asarray(groups).astype(str) == group.group]
    answer = bench.call("mean_of_people", changes, cluster_of_group)
    yield from place.compare_all(_MEAN, comparison, answer, "mean_of_people")


# ---------------------------------------------------------------- highest density regions on a line

#: R's density bins the samples on a grid of twice as many points and interpolates.
_DENSITY = 1e-6
_CUT = (Line("level f_alpha", "falpha"),)
_MASS = (Line("share of the density's mass", "density_mass"),)


def regions(result: HdrResult, bench: Bench) -> Iterator[Check]:
    """Levels, ends and masses from the density, levels also from the samples."""
    places = [(region, bench.place(f"region {region.prob:g}")) for region in result.regions]
    if result.kind != "density" or result.dimension != 1:
        if result.kind != "density":
            reason = "of discrete draws"
        else:
            reason = f"in {result.dimension} dimensions"
        for region, place in places:
            yield place.left_out("level f_alpha", region.falpha, f"{reason}: R has no twin")
        return
    samples = bench.given("samples")
    density = result.axes[0].ravel(), np.asarray(result.values).ravel()
    if samples is None:
        values = None
    else:
        values = np.asarray(samples[0], dtype=np.float64).ravel()
    if values is not None and result.period is not None:
        values = np.mod(values, result.period)
    if (
        values is not None
        and result.bandwidth is not None
        and not np.isfinite(result.support[0]).any()
    ):
        yield from _compare_density(result, values, *density, bench)
    for region, place in places:
        if result.n is None:
            answer = {"falpha": bench.call("grid_level", *density, region.prob)}
            yield from place.compare_all(_CUT, region, answer, "grid_level")
        elif values is None:
            yield place.needs_data("level f_alpha", region.falpha, "a quantile over the samples")
        else:
            # hdrcde counts the kernel that each draw put on itself
            counted = result.level != "leave_one_out"
            period_argument: tuple[Any, ...] = (
                () if counted else (float(result.bandwidth), list(result.support[0]))
            )
            if period_argument and result.period is not None:
                period_argument = (*period_argument, result.period)
            answer = {
                "falpha": bench.call(
                    "sample_level", *density, values, region.prob, *period_argument
                )
            }
            yield from place.compare_all(_CUT, region, answer, "stats::quantile")
            if counted and bench.door.has("hdrcde"):
                answer = bench.call("fs_hdr_levels_1d", *density, values, [region.prob])
                yield from place.compare_all(_CUT, region, answer, "hdrcde::hdr")
        yield from _compare_region(region, result.pieces(region.prob), *density, place, bench)


def _compare_density(
    result: HdrResult,
    x: Any,
    grid: Any,
    values: Any,
    bench: Bench,
) -> Iterator[Check]:
    bandwidth = float(result.bandwidth)
    if result.period is None:
        answer = bench.call(
            "fs_density_1d", x, bandwidth, float(grid[0]), float(grid[-1]), grid.size
        )
    else:
        answer = bench.call("wrapped_density", x, bandwidth, result.period, grid.size)
    their_values = np.asarray(answer["values"])
    tolerance = _DENSITY * float(values.max())
    farthest = int(np.abs(their_values - values).argmax())
    quantity = f"density at {grid[farthest]:.4g} (the least alike)"
    yield bench.place("density").compare(
        quantity, values[farthest], their_values[farthest], "stats::density", absolute=tolerance
    )


def _compare_region(
    region: HdrRegion,
    our_values: Any,
    grid: Any,
    values: Any,
    place: Place,
    bench: Bench,
) -> Iterator[Check]:
    """Ends of a region's intervals: where the density crosses its level."""
    tolerance = 1e-9 * float(grid[-1] - grid[0])
    r_function = "level_crossings"
    their_values = np.atleast_2d(bench.call(r_function, grid, values, region.falpha))
    yield place.compare("number of intervals", len(our_values), len(their_values), r_function)
    for index, (ours, other) in enumerate(zip(our_values, their_values, strict=False), start=1):
        yield place.compare(
            f"interval {index}, lower end", ours[0], other[0], r_function, absolute=tolerance
        )
        yield place.compare(
            f"interval {index}, upper end", ours[1], other[1], r_function, absolute=tolerance
        )
    if region.density_mass is not None and not math.isnan(region.density_mass):
        inside, total = (
            bench.call("mass_above", grid, values, level) for level in (region.falpha, -1.0)
        )
        yield from place.compare_all(_MASS, region, {"density_mass": inside / total}, "mass_above")
