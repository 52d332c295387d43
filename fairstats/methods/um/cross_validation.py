"""`um_cross_validate`: the posterior of an algorithm's metrics from one K-fold cross-validation."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.checks import (
    Floats,
    SeedOrGenerator,
    check_choice,
    check_flag,
    check_given,
    check_that,
    check_whole,
)
from fairstats.ground.counts import ConfusionCounts
from fairstats.ground.errors import InputError
from fairstats.ground.outcomes import check_row_labels
from fairstats.ground.tallies.classes import ClassCounts
from fairstats.methods.um import folds
from fairstats.methods.um.counting import (
    Rows,
    as_prior,
    coded_rows,
    count_cells,
    warn_of_empty,
)
from fairstats.methods.um.metrics import Metric, parse_metric
from fairstats.methods.um.posterior import TARGETS, Request, posterior_of
from fairstats.methods.um.result import UmPosterior

#: References of our own, and what results call them.
_REFERENCES = {
    "svm": "an RBF support vector machine",
    "landmarks": "least squares on RBF kernels of 64 rows",
}
#: Up to so many rows the reference is the support vector machine of the paper.
MOST_ROWS_OF_SVM = 1_000


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
    correlation_metric: str | Sequence[str] | None = None,
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
    rng: SeedOrGenerator = None,
) -> UmPosterior:
    """Posterior of the metrics of an algorithm from one K-fold cross-validation.

    The K folds share training rows, so that their results are correlated, with ρ_s in group s.
    Their summed counts are worth the effective counts C^e = ΣC^(k) / (1 + (K−1)ρ_s), from which the
    posterior follows as in `um_posterior`.

    Parameters
    ----------
    estimator : scikit-learn estimator or pipeline
        With fit and predict; fairlearn's mitigators too. None with `y_pred` and `fold`.
    X : array-like, shape (n, d)
        None with `y_pred`.
    y : array-like, shape (n,)
        Labels. Three to 20 of them without `pos_label` are classes, and the metrics those of
        `um_multiclass`.
    sensitive_features : array-like (n,) or (n, k), data frame or mapping
    cv : int, splitter or list of (train, test), default 10
        A number makes folds stratified by label and group. Every row must be held out once, and
        trained on otherwise.
    correlation : {"1/K", "uniform", "relative", "relative-uniform"}
        ρ = 1/K (Nadeau and Bengio); ρ uniform on [0, 1/K]; ρ relative to a reference algorithm with
        ρ⁰ = 1/K, by the ratio r_s of their variances; the same with ρ⁰ uniform on [0, 1/K]. Under a
        range 1/(1 + (K−1)ρ) is averaged.
    reference_estimator : {"auto", "svm", "landmarks"} or estimator, default "auto"
        "svm": a support vector machine with RBF kernel on standardised columns, text one-hot, as in
        the paper. "landmarks": least squares on the same kernel of 64 training rows, which costs a
        twentieth at 5,000 rows. "auto", or None: "svm" up to 1,000 rows, "landmarks" beyond.
    n_half_splits : int, default 5
        J half splits, the same for both algorithms, with a K-fold cross-validation of each in
        either half: 4·J·K fits to half of the rows, beside the K of the cross-validation itself; by
        default 200 and 10. More of them are steadier, and each costs 4·K more;
        ``correlation="1/K"`` and "uniform" need none.
    correlation_metric : str or sequence of str, optional
        The metrics, per group, whose variances are compared; ρ_s is then used for all metrics. Of a
        list the largest r_s, and the factor is averaged over r_s·F(J, J), its uncertainty from J
        half splits. Default accuracy and the true positive rate (of several classes accuracy),
        averaged. One name: its own r_s as it is.
    variance_ratio : float or mapping of group to float, optional
        r_s, where it is known; no half splits then.
    y_pred, fold : array-like, shape (n,), optional
        Predictions that are already there, and the fold in which each row was held out.
    sensitive_at : {"auto", "none", "fit", "predict", "both"}
        Where the estimator is given ``sensitive_features`` (the group labels). "auto" finds out.
    target : {"parameter", "predictive", "algorithm"}
        "parameter": the metric of the models fitted to these rows. "predictive": their metric on
        another test set of the same size. "algorithm": the mean metric of models fitted anew to
        (K−1)/K of as many rows: with the spread between training sets, from random halves whose
        models predict the other too (2·J·K fits; no correlation).
    prior, draws, reference, pos_label, label_values, groups
        As in `um_posterior`.
    n_jobs : int, optional
        Processes for the fits; the numbers do not depend on it.
    progress : bool, default True
        Whether a terminal shows a bar once it takes more than two seconds. How many fits there will
        be, and of what, goes to the logger "fairstats" before the first fit, with or without a bar:
        ``logging.basicConfig(level="INFO")`` shows it.
    rng : None, int or numpy.random.Generator
        Of folds, half splits and draws. An estimator's own randomness is its ``random_state``.

    Returns
    -------
    UmPosterior
        With ``.cross_validation``: counts per fold, ρ, factor and variance ratio per group with its
        jackknife interval.

    Raises
    ------
    InputError
        Estimator without predict, folds that hold rows out twice or never, a training part with one
        label, a prediction that is no label, and other input that cannot be used.

    Warns
    -----
    DataWarning
        More folds than rows of a label in a group; a relative correlation clipped to [0, 1).
    InsufficientEvidenceWarning
        A variance of 0 among the half splits: the reference's correlation is used.

    Notes
    -----
    r_s = Var[A1]/Var[A0], the algorithm over the reference: the paper prints it the other way round
    (equation 3), which would give an unstable algorithm a narrow posterior. With J = 5 a ratio of
    equals spans .14 to 7.1: read r beside its interval. r depends on its metric: on German credit
    accuracy hardly shows what post-processing makes unstable, and the true positive rate does.
    Hence the default, which takes the larger and averages: of an equal of the reference the
    effective share of the rows (J = 5, K = 10) has the standard deviation .24 between runs instead
    of .33. ``correlation_metric="accuracy"`` with five half splits is the paper's way, and
    unstable.

    "landmarks" is a little steadier than "svm", so that ρ is larger and intervals are wider: in 300
    samples of 800 rows (K = J = 5, a linear rule) ρ was .198 and .227 in the two groups instead of
    .184 and .195 (± .009 of a difference), intervals of demographic parity 2.5% wider, and held the
    algorithm's in 79.0% instead of 77.7% (± 1.1% of the difference).

    Say which target you mean: 95% intervals about the fitted models ("parameter") hold the
    algorithm's demographic parity in 78 to 86% of samples (logistic and linear rules, trees; 400
    and 1,000 rows), those of "algorithm" in 94 to 97% (accuracy up to 98%): multivariate t with J
    degrees of freedom, narrower with more half splits.

    References
    ----------
    .. [1] Barrainkua et al. (2024), sections 2.3, 9 and 10, equations 2, 3 and 20.
    .. [2] Nadeau, Bengio (2003). Inference for the generalization error. Machine Learning 52,
       239–281.

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
        correlation=correlation,
        n_half_splits=n_half_splits,
        correlation_metric=["accuracy"] if correlation_metric is None else correlation_metric,
        reference_estimator="auto" if reference_estimator is None else reference_estimator,
        sensitive_at=sensitive_at,
        cv=cv,
        prior=prior,
        n_jobs=n_jobs,
        progress=progress,
        variance_ratio=variance_ratio,
    )
    request = Request.checked(draws, target, reference, rng, TARGETS)
    columns = {
        "sensitive_features": sensitive_features,
        "pos_label": pos_label,
        "label_values": label_values,
        "groups": groups,
    }
    checked_rows = Checked(X, y, y_pred, fold, **columns)
    if correlation_metric is None:
        if checked_rows.classes:
            compared = ["accuracy"]
        else:
            compared = ["accuracy", "tpr"]
        options = replace(options, correlation_metric=compared)
    return cross_validated(
        {"": estimator}, checked_rows, replace(options, several=bool(checked_rows.classes)), request
    )[0]


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
        are_group_rates = self.metrics and not any(metric.between_groups for metric in self.metrics)
        allowed = "rates of one group, such as 'accuracy' or 'tpr'"
        suggestion = 'correlation_metric="accuracy"'
        check_that(
            are_group_rates, "correlation_metric", self.correlation_metric, allowed, suggestion
        )
        if isinstance(self.reference_estimator, str):
            check_choice("reference_estimator", self.reference_estimator, ("auto", *_REFERENCES))
        else:
            folds.check_estimator(self.reference_estimator, "reference_estimator")
        check_flag("progress", self.progress)
        suggestion = "n_jobs=2, or -1 for all processors"
        if self.n_jobs is not None and check_whole("n_jobs", self.n_jobs, cure=suggestion) == 0:
            raise InputError(
                "n_jobs",
                got="0",
                allowed="None, or a number of processes",
                cure="n_jobs=2",
            )

    def reference_name(self, n_rows: int) -> str:
        """Which reference of our own is meant, for so many rows."""
        if self.reference_estimator != "auto":
            return str(self.reference_estimator)
        return "svm" if n_rows <= MOST_ROWS_OF_SVM else "landmarks"

    @property
    def averaged(self) -> bool:
        """Whether the largest r of several metrics is asked for, averaged over its uncertainty."""
        return isinstance(self.correlation_metric, (list, tuple))

    @property
    def metrics(self) -> list[Metric]:
        """The metrics whose variances are compared."""
        if self.averaged:
            metric_names = self.correlation_metric
        else:
            metric_names = [self.correlation_metric]
        result: list[Metric] = []
        for name in metric_names:
            result.append(parse_metric(name, argument="correlation_metric", several=self.several))
        return result


class Checked:
    """Rows that fit together: X, y, coded outcomes, and predictions that are already there with
    their folds.
    """

    def __init__(
        self, X: Any, y: Any, y_pred: Any = None, fold: Any = None, **columns: Any
    ) -> None:
        self.outcomes, self.classes = coded_rows(y, y_pred, names=("y", "y_pred"), **columns)
        check_row_labels(X=X, y=y)
        self.label = check_given("y", self.outcomes.y_true, "one label per row")
        self.X = X
        self.y = np.asarray(y)
        self.fold = fold
        self.ready = y_pred is not None
        self.codes = self.outcomes.groups.codes
        self.names = self.outcomes.groups.labels
        self.strata = (len(self.classes) or 2) * self.codes.astype(np.intp) + self.label
        if hasattr(X, "__len__") and not hasattr(X, "shape"):
            n_rows = len(X)
        else:
            n_rows = (*np.shape(X), -1)[0]
        if not self.ready and n_rows != self.label.size:
            allowed = f"{self.label.size:,}, as many as y has"
            raise InputError("X", got=f"{n_rows:,} rows", allowed=allowed, cure="align them")

    def cells(self, rows: Any, predicted: Any) -> NDArray[np.int64]:
        """Counts (G, cells) of some of the rows."""
        return count_cells(
            self.label[rows], predicted, self.codes[rows], len(self.names), len(self.classes)
        )


class _CrossValidationFits:
    """Folds and half splits, shared by all estimators, with their predictions; `anew`: the
    algorithm is meant.
    """

    def __init__(
        self,
        estimators: Mapping[str, Any],
        rows: Checked,
        options: Options,
        entropy: int,
        anew: bool,
    ) -> None:
        self.rows = rows
        self.options = options
        self.anew = anew
        self.m = len(estimators)
        self.streams = np.random.SeedSequence(entropy).spawn(3 + options.n_half_splits)
        if rows.ready:
            self.folded, self.K = folds.given_folds(rows.fold, rows.label.size)
        else:
            fold_generator = np.random.default_rng(self.streams[0])
            self.folded, self.K = folds.fold_labels(
                options.cv, rows.X, rows.y, rows.strata, fold_generator
            )
        known_ratio = options.variance_ratio
        if known_ratio is None:
            self.given = None
        else:
            self.given = folds.variance_ratio_given(known_ratio, rows.names)
        self.relative = options.correlation.startswith("relative") and not anew
        self.estimated = self.relative and self.given is None
        self._check_possible()
        self.predicted: list[Any] = [rows.outcomes.y_pred]
        if not rows.ready:
            self._fit(list(estimators.values()))

    def _check_possible(self) -> None:
        """Raise for predictions already there where fits are needed, and for several classes
        anew.
        """
        if self.rows.ready and (self.estimated or self.anew):
            if self.anew:
                argument = "target"
                argument_value = "algorithm"
            else:
                argument = "correlation"
                argument_value = self.options.correlation
            received = f"{argument_value!r} with predictions"
            suggestion = "pass the estimator, or variance_ratio={group: r}"
            allowed = (
                "another target, with correlation '1/K' or 'uniform', or variance_ratio= as well"
            )
            raise InputError(
                argument,
                got=f"{received} that are already there",
                allowed=allowed,
                cure=suggestion,
            )
        if self.rows.classes and self.anew:
            received = f"'algorithm' with {len(self.rows.classes)} classes"
            suggestion = "pos_label= for one class against the rest"
            raise InputError(
                "target",
                got=received,
                allowed="'parameter' or 'predictive'",
                cure=suggestion,
            )

    def _fit(self, estimators: list[Any]) -> None:
        """Fit every estimator in every fold, and with the reference in half splits where these are
        needed.
        """
        checked_rows = self.rows
        options = self.options
        estimators_and_use = [(estimator, options.sensitive_at) for estimator in estimators]
        all_rows = np.arange(checked_rows.label.size)
        run_name = "the cross-validation"
        runs = []
        for estimator_and_use in estimators_and_use:
            runs.append(
                folds.Run(*estimator_and_use, all_rows, self.folded, self.streams[1], run_name)
            )
        if self.estimated:
            reference_estimator = options.reference_estimator
            if isinstance(reference_estimator, str):
                reference_estimator = _named_reference(
                    options.reference_name(all_rows.size), checked_rows.X
                )
            estimators_and_use.insert(0, (reference_estimator, "auto"))
        if self.estimated or self.anew:
            runs += _half_runs(
                estimators_and_use, checked_rows.strata, self.K, self.streams[3:], alone=self.anew
            )
        sensitive = np.asarray(checked_rows.names, dtype=object)[checked_rows.codes].astype(str)
        fit_data = folds.Data(checked_rows.X, checked_rows.y, checked_rows.label, sensitive)
        predictions = folds.cross_predict(runs, fit_data, options.n_jobs, options.progress)
        folds.warn_of_few(checked_rows.strata, self.K, checked_rows.names, checked_rows.classes)
        self.predicted = [predicted for predicted, _ in predictions[: self.m]]
        self.halves = list(zip(runs, predictions, strict=True))[self.m :]

    def ratios(self) -> Sequence[folds.VarianceRatio | None]:
        """The variance ratio of each estimator over the reference."""
        if not self.estimated:
            return [self.given] * self.m
        cell_counts = np.array(
            [self.rows.cells(half_run.rows, predicted) for half_run, (predicted, _) in self.halves]
        )
        # the runs go split by split, half by half, algorithm by algorithm
        array_shape = -1, 2, 1 + self.m, len(self.rows.names)
        values = []
        for metric in self.options.metrics:
            values.append(
                (
                    metric.name,
                    metric.by_group(cell_counts).reshape(array_shape).transpose(2, 0, 1, 3),
                )
            )
        reference_estimator = self.options.reference_estimator
        if isinstance(reference_estimator, str):
            reference_words = _REFERENCES[self.options.reference_name(self.rows.label.size)]
        else:
            reference_words = type(reference_estimator).__name__
        ratios_by_estimator = []
        for estimator_index in range(self.m):
            ratios_by_estimator.append(
                [
                    folds.variance_ratio_of(
                        metric_values[[0, 1 + estimator_index]], metric_name, reference_words
                    )
                    for metric_name, metric_values in values
                ]
            )
        result = []
        for own_ratios in ratios_by_estimator:
            result.append(
                folds.largest_ratio(own_ratios) if self.options.averaged else own_ratios[0]
            )
        return result

    def shifts(self, k: int) -> Floats | None:
        """How far models of either half differ on the same rows, (J, G, 2), in logits.

        None for fitted models.
        """
        if not self.anew:
            return None
        total_counts = self.rows.cells(..., self.predicted[k])
        n_cases = 2 * len(self.rows.names)
        # 2·group + 1 − label
        case_codes = self.rows.strata + 1 - 2 * self.rows.label.astype(np.intp)
        case_shares = []
        for half_run, (own_predicted, extra_predicted) in self.halves[k :: self.m]:
            case_sums = []
            for row_numbers, predicted in (
                (half_run.rows, own_predicted),
                (half_run.extra, extra_predicted),
            ):
                case_sums.append(np.bincount(case_codes[row_numbers], predicted, n_cases))
            case_sizes = []
            for row_numbers in (half_run.rows, half_run.extra):
                case_sizes.append(np.bincount(case_codes[row_numbers], minlength=n_cases))
            case_shares.append(
                np.divide(
                    case_sums,
                    case_sizes,
                    out=np.zeros((2, n_cases)),
                    where=np.array(case_sizes) > 0,
                )
            )
        first_halves = np.stack(case_shares[::2])
        second_halves = np.stack(case_shares[1::2])
        # of the first half's models minus the second's, on the rows of the second half and of the
        # first
        share_gaps = (
            first_halves[:, 1] - second_halves[:, 0] + first_halves[:, 0] - second_halves[:, 1]
        ) / 2
        selection_shares = (total_counts[:, :2] + 0.5) / (
            total_counts[:, :2] + total_counts[:, [2, 3]] + 1.0
        )
        return np.asarray(
            share_gaps.reshape(len(share_gaps), -1, 2)
            / (selection_shares * (1.0 - selection_shares))
        )

    def counted(
        self,
        k: int,
        name: str,
        kind: str,
        variance_ratio: folds.VarianceRatio | None,
    ) -> tuple[ConfusionCounts | ClassCounts, Rows, folds.CrossValidation]:
        """Effective counts of estimator `k`, the rows behind them, and its folds with their
        correlation.
        """
        checked_rows = self.rows
        n_groups = len(self.rows.names)
        n_folds = self.K
        strategy = self.options.correlation
        counted = Rows(
            checked_rows.label, np.asarray(self.predicted[k]), checked_rows.codes, self.folded
        )
        in_fold = replace(counted, group=n_groups * self.folded + checked_rows.codes)
        fold_cells = in_fold.count(n_folds * n_groups, len(checked_rows.classes)).reshape(
            n_folds, n_groups, -1
        )
        summed_cells = fold_cells.sum(axis=0)
        factors = np.ones(n_groups)
        clipped = np.zeros(n_groups)
        if not self.anew:
            labels = tuple(f"{name}, {group}" if name else group for group in checked_rows.names)
            if variance_ratio is not None and variance_ratio.averaged:
                splits = self.options.n_half_splits
            else:
                splits = 0
            if variance_ratio is None:
                ratios = np.ones(n_groups)
            else:
                ratios = variance_ratio.ratio
            factors, clipped = folds.checked_factors(strategy, n_folds, ratios, labels, splits)
        count_fields: dict[str, Any] = {
            "missing": checked_rows.outcomes.missing,
            "attributes": checked_rows.outcomes.groups.attributes,
        }
        count_fields |= {
            "totals": summed_cells * factors[:, None],
            "rows": summed_cells,
            "n_units": checked_rows.label.size,
        }
        kind_of: Any = (
            partial(ClassCounts, classes=checked_rows.classes)
            if checked_rows.classes
            else ConfusionCounts
        )
        counts = kind_of(checked_rows.names, **count_fields)
        correlations = np.minimum((1.0 / factors - 1.0) / (n_folds - 1), np.nextafter(1.0, 0.0))
        strategy_told = "" if self.anew else strategy
        of_ratio = variance_ratio if self.relative else None
        return (
            counts,
            counted,
            folds.CrossValidation(
                n_folds, fold_cells, strategy_told, correlations, factors, clipped, of_ratio, kind
            ),
        )


def cross_validated(
    estimators: Mapping[str, Any],
    rows: Checked,
    options: Options,
    request: Request,
) -> list[UmPosterior]:
    """One posterior per estimator, by name."""
    fits = _CrossValidationFits(
        estimators, rows, options, request.entropy, request.target == "algorithm"
    )
    seeded = replace(request, entropy=int(fits.streams[2].generate_state(1, np.uint64)[0]) >> 2)
    answers = []
    for estimator_index, ((estimator_name, estimator), known_ratio) in enumerate(
        zip(estimators.items(), fits.ratios(), strict=True)
    ):
        counts, counted_rows, fold_results = fits.counted(
            estimator_index,
            estimator_name,
            "" if rows.ready else type(estimator).__name__,
            known_ratio,
        )
        prior_parameters = as_prior(options.prior, counts)
        warn_of_empty(counts, estimator_name, labels_too=estimator_index == 0)
        answers.append(
            posterior_of(
                counts,
                prior_parameters,
                seeded,
                rows=counted_rows,
                shifts=fits.shifts(estimator_index),
                cross_validation=fold_results,
            )
        )
    return answers


def _named_reference(name: str, X: Any) -> Any:
    """A reference of our own on standardised columns, text one-hot."""
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    from fairstats.methods.um.landmarks import LandmarkRBF

    if name == "svm":
        return folds.readable(SVC(kernel="rbf"), X, StandardScaler())
    alone = LandmarkRBF()
    # a pipeline only where there is text: it takes as long as the fit itself
    if folds.readable(alone, X) is alone:
        return alone
    return folds.readable(LandmarkRBF(standardise=False), X, StandardScaler())


def _half_runs(
    estimators: Sequence[tuple[Any, str]],
    strata: NDArray[np.intp],
    n_folds: int,
    streams: Sequence[Any],
    alone: bool,
) -> list[folds.Run]:
    """The cross-validations in both halves of every split: split, half, algorithm.

    Of an algorithm `alone` the halves are random, as training sets come, and its models predict the
    other half too; a ratio of two is steadier over stratified ones. Every algorithm but the
    reference, then the first, has one seed.
    """
    half_runs = []
    for split_number, stream in enumerate(streams):
        generator = np.random.default_rng(stream)
        half_codes = folds.stratified_folds(
            np.zeros_like(strata) if alone else strata, 2, generator
        )
        for half_number in (0, 1):
            row_numbers = np.flatnonzero(half_codes == half_number)
            other_rows = np.flatnonzero(half_codes != half_number)
            fold_codes = folds.stratified_folds(strata[row_numbers], n_folds, generator)
            half_streams = stream.spawn(1 if alone else 2)
            for estimator_index, (estimator, sensitive_use) in enumerate(estimators):
                half_run = folds.Run(
                    estimator,
                    sensitive_use,
                    row_numbers,
                    fold_codes,
                    half_streams[-1 if estimator_index else 0],
                    f"half {half_number} of split {split_number}",
                )
                half_runs.append(replace(half_run, extra=other_rows) if alone else half_run)
    return half_runs
