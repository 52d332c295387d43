"""Definitions and citations of Uncertainty Matters, for the methods paragraph of a report."""

from __future__ import annotations

from fairstats.report.words import MetricWords

__all__ = ["INTERVALS", "REFERENCES", "WORDS"]

REFERENCES: dict[str, str] = {
    "barrainkua": "Barrainkua, A., Gordaliza, P., Lozano, J. A. and Quadrianto, N. (2024). Uncertainty "
    "matters: stable conclusions under unstable assessment of fairness results. AISTATS 27, PMLR 238.",
    "caelen": "Caelen, O. (2017). A Bayesian interpretation of the confusion matrix. Annals of Mathematics "
    "and Artificial Intelligence 81, 429–450.",
}

_POSTERIOR = (
    "posterior of the difference group − reference, with the share of it inside ± the tolerance (p_rope)"
)

WORDS: dict[str, MetricWords] = {
    "accuracy": MetricWords(
        "Posterior of the accuracy",
        "Per group the counts of the confusion matrix are multinomial under a uniform Dirichlet prior; "
        "accuracy of all rows, and of each group. All posteriors come from the same joint draws.",
        ("barrainkua", "caelen"),
    ),
    "demographic_parity": MetricWords(
        "Posterior of demographic parity", f"Selection rates: {_POSTERIOR}.", ("barrainkua",)
    ),
    "equal_opportunity": MetricWords(
        "Posterior of equal opportunity", f"True positive rates: {_POSTERIOR}.", ("barrainkua",)
    ),
    "predictive_equality": MetricWords(
        "Posterior of predictive equality", f"False positive rates: {_POSTERIOR}.", ("barrainkua",)
    ),
    "predictive_parity": MetricWords(
        "Posterior of predictive parity", f"Positive predictive values: {_POSTERIOR}.", ("barrainkua",)
    ),
}

#: Method of an interval → what the report says about it, and the citations.
INTERVALS: dict[str, tuple[str, tuple[str, ...]]] = {
    "parameter, HDI": (
        "shortest intervals that hold the stated share of the posterior of the metric itself: probability "
        "statements under the prior, not confidence intervals, and without a verdict.",
        ("barrainkua",),
    ),
}
