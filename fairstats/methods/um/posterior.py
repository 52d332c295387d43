"""`um_posterior`, `um_multiclass`, `um_hierarchical`.

Joint posteriors of performance and fairness.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from fairstats.ground.checks import (
    Floats,
    SeedOrGenerator,
    check_choice,
    check_number,
    check_share,
    check_that,
    check_whole,
)
from fairstats.ground.counts import ConfusionCounts, PairedCounts
from fairstats.ground.errors import DataWarning, InputError, caution
from fairstats.ground.groups import find_reference
from fairstats.ground.progress import under_way
from fairstats.ground.tallies.classes import ClassCounts
from fairstats.ground.tally import Tally, counts_or_rows
from fairstats.methods.um.augmentation import NAME as AUGMENTED
from fairstats.methods.um.augmentation import (
    IncompleteRows,
    counts_of,
    sample_by_augmentation,
)
from fairstats.methods.um.counting import (
    Rows,
    as_counts,
    as_prior,
    coded_rows,
    warn_of_empty,
)
from fairstats.methods.um.draws import check_draws, entropy_of
from fairstats.methods.um.folds import CrossValidation
from fairstats.methods.um.pooling import POOLED, cells_of_rates, successes_and_trials
from fairstats.methods.um.pymc_models import Nuts, Pooled, Sampled, sample_hierarchy, sample_model
from fairstats.methods.um.result import UmPosterior
from fairstats.numerics.rates.pooling import pool_rate

#: What a posterior can be about, the last after a cross-validation only.
TARGETS = ("parameter", "predictive", "algorithm")


@dataclass(frozen=True)
class Request:
    """What is asked of a posterior.

    Number of draws, target, reference group (None: the largest), seed.
    """

    draws: int
    target: str
    reference: Hashable | None
    entropy: int

    @classmethod
    def checked(
        cls,
        draws: Any,
        target: Any,
        reference: Any,
        rng: SeedOrGenerator,
        targets: Any = TARGETS[:2],
    ) -> Request:
        """As the user gave it, or raise."""
        check_choice("target", target, targets)
        return cls(check_draws(draws), target, reference, entropy_of(rng))


def um_posterior(
    y_true: Any = None,
    y_pred: Any = None,
    *,
    sensitive_features: Any = None,
    counts: Any = None,
    prior: Any = 1.0,
    draws: int = 10_000,
    target: Literal["parameter", "predictive"] = "parameter",
    sampler: Literal["exact", "pymc"] = "exact",
    reference: Hashable | None = None,
    pos_label: Any = None,
    label_values: Any = None,
    missing: Literal["raise", "drop", "group"] = "raise",
    groups: Sequence[Hashable] | None = None,
    rng: SeedOrGenerator = None,
    sensitive_probabilities: Any = None,
) -> UmPosterior:
    """Posterior of any metrics of the confusion counts, jointly, from held-out predictions.

    Per group s the counts C_s = (TP, TN, FP, FN) are multinomial with probabilities π_s; under a
    Dirichlet prior α the posterior of π_s is Dirichlet(α + C_s), independent between groups. Draws
    of π_s give draws of all metrics jointly.

    Parameters
    ----------
    y_true, y_pred : array-like, shape (n,)
        Labels and predictions of rows that the model was not trained on.
    sensitive_features : array-like (n,) or (n, k), data frame or mapping
        Group of each row; several columns are crossed.
    counts : Tally, ConfusionCounts, mapping or frame, instead of rows
        A mapping of cells: ``{"a": {"tp": 30.5, "fp": 9, "fn": 9.5, "tn": 50}, …}``; effective
        counts may be fractions.
    prior : float, "uniform", "jeffreys", "perks" or mapping of cell to float, default 1.0
        α of every cell: 1 is the paper's, 0.5 Jeffreys', 0.25 Perks'. With 0 an empty cell has
        probability 0.
    draws : int, default 10,000
    target : {"parameter", "predictive"}
        "parameter": the metric itself. "predictive": that of another test set as large, about 1.4
        times wider.
    sampler : {"exact", "pymc"}
        "pymc" samples `um_model` by NUTS; it needs the extra ``bayes``.
    reference : hashable, optional
        Group that the others are compared with; default the largest.
    pos_label, label_values, missing, groups
        As in `disparate_impact`.
    rng : None, int or numpy.random.Generator
        The numbers depend on it alone, not on the number of threads.
    sensitive_probabilities : data frame, mapping or array (n, G), optional
        Probabilities of the groups, a column each, where groups are not recorded, or recorded with
        errors (then those of the true group given the recorded one). `sensitive_features` may
        then say the group of some rows and be missing in the others, and labels and predictions
        may be missing: such rows are completed within the sampler (data augmentation). Cells are
        taken to depend on the group, not on the probabilities beside it [2]_, and to be missing at
        random given what is known of the row.

    Returns
    -------
    UmPosterior
        ``.metric(name)`` (draws), ``.summary()``, ``.to_frame()``, ``.hdr(names)``,
        ``.to_arviz()``, ``.plot()``.

    Raises
    ------
    InputError
        For input that cannot be used; prior 0 and a group without rows.
    MissingDependencyError
        For ``sampler="pymc"`` without PyMC.

    Warns
    -----
    InsufficientEvidenceWarning
        Where a group has no rows of one label: its rates are then the prior.
    DataWarning
        Prior 0 and an empty cell.

    Notes
    -----
    The uniform prior pulls accuracy towards .5, by two errors and two hits a group: with fewer than
    about 10 errors in a group 95% intervals of accuracy over all rows cover .80 to .92 (accuracy
    .96 in 40 + 400 rows: .91; .95 in 100 + 100: .88, in 40 + 40: .80), and a note says so.
    "jeffreys" covers .94 to .98 there, "perks" .86 to .98. What a prior adds to each group adds up:
    over 4 and 8 groups of 100 "uniform" covers .73 and .45, "jeffreys" .92 and .84, "perks" .93 at
    8. Of *differences* the smaller priors cover less: of true positive rates, with 12 to 60
    favourable labels in the smaller group and rates of .03 to .97, "jeffreys" covers .89 to .99 and
    "perks" .82 to 1.00 ("uniform" .92 to .98; of selection rates near 0 or 1 of 25 rows .89), from
    200 on all three .93 to .96; a note says so. The size of a gap ("…_max") is never 0 among draws.

    Metrics of all rows weight the groups by their numbers of rows, which are held fixed. Under
    "parameter" metrics of disjoint pairs of cells, such as ΔTPR and ΔFPR, are independent (Remark
    2.1), under "predictive" only nearly so.

    References
    ----------
    .. [1] Barrainkua, Gordaliza, Lozano, Quadrianto (2024). Uncertainty matters: stable conclusions
       under unstable assessment of fairness results. AISTATS 27, PMLR 238: equation 1.
    .. [2] McCartan, Fisher, Goldin, Ho, Imai (2024). Estimating racial disparities when race is not
       observed. arXiv:2303.02580.

    Examples
    --------
    >>> import fairstats as fs
    >>> men, women = dict(tp=420, tn=380, fp=120, fn=80), dict(tp=150, tn=230, fp=70, fn=50)
    >>> posterior = fs.um_posterior(counts={"men": men, "women": women}, rng=1)
    >>> gap = posterior.metric("equal_opportunity")
    >>> print(f"{gap.mean():.2f} ± {gap.std():.2f}, P(gap < 0) = {(gap < 0).mean():.2f}")
    -0.09 ± 0.03, P(gap < 0) = 1.00
    """
    check_choice("sampler", sampler, ("exact", "pymc"))
    request = Request.checked(draws, target, reference, rng)
    if sensitive_probabilities is not None:
        check_that(counts is None, "counts", counts, "None with sensitive_probabilities=")
        check_choice("sampler", sampler, ("exact",))
        rows = IncompleteRows.read(
            y_true,
            y_pred,
            sensitive_probabilities,
            sensitive_features=sensitive_features,
            pos_label=pos_label,
            label_values=label_values,
            missing=missing,
            groups=groups,
        )
        return _augmented_posterior(rows, prior, request)
    count_table, coded = as_counts(
        counts,
        y_true,
        y_pred,
        sensitive_features=sensitive_features,
        pos_label=pos_label,
        label_values=label_values,
        missing=missing,
        groups=groups,
    )
    prior_parameters = as_prior(prior, count_table)
    warn_of_empty(count_table)
    if sampler == "pymc":
        sampled = sample_model(count_table, prior, Nuts(request.draws, request.entropy))
    else:
        sampled = None
    return posterior_of(count_table, prior_parameters, request, rows=coded, sampled=sampled)


def _augmented_posterior(rows: IncompleteRows, prior: Any, request: Request) -> UmPosterior:
    """The posterior of rows whose groups, or cells, are not all known."""
    expected = counts_of(rows, rows.expected_counts())
    prior_parameters = as_prior(prior, expected)
    sampled, totals = sample_by_augmentation(rows, prior_parameters, request.draws, request.entropy)
    result = posterior_of(counts_of(rows, totals), prior_parameters, request, sampled=sampled)
    return replace(result, n_unknown=rows.n_unknown, rounded=rows.rounded)


def um_multiclass(
    y_true: Any = None,
    y_pred: Any = None,
    *,
    sensitive_features: Any = None,
    counts: Any = None,
    prior: float | str = 1.0,
    draws: int = 10_000,
    target: Literal["parameter", "predictive"] = "parameter",
    groups: Sequence[Hashable] | None = None,
    rng: SeedOrGenerator = None,
) -> UmPosterior:
    """Posterior of accuracy and fairness with J classes: micro, macro and macro-micro averages.

    Each group has one Dirichlet over its J × J table of label and prediction, so that the paper's 2
    × 2 tables of one class against the rest, which it treats apart, are drawn jointly.

    Parameters
    ----------
    y_true, y_pred : array-like, shape (n,)
        Labels and predictions of any type; a class may occur in either.
    sensitive_features : array-like (n,) or (n, k), data frame or mapping
    counts : Tally, ConfusionCounts, mapping or frame, instead of rows
        Of two classes, 0 and 1, as in `um_posterior`.
    prior : float, "uniform", "jeffreys" or "perks", default 1.0
        α of the two-class model: accuracy has its Beta(2α, 2α), by 2α/J in each cell of hits,
        2α/(J(J − 1)) of errors.
    draws, target, groups, rng
        As in `um_posterior`.

    Returns
    -------
    UmPosterior
        Its metrics are "accuracy", of all rows or by group, and the largest gaps between groups
        "demographic_parity" and "equal_opportunity" with "_micro", "_macro" or "_macro_micro";
        without an ending the macro average. Functions get counts of shape (draws, G, J²), label by
        prediction.

    Raises
    ------
    InputError
        Missing values, one group, one class, and other input that cannot be used.

    Warns
    -----
    InsufficientEvidenceWarning
        Where a group has no rows of a class: its rate there is the prior; a note says so, too.

    Notes
    -----
    Micro-averaged demographic parity (equations 5 and 6) is a gap of Σ_j(TP + FP) over Σ_j N, which
    is 1/J for every group and classifier: it is always 0. Micro-averaged equal opportunity is the
    gap of the groups' accuracies, and so is the macro-micro one (equation 15). Only the macro
    averages (equations 9 to 12) look at the classes one by one.

    Sensitivity to the prior: it counts as four rows in a group (Jeffreys 2, Perks 1), half of them
    right. Of 60 rows with an accuracy of .8 in three classes it moves the mean of the posterior by
    −.019 (−.010, −.005), where its standard deviation is .051. With few errors this adds up over
    groups: 95% intervals of accuracy over all rows cover .84 (.95, .95) with 2 groups of 100 rows
    and an accuracy of .97, .73 (.91, .94) with 4 of .95 and .46 (.83, .92) with 8; a note says so
    where a group has fewer than 10 errors.

    References
    ----------
    .. [1] Barrainkua et al. (2024), appendix 8, equations 4 to 16.

    Examples
    --------
    >>> import numpy as np, fairstats as fs
    >>> rng = np.random.default_rng(1)
    >>> y = rng.integers(0, 3, 600)
    >>> predicted = np.where(rng.random(600) < 0.7, y, rng.integers(0, 3, 600))
    >>> result = fs.um_multiclass(y, predicted, sensitive_features=rng.integers(0, 2, 600), rng=1)
    >>> print(f"{result.metric('accuracy').mean():.2f}")
    0.78
    """
    request = Request.checked(draws, target, None, rng)
    columns = {"y_true": y_true, "y_pred": y_pred, "sensitive_features": sensitive_features}
    coded = None
    if counts_or_rows(counts, needs=", ".join(columns), **columns):
        two_class_counts, _ = as_counts(counts)
        group_names = two_class_counts.groups
        missing = two_class_counts.missing
        class_cells = two_class_counts.totals[:, [3, 1, 2, 0]]
        classes: tuple[str, ...] = ("0", "1")
    else:
        outcomes, classes = coded_rows(**columns, groups=groups, several=True)
        coded = Rows.of(outcomes)
        group_names = outcomes.groups.labels
        missing = outcomes.missing
        class_cells = coded.count(len(group_names), len(classes)).astype(np.float64)
    class_counts = ClassCounts(
        group_names,
        class_cells,
        class_cells,
        n_units=int(class_cells.sum()),
        missing=missing,
        classes=classes,
    )
    prior_parameters = as_prior(prior, class_counts)
    warn_of_empty(class_counts)
    return posterior_of(class_counts, prior_parameters, request, rows=coded)


def posteriors_of_pairs(counts: Any) -> tuple[list[UmPosterior], Floats]:
    """Posteriors of both models of a table with two predictions, and the table, cells in ascending
    order.
    """
    if isinstance(counts, Tally):
        paired = counts.paired()
    else:
        paired = counts
    if not isinstance(paired, PairedCounts):
        allowed = "a Tally with a second prediction, or PairedCounts"
        suggestion = "fs.tally(…, y_pred_b=…), or um_compare(um_posterior(…), um_posterior(…))"
        raise InputError("counts", got=type(counts).__name__, allowed=allowed, cure=suggestion)
    return [
        um_posterior(counts=paired.confusion(model_index), rng=0) for model_index in (0, 1)
    ], paired.totals[:, ::-1]


def posterior_of(
    counts: ConfusionCounts | ClassCounts,
    prior: Floats,
    request: Request,
    *,
    sampled: Sampled | None = None,
    rows: Rows | None = None,
    cross_validation: CrossValidation | None = None,
    shifts: Floats | None = None,
) -> UmPosterior:
    """The result, exact or sampled, and the rows behind it.

    Warns where a sampler did not converge.
    """
    index_of_reference, rule_of_reference = find_reference(
        counts.groups, request.reference, sizes=counts.group_sizes
    )
    sampler_fields: dict[str, Any] = {}
    if sampled is not None:
        diagnostics = sampled.diagnostics
        sampler_fields = {
            "backend": diagnostics.sampler,
            "diagnostics": diagnostics,
            "stored": sampled.pi,
        }
        if not diagnostics.converged:
            advice = "More tuning or a higher target_accept may help."
            if diagnostics.sampler == AUGMENTED:
                advice = "More draws may help (draws=)."
            warning_text = f"{diagnostics.sampler} did not converge: {diagnostics.words}. {advice}"
            caution(warning_text, DataWarning)
    result = UmPosterior(
        counts=counts,
        prior=prior,
        n_draws=request.draws,
        target=request.target,
        entropy=request.entropy,
        reference=counts.groups[index_of_reference],
        reference_rule=rule_of_reference,
        cross_validation=cross_validation,
        shifts=shifts,
        **sampler_fields,
    )
    return result._with_rows(rows, sampled and sampled.data)


def um_hierarchical(
    counts: Any,
    *,
    concentration: tuple[float, float] = (5.0, 1.5),
    draws: int = 4_000,
    sampler: Literal["exact", "pymc"] = "exact",
    tune: int = 1_000,
    chains: int = 4,
    target: Literal["parameter", "predictive"] = "parameter",
    target_accept: float = 0.95,
    reference: Hashable | None = None,
    rng: SeedOrGenerator = None,
) -> UmPosterior:
    """Posterior of the metrics of many, possibly small, groups that borrow strength from each
    other.

    Three rates are pooled, each by itself: the base rate, the true and the false positive rate. The
    rates p_g of the groups are draws from one Beta(κm, κ(1 − m)), whose mean m and concentration κ
    are estimated: small groups are drawn towards m, the more the more alike the groups are in this
    rate. All other metrics follow from these three.

    Parameters
    ----------
    counts : Tally, ConfusionCounts, mapping or frame
        As in `um_posterior`; at least three groups.
    concentration : (float, float), default (5, 1.5)
        Median of κ a priori, in rows, and standard deviation of log κ; the same for each rate.
    draws : int, default 4,000
        In all chains together.
    sampler : {"exact", "pymc"}
        "exact": m and κ are integrated over a grid. "pymc": they are sampled by NUTS, with the
        extra ``bayes``: the same posterior, slower and with Monte Carlo error of its own, for those
        who extend the model.
    tune, chains, target_accept
        Of NUTS; without effect on "exact".
    target, reference, rng
        As in `um_posterior`.

    Returns
    -------
    UmPosterior
        After NUTS with ``.diagnostics`` (r-hat, ESS, divergences), which stand in ``.notes()``.
        ``.to_arviz()`` has the groups posterior (pi; mean and kappa of each rate),
        prior_predictive, posterior_predictive and observed_data.

    Raises
    ------
    InputError
        Fewer than three groups, and other input that cannot be used.
    MissingDependencyError
        For ``sampler="pymc"`` without PyMC.

    Warns
    -----
    DataWarning
        Where the sampler did not converge.

    Notes
    -----
    95% intervals over all groups of 5 to 60 rows cover .93 to .95 where a rate varies and more
    where it does not (simulated, 600 draws each, errors .002 to .004): with true positive rates
    from Beta(12, 6) in 20 groups their own .94, their differences .93, false positive rates .99;
    with every rate varying .94 to .95 (base rates .94), in 5 groups .94 to .97; with true positive
    rates from Beta(4, 2) .93 and .93. That is over all groups: those of a group far from all others
    cover less. Shortest intervals of few draws are too short: with 4,000 they cover .004 more.

    Sensitivity to the prior: a median of κ of 1.25 or 20 in place of 5 moved the accuracies of
    three groups of 8 to 120 rows by up to .16 of their standard deviations (which changed by −16%
    to +13%), of 12 groups by .14, of 50 by .13. With a median of 20 true positive rates from
    Beta(12, 6) of 2 to 30 labels in 20 groups are covered .92.

    References
    ----------
    .. [1] Gelman, Carlin, Stern, Dunson, Vehtari, Rubin (2013). Bayesian Data Analysis, third
       edition, section 5.3.

    Examples
    --------
    >>> import fairstats as fs
    >>> cells = ("tp", "tn", "fp", "fn")
    >>> rows = {"a": (50, 40, 5, 5), "b": (30, 22, 4, 4), "c": (9, 8, 2, 1), "d": (3, 2, 0, 1)}
    >>> counts = {group: dict(zip(cells, row)) for group, row in rows.items()}
    >>> pooled = fs.um_hierarchical(counts, reference="a", rng=1)
    >>> print(f"{pooled.metric('tpr', group='d').mean():.2f}")
    0.83
    """
    check_choice("sampler", sampler, ("exact", "pymc"))
    count_table, _ = as_counts(counts)
    request = Request.checked(draws, target, reference, rng)
    if len(count_table.groups) < 3:
        allowed = "three or more: how alike groups are cannot be learnt from two"
        raise InputError(
            "counts",
            got=f"{len(count_table.groups)} groups",
            allowed=allowed,
            cure="um_posterior",
        )
    try:
        median_and_spread = tuple(concentration)
    except TypeError:  # a number, None, an array without a dimension
        median_and_spread = ()
    if len(median_and_spread) != 2:
        allowed = "the median of κ and the standard deviation of log κ"
        raise InputError(
            "concentration",
            got=repr(concentration),
            allowed=allowed,
            cure="the default",
        )
    median = check_number(
        "concentration",
        median_and_spread[0],
        low=1e-3,
        high=1e6,
        cure="the default",
    )
    spread = check_number(
        "concentration",
        median_and_spread[1],
        low=0,
        high=5,
        open_low=True,
        cure="the default",
    )
    nuts_settings = Nuts(
        draws=request.draws,
        entropy=request.entropy,
        tune=check_whole("tune", tune, low=100, cure="the default"),
        chains=check_whole("chains", chains, low=2, cure="the default"),
        target_accept=check_share("target_accept", target_accept),
    )
    no_prior = np.full(count_table.totals.shape, np.nan)
    if sampler == "pymc":
        sampled = sample_hierarchy(count_table, (median, spread), nuts_settings)
        posterior = posterior_of(count_table, no_prior, request, sampled=sampled)
        return replace(posterior, pooled=True)
    return _pool_over_grid(count_table, (median, spread), request, no_prior)


@under_way("posterior over a grid")
def _pool_over_grid(
    count_table: ConfusionCounts,
    concentration: tuple[float, float],
    request: Request,
    no_prior: Floats,
) -> UmPosterior:
    """The posterior of partial pooling from draws of `pool_rate`, each rate with a stream of its
    own.
    """
    mean_draws = []
    kappa_draws = []
    rate_draws = {}
    for rate_index, rate_name in enumerate(POOLED):
        stream = np.random.default_rng(
            np.random.SeedSequence(request.entropy, spawn_key=(rate_index, 3))
        )
        pooled = pool_rate(*successes_and_trials(count_table.totals, rate_name), concentration)
        mean, kappa, rate_draws[rate_name] = pooled.draw(request.draws, stream)
        mean_draws.append(mean)
        kappa_draws.append(kappa)
    result = replace(
        posterior_of(count_table, no_prior, request),
        backend="partial pooling of each rate, integrated over a grid",
        pooled=True,
        stored=cells_of_rates(**rate_draws),
    )
    pooled_law = Pooled(np.stack(mean_draws, axis=1), np.stack(kappa_draws, axis=1), concentration)
    return result._with_rows(None, pooled_law)
