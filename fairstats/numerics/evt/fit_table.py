"""The table of a fit, one row per parameter, and the sentences below it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fairstats.numerics.evt.result import EvtFit

__all__ = ["fit_notes", "fit_rows"]

_NAMES = {
    "gpd": "Generalised Pareto distribution",
    "gev": "Generalised extreme value distribution",
    "point_process": "Point process of exceedances",
}


def fit_rows(fit: EvtFit) -> list[dict[str, Any]]:
    """Estimate, standard error and interval of each parameter."""
    rows = []
    for name, estimate in fit.params.items():
        interval = fit.interval(name)
        rows.append(
            {
                "parameter": name,
                "metric": f"{fit.model} {name}",
                "estimate": estimate,
                "std_error": fit.std_error[name],
                "ci_low": interval.low,
                "ci_high": interval.high,
                "n": fit.n_exceedances,
                "method": f"{fit.method}, {interval.method}",
                "backend": fit.backend,
            }
        )
    return rows


def fit_notes(fit: EvtFit) -> list[str]:
    """Model, sample, likelihood, and what is not regular."""
    lines = [f"{_NAMES[fit.model]}, {fit.method}, {fit.backend}; ξ > 0 is a heavy tail."]
    if fit.model == "gev":
        lines.append(f"{fit.n_exceedances} block maxima.")
    else:
        lines.append(
            f"{fit.n_exceedances} of {fit.n_total} observations exceed {fit.threshold:g} "
            f"(rate {fit.rate:.4g})."
        )
    if fit.model == "point_process":
        lines.append(f"Location and scale are those of the maxima of {fit.block_size:g} observations.")
    lines.append(f"log L = {fit.loglik:.6g}, AIC = {fit.aic:.6g}, BIC = {fit.bic:.6g}.")
    if fit.at_boundary:
        lines.append(
            "ξ = −1 is the edge of the parameter space (the likelihood has no maximum beyond it): the "
            "end point is the largest value seen, and the shape is no estimate."
        )
    elif not fit.regular and fit.method == "lmoments":
        lines.append("ξ ≥ 1/2: L-moments have no finite variance here.")
    elif not fit.regular:
        lines.append("ξ ≤ −1/2: no standard errors exist, and likelihood intervals carry no guarantee.")
    return lines
