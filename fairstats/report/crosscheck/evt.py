"""Extreme value fits: parameters, errors and likelihood intervals by base R, extRemes and evd."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from fairstats.report.crosscheck.bench import Bench, column
from fairstats.report.crosscheck.check import Check, Place

if TYPE_CHECKING:
    from fairstats.numerics.evt.result import EvtFit

__all__ = ["checks", "fit_checks", "level_law", "shape_interval"]

#: Two optimisers stop within 1e-4 standard errors of each other (REFERENCE.md: 1e-5 at best).
_OF_ERROR = 1e-4
#: Standard errors are second derivatives, symbolic in base R, by finite differences in the packages.
_SYMBOLIC, _NUMERICAL = 1e-5, 1e-2
#: Ends of likelihood intervals, as a share of their width.
_OF_WIDTH = 1e-4
_PACKAGES = ("extRemes", "evd")


def checks(result: EvtFit, bench: Bench) -> Iterator[Check]:
    """Every number of a fit."""
    place = bench.place(result.model)
    yield from fit_checks(result, place, bench)
    if result.method == "mle" and result.model != "gev" and not result.at_boundary:
        yield from shape_interval(
            result, result.interval("shape"), result.confidence_level, place, bench, "shape"
        )


def level_law(model: str) -> str:
    """Law of the number of exceedances."""
    return "poisson" if model == "point_process" else "binomial"


def fit_checks(fit: EvtFit, place: Place, bench: Bench) -> Iterator[Check]:
    """Parameters, standard errors and likelihood, by the twin and by the packages that are installed."""
    if fit.method != "mle" or fit.at_boundary:
        why = (
            "at the edge of the parameter space"
            if fit.at_boundary
            else "L-moments: R has no twin without extRemes"
        )
        yield place.left_out("shape", fit.shape, why)
        return
    sample = np.asarray(fit.sample, dtype=np.float64)
    excess = sample - fit.origin
    if fit.model == "gpd":
        twin, arguments = "crosscheck_gpd", (excess,)
        peer: tuple[str, tuple[Any, ...]] = ("gpd_fit", (excess,))
    elif fit.model == "gev":
        twin, arguments = "crosscheck_gev", (sample,)
        peer = ("gev_fit", (sample,))
    else:
        block: tuple[Any, ...] = (float(fit.n_total), float(fit.origin), float(fit.block_size or 1))
        twin, arguments = "crosscheck_point_process", (excess, *block)
        peer = ("point_process_fit", (excess, *block))
    found = bench.call(twin, *arguments)
    yield from _parameters(fit, found, place, bench.source(twin), _SYMBOLIC)
    for package in _PACKAGES:
        if not bench.door.has(package):
            continue
        found = bench.call(peer[0], *peer[1], "mle", package)
        how = {("extRemes", "gev"): "fevd", ("evd", "gev"): "fgev", ("evd", "gpd"): "fpot"}
        name = how.get((package, fit.model), "fevd" if package == "extRemes" else "fpot")
        yield from _parameters(fit, found, place, bench.source(f"{package}::{name}"), _NUMERICAL)


def _parameters(
    fit: EvtFit, found: dict[str, Any], place: Place, source: str, loose: float
) -> Iterator[Check]:
    estimate, errors = column(found, "estimate"), column(found, "std_error")
    for k, (name, value) in enumerate(fit.params.items()):
        mine = fit.std_error[name]
        near = _OF_ERROR * mine if np.isfinite(mine) else 1e-4 * max(abs(value), 1e-6)
        yield place.compare(name, value, estimate[k], source, absolute=near)
        if fit.regular and np.isfinite(errors[k]) and fit.shape > -0.45:
            quantity = f"standard error of {name}"
            yield place.compare(quantity, mine, errors[k], source, relative=loose)
    yield place.compare("negative log-likelihood", fit.nll, found["nll"], source, absolute=1e-6)


def shape_interval(
    fit: EvtFit, mine: Any, level: float, place: Place, bench: Bench, quantity: str
) -> Iterator[Check]:
    """Likelihood interval of the shape of a tail above a threshold."""
    excess = np.asarray(fit.sample, dtype=np.float64) - fit.origin
    found = bench.call("crosscheck_shape", excess, level)
    source = bench.source("crosscheck_shape")
    near = _OF_WIDTH * mine.width if np.isfinite(mine.width) else 1e-6
    for end, words in (("low", "lower end"), ("high", "upper end")):
        value = getattr(mine, end)
        theirs = found[end]
        if end == "low" and value <= -1 + 1e-9 and not np.isfinite(theirs):
            theirs = -1.0  # the profile ends there
        yield place.compare(f"{quantity}, {words}", value, theirs, source, absolute=near)
