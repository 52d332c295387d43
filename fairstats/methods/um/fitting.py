"""Out-of-fold predictions of estimators, in as many processes as asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fairstats.ground.errors import InputError
from fairstats.methods.um.adapters import SensitiveUse

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Data", "Task", "run_tasks", "take_rows"]


@dataclass(frozen=True, eq=False)
class Data:
    """What estimators are fitted to.

    Attributes
    ----------
    X : array-like, shape (n, d)
    y : ndarray, shape (n,)
        Labels as the user wrote them.
    label : ndarray of 0/1, shape (n,)
    group : ndarray of int, shape (n,)
    sensitive : ndarray of str, shape (n,)
        Group labels, for estimators that take them.
    """

    X: Any
    y: NDArray[Any]
    label: NDArray[Any]
    group: NDArray[Any]
    sensitive: NDArray[Any]


@dataclass(frozen=True, eq=False)
class Task:
    """One fit: an estimator, the rows to train on, the rows to predict, a seed, and where it belongs."""

    estimator: Any
    use: SensitiveUse
    train: NDArray[np.intp]
    test: NDArray[np.intp]
    seed: int
    where: str


def take_rows(X: Any, rows: NDArray[np.intp]) -> Any:
    """Rows of an array, a frame or a sparse matrix."""
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    return X[rows] if hasattr(X, "shape") else np.asarray(X)[rows]


def fold_tasks(
    estimator: Any,
    use: SensitiveUse,
    rows: NDArray[np.intp],
    fold: NDArray[np.intp],
    folds: int,
    seeds: np.random.SeedSequence,
    words: str,
) -> list[Task]:
    """Tasks of one cross-validation over `rows`, whose folds are `fold`."""
    numbers = seeds.generate_state(folds)
    return [
        Task(estimator, use, rows[fold != k], rows[fold == k], int(numbers[k]) >> 1, f"{words}, fold {k}")
        for k in range(folds)
        if (fold == k).any()
    ]


def _predict(task: Task, data: Data) -> NDArray[np.uint8]:
    labels = data.label[task.train]
    if labels.min() == labels.max():
        raise InputError(
            "cv",
            got=f"one label only in the training rows of {task.where}",
            allowed="both labels in every training part",
            cure="use fewer folds, or more rows",
        )
    predicted = task.use.fit_predict(
        task.estimator,
        (take_rows(data.X, task.train), data.y[task.train], data.sensitive[task.train]),
        (take_rows(data.X, task.test), data.sensitive[task.test]),
        task.seed,
    )
    if predicted.shape != task.test.shape:
        raise InputError(
            "estimator",
            got=f"predictions of shape {predicted.shape} for {task.test.size} rows in {task.where}",
            allowed="one label per row",
            cure="pass a classifier with one output",
        )
    levels = np.unique(data.y)
    strange = predicted[~np.isin(predicted, levels)]
    if strange.size:
        raise InputError(
            "estimator",
            got=f"the prediction {strange[0]!r} in {task.where}, which is no label in y",
            allowed=", ".join(map(repr, levels.tolist())),
            cure="pass a classifier that predicts labels, not scores",
        )
    favourable = np.unique(data.y[data.label == 1])
    return np.isin(predicted, favourable).astype(np.uint8)


def run_tasks(
    tasks: Sequence[Task], data: Data, n_jobs: int | None, progress: bool
) -> list[NDArray[np.uint8]]:
    """Coded predictions of every task, in order."""
    from tqdm import tqdm

    shown = tqdm(tasks, desc="cross-validation", disable=not progress, leave=False)
    if n_jobs in (None, 1):
        return [_predict(task, data) for task in shown]
    from sklearn.utils.parallel import Parallel, delayed

    return list(Parallel(n_jobs=n_jobs)(delayed(_predict)(task, data) for task in shown))
