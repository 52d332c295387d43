"""Estimators that need the sensitive column at fit or predict, and how they are given it."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairstats.ground.errors import InputError

__all__ = ["SensitiveUse", "check_estimator", "sensitive_use"]

_NAME = "sensitive_features"
PASSING = ("auto", "none", "fit", "predict", "both")


@dataclass(frozen=True)
class SensitiveUse:
    """Keywords under which an estimator takes the sensitive column and a seed; None where it does not.

    Attributes
    ----------
    fit, predict : str or None
    seed : bool
        Whether ``predict`` takes ``random_state``: fairlearn's mitigators predict at random.
    """

    fit: str | None
    predict: str | None
    seed: bool

    def fit_predict(
        self, estimator: Any, train: tuple[Any, Any, Any], test: tuple[Any, Any], random_state: int
    ) -> Any:
        """Fit a clone on (X, y, sensitive) and predict (X, sensitive)."""
        from sklearn.base import clone

        X, y, sensitive = train
        fitted = clone(estimator)
        fitted.fit(X, y, **({} if self.fit is None else {self.fit: sensitive}))
        options: dict[str, Any] = {} if self.predict is None else {self.predict: test[1]}
        if self.seed:
            options["random_state"] = random_state
        return np.asarray(fitted.predict(test[0], **options))


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


def sensitive_use(estimator: Any, passing: str = "auto") -> SensitiveUse:
    """Find out how an estimator takes the sensitive column.

    Parameters
    ----------
    estimator : object with fit and predict
    passing : {"auto", "none", "fit", "predict", "both"}
        "auto": where its signature names ``sensitive_features``, where it requested it by scikit-learn's
        metadata routing, and at fit for fairlearn's reductions, which take it among their keywords. In a
        pipeline the last step decides.
    """
    from sklearn import get_config

    routing = bool(get_config().get("enable_metadata_routing", False))
    last, prefix = estimator, ""
    steps = getattr(estimator, "steps", None)
    if steps and not routing:
        prefix, last = f"{steps[-1][0]}__", steps[-1][1]
    at_fit, at_predict = (
        (passing in ("fit", "both"), passing in ("predict", "both"))
        if passing != "auto"
        else (_takes(last, "fit", routing), _takes(last, "predict", routing))
    )
    seed = "random_state" in _parameters(last, "predict")
    return SensitiveUse(prefix + _NAME if at_fit else None, _NAME if at_predict else None, seed)


def _takes(estimator: Any, method: str, routing: bool) -> bool:
    if _NAME in _parameters(estimator, method):
        return True
    if method == "fit" and type(estimator).__module__.startswith("fairlearn.reductions"):
        return True
    if routing and hasattr(estimator, "get_metadata_routing"):
        try:
            consumed = estimator.get_metadata_routing().consumes(method=method, params={_NAME})
        except (AttributeError, TypeError, ValueError):
            return False
        return _NAME in consumed
    return False


def _parameters(estimator: Any, method: str) -> set[str]:
    try:
        return set(inspect.signature(getattr(estimator, method)).parameters)
    except (TypeError, ValueError, AttributeError):
        return set()
