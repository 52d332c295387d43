"""`um_posterior`: the joint posterior of performance and fairness metrics on held-out rows."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Literal

from fairstats.ground.groups import find_reference
from fairstats.ground.randomness import as_generator
from fairstats.ground.results import check_choice
from fairstats.methods.um.checks import as_prior, check_draws, warn_of_empty
from fairstats.methods.um.evaluation_counts import EvaluationCounts, Rows, as_counts
from fairstats.methods.um.origin import CrossValidation
from fairstats.methods.um.result import UmPosterior

__all__ = ["posterior_of_counts", "um_posterior"]


def um_posterior(
    y_true: Any = None,
    y_pred: Any = None,
    *,
    sensitive_features: Any = None,
    counts: Any = None,
    prior: Any = 1.0,
    draws: int = 10_000,
    target: Literal["parameter", "predictive"] = "parameter",
    engine: Literal["exact", "pymc"] = "exact",
    reference: Hashable | None = None,
    pos_label: Any = None,
    missing: Literal["raise", "drop", "group"] = "raise",
    groups: Sequence[Hashable] | None = None,
    rng: Any = None,
) -> UmPosterior:
    """Posterior of any metrics of the confusion counts, jointly, from held-out predictions.

    Per group s the counts C_s = (TP, TN, FP, FN) are multinomial with probabilities π_s; under a Dirichlet
    prior α the posterior of π_s is Dirichlet(α + C_s), independent between groups. Every metric is a function
    of the π_s, so draws of π_s give draws of all metrics jointly.

    Parameters
    ----------
    y_true, y_pred : array-like, shape (n,)
        Labels and predictions of rows that the model was not trained on.
    sensitive_features : array-like (n,) or (n, k), data frame or mapping
        Group of each row; several columns are crossed.
    counts : ConfusionCounts, mapping or frame, instead of rows
        A mapping has the cells by name, ``{"a": {"tp": 30.5, "tn": 50, "fp": 10, "fn": 9.5}, …}``; effective
        counts need not be whole.
    prior : float or mapping of cell to float, default 1.0
        α of every cell; 1 is the paper's uniform prior, 0.5 Jeffreys'. With 0 an empty cell has probability
        0, the limit of small α.
    draws : int, default 10,000
    target : {"parameter", "predictive"}
        "parameter": the posterior of the metric itself. "predictive": the metric of another test set of the
        same size (the paper's step ii), about 1.4 times wider.
    engine : {"exact", "pymc"}
        "pymc" samples `um_model` by NUTS; it needs the extra ``bayes``.
    reference : hashable, optional
        Group that the others are compared with; default the largest.
    pos_label, missing, groups
        As in `disparate_impact`.
    rng : None, int or numpy.random.Generator
        The numbers depend on it alone, not on the number of threads.

    Returns
    -------
    UmPosterior
        ``.metric(name)`` (draws), ``.summary()``, ``.to_frame()``, ``.hdr(names)``, ``.to_arviz()``,
        ``.plot()``.

    Raises
    ------
    InputError
        For input that cannot be used; prior 0 and a group without rows.
    MissingDependencyError
        For ``engine="pymc"`` without PyMC.

    Warns
    -----
    InsufficientEvidenceWarning
        Where a group has no rows of one label: its rates are then the prior.
    DataWarning
        Prior 0 and an empty cell.

    Notes
    -----
    Metrics of all rows weight the groups by their numbers of rows, which are held fixed. Under "parameter"
    metrics of disjoint pairs of cells, such as ΔTPR and ΔFPR, are independent (the paper's Remark 2.1); under
    "predictive" this holds only approximately.

    References
    ----------
    .. [1] Barrainkua, Gordaliza, Lozano, Quadrianto (2024). Uncertainty matters: stable conclusions under
       unstable assessment of fairness results. AISTATS 27, PMLR 238: equation 1.

    Examples
    --------
    >>> import fairstats as fs
    >>> posterior = fs.um_posterior(
    ...     counts={
    ...         "men": {"tp": 420, "tn": 380, "fp": 120, "fn": 80},
    ...         "women": {"tp": 150, "tn": 230, "fp": 70, "fn": 50},
    ...     },
    ...     rng=1,
    ... )
    >>> gap = posterior.metric("equal_opportunity")
    >>> print(f"{gap.mean():.2f} ± {gap.std():.2f}, P(gap < 0) = {(gap < 0).mean():.2f}")
    -0.09 ± 0.03, P(gap < 0) = 1.00
    """
    check_choice("target", target, ("parameter", "predictive"))
    check_choice("engine", engine, ("exact", "pymc"))
    table, rows = as_counts(
        y_true,
        y_pred,
        counts,
        sensitive_features=sensitive_features,
        pos_label=pos_label,
        missing=missing,
        groups=groups,
    )
    if engine == "pymc":
        from fairstats.methods.um.model import sample_model

        return sample_model(
            table, rows, prior=prior, draws=draws, target=target, reference=reference, rng=rng
        )
    return posterior_of_counts(
        table, rows, prior=prior, draws=draws, target=target, reference=reference, rng=rng
    )


def posterior_of_counts(
    counts: EvaluationCounts,
    rows: Rows | None,
    *,
    prior: Any,
    draws: Any,
    target: str,
    reference: Hashable | None,
    rng: Any,
    cross_validation: CrossValidation | None = None,
    quiet: bool = False,
) -> UmPosterior:
    """The exact posterior of counts; see `um_posterior`."""
    generator, seed = as_generator(rng)
    number = check_draws(draws)
    alpha = as_prior(prior, counts)
    if not quiet:
        warn_of_empty(counts)
    index, rule = find_reference(counts.groups, reference, sizes=counts.sizes)
    result = UmPosterior(
        counts=counts,
        prior=alpha,
        n_draws=number,
        target=target,
        entropy=int(generator.integers(2**62)) if seed is None else seed,
        reference=counts.groups[index],
        reference_rule=rule,
        cross_validation=cross_validation,
    )
    object.__setattr__(result, "_rows", rows)  # a frozen result; rows are never written to a file
    return result
