"""K-fold cross-validation: folds, fits, out-of-fold predictions, and the effective counts of correlated folds.

C^e = ΣC^(k) / (1 + (K−1)ρ). With u = 1 + (K−1)ρ⁰ of the reference and r = Var[A1]/Var[A0], the method under test over
the reference, the relative correlation fulfils 1 + (K−1)ρ¹ = r·u. The paper's equation 3 prints r the other way round;
an unstable method must get a larger ρ and fewer effective rows.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import fdtri, stdtrit
from tqdm import tqdm

from fairstats.ground.checks import Floats, check_number, check_whole
from fairstats.ground.encoding import factorize
from fairstats.ground.errors import DataWarning, InputError, InsufficientEvidenceWarning, caution
from fairstats.ground.groups import group_index
from fairstats.ground.serialise import serialisable

_NAME = "sensitive_features"
#: How the types of columns that are no numbers begin.
_WORDS = ("object", "categor", "str", "utf8", "enum")
PASSING = ("auto", "none", "fit", "predict", "both")
STRATEGIES = ("1/K", "uniform", "relative", "relative-uniform")
#: Quantiles of F(J, J) over which a factor is averaged.
_SPREAD = 1_000
#: The coded out-of-fold predictions of a run, and the share of favourable ones of the extra rows.
Predicted: TypeAlias = tuple[NDArray[np.uint8], Floats]


def stratified_folds(strata: NDArray[Any], folds: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Fold of each row, dealt in turn, stratum after stratum, in random order: fold sizes differ by at most one."""
    cure = f"cv={min(10, strata.size)}; a half split has half of the rows"
    check_whole("cv", folds, low=2, high=strata.size, cure=cure)
    shuffled = rng.permutation(strata.size)
    order = shuffled[np.argsort(strata[shuffled], kind="stable")]
    found = np.empty(strata.size, dtype=np.intp)
    found[order] = rng.permutation(folds)[np.arange(strata.size) % folds]
    return found


def fold_labels(
    cv: Any, X: Any, y: NDArray[Any], strata: NDArray[Any], rng: np.random.Generator
) -> tuple[NDArray[np.intp], int]:
    """Fold of each row, and K, by a number of folds (stratified by `strata`), a splitter, or pairs (train, test)."""
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
        got = f"{len(splits)} splits; {int((held_out > 1).sum())} rows held out more than once, "
        got += f"{int((held_out == 0).sum())} never; {partial} splits train on some of the other rows only"
        allowed = "K ≥ 2 folds that hold out every row once and train on all others: K-fold CV"
        cure = "use StratifiedKFold or KFold; repeat with another rng for more partitions"
        raise InputError("cv", got=got, allowed=allowed, cure=cure)
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
    small = [f"{groups[g]!r} with {int(n)} {words[value]}" for (g, value), n in np.ndenumerate(sizes) if n < folds]
    if small:
        text = f"{folds} folds, but fewer rows of a label in a group: {', '.join(small)}. Some folds hold out none of"
        caution(f"{text} them; the counts are summed over folds, so that the posterior stands.", DataWarning)


def check_estimator(estimator: Any, argument: str) -> None:
    """Raise unless there are fit and predict."""
    for method in ("fit", "predict"):
        if isinstance(estimator, type) or not callable(getattr(estimator, method, None)):
            got = f"{estimator!r}, {'a class' if isinstance(estimator, type) else 'without ' + method}()"
            allowed = "a scikit-learn estimator or pipeline with fit and predict"
            cure = "make_pipeline(StandardScaler(), LogisticRegression()), say"
            raise InputError(argument, got=got, allowed=allowed, cure=cure)


def readable(estimator: Any, X: Any, scale: Any = "passthrough") -> Any:
    """The estimator on columns of numbers, scaled by `scale`, with those of text and categories one-hot."""
    from sklearn.compose import make_column_transformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    kinds = [str(kind).lower() for kind in np.atleast_1d(getattr(X, "dtypes", ()))]
    words = [k for k, kind in enumerate(kinds) if kind.startswith(_WORDS)]
    if not words:
        return estimator if scale == "passthrough" else make_pipeline(scale, estimator)
    one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    return make_pipeline(make_column_transformer((one_hot, words), remainder=scale), estimator)


def _sensitive_use(estimator: Any, passing: str) -> tuple[str | None, str | None, bool]:
    """Keywords under which fit and predict take the sensitive column, and whether predict takes ``random_state``.

    Under "auto": where the signature or scikit-learn's metadata routing names ``sensitive_features``, and at fit for
    fairlearn's reductions, which take it among their keywords. In a pipeline the last step decides.
    """
    from sklearn import get_config

    routing = bool(get_config().get("enable_metadata_routing", False))
    steps = getattr(estimator, "steps", None)
    prefix, last = (f"{steps[-1][0]}__", steps[-1][1]) if steps and not routing else ("", estimator)
    at_fit, at_predict = (
        _takes(last, method, routing) if passing == "auto" else passing in (method, "both")
        for method in ("fit", "predict")
    )
    seeded = "random_state" in _parameters(last, "predict")
    return prefix + _NAME if at_fit else None, _NAME if at_predict else None, seeded


def _takes(estimator: Any, method: str, routing: bool) -> bool:
    reduction = method == "fit" and type(estimator).__module__.startswith("fairlearn.reductions")
    if reduction or _NAME in _parameters(estimator, method):
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
    """What estimators are fitted to: X (n, d), labels as the user wrote them and coded, the group of each row."""

    X: Any
    y: NDArray[Any]
    label: NDArray[Any]
    sensitive: NDArray[Any]


@dataclass(frozen=True, eq=False)
class Run:
    """One cross-validation; `words` is its name, `extra` are rows outside of it that all of its models predict."""

    estimator: Any
    passing: str
    rows: NDArray[np.intp]
    fold: NDArray[np.intp]
    seeds: np.random.SeedSequence
    words: str
    extra: NDArray[np.intp] = field(default_factory=lambda: np.empty(0, dtype=np.intp))


def cross_predict(runs: Sequence[Run], data: Data, n_jobs: int | None, progress: bool) -> list[Predicted]:
    """Fit every run in every fold, and predict."""
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

    at_fit, at_predict, seeded = _sensitive_use(run.estimator, run.passing)
    train, test = run.rows[run.fold != k], np.concatenate([run.rows[run.fold == k], run.extra])
    fitted = clone(run.estimator)
    fitted.fit(_take(data.X, train), data.y[train], **({at_fit: data.sensitive[train]} if at_fit else {}))
    options: dict[str, Any] = {at_predict: data.sensitive[test]} if at_predict else {}
    if seeded:
        options["random_state"] = int(run.seeds.generate_state(k + 1)[k]) >> 1
    predicted = np.asarray(fitted.predict(_take(data.X, test), **options))
    levels, first = np.unique(data.y, return_index=True)
    strange = predicted[~np.isin(predicted, levels)]
    if strange.size or predicted.shape != test.shape:
        where = f"{run.words}, fold {k}"
        got = f"predictions of shape {predicted.shape} for {test.size} rows in {where}"
        got = f"the prediction {strange[0]!r} in {where}, which is no label in y" if strange.size else got
        allowed = "one label per row: " + ", ".join(map(repr, levels.tolist()))
        cure = "pass a classifier that predicts labels, not scores"
        raise InputError("estimator", got=got, allowed=allowed, cure=cure)
    return data.label[first][np.searchsorted(levels, predicted)].astype(np.uint8)


def _take(X: Any, rows: NDArray[np.intp]) -> Any:
    """Rows of an array, a frame or a sparse matrix."""
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    return X[rows] if hasattr(X, "shape") else np.asarray(X)[rows]


def strategy_factors(strategy: str, folds: int, ratio: Floats) -> tuple[Floats, Floats]:
    """Effective over summed counts per group (equation 2), and the share of the range of ρ that was clipped."""
    if not strategy.startswith("relative"):
        ratio = np.ones(len(ratio))
    end = 1.0 + (folds - 1) * (1.0 / folds)
    if strategy in ("1/K", "relative"):
        scaled = ratio * end
        return 1.0 / np.clip(scaled, 1.0, folds), np.where((scaled >= 1.0) & (scaled < folds), 0.0, 1.0)
    # the average of 1/clip(r·u, 1, K) over u from 1 to `end`: 1 where r·u < 1, logarithmic between, 1/K above
    first, last = np.clip(1.0 / ratio, 1.0, end), np.clip(folds / ratio, 1.0, end)
    total = (first - 1.0) + np.log(last / first) / ratio + (end - last) / folds
    return total / (end - 1.0), ((first - 1.0) + (end - last)) / (end - 1.0)


@serialisable(eq=False)
class VarianceRatio:
    """r_s = Var[A1] / Var[A0], the method under test over the reference, per group.

    `metric` is what the variances are of, and `reference` A0. `values`, shape (2, J, 2, G), holds the metric by
    algorithm (reference, method), half split, half and group; it is empty where r was given. `ratio`, shape (G,), is
    NaN where a variance is 0; `low` and `high` are its jackknife interval, NaN where r was given or J is 1. `averaged`:
    of several metrics, the largest in each group, whose factor is averaged over r·F(J, J).
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

    `folds` is K; `fold_cells`, shape (K, G, 4), the counts of each fold in the order tp, fp, fn, tn; `correlation` the
    strategy, empty where the target is the algorithm, and `variance_ratio` what a relative one rests on. Per group,
    shape (G,): `rho` is the correlation, under the range strategies the one that gives the same effective counts;
    `factor` the effective over the summed counts, 1/(1 + (K−1)ρ) or its average; `clipped` the share of the range of ρ
    clipped to [0, 1), 0 or 1 for a single value.
    """

    folds: int
    fold_cells: NDArray[np.int64]
    correlation: str
    rho: NDArray[np.float64]
    factor: NDArray[np.float64]
    clipped: NDArray[np.float64]
    variance_ratio: VarianceRatio | None = None
    estimator: str = ""

    def _notes(self, groups: tuple[str, ...]) -> list[str]:
        """Strategy, correlations and variance ratio in words."""
        if not self.correlation:
            text = "summed counts, and how far the predictions of models fitted to disjoint halves differ."
            return [f"{self.folds}-fold cross-validation: {text}"]
        rho = ", ".join(f"{g} {r:.3f}" for g, r in zip(groups, self.rho, strict=True))
        lines = [
            f"{self.folds}-fold cross-validation, correlation {self.correlation!r}: ρ = {rho}.",
            "About the models fitted to these rows. The algorithm fitted anew (target='algorithm') varies "
            "more: 95% intervals about the former held its demographic parity in 78 to 86% of samples.",
        ]
        ratio = self.variance_ratio
        if ratio is not None:
            each = zip(groups, ratio.ratio, ratio.low, ratio.high, strict=True)
            words = ", ".join(f"{g} {r:.2f} [{low:.2f}, {high:.2f}]" for g, r, low, high in each)
            lines.append(
                f"Variance ratio over {ratio.reference} on {ratio.metric} per group, with its jackknife "
                f"interval: {words}." + (" Effective counts are averaged over r·F(J, J)." if ratio.averaged else "")
            )
        return lines


def variance_ratio_of(values: Floats, metric: str, reference: str, confidence_level: float = 0.95) -> VarianceRatio:
    """R = Var_over of the method over that of the reference, with its delete-one jackknife interval.

    Var_over = (1/2J) Σ_j (θ_j − θ_j^c)² (equation 20) of the K-fold estimates in both halves. The interval is on the
    log scale, t with J − 1 degrees of freedom. NaN where a variance is 0, the limits also without some split.
    """
    squares = (values[:, :, 0] - values[:, :, 1]) ** 2
    sums, splits = squares.sum(axis=1), squares.shape[1]
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where((sums > 0).all(axis=0), sums[1] / sums[0], np.nan)
        left = sums[:, None] - squares
        left = np.where(left > 1e-12 * sums[:, None], left, np.nan)
        logs = np.log(left[1] / left[0])
        spread = np.sqrt((splits - 1) / splits * ((logs - logs.mean(axis=0)) ** 2).sum(axis=0))
        reach = stdtrit(max(splits - 1, 1), 0.5 + confidence_level / 2) * spread
        low, high = ratio * np.exp(-reach), ratio * np.exp(reach)
    return VarianceRatio(metric, reference, values, ratio, low, high, confidence_level)


def largest_ratio(ratios: list[VarianceRatio]) -> VarianceRatio:
    """Of several metrics the largest ratio of each group, to be averaged over its uncertainty."""
    best = np.nan_to_num([r.ratio for r in ratios], nan=-1.0).argmax(axis=0)
    values, ratio, low, high = (
        np.stack([getattr(ratios[k], name)[..., g] for g, k in enumerate(best)], axis=-1)
        for name in ("values", "ratio", "low", "high")
    )
    words = ("the largest of " if len(ratios) > 1 else "") + ", ".join(r.metric for r in ratios)
    return VarianceRatio(words, ratios[0].reference, values, ratio, low, high, averaged=True)


def variance_ratio_given(ratio: Any, groups: tuple[str, ...]) -> VarianceRatio:
    """The variance ratio that the user knows: one number, or one per group by name."""
    nan, cure = np.full(len(groups), np.nan), "leave it out to have it estimated"
    values = nan.copy()
    for group, value in (ratio if isinstance(ratio, Mapping) else dict.fromkeys(groups, ratio)).items():
        number = check_number("variance_ratio", value, low=0, open_low=True, cure=cure)
        values[group_index(groups, group, "variance_ratio")] = number
    if np.isnan(values).any():
        allowed = "a number above 0, or one per group: Var[method] / Var[reference]"
        raise InputError("variance_ratio", got=repr(ratio), allowed=allowed, cure=cure)
    empty = np.empty((2, 0, 2, 0))
    return VarianceRatio("a metric of the user's", "a reference of the user's", empty, values, nan, nan)


def checked_factors(
    correlation: str, folds: int, ratio: Floats, groups: tuple[str, ...], splits: int = 0
) -> tuple[Floats, Floats]:
    """Factors per group and what was clipped, with a warning of ratios that are unknown or clipped.

    With `splits` averaged over ratio·F(J, J), the law of an estimated ratio where the differences are normal.
    """
    unknown = np.isnan(ratio)
    if unknown.any():
        names = ", ".join(g for g, u in zip(groups, unknown, strict=True) if u)
        text = "the metric did not vary, or is undefined, in some half splits; the reference's correlation is used."
        caution(f"no variance ratio for {names}: {text}", InsufficientEvidenceWarning)
    known = np.where(unknown, 1.0, ratio)
    if splits:
        spread = fdtri(splits, splits, (np.arange(_SPREAD) + 0.5) / _SPREAD)
        tables = strategy_factors(correlation, folds, np.outer(known, spread).ravel())
        factor, clipped = (table.reshape(len(known), -1).mean(axis=1) for table in tables)
        clipped = np.where(clipped > 0.5, clipped, 0.0)  # the tails of F always are
    else:
        factor, clipped = strategy_factors(correlation, folds, known)
    if clipped.any():
        words = ", ".join(f"{g} (r = {r:.2f})" for g, r, c in zip(groups, ratio, clipped, strict=True) if c > 0)
        text = "leaves [0, 1) and is clipped: at 0 the folds count as independent, at 1 as one fold."
        caution(f"the relative correlation of {words} {text}", DataWarning)
    return factor, clipped
