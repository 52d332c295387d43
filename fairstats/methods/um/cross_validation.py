"""`um_cross_validate`: the posterior of an algorithm's metrics from one K-fold cross-validation."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.checks import check_choice, check_flag, check_whole
from fairstats.ground.counts import ConfusionCounts
from fairstats.ground.errors import InputError
from fairstats.ground.outcomes import Outcomes, check_row_labels
from fairstats.methods.um import effective, fitting
from fairstats.methods.um.draws import Rows, as_prior, count_cells, warn_of_empty
from fairstats.methods.um.metrics import parse_metric
from fairstats.methods.um.posterior import Request, posterior_of
from fairstats.methods.um.result import UmPosterior


def um_cross_validate(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    sensitive_features: Any,
    cv: Any = 10,
    correlation: Literal["1/K", "uniform", "relative", "relative-uniform"] = "relative",
    reference_estimator: Any = None,
    n_half_splits: int = 5,
    correlation_metric: str = "accuracy",
    variance_ratio: Any = None,
    y_pred: Any = None,
    fold: Any = None,
    sensitive_at: str = "auto",
    prior: Any = 1.0,
    draws: int = 10_000,
    target: Literal["parameter", "predictive", "algorithm"] = "parameter",
    reference: Hashable | None = None,
    pos_label: Any = None,
    groups: Sequence[Hashable] | None = None,
    n_jobs: int | None = None,
    progress: bool = True,
    rng: Any = None,
) -> UmPosterior:
    """Posterior of the metrics of an algorithm from one K-fold cross-validation.

    The K folds share training rows, so that their results are correlated, with ρ_s in group s. Their summed
    counts are worth the effective counts C^e = ΣC^(k) / (1 + (K−1)ρ_s), from which the posterior follows as
    in `um_posterior`. What it is about, `target`, is printed with it.

    Parameters
    ----------
    estimator : scikit-learn estimator or pipeline
        With fit and predict; fairlearn's mitigators too. None with `y_pred` and `fold`.
    X : array-like, shape (n, d)
        None with `y_pred`.
    y : array-like, shape (n,)
        Labels.
    sensitive_features : array-like (n,) or (n, k), data frame or mapping
    cv : int, splitter or list of (train, test), default 10
        A number makes folds stratified by label and group. Every row must be held out exactly once, and
        trained on otherwise.
    correlation : {"1/K", "uniform", "relative", "relative-uniform"}
        ρ = 1/K (Nadeau and Bengio); ρ uniform on [0, 1/K]; ρ relative to a reference algorithm with ρ⁰ = 1/K,
        by the ratio r_s of their variances; the same with ρ⁰ uniform on [0, 1/K]. Under a range the factor
        1/(1 + (K−1)ρ) is averaged.
    reference_estimator : estimator, optional
        Default a support vector machine with RBF kernel on standardised columns.
    n_half_splits : int, default 5
        J half splits, with a K-fold cross-validation of both algorithms in each half: 4·J·K fits.
    correlation_metric : str, default "accuracy"
        The metric, per group, whose variances are compared; ρ_s is then used for all metrics.
    variance_ratio : float or mapping of group to float, optional
        r_s, where it is known; no half splits then.
    y_pred, fold : array-like, shape (n,), optional
        Predictions that are already there, and the fold in which each row was held out.
    sensitive_at : {"auto", "none", "fit", "predict", "both"}
        Where the estimator is given ``sensitive_features`` (the group labels). "auto" finds out.
    target : {"parameter", "predictive", "algorithm"}
        "parameter": the metric of the models fitted to these rows. "predictive": their metric on another test
        set of the same size. "algorithm": the mean metric of models fitted anew to (K−1)/K of as many rows;
        to the summed counts it adds the spread between training sets, for every metric its own, from random
        half splits of which the models of either half predict the other too (2·J·K fits; the correlation is
        not used).
    prior, draws, reference, pos_label, groups
        As in `um_posterior`.
    n_jobs : int, optional
        Processes for the fits; the numbers do not depend on it.
    progress : bool, default True
    rng : None, int or numpy.random.Generator
        Of folds, half splits and draws. An estimator's own randomness is its ``random_state``.

    Returns
    -------
    UmPosterior
        With ``.cross_validation``: counts per fold, ρ, factor and variance ratio per group with its jackknife
        interval.

    Raises
    ------
    InputError
        Estimator without predict, folds that hold rows out twice or never, a training part with one label, a
        prediction that is no label, and other input that cannot be used.

    Warns
    -----
    DataWarning
        More folds than rows of a label in a group; a relative correlation clipped to [0, 1).
    InsufficientEvidenceWarning
        A variance of 0 among the half splits: the reference's correlation is used.

    Notes
    -----
    r_s = Var[A1]/Var[A0], the algorithm over the reference: the paper prints it the other way round (equation
    3), which would give an unstable algorithm a narrow posterior. With J = 5 a ratio of equals spans .14 to
    7.1: read r beside its interval. r depends on its metric: on German credit accuracy hardly shows what
    post-processing makes unstable, and the true positive rate does (``correlation_metric="tpr"``). The half
    splits and their folds are the same for both algorithms.

    Say which target you mean: 95% intervals about the fitted models ("parameter") hold the algorithm's
    demographic parity in 78 to 86% of samples (logistic and linear rules, trees; 400 and 1,000 rows), those
    of "algorithm" in 94 to 97% (accuracy up to 98%). The latter are multivariate t with J degrees of freedom:
    more half splits make them narrower.

    References
    ----------
    .. [1] Barrainkua et al. (2024), sections 2.3, 9 and 10, equations 2, 3 and 20.
    .. [2] Nadeau, Bengio (2003). Inference for the generalization error. Machine Learning 52, 239–281.

    Examples
    --------
    >>> import numpy as np, fairstats as fs
    >>> from sklearn.linear_model import LogisticRegression
    >>> rng = np.random.default_rng(1)
    >>> X = rng.normal(size=(400, 3))
    >>> y = (X[:, 0] + rng.normal(size=400) > 0).astype(int)
    >>> posterior = fs.um_cross_validate(
    ...     LogisticRegression(), X, y, sensitive_features=rng.integers(0, 2, 400), cv=5,
    ...     correlation="1/K", rng=1, progress=False,
    ... )
    >>> print(posterior.cross_validation.rho, posterior.cross_validation.factor.round(3))
    [0.2 0.2] [0.556 0.556]
    """
    check_choice("correlation", correlation, effective.STRATEGIES)
    check_choice("sensitive_at", sensitive_at, fitting.PASSING)
    check_whole("n_half_splits", n_half_splits, low=1, cure="5")
    metric = parse_metric(correlation_metric, argument="correlation_metric")
    if metric.between_groups:
        got, allowed = repr(correlation_metric), "a rate of one group, such as 'accuracy' or 'tpr'"
        raise InputError("correlation_metric", got=got, allowed=allowed, cure='correlation_metric="accuracy"')
    check_flag("progress", progress)
    if n_jobs is not None and check_whole("n_jobs", n_jobs, cure="n_jobs=2, or -1 for all processors") == 0:
        raise InputError("n_jobs", got="0", allowed="None, or a number of processes", cure="n_jobs=2")
    ready = y_pred is not None
    if not ready:
        fitting.check_estimator(estimator, "estimator")
    request = Request.checked(draws, target, reference, rng, ("parameter", "predictive", "algorithm"))
    anew = target == "algorithm"
    outcomes = Outcomes.from_arrays(
        y, y_pred, sensitive_features=sensitive_features, pos_label=pos_label, groups=groups
    )
    check_row_labels(X=X, y=y)
    label, codes, names = outcomes.y_true, outcomes.groups.codes, outcomes.groups.labels
    if label is None:
        raise InputError("y", got="None", allowed="one label per row", cure="pass y")
    n, G = label.size, len(names)
    size = (
        n
        if ready
        else (*np.shape(X), -1)[0]
        if hasattr(X, "shape")
        else len(X)
        if hasattr(X, "__len__")
        else -1
    )
    if size != n:
        raise InputError("X", got=f"{size:,} rows", allowed=f"{n:,}, as many as y has", cure="align them")
    streams = np.random.SeedSequence(request.entropy).spawn(3 + n_half_splits)
    strata = 2 * codes.astype(np.intp) + label
    if ready:
        folded, K = fitting.given_folds(fold, n)
    else:
        folded, K = fitting.fold_labels(cv, X, np.asarray(y), strata, np.random.default_rng(streams[0]))
    relative = correlation.startswith("relative") and not anew
    given = None if variance_ratio is None else effective.variance_ratio_given(variance_ratio, names)
    estimated = relative and given is None
    if ready and (estimated or anew):
        raise InputError(
            "target" if anew else "correlation",
            got=f"{target if anew else correlation!r} with predictions that are already there",
            allowed="another target, with correlation '1/K' or 'uniform', or variance_ratio= as well",
            cure="pass the estimator, or variance_ratio={group: r}",
        )
    runs: list[fitting.Run] = []
    if not ready:
        every = np.arange(n)
        runs.append(fitting.Run(estimator, sensitive_at, every, folded, streams[1], "the cross-validation"))
    if estimated:
        pair = ((_reference(reference_estimator, X), "auto"), (estimator, sensitive_at))
        runs += _half_runs(pair, strata, K, streams[3:])
    elif anew:
        runs += _half_runs(((estimator, sensitive_at),), strata, K, streams[3:])
    if ready:
        predicted, halves = np.asarray(outcomes.y_pred), []
    else:
        sensitive = np.asarray(names, dtype=object)[codes].astype(str)
        data = fitting.Data(X, np.asarray(y), label, sensitive)
        (predicted, _), *halves = fitting.cross_predict(runs, data, n_jobs, progress)
        fitting.warn_of_few(strata, K, names)
    if estimated:
        known = zip(runs[1:], halves, strict=True)
        cells = [count_cells(label[run.rows], own, codes[run.rows], G) for run, (own, _) in known]
        # the runs go split by split, half by half, algorithm by algorithm
        values = metric.by_group(np.array(cells)).reshape(-1, 2, 2, G).transpose(2, 0, 1, 3)
        words = "an RBF support vector machine"
        if reference_estimator is not None:
            words = type(reference_estimator).__name__
        given = effective.variance_ratio_of(values, metric.name, words)
    ratio = np.ones(G) if given is None else given.ratio
    factor, clipped = np.ones(G), np.zeros(G)
    if not anew:
        factor, clipped = effective.checked_factors(correlation, K, ratio, names)
    rows = Rows(label, predicted, codes, folded)
    fold_cells = count_cells(label, rows.y_pred, G * folded + codes, K * G).reshape(K, G, 4)
    total = fold_cells.sum(axis=0)
    counts = ConfusionCounts(
        groups=names,
        totals=total * factor[:, None],
        rows=total,
        n_units=n,
        missing=outcomes.missing,
        attributes=outcomes.groups.attributes,
    )
    alpha = as_prior(prior, counts)
    warn_of_empty(counts)
    return posterior_of(
        counts,
        alpha,
        replace(request, entropy=int(streams[2].generate_state(1, np.uint64)[0]) >> 2),
        rows=rows,
        shifts=_shifts(runs[1:], halves, strata + 1 - 2 * label.astype(np.intp), total) if anew else None,
        cross_validation=effective.CrossValidation(
            folds=K,
            fold_cells=fold_cells,
            correlation="" if anew else correlation,
            rho=np.minimum((1.0 / factor - 1.0) / (K - 1), np.nextafter(1.0, 0.0)),
            factor=factor,
            clipped=clipped,
            variance_ratio=given if relative else None,
            estimator="" if ready else type(estimator).__name__,
        ),
    )


def _reference(reference_estimator: Any, X: Any) -> Any:
    if reference_estimator is not None:
        fitting.check_estimator(reference_estimator, "reference_estimator")
        return reference_estimator
    types = {str(t) for t in np.atleast_1d(getattr(X, "dtypes", ()))}
    if types & {"object", "category", "str", "string"}:
        raise InputError(
            "reference_estimator",
            got="None with columns of text in X",
            allowed="a reference that can read X; the default is an SVM on numeric columns",
            cure="pass a pipeline with your preprocessing and SVC(), or correlation='1/K'",
        )
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    return make_pipeline(StandardScaler(), SVC(kernel="rbf"))


def _half_runs(
    estimators: Sequence[tuple[Any, str]],
    strata: NDArray[np.intp],
    folds: int,
    streams: list[np.random.SeedSequence],
) -> list[fitting.Run]:
    """The cross-validations in both halves of every split: split, half, algorithm.

    A ratio of two algorithms is steadier over stratified halves. One algorithm alone is to be trained on sets
    as they come, its models predict the other half too, and the halves are random.
    """
    alone, runs = len(estimators) == 1, []
    for j, stream in enumerate(streams):
        rng = np.random.default_rng(stream)
        side = fitting.stratified_folds(np.zeros_like(strata) if alone else strata, 2, rng)
        for h in (0, 1):
            rows, others = np.flatnonzero(side == h), np.flatnonzero(side != h)
            fold = fitting.stratified_folds(strata[rows], folds, rng)
            for (estimator, use), seeds in zip(estimators, stream.spawn(len(estimators)), strict=True):
                run = fitting.Run(estimator, use, rows, fold, seeds, f"half {h} of split {j}")
                runs.append(replace(run, extra=others) if alone else run)
    return runs


def _shifts(
    runs: Sequence[fitting.Run],
    halves: Sequence[tuple[NDArray[np.uint8], NDArray[np.float64]]],
    case: NDArray[np.intp],
    total: NDArray[np.int64],
) -> NDArray[np.float64]:
    """What models of one half predict more favourably than those of the other, shape (J, G, 2), as logits.

    Both predict the same rows, so that the rows' own chance drops out. `case` is 2·group + 1 − label.
    """
    size = 2 * len(total)
    moved = []
    for run, (own, others) in zip(runs, halves, strict=True):
        sums = [np.bincount(case[r], p, size) for r, p in ((run.rows, own), (run.extra, others))]
        rows = [np.bincount(case[r], minlength=size) for r in (run.rows, run.extra)]
        moved.append(np.divide(sums, rows, out=np.zeros((2, size)), where=np.array(rows) > 0))
    first, second = np.stack(moved[::2]), np.stack(moved[1::2])
    # of the first half's models minus the second's, on the rows of the second half and of the first
    gap = (first[:, 1] - second[:, 0] + first[:, 0] - second[:, 1]) / 2
    share = (total[:, :2] + 0.5) / (total[:, :2] + total[:, [2, 3]] + 1.0)
    return np.asarray(gap.reshape(len(gap), -1, 2) / (share * (1.0 - share)))
