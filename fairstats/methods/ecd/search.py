"""`EcdSearch`: hyper-parameters with the least extreme discrimination at little loss of accuracy."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Hashable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted

from fairstats.ground.errors import FairstatsWarning, InputError
from fairstats.ground.features import as_features
from fairstats.ground.results import check_choice
from fairstats.methods.ecd.discrimination import counterfactual_discrimination
from fairstats.methods.ecd.ecd import ecd
from fairstats.methods.ecd.proposals import proposals
from fairstats.methods.ecd.protected import find_protected
from fairstats.numerics.evt.checks import as_count

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from fairstats.methods.ecd.result import EcdResult

__all__ = ["EcdSearch"]


class EcdSearch(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Search over hyper-parameters for the least discrimination under an accuracy constraint (ECD-Fair).

    The rows are split three ways: models are trained on the first part and chosen on the second; the chosen
    model's ECD is reported on the third, which the search never sees.

    Parameters
    ----------
    estimator : classifier or pipeline
        With `predict_proba`.
    param_distributions : dict of name to list or distribution
        As for `sklearn.model_selection.RandomizedSearchCV`.
    protected : column, list of columns, or mapping
        As for `counterfactual_discrimination`.
    privileged, unprivileged : value
    objective : {"ecd", "acd"}
        |ECD|, or the size of the difference of averages.
    accuracy_loss : float
        The accuracy on the second part may fall so far below that of the estimator as it is given.
    n_iter : int
        Trials.
    timeout : float, optional
        Seconds after which no further trial begins.
    interactions, threshold : float, int
        As for `ecd`.
    favorable_label : optional
        As for `counterfactual_discrimination`.
    splits : (float, float, float)
        Shares of the three parts; they sum to 1.
    sampler : {"auto", "optuna", "random"}
        "auto": Optuna's TPE where it is installed, else scikit-learn's random sampler.
    warm_start : bool
        A further `fit` on the same rows adds trials to those that there are.
    random_state : int
    progress : bool

    Attributes
    ----------
    trials_ : DataFrame
        One row per trial: number, parameters, accuracy, objective, feasible, seconds, error.
    best_params_ : dict
        Of the feasible trial with the least objective; empty where the estimator as given is best.
    best_estimator_ : classifier
        Trained on the first part.
    result_, baseline_result_ : EcdResult
        On the third part: of the chosen model, and of the estimator as given.
    accuracy_, baseline_accuracy_ : float
        On the third part.
    classes_ : ndarray

    References
    ----------
    Monjezi et al., section V-D.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> import fairstats as fs
    >>> r = np.random.default_rng(1)
    >>> x = np.column_stack([r.integers(0, 2, 1500), r.normal(size=1500), r.normal(size=1500)])
    >>> y = (x[:, 1] + 0.8 * x[:, 0] * x[:, 2] + r.normal(size=1500) > 0.4).astype(int)
    >>> forest = RandomForestClassifier(n_estimators=30, min_samples_leaf=9, random_state=1)
    >>> search = fs.EcdSearch(
    ...     forest, {"max_features": [1, 2, 3]}, protected=0, privileged=1, unprivileged=0, n_iter=2,
    ...     sampler="random", threshold=20, interactions=200, random_state=1,
    ... )
    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", fs.FairstatsWarning)  # 300 rows have hardly a tail
    ...     search = search.fit(x, y)
    >>> search.trials_.shape[0]
    3
    """

    def __init__(
        self,
        estimator: Any,
        param_distributions: Mapping[str, Any],
        *,
        protected: Any,
        privileged: Any,
        unprivileged: Any,
        objective: str = "ecd",
        accuracy_loss: float = 0.02,
        n_iter: int = 20,
        timeout: float | None = None,
        interactions: float = 1000,
        threshold: int = 50,
        favorable_label: Hashable | None = None,
        splits: tuple[float, float, float] = (0.6, 0.2, 0.2),
        sampler: str = "auto",
        warm_start: bool = False,
        random_state: int = 0,
        progress: bool = False,
    ) -> None:
        self.estimator = estimator
        self.param_distributions = param_distributions
        self.protected = protected
        self.privileged = privileged
        self.unprivileged = unprivileged
        self.objective = objective
        self.accuracy_loss = accuracy_loss
        self.n_iter = n_iter
        self.timeout = timeout
        self.interactions = interactions
        self.threshold = threshold
        self.favorable_label = favorable_label
        self.splits = splits
        self.sampler = sampler
        self.warm_start = warm_start
        self.random_state = random_state
        self.progress = progress

    def fit(self, X: Any, y: Any) -> EcdSearch:
        """Search.

        Parameters
        ----------
        X : data frame or array, shape (n, p)
        y : array-like, shape (n,)

        Returns
        -------
        EcdSearch

        Raises
        ------
        InputError
            Settings, or no trial that can be trained.
        """
        import pandas as pd
        from tqdm import tqdm

        self._check()
        label = np.asarray(y)
        parts = self._parts(X, label)
        self._data = [(as_features(X).rows(rows), label[rows]) for rows in parts]
        self.classes_ = np.unique(label)
        if not (self.warm_start and hasattr(self, "_trials")):
            self._trials: list[dict[str, Any]] = []
            self._models: list[Any] = []
            self._propose: Iterator[dict[str, Any]] | None = None
            self._tell: Callable[[float], None] | None = None
            self._try({})
        if self._propose is None:
            self._propose, self._tell = proposals(
                self.param_distributions, self.sampler, int(self.random_state)
            )
        floor = self._trials[0]["accuracy"] - self.accuracy_loss
        started = time.monotonic()
        for _ in tqdm(range(self.n_iter), desc="trials", disable=not self.progress, leave=False):
            if self.timeout is not None and time.monotonic() - started > self.timeout:
                break
            params = next(self._propose, None)
            if params is None:
                break
            trial = self._try(params)
            if self._tell is not None:
                short = max(floor - trial["accuracy"], 0.0) if trial["accuracy"] == trial["accuracy"] else 1.0
                self._tell(trial["objective"] + 10.0 * short if not trial["error"] else 10.0)
        self._choose(floor)
        self.trials_ = pd.DataFrame(self._trials)
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Classes by the chosen model."""
        check_is_fitted(self, "best_estimator_")
        return np.asarray(self.best_estimator_.predict(X))

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probabilities by the chosen model, shape (n, classes)."""
        check_is_fitted(self, "best_estimator_")
        return np.asarray(self.best_estimator_.predict_proba(X))

    def to_frame(self) -> pd.DataFrame:
        """The trials."""
        check_is_fitted(self, "trials_")
        return self.trials_

    def _check(self) -> None:
        check_choice("objective", self.objective, ("ecd", "acd"))
        check_choice("sampler", self.sampler, ("auto", "optuna", "random"))
        as_count("n_iter", self.n_iter, least=1)
        if not (isinstance(self.accuracy_loss, (int, float)) and 0 <= self.accuracy_loss < 1):
            raise InputError(
                "accuracy_loss",
                got=repr(self.accuracy_loss),
                allowed="a share from 0 to below 1",
                cure="0.02",
            )
        shares = self.splits
        if len(shares) != 3 or min(shares) <= 0 or abs(sum(shares) - 1) > 1e-9:
            raise InputError(
                "splits",
                got=repr(shares),
                allowed="three shares above 0 that sum to 1",
                cure="(0.6, 0.2, 0.2)",
            )
        if not isinstance(self.param_distributions, Mapping) or not self.param_distributions:
            raise InputError(
                "param_distributions",
                got=repr(self.param_distributions),
                allowed="parameter → list of values, or distribution with rvs",
                cure='{"C": [0.1, 1, 10]}',
            )

    def _parts(self, X: Any, label: NDArray[Any]) -> list[NDArray[np.intp]]:
        """Rows of the three parts, each with its share of every group and label."""
        from sklearn.model_selection import train_test_split

        table = as_features(X)
        if label.shape != (table.n_rows,):
            raise InputError(
                "y", got=f"shape {label.shape}", allowed=f"one label for each of {table.n_rows:,} rows"
            )
        attribute = find_protected(table, self.protected, None)
        _, code = np.unique(label, return_inverse=True)
        stratum = attribute.codes * (code.max() + 1) + code
        rows = np.arange(table.n_rows)
        seed = int(self.random_state)
        try:
            first, rest = train_test_split(
                rows, train_size=self.splits[0], stratify=stratum, random_state=seed
            )
            share = self.splits[1] / (self.splits[1] + self.splits[2])
            second, third = train_test_split(
                rest, train_size=share, stratify=stratum[rest], random_state=seed
            )
        except ValueError as problem:
            raise InputError(
                "X",
                got=f"groups and labels that cannot be split three ways ({problem})",
                allowed="several rows of every label in every group",
                cure="more rows, or fewer groups",
            ) from problem
        return [np.sort(part) for part in (first, second, third)]

    def _try(self, params: dict[str, Any]) -> dict[str, Any]:
        """Train with these parameters and judge on the second part."""
        started = time.monotonic()
        model, error = clone(self.estimator).set_params(**params), ""
        accuracy = objective = float("nan")
        try:
            model.fit(*self._data[0])
            accuracy = self._accuracy(model, 1)
            objective = self._objective(model)
        except (ValueError, FloatingPointError, np.linalg.LinAlgError) as problem:
            if not params:
                raise
            model, error = None, f"{type(problem).__name__}: {problem}"
        trial = {
            "number": len(self._trials),
            **{f"param_{k}": v for k, v in params.items()},
            "accuracy": accuracy,
            "objective": objective,
            "seconds": time.monotonic() - started,
            "error": error,
        }
        self._trials.append(trial)
        self._models.append((model, params))
        return trial

    def _accuracy(self, model: Any, part: int) -> float:
        x, label = self._data[part]
        return float((np.asarray(model.predict(x)) == label).mean())

    def _objective(self, model: Any) -> float:
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore", FairstatsWarning
            )  # ties are common in the search; the report warns
            if self.objective == "acd":
                return abs(float(self._sample(model, 1).difference(self.unprivileged, self.privileged)[0]))
            value = self._ecd(model, 1, 0).estimate
        return abs(value) if value == value else 2.0

    def _sample(self, model: Any, part: int) -> Any:
        return counterfactual_discrimination(
            model, self._data[part][0], protected=self.protected, favorable_label=self.favorable_label
        )

    def _ecd(self, model: Any, part: int, n_resamples: int) -> EcdResult:
        return ecd(
            self._sample(model, part),
            privileged=self.privileged,
            unprivileged=self.unprivileged,
            interactions=self.interactions,
            threshold=self.threshold,
            n_resamples=n_resamples,
            rng=int(self.random_state),
        )

    def _choose(self, floor: float) -> None:
        for trial in self._trials:
            trial["feasible"] = bool(trial["accuracy"] >= floor - 1e-12) and not trial["error"]
        allowed = [t for t in self._trials if t["feasible"]]
        best = min(allowed, key=lambda t: t["objective"])["number"]
        self.best_estimator_, self.best_params_ = self._models[best]
        self.accuracy_, self.baseline_accuracy_ = (
            self._accuracy(model, 2) for model in (self.best_estimator_, self._models[0][0])
        )
        self.result_ = self._ecd(self.best_estimator_, 2, 999)
        self.baseline_result_ = self._ecd(self._models[0][0], 2, 999) if best else self.result_
