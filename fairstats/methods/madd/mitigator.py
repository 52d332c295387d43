"""Post-processing that brings the score distributions of groups together, as a scikit-learn
estimator.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from inspect import signature
from itertools import combinations
from typing import Any, Literal, ParamSpec, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from fairstats.ground import checks
from fairstats.ground.checks import Floats
from fairstats.ground.encoding import (
    ABSENT,
    binary_codes,
    favourable_class,
    labels_of_one,
    one_label,
)
from fairstats.ground.errors import DataWarning, InputError, caution
from fairstats.ground.lazy import Axes, pd
from fairstats.ground.outcomes import Outcomes
from fairstats.ground.predictions import keep_features
from fairstats.ground.values import find_labels
from fairstats.methods.madd import mitigation
from fairstats.methods.madd.curve import curves_of, stable_bandwidth
from fairstats.methods.madd.metric import madd_of_scores, warn_of
from fairstats.methods.madd.result import make_settings
from fairstats.methods.madd.scores import GroupScores, Sample
from fairstats.plots.madd import plot_losses, plot_trade_off

Loss = Literal["error", "log_loss"] | Callable[[Any, Any], float]


_Arguments = ParamSpec("_Arguments")
_Returned = TypeVar("_Returned")


def _takes_scores_as_x(method: Callable[_Arguments, _Returned]) -> Callable[_Arguments, _Returned]:
    """The method, which names its first argument X, as scikit-learn's do.

    Until version 0.4 it may still be called `score`, the name of version 0.1.
    """

    @wraps(method)
    def renamed(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Returned:
        if "score" in kwargs and "X" not in kwargs:
            words = f"MaddMitigator.{method.__name__}: `score` is called `X` now"
            warnings.warn(f"{words}; the old name goes in 0.4.", DeprecationWarning, stacklevel=2)
            kwargs["X"] = kwargs.pop("score")
        try:
            return method(*args, **kwargs)
        except InputError as error:
            if error.argument != "score":
                raise
            raise InputError("X", got=error.got, allowed=error.allowed, cure=error.cure) from error

    return renamed


class MaddMitigator(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Move the scores of every group towards the distribution of all (section 6 of Verger et al.).

    A score p of group s becomes (F_s^λ)⁻¹(F_s(p)) with F_s^λ = (1 − λ)F_s + λF. `fit` finds the λ
    with the least (1 − θ)·loss + θ·MADD/2 on validation data, each row mapped by distributions that
    were fitted without it; `transform` maps any further scores with the distributions of all rows
    of the fit.

    Parameters
    ----------
    theta : float, default 0.5
        θ in [0, 1]: weight of fairness against accuracy.
    loss : {"error", "log_loss"} or callable, default "error"
        Accuracy loss: share of wrong predictions, cross-entropy, or a function of (labels 0/1,
        mapped scores).
    threshold : float, default 0.5
        t in (0, 1]: scores from it on predict the favourable label.
    n_lambdas : int, default 1000
        Values of λ tried, evenly from 0 to 1.
    bandwidth : "auto" or float, default "auto"
        Bins in which MADD is computed, the same for every λ: "auto" takes the coarsest bandwidth of
        the stable stretch of the scores before mitigation; a number h makes ⌊1/h⌋ bins.
    pos_label : scalar, optional
        The favourable label; not needed for 0/1, False/True, −1/1.
    label_values : sequence, optional
        The labels that may occur: more is an error, and a favourable one that no row has is
        allowed, with a warning.
    splits : int or None, default 5
        Random halvings of every group for the search: either half is judged by the maps of the
        other. None: the paper's losses of the rows that fitted the distributions, where MADD falls
        to 0 by construction.
    estimator : fitted classifier, optional
        With it every method takes features in place of scores, which are its `predict_proba` of the
        favourable label.
    random_state : None, int or numpy.random.Generator
        Of the halves (None: always the same), and of the permutations and resamples of `evaluate`.

    Attributes
    ----------
    lambda_ : float
        The λ of the least loss, the smallest of equals. The optimum is flat: other data give
        another.
    loss_curve_ : DataFrame
        lambda_, loss, accuracy_loss, fairness_loss, of rows left out of the maps (which half the
        rows made: those of the fit are better), with 95% limits at every λ by itself, given the
        maps: accuracy_low, accuracy_high (Wilson; NaN but for "error"), fairness_low, fairness_high
        (NaN without `splits`).
    n_bins_ : int
        Bins of the fairness loss.
    groups_ : tuple of str
    cdfs_ : dict of str to (values, heights)
        Corners of the fitted F_s.
    maps_ : MixtureCdfs
    n_features_in_ : int
        1 for scores; with `estimator` the columns of its features.
    feature_names_in_ : ndarray of str
        Their names, where all are texts.
    classes_ : ndarray
        The unfavourable and the favourable label.

    Raises
    ------
    InputError
        For parameters out of range, scores outside [0, 1], a group without rows, or a new group in
        `transform`.

    Notes
    -----
    Order within a group is kept. On the data of the fit MADD(λ) is close to (1 − λ)·MADD(0) by
    construction; rows left out show what is left, so λ is cross-fitted: on average it lies where
    new rows have their optimum (.85 to .95 at 700 to 2,000 simulated rows, where the rows of the
    fit say .99 to 1; either costs new rows less than .012 of loss). Judge the effect by `evaluate`
    on rows that the search has not seen. A monotone map cannot split an atom: scores with few
    distinct values may stay apart. F_s is the mid-distribution function, linear between fitted
    scores.

    References
    ----------
    .. [1] Verger et al. (2024). JEDM 16(1), 365–409: section 6.

    Examples
    --------
    >>> import numpy as np, fairstats as fs
    >>> rng = np.random.default_rng(1)
    >>> group = np.repeat(["a", "b"], 2000)
    >>> score = np.concatenate([rng.beta(2, 4, 2000), rng.beta(4, 2, 2000)])
    >>> y = rng.random(4000) < score
    >>> half = np.arange(4000) % 2 == 0
    >>> mitigator = fs.MaddMitigator(theta=0.5, random_state=1)
    >>> mitigator = mitigator.fit(score[half], y[half], sensitive_features=group[half])
    >>> effect = mitigator.evaluate(score[~half], y[~half], sensitive_features=group[~half])
    >>> c = effect.change("madd", "b")
    >>> low, high = c.confidence_interval
    >>> print(f"{c.before:.2f} → {c.after:.2f}, change {c.estimate:.2f} [{low:.2f}, {high:.2f}]: {c.verdict}")
    1.23 → 0.18, change -1.05 [-1.22, -0.98]: closer to parity
    """

    def __init__(
        self,
        theta: float = 0.5,
        loss: Loss = "error",
        threshold: float = 0.5,
        n_lambdas: int = 1000,
        bandwidth: float | Literal["auto"] = "auto",
        pos_label: Any = None,
        splits: int | None = 5,
        estimator: Any = None,
        random_state: Any = None,
        label_values: Any = None,
    ) -> None:
        self.theta = theta
        self.loss = loss
        self.threshold = threshold
        self.n_lambdas = n_lambdas
        self.bandwidth = bandwidth
        self.pos_label = pos_label
        self.splits = splits
        self.estimator = estimator
        self.random_state = random_state
        self.label_values = label_values

    @_takes_scores_as_x
    def fit(self, X: Any, y: Any, *, sensitive_features: Any, sample_weight: Any = None) -> Self:
        """Fit the distributions and find λ.

        Parameters
        ----------
        X : array-like of float, shape (n,)
            Scores in [0, 1] of validation data; with `estimator`, its features.
        y : array-like, shape (n,)
            Labels with two values.
        sensitive_features : array-like (n,) or (n, k), data frame or mapping
        sample_weight : array-like, shape (n,), optional
            Weights; a loss of your own then gets them as `sample_weight`.

        Returns
        -------
        MaddMitigator
            Itself.

        Warns
        -----
        DataWarning
            Where a group has fewer distinct scores than bins, and than half its rows; where one has
            a single row.
        """
        self._check_parameters()
        outcomes = self._read_outcomes(X, y, sensitive_features, sample_weight)
        samples = _labelled_samples(outcomes)
        self._keep_features(X)
        self.groups_ = outcomes.groups.labels
        self.classes_ = _label_pair(y, self.pos_label, self.label_values)
        self.maps_ = mitigation.MixtureCdfs.fit(
            [sample.scores for sample in samples], [sample.weights for sample in samples]
        )
        self.cdfs_ = {
            group_name: (group_cdf.values, group_cdf.heights)
            for group_name, group_cdf in zip(self.groups_, self.maps_.cdfs, strict=True)
        }
        self.n_bins_ = self._bins_of_fairness(samples)
        self._warn_of_ties(samples)
        self.loss_curve_ = self._compute_loss_curve(samples)
        self.lambda_ = float(
            self.loss_curve_["lambda_"].iloc[int(self.loss_curve_["loss"].argmin())]
        )
        return self

    @_takes_scores_as_x
    def fit_transform(
        self,
        X: Any,
        y: Any,
        *,
        sensitive_features: Any,
        sample_weight: Any = None,
    ) -> Any:
        """Fit, then map the same rows: they are part of their own map."""
        fitted = self.fit(X, y, sensitive_features=sensitive_features, sample_weight=sample_weight)
        return fitted.transform(X, sensitive_features=sensitive_features)

    @_takes_scores_as_x
    def transform(self, X: Any, *, sensitive_features: Any, lambda_: float | None = None) -> Any:
        """Map scores, of the fit or new.

        Parameters
        ----------
        X : array-like of float, shape (n,)
            Scores in [0, 1]; values never seen, ties and values beyond those of the fit are mapped,
            too.
        sensitive_features : array-like (n,) or (n, k), data frame or mapping
            Groups of the fit.
        lambda_ : float, optional
            Another λ in [0, 1] than that of the fit; 0 changes nothing.

        Returns
        -------
        ndarray, shape (n,)
            In [0, 1], in the order of the rows; within a group in the order of `X`. A frame
            with the column "score" after ``set_output(transform="pandas")`` (or "polars").
        """
        check_is_fitted(self, "lambda_")
        if lambda_ is None:
            lambda_used = self.lambda_
        else:
            lambda_used = checks.check_share("lambda_", lambda_, closed=True)
        outcomes = Outcomes.from_arrays(
            score=self._scores_or_predictions(X), sensitive_features=sensitive_features
        )
        return self._map_outcomes(outcomes, lambda_used)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Name of the one column of `transform`."""
        return np.array(["score"], dtype=object)

    def _map_outcomes(self, outcomes: Outcomes, lambda_: float) -> Floats:
        group_labels = outcomes.groups.labels
        group_codes = outcomes.groups.codes
        scores = np.asarray(outcomes.score)
        unknown = []
        for group_index in np.unique(group_codes):
            if group_labels[group_index] not in self.groups_:
                unknown.append(group_labels[group_index])
        if unknown:
            received, allowed = (
                ", ".join(map(repr, group_names)) for group_names in (unknown, self.groups_)
            )
            allowed = f"the groups of the fit: {allowed}"
            suggestion = "fit with rows of every group"
            raise InputError("sensitive_features", got=received, allowed=allowed, cure=suggestion)
        mapped = np.empty_like(scores)
        for group_index in np.unique(group_codes):
            in_group = group_codes == group_index
            mapped[in_group] = self.maps_.map(
                scores[in_group], self.groups_.index(group_labels[group_index]), lambda_
            )
        return mapped

    @_takes_scores_as_x
    def predict(
        self,
        X: Any,
        *,
        sensitive_features: Any,
        lambda_: float | None = None,
    ) -> NDArray[Any]:
        """Labels predicted by the mapped scores, shape (n,); arguments as in `transform`."""
        favourable = self.predict_proba(X, sensitive_features=sensitive_features, lambda_=lambda_)[
            :, 1
        ]
        return np.asarray(self.classes_[(favourable >= self.threshold).astype(np.intp)])

    @_takes_scores_as_x
    def predict_proba(
        self,
        X: Any,
        *,
        sensitive_features: Any,
        lambda_: float | None = None,
    ) -> Floats:
        """1 − mapped score and mapped score, shape (n, 2), in the order of `classes_`."""
        mapped = np.ravel(self.transform(X, sensitive_features=sensitive_features, lambda_=lambda_))
        return np.column_stack([1 - mapped, mapped])

    def score(self, X: Any, y: Any, *, sensitive_features: Any, sample_weight: Any = None) -> float:
        """Share of right predictions by the mapped scores: what `GridSearchCV` takes by default.

        Parameters
        ----------
        X, y, sensitive_features, sample_weight
            As in `fit`, of other rows.

        Returns
        -------
        float
        """
        check_is_fitted(self, "lambda_")
        outcomes = self._read_outcomes(X, y, sensitive_features, sample_weight)
        favourable = self._map_outcomes(outcomes, self.lambda_) >= self.threshold
        right = favourable == (np.asarray(outcomes.y_true) == 1)
        return float(np.average(right, weights=outcomes.weight))

    @_takes_scores_as_x
    def evaluate(
        self, X: Any, y: Any, *, sensitive_features: Any, sample_weight: Any = None, **options: Any
    ) -> mitigation.MitigationResult:
        """What the map changes on rows that the search has not seen.

        Parameters
        ----------
        X, y, sensitive_features, sample_weight
            As in `fit`, of other rows.
        **options
            Of `madd`, for both the scores as they are and the mapped ones; `reference`: by default
            the largest group.

        Returns
        -------
        MitigationResult
            Changes of MADD, disparate impact and accuracy (1 − error), by group, with paired
            intervals that take the map as given (those of MADD are conservative, as are limits of
            `loss_curve_`); MADD before and after.

        Warns
        -----
        DataWarning
            If these are the rows of the fit.
        InsufficientEvidenceWarning
            Where a change cannot be computed.
        """
        check_is_fitted(self, "lambda_")
        outcomes = self._read_outcomes(X, y, sensitive_features, sample_weight)
        if self._are_rows_of_fit(outcomes):
            warning_text = (
                "the rows are those that λ was searched on, where the effect is at its largest"
            )
            caution(f"MaddMitigator.evaluate: {warning_text}; pass other rows.", DataWarning)
        reference = options.pop("reference", None)
        settings = make_settings(**options)
        generator, seed = checks.as_generator(self.random_state)
        stages = (np.asarray(outcomes.score), self._map_outcomes(outcomes, self.lambda_))
        results = []
        for values in stages:
            scores = GroupScores.from_outcomes(replace(outcomes, score=values))
            if settings.comparisons == "reference":
                named_reference = reference
            else:
                named_reference = None
            result = madd_of_scores(scores, named_reference, settings, generator)
            results.append(replace(result, settings=replace(result.settings, seed=seed)))
            warn_of(results[-1])
        result_options = {
            "reference": reference,
            "lambda_": self.lambda_,
            "threshold": float(self.threshold),
        }
        return mitigation.mitigation_result(
            outcomes, stages, (results[0], results[1]), generator, **result_options
        )

    def plot(
        self, ax: Axes | None = None, *, kind: Literal["losses", "trade-off"] = "losses"
    ) -> Axes:
        """Draw the losses against λ, or fairness loss against accuracy loss, with limits, on `ax`
        or a new figure.
        """
        check_is_fitted(self, "lambda_")
        checks.check_choice("kind", kind, ("losses", "trade-off"))
        return (plot_losses if kind == "losses" else plot_trade_off)(self, ax=ax)

    def _keep_features(self, X: Any) -> None:
        """Number and names of the features; a score is one."""
        if self.estimator is None:
            self.n_features_in_ = 1
        else:
            keep_features(self, X)

    def _read_outcomes(self, X: Any, y: Any, groups: Any, weight: Any) -> Outcomes:
        checks.check_given("y", y, "one label per row")
        columns = {
            "score": self._scores_or_predictions(X),
            "sensitive_features": groups,
            "sample_weight": weight,
        }
        favourable = one_label(self.pos_label, "y_true", "y_pred")
        possible = labels_of_one(self.label_values, "y_true", "y_pred")
        return Outcomes.from_arrays(y, pos_label=favourable, label_values=possible, **columns)

    def _scores_or_predictions(self, given: Any) -> Any:
        """The scores, or those that the classifier gives to features."""
        if self.estimator is None:
            return checks.check_given("score", given, "one score per row")
        can_predict = (
            hasattr(self.estimator, "predict_proba")
            and len(getattr(self.estimator, "classes_", ())) == 2
        )
        allowed_words = "a fitted classifier of two labels with predict_proba"
        checks.check_that(
            can_predict,
            "estimator",
            self.estimator,
            allowed_words,
            "fit it first, or pass its scores",
        )
        classes = list(self.estimator.classes_)
        argument_name = "estimator.classes_"
        position = favourable_class(classes, argument_name, self.pos_label, self.label_values)
        if position is None:
            position = int(np.argmax(binary_codes(classes, argument_name).codes))
        probabilities = np.asarray(self.estimator.predict_proba(given))
        if position == ABSENT:
            return np.zeros(len(probabilities))
        return probabilities[:, position]

    def _check_parameters(self) -> None:
        checks.check_share(
            "theta", self.theta, closed=True, cure="0.5: fairness weighs as much as accuracy"
        )
        checks.check_number(
            "threshold",
            self.threshold,
            low=0,
            high=1,
            open_low=True,
            cure="a score in (0, 1]: 0.5",
        )
        checks.check_whole("n_lambdas", self.n_lambdas, low=2, cure="1000")
        if self.splits is not None:
            checks.check_whole(
                "splits", self.splits, low=1, cure="splits=5; None takes the rows of the fit"
            )
        is_named = isinstance(self.loss, str) and self.loss in ("error", "log_loss")
        allowed_words = "'error', 'log_loss' or a function of (labels, scores)"
        suggestion = "the paper's is 'error'"
        checks.check_that(
            is_named or _takes_two(self.loss), "loss", self.loss, allowed_words, suggestion
        )
        make_settings(bandwidth=self.bandwidth)

    def _warn_of_ties(self, samples: list[mitigation.LabelledSample]) -> None:
        sizes_by_group = []
        for group_name, sample in zip(self.groups_, samples, strict=True):
            sizes_by_group.append((group_name, np.unique(sample.scores).size, sample.scores.size))
        tied_groups = []
        for group_name, n_values, n_rows in sizes_by_group:
            if n_values < min(self.n_bins_, n_rows / 2):
                tied_groups.append(f"{group_name!r} ({n_values} values)")
        if tied_groups:
            warning_text = f"the scores of {', '.join(tied_groups)} are tied: a monotone map cannot split a value"
            suggestion = "and narrow bins see the mapped values apart; use scores with more values"
            caution(f"MaddMitigator: {warning_text}, {suggestion}.", DataWarning)

    def _bins_of_fairness(self, samples: list[mitigation.LabelledSample]) -> int:
        bins_asked_for = make_settings(bandwidth=self.bandwidth).n_bins
        if bins_asked_for is not None:
            return bins_asked_for
        sample_pairs = list(
            combinations([Sample(sample.scores, sample.weights) for sample in samples], 2)
        )
        curves = curves_of(sample_pairs, 1000, [("", "")] * len(sample_pairs))
        return max(stable_bandwidth(curve).n_bins[0] for curve in curves)

    def _compute_loss_curve(self, samples: list[mitigation.LabelledSample]) -> pd.DataFrame:
        from statsmodels.stats.proportion import proportion_confint

        lambdas = np.linspace(0, 1, self.n_lambdas)
        fitted: Any = [(self.maps_, samples)]
        splits = self.splits or 0
        held_out = splits > 0 and min(sample.scores.size for sample in samples) > 1
        if held_out:
            generator = checks.as_generator(0 if self.random_state is None else self.random_state)[
                0
            ]
            fitted = mitigation.left_out(samples, splits, generator)
        elif splits:
            warning_text = (
                "a group of one row has no halves: λ is searched on the rows that fitted the maps"
            )
            caution(f"MaddMitigator: {warning_text}.", DataWarning)
        accuracy_limits: Any = (np.nan, np.nan)
        if self.loss == "error":
            accuracy = mitigation.error_losses(fitted, lambdas, float(self.threshold))
            n_effective = sum(sample.n_effective for sample in samples)
            accuracy_limits = proportion_confint(
                accuracy * n_effective, n_effective, method="wilson"
            )
        else:
            if callable(self.loss):
                loss_function = self.loss
            else:
                loss_function = mitigation.log_loss
            accuracy = mitigation.mapped_losses(fitted, lambdas, loss_function)
        fairness, fairness_low, fairness_high = mitigation.fairness_limits(
            fitted, lambdas, self.n_bins_
        )
        fairness_low, fairness_high = (
            (fairness_low, fairness_high) if held_out else (np.nan, np.nan)
        )
        columns = {
            "lambda_": lambdas,
            "loss": (1 - self.theta) * accuracy + self.theta * fairness,
            "accuracy_loss": accuracy,
            "fairness_loss": fairness,
            "accuracy_low": accuracy_limits[0],
            "accuracy_high": accuracy_limits[1],
            "fairness_low": fairness_low,
            "fairness_high": fairness_high,
        }
        return pd.DataFrame(columns)

    def _are_rows_of_fit(self, outcomes: Outcomes) -> bool:
        """Whether every group has just the scores of the fit."""
        if outcomes.groups.labels != self.groups_:
            return False
        scores = np.asarray(outcomes.score)
        group_codes = outcomes.groups.codes
        for group_index, group_cdf in enumerate(self.maps_.cdfs):
            in_group = group_codes == group_index
            fitted_again = mitigation.GroupCdf.fit(
                scores[in_group], None if outcomes.weight is None else outcomes.weight[in_group]
            )
            if fitted_again.n != group_cdf.n or not np.array_equal(
                fitted_again.values, group_cdf.values
            ):
                return False
        return True


def _takes_two(function: Any) -> bool:
    """Whether something can be called with two arguments, as far as it tells."""
    if not callable(function) or isinstance(function, type):
        return False
    try:
        signature(function).bind(0, 0)
    except TypeError:
        return False
    except ValueError:  # written in C, without a signature
        return True
    return True


def _labelled_samples(outcomes: Outcomes) -> list[mitigation.LabelledSample]:
    """Sorted scores of every group with labels and weights.

    One group, or one without rows, is an error.
    """
    labels = outcomes.groups.labels
    group_codes = outcomes.groups.codes
    weights = outcomes.weight
    scores = np.asarray(outcomes.score)
    label_codes = np.asarray(outcomes.y_true)
    if weights is None:
        counted = np.ones(group_codes.size, dtype=bool)
    else:
        counted = weights > 0
    rows_of_groups = []
    for group_index in range(len(labels)):
        rows_of_groups.append(np.flatnonzero((group_codes == group_index) & counted))
    empty_groups = []
    for group_name, row_numbers in zip(labels, rows_of_groups, strict=True):
        if not row_numbers.size:
            empty_groups.append(group_name)
    if empty_groups or len(rows_of_groups) < 2:
        received = "one group"
        suggestion = "add rows of another group"
        received, suggestion = (
            (f"no rows in group {empty_groups[0]!r}", "leave the empty group out")
            if empty_groups
            else (received, suggestion)
        )
        raise InputError(
            "sensitive_features",
            got=received,
            allowed="two groups or more, with rows",
            cure=suggestion,
        )
    ordered = []
    for row_numbers in rows_of_groups:
        ordered.append(row_numbers[np.argsort(scores[row_numbers], kind="stable")])
    labelled_samples: list[mitigation.LabelledSample] = []
    for row_numbers in ordered:
        labelled_samples.append(
            mitigation.LabelledSample(
                scores[row_numbers],
                label_codes[row_numbers],
                None if weights is None else weights[row_numbers],
            )
        )
    return labelled_samples


def _label_pair(y: Any, pos_label: Any, label_values: Any = None) -> NDArray[Any]:
    """The unfavourable and the favourable label as they came, or were declared.

    0 and 1 where they are not two.
    """
    pos_label = one_label(pos_label, "y_true", "y_pred")
    possible = labels_of_one(label_values, "y_true", "y_pred")
    levels = binary_codes(y, "y", pos_label, possible).levels
    if len(levels) < 2 and possible is not None:
        levels = possible
    favourable_positions = find_labels(levels, 1 if pos_label is None else pos_label)
    favourable = [levels[position] for position in favourable_positions]
    others = []
    for position, level in enumerate(levels):
        if position not in favourable_positions:
            others.append(level)
    if len(favourable) != 1 or len(others) != 1:
        return np.array([0, 1])
    return np.array([others[0], favourable[0]])
