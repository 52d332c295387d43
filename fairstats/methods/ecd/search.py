"""`EcdSearch`: hyper-parameters with the least extreme discrimination at little loss of
accuracy.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted

from fairstats.ground import checks
from fairstats.ground.backends import BACKENDS
from fairstats.ground.codes import cross_codes
from fairstats.ground.encoding import as_array, check_labels, factorize
from fairstats.ground.errors import FairstatsWarning, InputError, MissingDependencyError
from fairstats.ground.lazy import pd
from fairstats.ground.predictions import as_features, keep_features
from fairstats.ground.progress import each_of
from fairstats.methods.ecd.discrimination import counterfactual_discrimination, find_attribute
from fairstats.methods.ecd.ecd import ecd
from fairstats.methods.ecd.result import EcdResult
from fairstats.methods.ecd.tail import capped


class EcdSearch(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Search over hyper-parameters for the least discrimination under an accuracy constraint
    (ECD-Fair).

    The rows are split three ways: models are trained on the first part and chosen on the second;
    the chosen model's ECD is reported on the third, which the search never sees (section V-D of
    Monjezi et al., see `ecd`).

    Parameters
    ----------
    estimator : classifier or pipeline
        With `predict_proba`.
    param_distributions : dict of name to list or distribution
        As for `sklearn.model_selection.RandomizedSearchCV`.
    sensitive_features : column, list of columns, or mapping
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
    interactions, pos_label
        As for `ecd` and `counterfactual_discrimination`.
    threshold : int, optional
        As for `ecd`: trials and reports are by the same rule. More than 5% of the rows of the
        smaller group (ten at least) are cut to these: tails that are not generalised Pareto bias
        the level (80 rows a group, k = 50: 95% intervals covered .875). `threshold_` has what the
        reported results were given.
    label_values : sequence, optional
        The labels that may occur in `y`: more is an error, and a favourable one that no row has has
        the probability 0, with a warning.
    backend : {None, "auto", "r", "scipy"}
        Of the results that are reported, as for `ecd`. Trials are by SciPy, whose equality R's fits
        check.
    splits : (float, float, float)
        Shares of the three parts; they sum to 1.
    sampler : {"auto", "optuna", "random"}
        "auto": Optuna's TPE where it is installed, else scikit-learn's random sampler.
    warm_start : bool
        A further `fit` on the same rows adds trials to those that there are.
    random_state : int
    progress : bool, default True
        Whether a terminal shows a bar once it takes more than two seconds.

    Attributes
    ----------
    trials_ : DataFrame
        One row per trial: number, parameters, accuracy, objective, feasible, seconds, error.
    best_params_ : dict
        Of the feasible trial with the least objective; empty where the estimator as given is best.
    best_estimator_ : classifier
        Trained on the first part.
    result_, baseline_result_, accuracy_, baseline_accuracy_ : EcdResult, float
        On the third part: of the chosen model, and of the estimator as given.
    threshold_ : int or None
    classes_ : ndarray
    n_features_in_ : int
        Columns of the fit.
    feature_names_in_ : ndarray of str
        Their names, where all are texts.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> from sklearn.neural_network import MLPClassifier
    >>> import fairstats as fs
    >>> r = np.random.default_rng(1)
    >>> x = np.column_stack([r.integers(0, 2, 1500), r.normal(size=1500), r.normal(size=1500)])
    >>> y = (x[:, 1] + 0.8 * x[:, 0] * x[:, 2] + r.normal(size=1500) > 0.4).astype(int)
    >>> network = MLPClassifier(solver="lbfgs", alpha=1.0, max_iter=2000, random_state=1)
    >>> search = fs.EcdSearch(
    ...     network, {"hidden_layer_sizes": [(2,), (3,), (4,)]}, sensitive_features=0, privileged=1, unprivileged=0,
    ...     n_iter=1, sampler="random", threshold=20, interactions=200, random_state=1,
    ... )
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", fs.FairstatsWarning)  # 300 rows have hardly a tail
    ...     search = search.fit(x, y)
    >>> search.trials_.shape[0]
    2
    """

    def __init__(
        self,
        estimator: Any,
        param_distributions: Mapping[str, Any],
        *,
        sensitive_features: Any,
        privileged: Any,
        unprivileged: Any,
        objective: str = "ecd",
        accuracy_loss: float = 0.02,
        n_iter: int = 20,
        timeout: float | None = None,
        interactions: float = 1000,
        threshold: int | None = None,
        pos_label: Hashable | None = None,
        backend: str | None = None,
        splits: tuple[float, float, float] = (0.6, 0.2, 0.2),
        sampler: str = "auto",
        warm_start: bool = False,
        random_state: int = 0,
        progress: bool = True,
        label_values: Any = None,
    ) -> None:
        self.estimator = estimator
        self.param_distributions = param_distributions
        self.sensitive_features = sensitive_features
        self.pos_label = pos_label
        self.label_values = label_values
        self.privileged = privileged
        self.unprivileged = unprivileged
        self.objective = objective
        self.accuracy_loss = accuracy_loss
        self.n_iter = n_iter
        self.timeout = timeout
        self.interactions = interactions
        self.threshold = threshold
        self.splits = splits
        self.sampler = sampler
        self.backend = backend
        self.warm_start = warm_start
        self.random_state = random_state
        self.progress = progress

    def fit(self, X: Any, y: Any) -> EcdSearch:
        """Search on rows, shape (n, p), with labels, shape (n,).

        InputError where these or settings cannot be used.
        """
        self._check()
        label = as_array(y, "y")
        factor = factorize(y, "y")
        mixed = (
            factor.has_missing or label.dtype.kind == "V" or len(set(map(type, factor.levels))) > 1
        )
        checks.check_that(
            not mixed,
            "y",
            y,
            "one label per row, all of one type",
            "leave out rows without a label",
        )
        self._possible = check_labels(factor, "y", self.pos_label, self.label_values)
        if label.dtype.kind == "f" and not np.all(label == np.floor(label)):
            allowed = "classes: texts, booleans or whole numbers"
            cure = "cut the numbers into classes: y > 0, say"
            raise InputError("y", got="continuous numbers", allowed=allowed, cure=cure)
        parts = self._parts(X, label)
        self._data = [(as_features(X).rows(rows), label[rows]) for rows in parts]
        keep_features(self, X)
        self.classes_ = np.unique(label)
        if not (self.warm_start and hasattr(self, "_trials")):
            self._trials: list[dict[str, Any]] = []
            self._models: list[Any] = []
            self._values_told: list[float] = []
            self._proposer: _Proposer | None = None
            self._try({})
        if self._proposer is None:
            self._proposer = self._make_proposer()
        proposer = self._proposer
        floor = self._trials[0]["accuracy"] - self.accuracy_loss
        started = time.monotonic()
        for _ in each_of(range(self.n_iter), "trials", shown=self.progress):
            if self.timeout is not None and time.monotonic() - started > self.timeout:
                break
            params = next(proposer.proposals, None)
            if params is None:
                break
            value = self._value_to_tell(self._try(params), floor)
            self._values_told.append(value)
            proposer.tell(value)
        self._choose(floor)
        self.trials_ = pd.DataFrame(self._trials)
        return self

    def _make_proposer(self) -> _Proposer:
        """What proposes parameters, after the trials that there are.

        Generators cannot be pickled: a search that comes from a file asks for the same proposals
        once more, and tells the same values, before it goes on.
        """
        proposer = _propose_parameters(
            self.param_distributions, self.sampler, int(self.random_state)
        )
        for value in self._values_told:
            next(proposer.proposals)
            proposer.tell(value)
        return proposer

    def _value_to_tell(self, trial: Mapping[str, Any], floor: float) -> float:
        """What a sampler that learns is told of a trial: the lower, the better."""
        if trial["error"]:
            return 10.0
        accuracy = trial["accuracy"]
        if np.isnan(accuracy):
            short = 1.0
        else:
            short = max(floor - accuracy, 0.0)
        return float(trial["objective"] + 10.0 * short)

    def __getstate__(self) -> dict[str, Any]:
        """All but the generator of proposals."""
        state: dict[str, Any] = super().__getstate__()
        if "_proposer" in state:
            state = {**state, "_proposer": None}
        return state

    def predict(self, X: Any) -> NDArray[Any]:
        """Classes by the chosen model, shape (n,); InputError for what is no table of features."""
        check_is_fitted(self, "best_estimator_")
        as_features(X)
        return np.asarray(self.best_estimator_.predict(X))

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probabilities by the chosen model, shape (n, classes).

        InputError for what is no table of features.
        """
        check_is_fitted(self, "best_estimator_")
        as_features(X)
        return np.asarray(self.best_estimator_.predict_proba(X))

    def to_frame(self) -> pd.DataFrame:
        """The trials."""
        check_is_fitted(self, "trials_")
        return self.trials_

    def _check(self) -> None:
        """Raise unless every setting can be used."""
        trains = all(
            callable(getattr(self.estimator, name, None)) for name in ("fit", "get_params")
        )
        is_usable = trains and not isinstance(self.estimator, type)
        allowed = "an estimator as scikit-learn's are"
        checks.check_that(
            is_usable, "estimator", self.estimator, allowed, "RandomForestClassifier(), say"
        )
        checks.check_whole("random_state", self.random_state, low=0, cure="random_state=0")
        checks.check_flag("warm_start", self.warm_start)
        single = checks.is_plain(self.pos_label) and not isinstance(
            self.pos_label, (tuple, range, memoryview)
        )
        checks.check_that(
            single, "pos_label", self.pos_label, "one class of the labels", "pos_label=1"
        )
        checks.check_flag("progress", self.progress)
        if self.timeout is not None:
            checks.check_number("timeout", self.timeout, low=0, open_low=True, cure="seconds: 600")
        checks.check_choice("objective", self.objective, ("ecd", "acd"))
        checks.check_choice("sampler", self.sampler, ("auto", "optuna", "random"))
        checks.check_choice("backend", self.backend, (None, *BACKENDS))
        checks.check_whole("n_iter", self.n_iter, low=1)
        if self.threshold is not None:
            checks.check_whole("threshold", self.threshold, low=10)
        checks.check_number(
            "accuracy_loss",
            self.accuracy_loss,
            low=0,
            high=1,
            open_high=True,
            cure="0.02",
        )
        shares = self.splits
        choices = self.param_distributions
        allowed_and_cure = ("three shares above 0 that sum to 1", "(0.6, 0.2, 0.2)")
        checks.check_that(
            isinstance(shares, (list, tuple)) and len(shares) == 3,
            "splits",
            shares,
            *allowed_and_cure,
        )
        total = sum(
            checks.check_share("splits", share, cure=allowed_and_cure[1]) for share in shares
        )
        checks.check_that(abs(total - 1) <= 1e-9, "splits", shares, *allowed_and_cure)
        is_usable = isinstance(choices, Mapping) and bool(choices)
        allowed = "parameter → values, or distribution"
        checks.check_that(is_usable, "param_distributions", choices, allowed, '{"C": [0.1, 1, 10]}')

    def _parts(self, X: Any, label: NDArray[Any]) -> list[NDArray[np.intp]]:
        """Rows of the three parts, each with its share of every group and label."""
        from sklearn.model_selection import train_test_split

        table = as_features(X)
        checks.check_rows("y", label, table.n_rows, per_row="label")
        attribute = find_attribute(table, self.sensitive_features, None)
        _, label_codes = np.unique(label, return_inverse=True)
        stratum = cross_codes(
            (attribute.codes, len(attribute.labels)), (label_codes, int(label_codes.max()) + 1)
        )
        rows = np.arange(table.n_rows)
        seed = int(self.random_state)
        try:
            first, other_rows = train_test_split(
                rows,
                train_size=self.splits[0],
                stratify=stratum,
                random_state=seed,
            )
            share = self.splits[1] / (self.splits[1] + self.splits[2])
            second, third = train_test_split(
                other_rows,
                train_size=share,
                stratify=stratum[other_rows],
                random_state=seed,
            )
        except ValueError as problem:
            got = f"groups and labels that cannot be split three ways ({problem})"
            allowed = "several rows of every label in every group"
            raise InputError(
                "X",
                got=got,
                allowed=allowed,
                cure="more rows, or fewer groups",
            ) from problem
        return [np.sort(part) for part in (first, second, third)]

    def _try(self, params: dict[str, Any]) -> dict[str, Any]:
        """Train with these parameters and judge on the second part."""
        started = time.monotonic()
        model = clone(self.estimator).set_params(**params)
        error = ""
        accuracy = objective = float("nan")
        try:
            model.fit(*self._data[0])
            accuracy = self._measure_accuracy(model, 1)
            objective = self._measure_objective(model)
        except (ValueError, FloatingPointError, np.linalg.LinAlgError) as problem:
            if not params:
                raise
            model = None
            error = f"{type(problem).__name__}: {problem}"
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

    def _measure_accuracy(self, model: Any, part: int) -> float:
        x, label = self._data[part]
        return float((np.asarray(model.predict(x)) == label).mean())

    def _measure_objective(self, model: Any) -> float:
        with warnings.catch_warnings():
            # ties are common in the search; the report warns
            warnings.simplefilter("ignore", FairstatsWarning)
            if self.objective == "acd":
                return abs(
                    float(self._sample(model, 1).difference(self.unprivileged, self.privileged)[0])
                )
            value = self._estimate_ecd(model, 1, 0, "scipy").estimate
        return abs(value) if value == value else 2.0

    def _sample(self, model: Any, part: int) -> Any:
        return counterfactual_discrimination(
            model,
            self._data[part][0],
            sensitive_features=self.sensitive_features,
            pos_label=self.pos_label,
            label_values=self._possible,
        )

    def _estimate_ecd(
        self, model: Any, part: int, n_resamples: int, backend: str | None
    ) -> EcdResult:
        """ECD of a model on a part of the rows; without resamples only what a trial is judged by."""
        sample = self._sample(model, part)
        fewest = min(sample[self.privileged].n, sample[self.unprivileged].n)
        self.threshold_ = capped(self.threshold, fewest)
        return ecd(
            sample,
            privileged=self.privileged,
            unprivileged=self.unprivileged,
            interactions=self.interactions,
            threshold=self.threshold_,
            n_resamples=n_resamples,
            # a trial is judged by the same estimate; what is reported has the rest
            sensitivity=(0.5, 2.0) if n_resamples else (),
            other_interactions=(500, 1000, 2000, 10_000) if n_resamples else (),
            backend=backend,
            rng=int(self.random_state),
        )

    def _choose(self, floor: float) -> None:
        for trial in self._trials:
            trial["feasible"] = bool(trial["accuracy"] >= floor - 1e-12) and not trial["error"]
        allowed = [candidate for candidate in self._trials if candidate["feasible"]]
        best = min(allowed, key=lambda candidate: candidate["objective"])["number"]
        baseline = self._models[0][0]
        self.best_estimator_, self.best_params_ = self._models[best]
        self.accuracy_, self.baseline_accuracy_ = (
            self._measure_accuracy(model, 2) for model in (self.best_estimator_, baseline)
        )
        self.result_ = self._estimate_ecd(self.best_estimator_, 2, 999, self.backend)
        if best:
            self.baseline_result_ = self._estimate_ecd(baseline, 2, 999, self.backend)
        else:
            self.baseline_result_ = self.result_


@dataclass(frozen=True)
class _Proposer:
    """Parameters to try, one set after the other; `tell` takes what came of the last (lower is
    better).
    """

    proposals: Iterator[dict[str, Any]]
    tell: Callable[[float], None]


def _propose_parameters(distributions: Mapping[str, Any], sampler: str, seed: int) -> _Proposer:
    """What proposes parameters, by the sampler that is asked for or installed."""
    for name, choices in distributions.items():
        if not (hasattr(choices, "rvs") and hasattr(choices, "ppf")) and not _is_list(choices):
            allowed = "a list of values, or a frozen distribution of scipy.stats"
            got = f"{type(choices).__name__} for {name!r}"
            cure = "scipy.stats.loguniform(1e-3, 1e3)"
            raise InputError("param_distributions", got=got, allowed=allowed, cure=cure)
    installed = find_spec("optuna") is not None
    if sampler == "optuna" and not installed:
        raise MissingDependencyError("optuna", extra="search", purpose="sampler='optuna'")
    if sampler == "random" or not installed:
        return _Proposer(_propose_at_random(distributions, seed), tell=_learn_nothing)
    return _propose_by_optuna(distributions, seed)


def _is_list(choices: Any) -> bool:
    return isinstance(choices, (list, tuple)) and len(choices) > 0


def _propose_at_random(distributions: Mapping[str, Any], seed: int) -> Iterator[dict[str, Any]]:
    from sklearn.model_selection import ParameterGrid, ParameterSampler

    all_listed = all(_is_list(choices) for choices in distributions.values())
    if all_listed:
        count = len(ParameterGrid(dict(distributions)))
    else:
        count = 1_000_000
    yield from ParameterSampler(dict(distributions), n_iter=count, random_state=seed)


def _learn_nothing(value: float) -> None:
    """Random proposals do not depend on what came of the last."""


def _propose_by_optuna(distributions: Mapping[str, Any], seed: int) -> _Proposer:
    """Candidates by Optuna's TPE sampler, which is told how each did."""
    import optuna

    level = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed))
    optuna.logging.set_verbosity(level)
    current: list[Any] = []

    def ask() -> Iterator[dict[str, Any]]:
        while True:
            trial = study.ask()
            current.append(trial)
            yield {
                name: _suggest_value(trial, name, choices)
                for name, choices in distributions.items()
            }

    def tell(value: float) -> None:
        study.tell(current.pop(), value)

    return _Proposer(ask(), tell=tell)


def _suggest_value(trial: Any, name: str, choices: Any) -> Any:
    """A value; distributions through their quantile function."""
    if _is_list(choices):
        return choices[trial.suggest_categorical(name, list(range(len(choices))))]
    value = choices.ppf(trial.suggest_float(name, 1e-9, 1 - 1e-9))
    if float(value).is_integer() and hasattr(choices.dist, "pmf"):
        return int(value)
    return float(value)
