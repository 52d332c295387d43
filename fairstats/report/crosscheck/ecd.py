"""Extreme counterfactual discrimination: tails, return levels, their difference and its likelihood ratio."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from fairstats.report.crosscheck.bench import Bench
from fairstats.report.crosscheck.check import Check
from fairstats.report.crosscheck.evt import fit_checks, level_law, shape_interval

if TYPE_CHECKING:
    from fairstats.methods.ecd.result import EcdResult
    from fairstats.methods.ecd.tail import GroupLevel, GroupTail

__all__ = ["checks"]

#: Ends of likelihood intervals, as a share of their width; a deviance, absolutely.
_OF_WIDTH, _DEVIANCE = 1e-4, 1e-5
_SIMULATED = "of a parametric bootstrap: R has no twin of it"


def checks(result: EcdResult, bench: Bench) -> Iterator[Check]:
    """Every number of an ECD."""
    for tail in result.tails:
        yield from _tail(result, tail, bench)
    yield from _difference(result, bench)


def _tail(result: EcdResult, tail: GroupTail, bench: Bench) -> Iterator[Check]:
    place = bench.place("tail", tail.group)
    cd = _values(tail, bench)
    if cd is not None:
        above = float(bench.call("base::sum", cd > tail.threshold)) if math.isfinite(tail.threshold) else 0.0
        yield place.compare("exceedances", tail.n_exceedances, above, bench.source("base::sum"))
        yield place.compare("maximum", tail.maximum, bench.call("base::max", cd), bench.source("base::max"))
    if tail.fit is not None:
        yield from fit_checks(tail.fit, place, bench)
        if tail.type is not None and not tail.fit.at_boundary:
            level = tail.type.interval.confidence_level
            yield from shape_interval(tail.fit, tail.type.interval, level, place, bench, "shape")
    for level_ in (tail.level, *tail.levels):
        yield from _level(tail, level_, cd, bench)
    if not math.isnan(tail.goodness_pvalue):
        yield place.left_out("goodness of fit, p-value", tail.goodness_pvalue, _SIMULATED)


def _values(tail: GroupTail, bench: Bench) -> Any:
    """CD of the group's rows, where the data have them."""
    given = bench.given("score", "counterfactual_score", "sensitive_features")
    if given is None:
        return None
    score, changed, group = (np.asarray(column) for column in given)
    cd = (changed.astype(float) - score.astype(float))[group.astype(str) == tail.group]
    return cd if cd.size == tail.n else None


def _level(tail: GroupTail, level: GroupLevel, cd: Any, bench: Bench) -> Iterator[Check]:
    place = bench.place(f"return level, {level.interactions:g} interactions", tail.group)
    if level.empirical or tail.fit is None:
        if cd is None or math.isnan(level.estimate):
            yield place.needs_data("estimate", level.estimate, "an order statistic of the rows")
            return
        found = bench.call("crosscheck_quantile", cd, level.interactions, level.interval.confidence_level)
        source = bench.source("stats::quantile")
        estimate = tail.maximum if level.interactions >= tail.n else found["estimate"]
        yield place.compare("estimate", level.estimate, estimate, source)
        yield place.compare("interval, lower end", level.interval.low, max(found["low"], -1.0), source)
        yield place.compare("interval, upper end", level.interval.high, min(found["high"], 1.0), source)
        return
    fit = tail.fit
    found = bench.call(
        "crosscheck_level", np.asarray(fit.sample) - fit.origin, float(fit.n_total), float(fit.origin),
        level.interactions, level.interval.confidence_level, level_law(fit.model),
    )  # fmt: skip
    source = bench.source("crosscheck_level")
    width = level.interval.width
    near = _OF_WIDTH * (level.std_error if math.isfinite(level.std_error) else width)
    yield place.compare("estimate", level.estimate, found["estimate"], source, absolute=near)
    if fit.regular and fit.shape > -0.45:
        error = level.std_error
        yield place.compare("standard error (delta)", error, found["std_error"], source, relative=1e-4)
    for end, words in (("low", "lower end"), ("high", "upper end")):
        value = getattr(level.interval, end)
        far = _OF_WIDTH * width if math.isfinite(width) else 1e-6
        yield place.compare(f"interval, {words} (profile)", value, found[end], source, absolute=far)


def _difference(result: EcdResult, bench: Bench) -> Iterator[Check]:
    place = bench.place("ECD", result.unprivileged, result.privileged)
    first, second = result.tails[0].fit, result.tails[1].fit
    levels = [tail.level for tail in result.tails]
    ci = result.confidence_interval
    source = bench.source("base::sum")
    value = bench.call("base::sum", [levels[0].estimate, -levels[1].estimate])
    if result.settings.location != "paper" and math.isfinite(result.estimate):
        yield place.compare("difference of the printed levels", result.estimate, value, source)
    if not result.test.startswith("likelihood ratio") or first is None or second is None:
        if result.test == "none" and ci.method.startswith("from the two"):
            yield from _square_and_add(result, bench)
            return
        yield place.left_out("interval", ci.low, f"{result.test}: R has no twin of it")
        return
    sides = [
        (np.asarray(fit.sample) - fit.origin, float(fit.n_total), float(fit.origin))
        for fit in (first, second)
    ]
    level = ci.confidence_level
    m = result.settings.interactions
    found = bench.call("crosscheck_level_contrast", *sides[0], *sides[1], m, level, level_law(first.model))
    twin = bench.source("crosscheck_level_contrast")
    near = _OF_WIDTH * ci.width
    yield place.compare("estimate", result.estimate, found["estimate"], twin, absolute=near)
    yield place.compare(
        "statistic (likelihood ratio)",
        result.statistic,
        found["statistic"],
        twin,
        absolute=_DEVIANCE,
        relative=1e-5,
    )
    if result.settings.calibrated:
        yield place.left_out("p-value", result.pvalue, _SIMULATED)
        yield place.left_out("interval", ci.low, _SIMULATED)
        return
    yield place.compare("p-value", result.pvalue, found["pvalue"], twin, relative=1e-4, absolute=1e-6)
    for quantity, mine, prefix in (("interval", ci, ""), ("one-sided bound", result.bounds, "bound_")):
        for end, words in (("low", "lower end"), ("high", "upper end")):
            theirs = found[f"{prefix}{end}"]
            yield place.compare(f"{quantity}, {words}", getattr(mine, end), theirs, twin, absolute=near)


def _square_and_add(result: EcdResult, bench: Bench) -> Iterator[Check]:
    """The interval of a difference from two intervals."""
    a, b = (tail.level for tail in result.tails)
    found = bench.call(
        "square_and_add",
        a.estimate,
        a.interval.low,
        a.interval.high,
        b.estimate,
        b.interval.low,
        b.interval.high,
    )
    place = bench.place("ECD", result.unprivileged, result.privileged)
    source = bench.source("square_and_add")
    yield place.compare("interval, lower end", result.confidence_interval.low, found[0], source)
    yield place.compare("interval, upper end", result.confidence_interval.high, found[1], source)
