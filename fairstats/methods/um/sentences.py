"""Sentences below a posterior: target, prior, reference, origin of the counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from fairstats.methods.um.origin import CrossValidation

__all__ = ["posterior_notes"]


def posterior_notes(posterior: Any) -> list[str]:
    """Notes of a `UmPosterior`, read by its attributes."""
    lines = []
    if posterior.target == "parameter":
        lines.append("Posterior of the metrics themselves (target: parameter); intervals are the shortest.")
    else:
        lines.append(
            "Posterior predictive: the metrics of another test set of the same size (target: predictive), "
            "wider than the posterior of the metrics themselves."
        )
    if posterior.engine == "exact":
        lines.append(f"{posterior.n_draws:,} exact draws, Dirichlet prior {_prior_words(posterior.prior)}.")
    else:
        lines.append(f"{posterior.n_draws:,} draws by {posterior.engine}.")
    if len(posterior.groups) > 1:
        lines.append(
            f"Differences are group − reference ({posterior.reference!r}, {posterior.reference_rule}); "
            "metrics of all rows weight the groups by the rows evaluated."
        )
    if posterior.diagnostics is not None:
        d = posterior.diagnostics
        lines.append(
            f"Convergence: r-hat {d.rhat:.3f} at most, ESS {d.ess:.0f} at least, {d.divergences} divergences"
            + ("." if d.converged else ": not converged, do not use these draws.")
        )
    if posterior.cross_validation is not None:
        lines += _fold_notes(posterior.cross_validation, posterior.groups)
    else:
        lines.append("Conditional on the fitted model and on rows that it was not trained on.")
    if posterior.counts.missing.n_dropped:
        lines.append(posterior.counts.missing.sentence)
    return lines


def _prior_words(prior: Any) -> str:
    if np.unique(prior).size == 1:
        return f"({', '.join([f'{prior.flat[0]:g}'] * prior.shape[1])}) per group"
    return "as given per cell and group"


def _fold_notes(folds: CrossValidation, groups: tuple[str, ...]) -> list[str]:
    rho = ", ".join(f"{g} {r:.3f}" for g, r in zip(groups, folds.rho, strict=True))
    lines = [f"{folds.folds}-fold cross-validation, correlation {folds.correlation!r}: ρ = {rho}."]
    ratio = folds.variance_ratio
    if ratio is not None:
        words = ", ".join(
            f"{g} {r:.2f} [{low:.2f}, {high:.2f}]"
            for g, r, low, high in zip(groups, ratio.ratio, ratio.low, ratio.high, strict=True)
        )
        lines.append(
            f"Variance ratio over {ratio.reference} on {ratio.metric} per group, with its jackknife "
            f"interval: {words}."
        )
    return lines
