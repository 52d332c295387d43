"""`um_cross_validate`: the posterior of an algorithm's metrics from one K-fold cross-validation."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from fairstats.ground.caution import caution
from fairstats.ground.errors import DataWarning, InputError, InsufficientEvidenceWarning
from fairstats.ground.groups import group_index
from fairstats.ground.outcomes import Outcomes
from fairstats.ground.randomness import as_generator
from fairstats.ground.results import check_choice
from fairstats.methods.um.adapters import PASSING, check_estimator, sensitive_use
from fairstats.methods.um.correlation import variance_ratio_of
from fairstats.methods.um.definitions import parse_metric
from fairstats.methods.um.effective import STRATEGIES, correlation_of, strategy_factors
from fairstats.methods.um.evaluation_counts import EvaluationCounts, Rows, count_cells
from fairstats.methods.um.fitting import Data, Task, fold_tasks, run_tasks
from fairstats.methods.um.folds import check_strata, fold_labels, given_folds, stratified_folds
from fairstats.methods.um.origin import CrossValidation, VarianceRatio
from fairstats.methods.um.posterior import posterior_of_counts
from fairstats.methods.um.result import UmPosterior

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["um_cross_validate"]


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
    target: Literal["parameter", "predictive"] = "parameter",
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
    in `um_posterior`. It is about the algorithm trained on (K−1)/K of as many rows.

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
        J random half splits, with a K-fold cross-validation of both algorithms in each half: 4·J·K fits.
    correlation_metric : str, default "accuracy"
        The metric, per group, whose variances are compared; ρ_s is then used for all metrics.
    variance_ratio : float or mapping of group to float, optional
        r_s, where it is known; no half splits then.
    y_pred, fold : array-like, shape (n,), optional
        Predictions that are already there, and the fold in which each row was held out.
    sensitive_at : {"auto", "none", "fit", "predict", "both"}
        Where the estimator is given ``sensitive_features`` (the group labels). "auto" finds out.
    prior, draws, target, reference, pos_label, groups
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
    check_choice("correlation", correlation, STRATEGIES)
    check_choice("sensitive_at", sensitive_at, PASSING)
    ready = y_pred is not None
    if not ready:
        check_estimator(estimator, "estimator")
    metric = parse_metric(correlation_metric, argument="correlation_metric")
    if metric.between_groups:
        raise InputError(
            "correlation_metric",
            got=repr(correlation_metric),
            allowed="a rate of one group, such as 'accuracy' or 'tpr'",
            cure='correlation_metric="accuracy"',
        )
    if isinstance(n_half_splits, bool) or not isinstance(n_half_splits, int) or n_half_splits < 1:
        raise InputError("n_half_splits", got=repr(n_half_splits), allowed="1 or more", cure="5")
    outcomes = Outcomes.from_arrays(
        y, y_pred, sensitive_features=sensitive_features, pos_label=pos_label, groups=groups
    )
    label = outcomes.y_true
    if label is None:
        raise InputError("y", got="None", allowed="one label per row", cure="pass y")
    data = _data(X, y, label, outcomes, ready)
    generator, seed = as_generator(rng)
    seeds = np.random.SeedSequence(int(generator.integers(2**62)) if seed is None else seed)
    streams = seeds.spawn(3 + n_half_splits)
    names = outcomes.groups.labels
    strata = 2 * data.group.astype(np.intp) + label
    folded, K = (
        given_folds(fold, label.size)
        if ready
        else fold_labels(cv, X, data.y, strata, np.random.default_rng(streams[0]))
    )
    if not ready:
        check_strata(strata, folded, K, names)
    relative = correlation.startswith("relative")
    given = _given_ratio(variance_ratio, names) if variance_ratio is not None else None
    if relative and given is None and ready:
        raise InputError(
            "correlation",
            got=f"{correlation!r} with predictions that are already there",
            allowed="'1/K' or 'uniform', or variance_ratio= as well",
            cure="pass the estimator, or variance_ratio={group: r}",
        )
    everyone = np.arange(label.size)
    tasks: list[Task] = []
    if not ready:
        use = sensitive_use(estimator, sensitive_at)
        tasks += fold_tasks(estimator, use, everyone, folded, K, streams[1], "the cross-validation")
    n_main = len(tasks)
    halves: list[NDArray[np.intp]] = []
    if relative and given is None:
        other = _reference(reference_estimator, X)
        halves, extra = _half_tasks((other, estimator), sensitive_at, strata, K, streams[3:])
        tasks += extra
    predictions = run_tasks(tasks, data, n_jobs, progress) if tasks else []
    predicted = outcomes.y_pred if ready else _assembled(tasks[:n_main], predictions[:n_main], label.size)
    if predicted is None:
        raise InputError("y_pred", got="None", allowed="one prediction per row", cure="pass y_pred")
    if halves:
        given = _measured(
            tasks[n_main:],
            predictions[n_main:],
            data,
            len(names),
            halves,
            metric.name,
            _name(reference_estimator),
        )
    ratio = np.ones(len(names)) if given is None else given.ratio
    factor, clipped = _factors(correlation, K, ratio, names)
    cells = np.stack(
        [
            count_cells(label[folded == k], predicted[folded == k], data.group[folded == k], len(names))
            for k in range(K)
        ]
    )
    total = cells.sum(axis=0)
    counts = EvaluationCounts(names, total * factor[:, None], total.sum(axis=1), outcomes.missing)
    return posterior_of_counts(
        counts,
        Rows(label, predicted, data.group, folded),
        prior=prior,
        draws=draws,
        target=target,
        reference=reference,
        rng=int(streams[2].generate_state(1, np.uint64)[0]) >> 2,
        cross_validation=CrossValidation(
            folds=K,
            fold_cells=cells,
            correlation=correlation,
            rho=np.minimum([correlation_of(f, K) for f in factor], np.nextafter(1.0, 0.0)),
            factor=factor,
            clipped=clipped,
            variance_ratio=given if relative else None,
            estimator="" if ready else type(estimator).__name__,
        ),
    )


def _data(X: Any, y: Any, label: NDArray[Any], outcomes: Outcomes, ready: bool) -> Data:
    n = label.size
    if not ready:
        rows = X.shape[0] if hasattr(X, "shape") else len(X) if hasattr(X, "__len__") else -1
        if rows != n:
            raise InputError("X", got=f"{rows:,} rows", allowed=f"{n:,}, as many as y has", cure="align them")
    names = np.asarray(outcomes.groups.labels, dtype=object)
    return Data(X, np.asarray(y), label, outcomes.groups.codes, names[outcomes.groups.codes].astype(str))


def _given_ratio(ratio: Any, groups: tuple[str, ...]) -> VarianceRatio:
    values = np.full(len(groups), np.nan)
    try:
        if isinstance(ratio, Mapping):
            for group, value in ratio.items():
                values[group_index(groups, group, "variance_ratio")] = float(value)
        else:
            values[:] = float(ratio)
    except (TypeError, ValueError) as problem:
        raise _bad_ratio(ratio) from problem
    if not (np.isfinite(values).all() and (values > 0).all()):
        raise _bad_ratio(ratio)
    nan = np.full(len(groups), np.nan)
    return VarianceRatio(
        "a metric of the user's", "a reference of the user's", np.empty((2, 0, 2, 0)), values, nan, nan
    )


def _bad_ratio(ratio: Any) -> InputError:
    return InputError(
        "variance_ratio",
        got=repr(ratio),
        allowed="a number above 0, or one per group: Var[method] / Var[reference]",
        cure="leave it out to have it estimated",
    )


def _reference(reference_estimator: Any, X: Any) -> Any:
    if reference_estimator is not None:
        check_estimator(reference_estimator, "reference_estimator")
        return reference_estimator
    types = getattr(X, "dtypes", None)
    if types is not None and any(
        str(t) in ("object", "category", "str", "string") for t in np.atleast_1d(types)
    ):
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


def _name(reference_estimator: Any) -> str:
    return (
        "an RBF support vector machine" if reference_estimator is None else type(reference_estimator).__name__
    )


def _half_tasks(
    estimators: tuple[Any, Any],
    passing: str,
    strata: NDArray[np.intp],
    folds: int,
    streams: list[np.random.SeedSequence],
) -> tuple[list[NDArray[np.intp]], list[Task]]:
    """Rows of every half, and the fits in them: split, half, algorithm, fold."""
    uses = (sensitive_use(estimators[0]), sensitive_use(estimators[1], passing))
    halves, tasks = [], []
    for j, stream in enumerate(streams):
        rng = np.random.default_rng(stream)
        side = stratified_folds(strata, 2, rng)
        for h in (0, 1):
            rows = np.flatnonzero(side == h)
            if rows.size < folds:
                raise InputError(
                    "cv",
                    got=f"{folds} folds of half the {strata.size} rows",
                    allowed="no more folds than half the rows under a relative correlation",
                    cure="fewer folds, or correlation='1/K'",
                )
            fold = stratified_folds(strata[rows], folds, rng)
            halves.append(rows)
            for estimator, use, child in zip(estimators, uses, stream.spawn(2), strict=True):
                words = f"half {h} of split {j}"
                tasks += fold_tasks(estimator, use, rows, fold, folds, child, words)
    return halves, tasks


def _assembled(tasks: list[Task], predictions: list[NDArray[np.uint8]], n: int) -> NDArray[np.uint8]:
    found = np.zeros(n, dtype=np.uint8)
    for task, predicted in zip(tasks, predictions, strict=True):
        found[task.test] = predicted
    return found


def _measured(
    tasks: list[Task],
    predictions: list[NDArray[np.uint8]],
    data: Data,
    n_groups: int,
    halves: list[NDArray[np.intp]],
    metric: str,
    reference: str,
) -> VarianceRatio:
    """The variance ratio from the fits in the half splits."""
    per_half = len(tasks) // (2 * len(halves))
    values = np.empty((2, len(halves) // 2, 2, n_groups))
    rate = parse_metric(metric)
    for i in range(2 * len(halves)):
        part = slice(i * per_half, (i + 1) * per_half)
        test = np.concatenate([task.test for task in tasks[part]])
        predicted = np.concatenate(predictions[part])
        cells = count_cells(data.label[test], predicted, data.group[test], n_groups)
        j, h, k = i // 4, i // 2 % 2, i % 2
        values[k, j, h] = rate.by_group(cells[None])[0]
    return variance_ratio_of(values, metric, reference)


def _factors(
    correlation: str, folds: int, ratio: NDArray[np.float64], groups: tuple[str, ...]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Factors per group, with the warnings of section 4 of the notes on methods."""
    unknown = np.isnan(ratio)
    if unknown.any():
        caution(
            f"no variance ratio for {', '.join(g for g, u in zip(groups, unknown, strict=True) if u)}: the "
            "metric did not vary, or is undefined, in some half splits; the reference's correlation is used.",
            InsufficientEvidenceWarning,
        )
    factor, clipped = strategy_factors(correlation, folds, np.where(unknown, 1.0, ratio))
    if clipped.any():
        words = ", ".join(
            f"{g} (r = {r:.2f})" for g, r, c in zip(groups, ratio, clipped, strict=True) if c > 0
        )
        caution(
            f"the relative correlation of {words} leaves [0, 1) and is clipped: at 0 the folds count as "
            "independent, at 1 as one fold.",
            DataWarning,
        )
    return factor, clipped
