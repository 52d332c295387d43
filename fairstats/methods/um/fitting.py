"""Out-of-fold predictions: folds, estimators that need the sensitive column, and the fits."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from fairstats.ground.checks import check_whole
from fairstats.ground.encoding import factorize
from fairstats.ground.errors import DataWarning, InputError, caution

_NAME = "sensitive_features"
#: How the types of columns that are no numbers begin.
_WORDS = ("object", "categor", "str", "utf8", "enum")
PASSING = ("auto", "none", "fit", "predict", "both")


def stratified_folds(strata: NDArray[Any], folds: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Fold of each row: within every stratum, and in all, fold sizes differ by at most one.

    Rows are dealt to the folds in turn, stratum after stratum, in random order.
    """
    check_whole(
        "cv", folds, low=2, high=strata.size,
        cure=f"cv={min(10, strata.size)}; a half split has half of the rows",
    )  # fmt: skip
    shuffled = rng.permutation(strata.size)
    order = shuffled[np.argsort(strata[shuffled], kind="stable")]
    found = np.empty(strata.size, dtype=np.intp)
    found[order] = rng.permutation(folds)[np.arange(strata.size) % folds]
    return found


def fold_labels(
    cv: Any, X: Any, y: NDArray[Any], strata: NDArray[Any], rng: np.random.Generator
) -> tuple[NDArray[np.intp], int]:
    """Fold of each row, and K.

    A number makes folds stratified by `strata` (label × group of each row); a splitter is given X and y; an
    iterable holds (train, test). Raises for fewer than two folds, more folds than rows, and rows held out
    twice or never.
    """
    n = strata.size
    if isinstance(cv, (int, np.integer)):
        return stratified_folds(strata, int(cv), rng), int(cv)
    try:
        given = cv.split(X, y) if hasattr(cv, "split") else cv
        splits = [(_positions(train, n), _positions(test, n)) for train, test in given]
    except (TypeError, ValueError, IndexError) as problem:
        allowed = "a number of folds, a splitter with split(X, y), or a list of (train, test)"
        raise InputError("cv", got=type(cv).__name__, allowed=allowed, cure="cv=10") from problem
    held_out, fold, partial = np.zeros(n, dtype=np.intp), np.full(n, -1, dtype=np.intp), 0
    for k, (others, rows) in enumerate(splits):
        held_out[rows] += 1
        fold[rows] = k
        partial += int(not np.array_equal(np.union1d(rows, others), np.arange(n)))
    if len(splits) < 2 or (held_out != 1).any() or partial:
        raise InputError(
            "cv",
            got=f"{len(splits)} splits; {int((held_out > 1).sum())} rows held out more than once, "
            f"{int((held_out == 0).sum())} never; {partial} splits train on some of the other rows only",
            allowed="K ≥ 2 folds that hold out every row once and train on all others: K-fold CV",
            cure="use StratifiedKFold or KFold; repeat with another rng for more partitions",
        )
    return fold, len(splits)


def _positions(rows: Any, n: int) -> NDArray[np.intp]:
    """Positions of rows, given as such or as a mask."""
    found = np.asarray(rows)
    return np.arange(n)[found] if found.dtype == bool else np.arange(n)[found.astype(np.intp, casting="safe")]


def given_folds(fold: Any, n: int) -> tuple[NDArray[np.intp], int]:
    """Folds of predictions that are already there."""
    factor = None if fold is None else factorize(fold, "fold")
    if factor is None or factor.codes.size != n or factor.has_missing or len(factor.levels) < 2:
        got = "None beside y_pred"
        if factor is not None:
            lacking = ", some missing" if factor.has_missing else ""
            got = f"{factor.codes.size:,} values with {len(factor.levels)} folds{lacking}"
        allowed = f"the fold in which each of the {n:,} rows was held out, two folds or more"
        cure = "for k, (_, test) in enumerate(splits): fold[test] = k"
        raise InputError("fold", got=got, allowed=allowed, cure=cure)
    return factor.codes.astype(np.intp), len(factor.levels)


def warn_of_few(strata: NDArray[Any], folds: int, groups: tuple[str, ...], classes: tuple[str, ...]) -> None:
    """Warn where K exceeds the smallest class of a group; `strata` is J·group + label."""
    words = classes or ("unfavourable", "favourable")
    sizes = np.bincount(strata, minlength=len(words) * len(groups)).reshape(-1, len(words))
    small = [
        f"{groups[g]!r} with {int(size)} {words[value]}" for (g, value), size in np.ndenumerate(sizes) if size < folds
    ]
    if small:
        caution(
            f"{folds} folds, but fewer rows of a label in a group: {', '.join(small)}. Some folds hold out "
            "none of them; the counts are summed over folds, so that the posterior stands.",
            DataWarning,
        )


@dataclass(frozen=True)
class SensitiveUse:
    """Keywords under which an estimator takes the sensitive column; None where it does not.

    `seed`: whether ``predict`` takes ``random_state``, as fairlearn's mitigators do, which predict at random.
    """

    fit: str | None
    predict: str | None
    seed: bool


def check_estimator(estimator: Any, argument: str) -> None:
    """Raise unless there are fit and predict."""
    for method in ("fit", "predict"):
        if isinstance(estimator, type) or not callable(getattr(estimator, method, None)):
            raise InputError(
                argument,
                got=f"{estimator!r}, {'a class' if isinstance(estimator, type) else 'without ' + method}()",
                allowed="a scikit-learn estimator or pipeline with fit and predict",
                cure="make_pipeline(StandardScaler(), LogisticRegression()), say",
            )


def readable(estimator: Any, X: Any, scale: Any = "passthrough") -> Any:
    """The estimator on columns of numbers, scaled by `scale`, with those of text and categories one-hot.

    The estimator itself where X has only numbers and nothing is scaled.
    """
    from sklearn.compose import make_column_transformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    kinds = [str(kind).lower() for kind in np.atleast_1d(getattr(X, "dtypes", ()))]
    words = [k for k, kind in enumerate(kinds) if kind.startswith(_WORDS)]
    if not words:
        return estimator if scale == "passthrough" else make_pipeline(scale, estimator)
    one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    return make_pipeline(make_column_transformer((one_hot, words), remainder=scale), estimator)


def sensitive_use(estimator: Any, passing: str = "auto") -> SensitiveUse:
    """Find out how an estimator takes the sensitive column.

    Under "auto": where its signature names ``sensitive_features``, where it requested it by scikit-learn's
    metadata routing, and at fit for fairlearn's reductions, which take it among their keywords. In a
    pipeline the last step decides.
    """
    from sklearn import get_config

    routing = bool(get_config().get("enable_metadata_routing", False))
    steps = getattr(estimator, "steps", None)
    prefix, last = (f"{steps[-1][0]}__", steps[-1][1]) if steps and not routing else ("", estimator)
    at_fit, at_predict = (
        _takes(last, method, routing) if passing == "auto" else passing in (method, "both")
        for method in ("fit", "predict")
    )
    seed = "random_state" in _parameters(last, "predict")
    return SensitiveUse(prefix + _NAME if at_fit else None, _NAME if at_predict else None, seed)


def _takes(estimator: Any, method: str, routing: bool) -> bool:
    if _NAME in _parameters(estimator, method):
        return True
    if method == "fit" and type(estimator).__module__.startswith("fairlearn.reductions"):
        return True
    try:
        return routing and _NAME in estimator.get_metadata_routing().consumes(method=method, params={_NAME})
    except (AttributeError, TypeError, ValueError):
        return False


def _parameters(estimator: Any, method: str) -> set[str]:
    try:
        return set(inspect.signature(getattr(estimator, method)).parameters)
    except (TypeError, ValueError, AttributeError):
        return set()


@dataclass(frozen=True, eq=False)
class Data:
    """What estimators are fitted to.

    X (n, d) and the labels y as the user wrote them, the labels coded, and the name of each row's group.
    """

    X: Any
    y: NDArray[Any]
    label: NDArray[Any]
    sensitive: NDArray[Any]


@dataclass(frozen=True, eq=False)
class Run:
    """One cross-validation: estimator, how it takes the sensitive column, rows, folds, seeds, its name.

    `extra` are rows outside of it that every one of its models predicts.
    """

    estimator: Any
    passing: str
    rows: NDArray[np.intp]
    fold: NDArray[np.intp]
    seeds: np.random.SeedSequence
    words: str
    extra: NDArray[np.intp] = field(default_factory=lambda: np.empty(0, dtype=np.intp))


def cross_predict(
    runs: Sequence[Run], data: Data, n_jobs: int | None, progress: bool
) -> list[tuple[NDArray[np.uint8], NDArray[np.float64]]]:
    """Of every run the coded out-of-fold predictions, and the share of favourable ones of the extra rows."""
    from sklearn.utils.parallel import Parallel, delayed

    tasks = [(i, k) for i, run in enumerate(runs) for k in np.unique(run.fold)]
    for i, k in tasks:
        left = np.unique(data.label[runs[i].rows[runs[i].fold != k]])
        if left.size < 2:
            lacking = "favourable" if 0 in left else "unfavourable"
            got = f"fold {k}, without which no row is {lacking} in {runs[i].words}"
            allowed = "folds that leave both labels in every training part"
            raise InputError("cv", got=got, allowed=allowed, cure="use fewer folds, or stratify them by label")
    shown = tqdm(tasks, desc="cross-validation", disable=not progress, leave=False)
    found = Parallel(n_jobs=n_jobs)(delayed(_predict)(runs[i], k, data) for i, k in shown)
    answers = [(np.zeros(run.rows.size, dtype=np.uint8), np.zeros(run.extra.size)) for run in runs]
    for (i, k), predicted in zip(tasks, found, strict=True):
        test = runs[i].fold == k
        answers[i][0][test] = predicted[: test.sum()]
        answers[i][1][:] += predicted[test.sum() :] / np.unique(runs[i].fold).size
    return answers


def _predict(run: Run, k: int, data: Data) -> NDArray[np.uint8]:
    """Fit a clone without fold k and predict it, then the extra rows: the codes of the labels."""
    from sklearn.base import clone

    use, where = sensitive_use(run.estimator, run.passing), f"{run.words}, fold {k}"
    train, test = run.rows[run.fold != k], np.concatenate([run.rows[run.fold == k], run.extra])
    fitted = clone(run.estimator)
    named = {} if use.fit is None else {use.fit: data.sensitive[train]}
    fitted.fit(_take(data.X, train), data.y[train], **named)
    options: dict[str, Any] = {} if use.predict is None else {use.predict: data.sensitive[test]}
    if use.seed:
        options["random_state"] = int(run.seeds.generate_state(k + 1)[k]) >> 1
    predicted = np.asarray(fitted.predict(_take(data.X, test), **options))
    levels, first = np.unique(data.y, return_index=True)
    strange = predicted[~np.isin(predicted, levels)]
    if strange.size or predicted.shape != test.shape:
        got = f"predictions of shape {predicted.shape} for {test.size} rows in {where}"
        raise InputError(
            "estimator",
            got=f"the prediction {strange[0]!r} in {where}, which is no label in y" if strange.size else got,
            allowed="one label per row: " + ", ".join(map(repr, levels.tolist())),
            cure="pass a classifier that predicts labels, not scores",
        )
    return data.label[first][np.searchsorted(levels, predicted)].astype(np.uint8)


def _take(X: Any, rows: NDArray[np.intp]) -> Any:
    """Rows of an array, a frame or a sparse matrix."""
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    return X[rows] if hasattr(X, "shape") else np.asarray(X)[rows]
