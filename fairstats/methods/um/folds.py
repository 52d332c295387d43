"""K-fold cross-validation: folds, fits, out-of-fold predictions, and the effective counts of
correlated folds.

C^e = ΣC^(k) / (1 + (K−1)ρ). With u = 1 + (K−1)ρ⁰ of the reference and r = Var[A1]/Var[A0], the
method under test over the reference, the relative correlation fulfils 1 + (K−1)ρ¹ = r·u. The
paper's equation 3 prints r the other way round; an unstable method must get a larger ρ and fewer
effective rows.
"""

from __future__ import annotations

import inspect
import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import fdtri, stdtrit

from fairstats.ground.checks import Floats, check_number, check_whole
from fairstats.ground.encoding import factorize
from fairstats.ground.errors import DataWarning, InputError, InsufficientEvidenceWarning, caution
from fairstats.ground.groups import group_index
from fairstats.ground.progress import each_of
from fairstats.ground.serialise import serialisable

_LOGGER = logging.getLogger("fairstats")
_SENSITIVE_KEYWORD = "sensitive_features"
#: How the types of columns that are no numbers begin.
_TEXT_TYPES = ("object", "categor", "str", "utf8", "enum")
PASSING = ("auto", "none", "fit", "predict", "both")
STRATEGIES = ("1/K", "uniform", "relative", "relative-uniform")
#: Quantiles of F(J, J) over which a factor is averaged.
_QUANTILES_OF_F = 1_000
#: The coded out-of-fold predictions of a run, and the share of favourable ones of the extra rows.
Predicted: TypeAlias = tuple[NDArray[np.uint8], Floats]


def stratified_folds(
    strata: NDArray[Any], folds: int, rng: np.random.Generator
) -> NDArray[np.intp]:
    """Fold of each row, dealt in turn, stratum after stratum, in random order.

    Fold sizes differ by at most one.
    """
    suggestion = f"cv={min(10, strata.size)}; a half split has half of the rows"
    check_whole("cv", folds, low=2, high=strata.size, cure=suggestion)
    shuffled = rng.permutation(strata.size)
    row_order = shuffled[np.argsort(strata[shuffled], kind="stable")]
    fold_of_row = np.empty(strata.size, dtype=np.intp)
    fold_of_row[row_order] = rng.permutation(folds)[np.arange(strata.size) % folds]
    return fold_of_row


def fold_labels(
    cv: Any,
    X: Any,
    y: NDArray[Any],
    strata: NDArray[Any],
    rng: np.random.Generator,
) -> tuple[NDArray[np.intp], int]:
    """Fold of each row, and K, by a number of folds (stratified by `strata`), a splitter, or pairs
    (train, test).
    """
    n_rows = strata.size
    if isinstance(cv, (int, np.integer)):
        return stratified_folds(strata, int(cv), rng), int(cv)
    try:
        if hasattr(cv, "split"):
            split_pairs = cv.split(X, y)
        else:
            split_pairs = cv
        splits = []
        for train_rows, test_rows in split_pairs:
            splits.append((_row_positions(train_rows, n_rows), _row_positions(test_rows, n_rows)))
    except (TypeError, ValueError, IndexError) as problem:
        allowed = "a number of folds, a splitter with split(X, y), or a list of (train, test)"
        raise InputError("cv", got=type(cv).__name__, allowed=allowed, cure="cv=10") from problem
    held_out = np.zeros(n_rows, dtype=np.intp)
    fold_of_row = np.full(n_rows, -1, dtype=np.intp)
    n_partial = 0
    for fold_number, (other_rows, held_rows) in enumerate(splits):
        held_out[held_rows] += 1
        fold_of_row[held_rows] = fold_number
        n_partial += int(not np.array_equal(np.union1d(held_rows, other_rows), np.arange(n_rows)))
    if len(splits) < 2 or (held_out != 1).any() or n_partial:
        received = (
            f"{len(splits)} splits; {int((held_out > 1).sum())} rows held out more than once, "
        )
        received += (
            f"{int((held_out == 0).sum())} never; {n_partial} splits train on some of the other rows"
            " only"
        )
        allowed = "K ≥ 2 folds that hold out every row once and train on all others: K-fold CV"
        suggestion = "use StratifiedKFold or KFold; repeat with another rng for more partitions"
        raise InputError("cv", got=received, allowed=allowed, cure=suggestion)
    return fold_of_row, len(splits)


def _row_positions(rows: Any, n: int) -> NDArray[np.intp]:
    """Positions of rows, given as such or as a mask."""
    row_array = np.asarray(rows)
    return (
        np.arange(n)[row_array]
        if row_array.dtype == bool
        else np.arange(n)[row_array.astype(np.intp, casting="safe")]
    )


def given_folds(fold: Any, n: int) -> tuple[NDArray[np.intp], int]:
    """Folds of predictions that are already there."""
    if fold is None:
        factor = None
    else:
        factor = factorize(fold, "fold")
    if factor is None or factor.codes.size != n or factor.has_missing or len(factor.levels) < 2:
        received = "None beside y_pred"
        if factor is not None:
            lacking = ", some missing" if factor.has_missing else ""
            received = f"{factor.codes.size:,} values with {len(factor.levels)} folds{lacking}"
        allowed = f"the fold in which each of the {n:,} rows was held out, two folds or more"
        suggestion = "for k, (_, test) in enumerate(splits): fold[test] = k"
        raise InputError("fold", got=received, allowed=allowed, cure=suggestion)
    return factor.codes.astype(np.intp), len(factor.levels)


def warn_of_few(
    strata: NDArray[Any],
    folds: int,
    groups: tuple[str, ...],
    classes: tuple[str, ...],
) -> None:
    """Warn where K exceeds the smallest class of a group; `strata` is J·group + label."""
    label_words = classes or ("unfavourable", "favourable")
    label_sizes = np.bincount(strata, minlength=len(label_words) * len(groups)).reshape(
        -1, len(label_words)
    )
    small_classes = []
    for (group_number, label_code), n_rows in np.ndenumerate(label_sizes):
        if n_rows < folds:
            small_classes.append(
                f"{groups[group_number]!r} with {int(n_rows)} {label_words[label_code]}"
            )
    if small_classes:
        warning_text = (
            f"{folds} folds, but fewer rows of a label in a group: {', '.join(small_classes)}. Some folds"
            " hold out none of"
        )
        caution(
            f"{warning_text} them; the counts are summed over folds, so that the posterior stands.",
            DataWarning,
        )


def check_estimator(estimator: Any, argument: str) -> None:
    """Raise unless there are fit and predict."""
    for method in ("fit", "predict"):
        if isinstance(estimator, type) or not callable(getattr(estimator, method, None)):
            received = (
                f"{estimator!r},"
                f" {'a class' if isinstance(estimator, type) else 'without ' + method}()"
            )
            allowed = "a scikit-learn estimator or pipeline with fit and predict"
            suggestion = "make_pipeline(StandardScaler(), LogisticRegression()), say"
            raise InputError(argument, got=received, allowed=allowed, cure=suggestion)


def readable(estimator: Any, X: Any, scale: Any = "passthrough") -> Any:
    """The estimator on columns of numbers, scaled by `scale`, with those of text and categories
    one-hot.
    """
    from sklearn.compose import make_column_transformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    column_types = []
    for column_type in np.atleast_1d(getattr(X, "dtypes", ())):
        column_types.append(str(column_type).lower())
    text_columns = []
    for column_number, column_type in enumerate(column_types):
        if column_type.startswith(_TEXT_TYPES):
            text_columns.append(column_number)
    if not text_columns:
        if scale == "passthrough":
            return estimator
        return make_pipeline(scale, estimator)
    one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    return make_pipeline(
        make_column_transformer((one_hot, text_columns), remainder=scale), estimator
    )


def _sensitive_use(estimator: Any, passing: str) -> tuple[str | None, str | None, bool]:
    """Keywords under which fit and predict take the sensitive column, and whether predict takes
    ``random_state``.

    Under "auto": where the signature or scikit-learn's metadata routing names
    ``sensitive_features``, and at fit for fairlearn's reductions, which take it among their
    keywords. In a pipeline the last step decides.
    """
    from sklearn import get_config

    routing = bool(get_config().get("enable_metadata_routing", False))
    pipeline_steps = getattr(estimator, "steps", None)
    if pipeline_steps and not routing:
        prefix = f"{pipeline_steps[-1][0]}__"
        last_step = pipeline_steps[-1][1]
    else:
        prefix = ""
        last_step = estimator
    at_fit, at_predict = (
        _takes_sensitive_column(last_step, method, routing)
        if passing == "auto"
        else passing in (method, "both")
        for method in ("fit", "predict")
    )
    seeded = "random_state" in _parameters_of_method(last_step, "predict")
    return (
        prefix + _SENSITIVE_KEYWORD if at_fit else None,
        _SENSITIVE_KEYWORD if at_predict else None,
        seeded,
    )


def _takes_sensitive_column(estimator: Any, method: str, routing: bool) -> bool:
    reduction = method == "fit" and type(estimator).__module__.startswith("fairlearn.reductions")
    if reduction or _SENSITIVE_KEYWORD in _parameters_of_method(estimator, method):
        return True
    try:
        return routing and _SENSITIVE_KEYWORD in estimator.get_metadata_routing().consumes(
            method=method, params={_SENSITIVE_KEYWORD}
        )
    except (AttributeError, TypeError, ValueError):
        return False


def _parameters_of_method(estimator: Any, method: str) -> set[str]:
    try:
        return set(inspect.signature(getattr(estimator, method)).parameters)
    except (TypeError, ValueError, AttributeError):
        return set()


@dataclass(frozen=True, eq=False)
class Data:
    """What estimators are fitted to.

    X (n, d), labels as the user wrote them and coded, the group of each row.
    """

    X: Any
    y: NDArray[Any]
    label: NDArray[Any]
    sensitive: NDArray[Any]


@dataclass(frozen=True, eq=False)
class Run:
    """One cross-validation; `words` is its name, `extra` are rows outside of it that all of its
    models predict.
    """

    estimator: Any
    passing: str
    rows: NDArray[np.intp]
    fold: NDArray[np.intp]
    seeds: np.random.SeedSequence
    words: str
    extra: NDArray[np.intp] = field(default_factory=lambda: np.empty(0, dtype=np.intp))


def describe_fits(runs: Sequence[Run], n_rows: int) -> str:
    """How many fits the runs make, of what, and whether to (the folds of) all rows or of half."""
    n_fits_of: Counter[tuple[str, str]] = Counter()
    for run in runs:
        part = "all rows" if run.rows.size == n_rows else "half of the rows"
        # of a pipeline its last step says what is fitted
        steps = getattr(run.estimator, "steps", None)
        last_step = steps[-1][1] if steps else run.estimator
        n_fits_of[type(last_step).__name__, part] += np.unique(run.fold).size
    parts = [f"{n_fits:,} of {name} to {part}" for (name, part), n_fits in n_fits_of.items()]
    return f"{sum(n_fits_of.values()):,} fits: {', '.join(parts)}"


def cross_predict(
    runs: Sequence[Run],
    data: Data,
    n_jobs: int | None,
    progress: bool,
) -> list[Predicted]:
    """Fit every run in every fold, and predict."""
    from sklearn.utils.parallel import Parallel, delayed

    runs_and_folds = []
    for run_index, each_run in enumerate(runs):
        for fold_number in np.unique(each_run.fold):
            runs_and_folds.append((run_index, fold_number))
    for run_index, fold_number in runs_and_folds:
        labels_left = np.unique(
            data.label[runs[run_index].rows[runs[run_index].fold != fold_number]]
        )
        if labels_left.size < 2:
            if 0 in labels_left:
                lacking = "favourable"
            else:
                lacking = "unfavourable"
            received = (
                f"fold {fold_number}, without which no row is {lacking} in {runs[run_index].words}"
            )
            allowed = "folds that leave both labels in every training part"
            raise InputError(
                "cv",
                got=received,
                allowed=allowed,
                cure="use fewer folds, or stratify them by label",
            )
    # said before the first fit
    fits = describe_fits(runs, data.label.size)
    _LOGGER.info("cross-validation: %s", fits)
    task_predictions = Parallel(n_jobs=n_jobs)(
        delayed(_predict_fold)(runs[run_index], fold_number, data)
        for run_index, fold_number in each_of(runs_and_folds, fits, shown=progress)
    )
    predictions = []
    for each_run in runs:
        predictions.append(
            (np.zeros(each_run.rows.size, dtype=np.uint8), np.zeros(each_run.extra.size))
        )
    for (run_index, fold_number), predicted in zip(runs_and_folds, task_predictions, strict=True):
        in_fold = runs[run_index].fold == fold_number
        predictions[run_index][0][in_fold] = predicted[: in_fold.sum()]
        predictions[run_index][1][:] += (
            predicted[in_fold.sum() :] / np.unique(runs[run_index].fold).size
        )
    return predictions


def _predict_fold(fold_run: Run, fold_number: int, fit_data: Data) -> NDArray[np.uint8]:
    """Fit a clone without fold k and predict it, then the extra rows: the codes of the labels."""
    from sklearn.base import clone

    at_fit, at_predict, seeded = _sensitive_use(fold_run.estimator, fold_run.passing)
    train_rows = fold_run.rows[fold_run.fold != fold_number]
    test_rows = np.concatenate([fold_run.rows[fold_run.fold == fold_number], fold_run.extra])
    fitted = clone(fold_run.estimator)
    fitted.fit(
        _take_rows(fit_data.X, train_rows),
        fit_data.y[train_rows],
        **({at_fit: fit_data.sensitive[train_rows]} if at_fit else {}),
    )
    options: dict[str, Any] = {at_predict: fit_data.sensitive[test_rows]} if at_predict else {}
    if seeded:
        options["random_state"] = (
            int(fold_run.seeds.generate_state(fold_number + 1)[fold_number]) >> 1
        )
    predicted = np.asarray(fitted.predict(_take_rows(fit_data.X, test_rows), **options))
    levels, first_rows = np.unique(fit_data.y, return_index=True)
    strange = predicted[~np.isin(predicted, levels)]
    if strange.size or predicted.shape != test_rows.shape:
        place_words = f"{fold_run.words}, fold {fold_number}"
        received = (
            f"predictions of shape {predicted.shape} for {test_rows.size} rows in {place_words}"
        )
        if strange.size:
            received = f"the prediction {strange[0]!r} in {place_words}, which is no label in y"
        allowed = "one label per row: " + ", ".join(map(repr, levels.tolist()))
        suggestion = "pass a classifier that predicts labels, not scores"
        raise InputError("estimator", got=received, allowed=allowed, cure=suggestion)
    return fit_data.label[first_rows][np.searchsorted(levels, predicted)].astype(np.uint8)


def _take_rows(X: Any, row_numbers: NDArray[np.intp]) -> Any:
    """Rows of an array, a frame or a sparse matrix."""
    if hasattr(X, "iloc"):
        return X.iloc[row_numbers]
    if hasattr(X, "shape"):
        return X[row_numbers]
    return np.asarray(X)[row_numbers]


def strategy_factors(strategy: str, folds: int, ratio: Floats) -> tuple[Floats, Floats]:
    """Effective over summed counts per group (equation 2), and the share of the range of ρ that was
    clipped.
    """
    if not strategy.startswith("relative"):
        ratio = np.ones(len(ratio))
    largest_u = 1.0 + (folds - 1) * (1.0 / folds)
    if strategy in ("1/K", "relative"):
        scaled_u = ratio * largest_u
        return 1.0 / np.clip(scaled_u, 1.0, folds), np.where(
            (scaled_u >= 1.0) & (scaled_u < folds), 0.0, 1.0
        )
    # the average of 1/clip(r·u, 1, K) over u from 1 to `largest_u`: 1 where r·u < 1, logarithmic between,
    # 1/K above
    lower_u = np.clip(1.0 / ratio, 1.0, largest_u)
    upper_u = np.clip(folds / ratio, 1.0, largest_u)
    integral = (lower_u - 1.0) + np.log(upper_u / lower_u) / ratio + (largest_u - upper_u) / folds
    return integral / (largest_u - 1.0), ((lower_u - 1.0) + (largest_u - upper_u)) / (
        largest_u - 1.0
    )


@serialisable(eq=False)
class VarianceRatio:
    """r_s = Var[A1] / Var[A0], the method under test over the reference, per group.

    `metric` is what the variances are of, and `reference` A0. `values`, shape (2, J, 2, G), holds
    the metric by algorithm (reference, method), half split, half and group; it is empty where r was
    given. `ratio`, shape (G,), is NaN where a variance is 0; `low` and `high` are its jackknife
    interval, NaN where r was given or J is 1. `averaged`: of several metrics, the largest in each
    group, whose factor is averaged over r·F(J, J).
    """

    metric: str
    reference: str
    values: NDArray[np.float64]
    ratio: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    confidence_level: float = 0.95
    averaged: bool = False


@serialisable(eq=False)
class CrossValidation:
    """Folds, correlations and effective counts of a K-fold cross-validation.

    `folds` is K; `fold_cells`, shape (K, G, 4), the counts of each fold in the order tp, fp, fn,
    tn; `correlation` the strategy, empty where the target is the algorithm, and `variance_ratio`
    what a relative one rests on. Per group, shape (G,): `rho` is the correlation, under the range
    strategies the one that gives the same effective counts; `factor` the effective over the summed
    counts, 1/(1 + (K−1)ρ) or its average; `clipped` the share of the range of ρ clipped to [0, 1),
    0 or 1 for a single value.
    """

    folds: int
    fold_cells: NDArray[np.int64]
    correlation: str
    rho: NDArray[np.float64]
    factor: NDArray[np.float64]
    clipped: NDArray[np.float64]
    variance_ratio: VarianceRatio | None = None
    estimator: str = ""

    def _correlation_notes(self, groups: tuple[str, ...]) -> list[str]:
        """Strategy, correlations and variance ratio in words."""
        if not self.correlation:
            count_words = (
                "summed counts, and how far the predictions of models fitted to disjoint halves"
                " differ."
            )
            return [f"{self.folds}-fold cross-validation: {count_words}"]
        rho_words = ", ".join(
            f"{group} {value:.3f}" for group, value in zip(groups, self.rho, strict=True)
        )
        sentences = [
            f"{self.folds}-fold cross-validation, correlation {self.correlation!r}: ρ = {rho_words}.",
            (
                "About the models fitted to these rows. The algorithm fitted anew"
                " (target='algorithm') varies more: 95% intervals about the former held its"
                " demographic parity in 78 to 86% of samples."
            ),
        ]
        ratio = self.variance_ratio
        if ratio is not None:
            group_ratios = zip(groups, ratio.ratio, ratio.low, ratio.high, strict=True)
            ratio_words = ", ".join(
                f"{group} {value:.2f} [{lower_limit:.2f}, {upper_limit:.2f}]"
                for group, value, lower_limit, upper_limit in group_ratios
            )
            sentences.append(
                f"Variance ratio over {ratio.reference} on {ratio.metric} per group, with its"
                f" jackknife interval: {ratio_words}."
                + (" Effective counts are averaged over r·F(J, J)." if ratio.averaged else "")
            )
        return sentences


def variance_ratio_of(
    values: Floats,
    metric: str,
    reference: str,
    confidence_level: float = 0.95,
) -> VarianceRatio:
    """R = Var_over of the method over that of the reference, with its delete-one jackknife
    interval.

    Var_over = (1/2J) Σ_j (θ_j − θ_j^c)² (equation 20) of the K-fold estimates in both halves. The
    interval is on the log scale, t with J − 1 degrees of freedom. NaN where a variance is 0, the
    limits also without some split.
    """
    squares = (values[:, :, 0] - values[:, :, 1]) ** 2
    summed_squares = squares.sum(axis=1)
    n_splits = squares.shape[1]
    with np.errstate(divide="ignore", invalid="ignore"):
        variance_ratio = np.where(
            (summed_squares > 0).all(axis=0), summed_squares[1] / summed_squares[0], np.nan
        )
        without_split = summed_squares[:, None] - squares
        without_split = np.where(
            without_split > 1e-12 * summed_squares[:, None], without_split, np.nan
        )
        log_ratios = np.log(without_split[1] / without_split[0])
        spread = np.sqrt(
            (n_splits - 1) / n_splits * ((log_ratios - log_ratios.mean(axis=0)) ** 2).sum(axis=0)
        )
        half_width = stdtrit(max(n_splits - 1, 1), 0.5 + confidence_level / 2) * spread
        lower_limits = variance_ratio * np.exp(-half_width)
        upper_limits = variance_ratio * np.exp(half_width)
    return VarianceRatio(
        metric=metric,
        reference=reference,
        values=values,
        ratio=variance_ratio,
        low=lower_limits,
        high=upper_limits,
        confidence_level=confidence_level,
    )


def largest_ratio(ratios: list[VarianceRatio]) -> VarianceRatio:
    """Of several metrics the largest ratio of each group, to be averaged over its uncertainty."""
    largest_index = np.nan_to_num([metric_ratio.ratio for metric_ratio in ratios], nan=-1.0).argmax(
        axis=0
    )
    values, largest_ratios, lower_limits, upper_limits = (
        np.stack(
            [
                getattr(ratios[metric_index], field_name)[..., group_number]
                for group_number, metric_index in enumerate(largest_index)
            ],
            axis=-1,
        )
        for field_name in ("values", "ratio", "low", "high")
    )
    metric_words = ("the largest of " if len(ratios) > 1 else "") + ", ".join(
        metric_ratio.metric for metric_ratio in ratios
    )
    return VarianceRatio(
        metric=metric_words,
        reference=ratios[0].reference,
        values=values,
        ratio=largest_ratios,
        low=lower_limits,
        high=upper_limits,
        averaged=True,
    )


def variance_ratio_given(ratio: Any, groups: tuple[str, ...]) -> VarianceRatio:
    """The variance ratio that the user knows: one number, or one per group by name."""
    unknown = np.full(len(groups), np.nan)
    suggestion = "leave it out to have it estimated"
    values = unknown.copy()
    for group, given_ratio in (
        ratio if isinstance(ratio, Mapping) else dict.fromkeys(groups, ratio)
    ).items():
        number = check_number("variance_ratio", given_ratio, low=0, open_low=True, cure=suggestion)
        values[group_index(groups, group, "variance_ratio")] = number
    if np.isnan(values).any():
        allowed = "a number above 0, or one per group: Var[method] / Var[reference]"
        raise InputError("variance_ratio", got=repr(ratio), allowed=allowed, cure=suggestion)
    no_values = np.empty((2, 0, 2, 0))
    return VarianceRatio(
        metric="a metric of the user's",
        reference="a reference of the user's",
        values=no_values,
        ratio=values,
        low=unknown,
        high=unknown,
    )


def checked_factors(
    correlation: str,
    folds: int,
    ratio: Floats,
    groups: tuple[str, ...],
    splits: int = 0,
) -> tuple[Floats, Floats]:
    """Factors per group and what was clipped, with a warning of ratios that are unknown or clipped.

    With `splits` averaged over ratio·F(J, J), the law of an estimated ratio where the differences
    are normal.
    """
    unknown = np.isnan(ratio)
    if unknown.any():
        unknown_groups = ", ".join(
            group for group, is_unknown in zip(groups, unknown, strict=True) if is_unknown
        )
        warning_text = (
            "the metric did not vary, or is undefined, in some half splits; the reference's"
            " correlation is used."
        )
        caution(
            f"no variance ratio for {unknown_groups}: {warning_text}", InsufficientEvidenceWarning
        )
    known_ratios = np.where(unknown, 1.0, ratio)
    if splits:
        spread = fdtri(splits, splits, (np.arange(_QUANTILES_OF_F) + 0.5) / _QUANTILES_OF_F)
        tables = strategy_factors(correlation, folds, np.outer(known_ratios, spread).ravel())
        factor, clipped = (
            factor_table.reshape(len(known_ratios), -1).mean(axis=1) for factor_table in tables
        )
        clipped = np.where(clipped > 0.5, clipped, 0.0)  # the tails of F always are
    else:
        factor, clipped = strategy_factors(correlation, folds, known_ratios)
    if clipped.any():
        clipped_groups = ", ".join(
            f"{group} (r = {group_ratio:.2f})"
            for group, group_ratio, clipped_share in zip(groups, ratio, clipped, strict=True)
            if clipped_share > 0
        )
        warning_text = (
            "leaves [0, 1) and is clipped: at 0 the folds count as independent, at 1 as one fold."
        )
        caution(f"the relative correlation of {clipped_groups} {warning_text}", DataWarning)
    return factor, clipped
