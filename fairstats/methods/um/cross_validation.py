"""`um_cross_validate`: the posterior of an algorithm's metrics from one K-fold cross-validation."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.checks import Floats, check_choice, check_flag, check_given, check_that, check_whole
from fairstats.ground.counts import ConfusionCounts
from fairstats.ground.errors import InputError
from fairstats.ground.outcomes import check_row_labels
from fairstats.methods.um import folds
from fairstats.methods.um.counting import ClassCounts, Rows, as_prior, coded_rows, count_cells, warn_of_empty
from fairstats.methods.um.metrics import Metric, parse_metric
from fairstats.methods.um.posterior import TARGETS, Request, posterior_of
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
    correlation_metric: str | Sequence[str] = "accuracy",
    variance_ratio: Any = None,
    y_pred: Any = None,
    fold: Any = None,
    sensitive_at: str = "auto",
    prior: Any = 1.0,
    draws: int = 10_000,
    target: Literal["parameter", "predictive", "algorithm"] = "parameter",
    reference: Hashable | None = None,
    pos_label: Any = None,
    label_values: Any = None,
    groups: Sequence[Hashable] | None = None,
    n_jobs: int | None = None,
    progress: bool = True,
    rng: Any = None,
) -> UmPosterior:
    """Posterior of the metrics of an algorithm from one K-fold cross-validation.

    The K folds share training rows, so that their results are correlated, with ρ_s in group s. Their summed counts are
    worth the effective counts C^e = ΣC^(k) / (1 + (K−1)ρ_s), from which the posterior follows as in `um_posterior`.

    Parameters
    ----------
    estimator : scikit-learn estimator or pipeline
        With fit and predict; fairlearn's mitigators too. None with `y_pred` and `fold`.
    X : array-like, shape (n, d)
        None with `y_pred`.
    y : array-like, shape (n,)
        Labels. Three to 20 of them without `pos_label` are classes, and the metrics those of `um_multiclass`.
    sensitive_features : array-like (n,) or (n, k), data frame or mapping
    cv : int, splitter or list of (train, test), default 10
        A number makes folds stratified by label and group. Every row must be held out once, and trained on otherwise.
    correlation : {"1/K", "uniform", "relative", "relative-uniform"}
        ρ = 1/K (Nadeau and Bengio); ρ uniform on [0, 1/K]; ρ relative to a reference algorithm with ρ⁰ = 1/K, by the
        ratio r_s of their variances; the same with ρ⁰ uniform on [0, 1/K]. Under a range 1/(1 + (K−1)ρ) is averaged.
    reference_estimator : estimator, optional
        Default a support vector machine with RBF kernel on standardised columns, text one-hot.
    n_half_splits : int, default 5
        J half splits, the same for both algorithms, with a K-fold cross-validation of each in either half: 4·J·K fits.
    correlation_metric : str or sequence of str, default "accuracy"
        The metric, per group, whose variances are compared; ρ_s is then used for all metrics. Of a list the largest
        r_s, and the factor is averaged over r_s·F(J, J), its uncertainty from J half splits.
    variance_ratio : float or mapping of group to float, optional
        r_s, where it is known; no half splits then.
    y_pred, fold : array-like, shape (n,), optional
        Predictions that are already there, and the fold in which each row was held out.
    sensitive_at : {"auto", "none", "fit", "predict", "both"}
        Where the estimator is given ``sensitive_features`` (the group labels). "auto" finds out.
    target : {"parameter", "predictive", "algorithm"}
        "parameter": the metric of the models fitted to these rows. "predictive": their metric on another test set of
        the same size. "algorithm": the mean metric of models fitted anew to (K−1)/K of as many rows: with the spread
        between training sets, from random halves whose models predict the other too (2·J·K fits; no correlation).
    prior, draws, reference, pos_label, label_values, groups
        As in `um_posterior`.
    n_jobs : int, optional
        Processes for the fits; the numbers do not depend on it.
    progress : bool, default True
    rng : None, int or numpy.random.Generator
        Of folds, half splits and draws. An estimator's own randomness is its ``random_state``.

    Returns
    -------
    UmPosterior
        With ``.cross_validation``: counts per fold, ρ, factor and variance ratio per group with its jackknife interval.

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
    r_s = Var[A1]/Var[A0], the algorithm over the reference: the paper prints it the other way round (equation 3), which
    would give an unstable algorithm a narrow posterior. With J = 5 a ratio of equals spans .14 to 7.1: read r beside
    its interval. r depends on its metric: on German credit accuracy hardly shows what post-processing makes unstable,
    and the true positive rate does (``correlation_metric="tpr"``).

    Say which target you mean: 95% intervals about the fitted models ("parameter") hold the algorithm's demographic
    parity in 78 to 86% of samples (logistic and linear rules, trees; 400 and 1,000 rows), those of "algorithm" in 94 to
    97% (accuracy up to 98%): multivariate t with J degrees of freedom, narrower with more half splits.

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
    if y_pred is None:
        folds.check_estimator(estimator, "estimator")
    options = Options(
        correlation, n_half_splits, correlation_metric, reference_estimator, sensitive_at, cv, prior, n_jobs,
        progress, variance_ratio,
    )  # fmt: skip
    request = Request.checked(draws, target, reference, rng, TARGETS)
    columns = {
        "sensitive_features": sensitive_features, "pos_label": pos_label, "label_values": label_values,
        "groups": groups,
    }  # fmt: skip
    rows = Checked(X, y, y_pred, fold, **columns)
    return cross_validated({"": estimator}, rows, replace(options, several=bool(rows.classes)), request)[0]


@dataclass(frozen=True)
class Options:
    """How estimators are cross-validated: the arguments of `um_cross_validate` of these names."""

    correlation: str
    n_half_splits: int
    correlation_metric: Any
    reference_estimator: Any
    sensitive_at: str
    cv: Any
    prior: Any
    n_jobs: int | None
    progress: bool
    variance_ratio: Any = None
    several: bool = False

    def __post_init__(self) -> None:
        check_choice("correlation", self.correlation, folds.STRATEGIES)
        check_choice("sensitive_at", self.sensitive_at, folds.PASSING)
        check_whole("n_half_splits", self.n_half_splits, low=1, cure="5")
        fine = self.metrics and not any(m.between_groups for m in self.metrics)
        allowed, cure = "rates of one group, such as 'accuracy' or 'tpr'", 'correlation_metric="accuracy"'
        check_that(fine, "correlation_metric", self.correlation_metric, allowed, cure)
        check_flag("progress", self.progress)
        cure = "n_jobs=2, or -1 for all processors"
        if self.n_jobs is not None and check_whole("n_jobs", self.n_jobs, cure=cure) == 0:
            raise InputError("n_jobs", got="0", allowed="None, or a number of processes", cure="n_jobs=2")

    @property
    def averaged(self) -> bool:
        """Whether the largest r of several metrics is asked for, averaged over its uncertainty."""
        return isinstance(self.correlation_metric, (list, tuple))

    @property
    def metrics(self) -> list[Metric]:
        """The metrics whose variances are compared."""
        names = self.correlation_metric if self.averaged else [self.correlation_metric]
        return [parse_metric(n, argument="correlation_metric", several=self.several) for n in names]


class Checked:
    """Rows that fit together: X, y, coded outcomes, and predictions that are already there with their folds."""

    def __init__(self, X: Any, y: Any, y_pred: Any = None, fold: Any = None, **columns: Any) -> None:
        self.outcomes, self.classes = coded_rows(y, y_pred, names=("y", "y_pred"), **columns)
        check_row_labels(X=X, y=y)
        self.label = check_given("y", self.outcomes.y_true, "one label per row")
        self.X, self.y, self.fold, self.ready = X, np.asarray(y), fold, y_pred is not None
        self.codes, self.names = self.outcomes.groups.codes, self.outcomes.groups.labels
        self.strata = (len(self.classes) or 2) * self.codes.astype(np.intp) + self.label
        size = len(X) if hasattr(X, "__len__") and not hasattr(X, "shape") else (*np.shape(X), -1)[0]
        if not self.ready and size != self.label.size:
            allowed = f"{self.label.size:,}, as many as y has"
            raise InputError("X", got=f"{size:,} rows", allowed=allowed, cure="align them")

    def cells(self, rows: Any, predicted: Any) -> NDArray[np.int64]:
        """Counts (G, cells) of some of the rows."""
        return count_cells(self.label[rows], predicted, self.codes[rows], len(self.names), len(self.classes))


class _Fits:
    """Folds and half splits, shared by all estimators, with their predictions; `anew`: the algorithm is meant."""

    def __init__(
        self, estimators: Mapping[str, Any], rows: Checked, options: Options, entropy: int, anew: bool
    ) -> None:
        self.rows, self.options, self.anew, self.m = rows, options, anew, len(estimators)
        self.streams = np.random.SeedSequence(entropy).spawn(3 + options.n_half_splits)
        if rows.ready:
            self.folded, self.K = folds.given_folds(rows.fold, rows.label.size)
        else:
            first = np.random.default_rng(self.streams[0])
            self.folded, self.K = folds.fold_labels(options.cv, rows.X, rows.y, rows.strata, first)
        given = options.variance_ratio
        self.given = None if given is None else folds.variance_ratio_given(given, rows.names)
        self.relative = options.correlation.startswith("relative") and not anew
        self.estimated = self.relative and self.given is None
        self._check_possible()
        self.predicted: list[Any] = [rows.outcomes.y_pred]
        if not rows.ready:
            self._fit(list(estimators.values()))

    def _check_possible(self) -> None:
        """Raise for predictions already there where fits are needed, and for several classes anew."""
        if self.rows.ready and (self.estimated or self.anew):
            what, value = ("target", "algorithm") if self.anew else ("correlation", self.options.correlation)
            got, cure = f"{value!r} with predictions", "pass the estimator, or variance_ratio={group: r}"
            allowed = "another target, with correlation '1/K' or 'uniform', or variance_ratio= as well"
            raise InputError(what, got=f"{got} that are already there", allowed=allowed, cure=cure)
        if self.rows.classes and self.anew:
            got = f"'algorithm' with {len(self.rows.classes)} classes"
            cure = "pos_label= for one class against the rest"
            raise InputError("target", got=got, allowed="'parameter' or 'predictive'", cure=cure)

    def _fit(self, estimators: list[Any]) -> None:
        """Fit every estimator in every fold, and with the reference in half splits where these are needed."""
        rows, options = self.rows, self.options
        own = [(e, options.sensitive_at) for e in estimators]
        every, words = np.arange(rows.label.size), "the cross-validation"
        runs = [folds.Run(*pair, every, self.folded, self.streams[1], words) for pair in own]
        if self.estimated:
            own.insert(0, (_reference(options.reference_estimator, rows.X), "auto"))
        if self.estimated or self.anew:
            runs += _half_runs(own, rows.strata, self.K, self.streams[3:], alone=self.anew)
        sensitive = np.asarray(rows.names, dtype=object)[rows.codes].astype(str)
        data = folds.Data(rows.X, rows.y, rows.label, sensitive)
        found = folds.cross_predict(runs, data, options.n_jobs, options.progress)
        folds.warn_of_few(rows.strata, self.K, rows.names, rows.classes)
        self.predicted = [p for p, _ in found[: self.m]]
        self.halves = list(zip(runs, found, strict=True))[self.m :]

    def ratios(self) -> Sequence[folds.VarianceRatio | None]:
        """The variance ratio of each estimator over the reference."""
        if not self.estimated:
            return [self.given] * self.m
        cells = np.array([self.rows.cells(run.rows, p) for run, (p, _) in self.halves])
        # the runs go split by split, half by half, algorithm by algorithm
        shape = -1, 2, 1 + self.m, len(self.rows.names)
        values = [(m.name, m.by_group(cells).reshape(shape).transpose(2, 0, 1, 3)) for m in self.options.metrics]
        given = self.options.reference_estimator
        words = "an RBF support vector machine" if given is None else type(given).__name__
        each = [[folds.variance_ratio_of(v[[0, 1 + k]], name, words) for name, v in values] for k in range(self.m)]
        return [folds.largest_ratio(own) if self.options.averaged else own[0] for own in each]

    def shifts(self, k: int) -> Floats | None:
        """How far models of either half differ on the same rows, (J, G, 2), in logits; None for fitted models."""
        if not self.anew:
            return None
        total, size = self.rows.cells(..., self.predicted[k]), 2 * len(self.rows.names)
        case = self.rows.strata + 1 - 2 * self.rows.label.astype(np.intp)  # 2·group + 1 − label
        moved = []
        for run, (own, others) in self.halves[k :: self.m]:
            sums = [np.bincount(case[r], p, size) for r, p in ((run.rows, own), (run.extra, others))]
            rows = [np.bincount(case[r], minlength=size) for r in (run.rows, run.extra)]
            moved.append(np.divide(sums, rows, out=np.zeros((2, size)), where=np.array(rows) > 0))
        first, second = np.stack(moved[::2]), np.stack(moved[1::2])
        # of the first half's models minus the second's, on the rows of the second half and of the first
        gap = (first[:, 1] - second[:, 0] + first[:, 0] - second[:, 1]) / 2
        share = (total[:, :2] + 0.5) / (total[:, :2] + total[:, [2, 3]] + 1.0)
        return np.asarray(gap.reshape(len(gap), -1, 2) / (share * (1.0 - share)))

    def counted(
        self, k: int, name: str, kind: str, given: folds.VarianceRatio | None
    ) -> tuple[ConfusionCounts | ClassCounts, Rows, folds.CrossValidation]:
        """Effective counts of estimator `k`, the rows behind them, and its folds with their correlation."""
        rows, G, K, strategy = self.rows, len(self.rows.names), self.K, self.options.correlation
        counted = Rows(rows.label, np.asarray(self.predicted[k]), rows.codes, self.folded)
        in_fold = replace(counted, group=G * self.folded + rows.codes)
        fold_cells = in_fold.count(K * G, len(rows.classes)).reshape(K, G, -1)
        total, factor, clipped = fold_cells.sum(axis=0), np.ones(G), np.zeros(G)
        if not self.anew:
            labels = tuple(f"{name}, {g}" if name else g for g in rows.names)
            splits = self.options.n_half_splits if given is not None and given.averaged else 0
            ratio = np.ones(G) if given is None else given.ratio
            factor, clipped = folds.checked_factors(strategy, K, ratio, labels, splits)
        about: dict[str, Any] = {"missing": rows.outcomes.missing, "attributes": rows.outcomes.groups.attributes}
        about |= {"totals": total * factor[:, None], "rows": total, "n_units": rows.label.size}
        kind_of: Any = partial(ClassCounts, classes=rows.classes) if rows.classes else ConfusionCounts
        counts = kind_of(rows.names, **about)
        rho = np.minimum((1.0 / factor - 1.0) / (K - 1), np.nextafter(1.0, 0.0))
        told, of_ratio = "" if self.anew else strategy, given if self.relative else None
        return counts, counted, folds.CrossValidation(K, fold_cells, told, rho, factor, clipped, of_ratio, kind)


def cross_validated(
    estimators: Mapping[str, Any], rows: Checked, options: Options, request: Request
) -> list[UmPosterior]:
    """One posterior per estimator, by name."""
    fits = _Fits(estimators, rows, options, request.entropy, request.target == "algorithm")
    seeded = replace(request, entropy=int(fits.streams[2].generate_state(1, np.uint64)[0]) >> 2)
    answers = []
    for k, ((name, estimator), given) in enumerate(zip(estimators.items(), fits.ratios(), strict=True)):
        counts, counted, about = fits.counted(k, name, "" if rows.ready else type(estimator).__name__, given)
        alpha = as_prior(options.prior, counts)
        warn_of_empty(counts, name, labels_too=k == 0)
        answers.append(posterior_of(counts, alpha, seeded, rows=counted, shifts=fits.shifts(k), cross_validation=about))
    return answers


def _reference(reference_estimator: Any, X: Any) -> Any:
    if reference_estimator is not None:
        folds.check_estimator(reference_estimator, "reference_estimator")
        return reference_estimator
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    return folds.readable(SVC(kernel="rbf"), X, StandardScaler())


def _half_runs(
    estimators: Sequence[tuple[Any, str]], strata: NDArray[np.intp], n_folds: int, streams: Sequence[Any], alone: bool
) -> list[folds.Run]:
    """The cross-validations in both halves of every split: split, half, algorithm.

    Of an algorithm `alone` the halves are random, as training sets come, and its models predict the other half too; a
    ratio of two is steadier over stratified ones. Every algorithm but the reference, then the first, has one seed.
    """
    runs = []
    for j, stream in enumerate(streams):
        rng = np.random.default_rng(stream)
        side = folds.stratified_folds(np.zeros_like(strata) if alone else strata, 2, rng)
        for h in (0, 1):
            rows, others = np.flatnonzero(side == h), np.flatnonzero(side != h)
            fold = folds.stratified_folds(strata[rows], n_folds, rng)
            seeds = stream.spawn(1 if alone else 2)
            for k, (estimator, use) in enumerate(estimators):
                run = folds.Run(estimator, use, rows, fold, seeds[-1 if k else 0], f"half {h} of split {j}")
                runs.append(replace(run, extra=others) if alone else run)
    return runs
