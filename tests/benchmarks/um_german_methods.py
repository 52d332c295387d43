"""The methods of the study on German credit.

Those of Barrainkua et al. (2024), table 12.1, that we had.

Kamiran: weights n_s·n_y / (n·n_sy) at fit. Feldman: AIF360's DisparateImpactRemover (repair level
1) on the whole table once, without labels: it has no transform for new rows. FERM and LFERM (Donini
et al. 2018): the support vector machine whose mean score of favourable training rows is the same in
both groups, which is their constraint with ε = 0; a weight vector at right angles to the difference
u of the groups' means (in feature space) is one of the kernel K(x, x') − ⟨x, u⟩⟨x', u⟩/⟨u, u⟩.
Agarwal: fairlearn's exponentiated gradient with true positive rate parity. Hardt: fairlearn's
ThresholdOptimizer on hard predictions, equalised odds with balanced accuracy as objective, as in
AIF360. Zafar et al. (2017) could not be had: the authors' code is for Python 2, and no package
holds it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.svm import SVC

import fairstats as fs

#: Methods whose predictions are post-processed group by group (Hardt et al. 2016), and so unstable.
HARDT = " + Hardt"
#: Methods that are given the repaired columns.
FELDMAN = "Feldman + "


def columns() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features (one-hot, standardised), good credit, and age group."""
    from sklearn.preprocessing import StandardScaler

    frame, _ = fs.datasets.load_german_credit()
    label = (frame["credit"] == "good").to_numpy().astype(int)
    group = np.where(frame["age"].to_numpy() <= 25, "young", "older")
    X = pd.get_dummies(frame.drop(columns=["credit"])).to_numpy(dtype=float)
    return StandardScaler().fit_transform(X), label, group


def repaired(X: np.ndarray, label: np.ndarray, group: np.ndarray) -> np.ndarray:
    """The columns as AIF360's DisparateImpactRemover makes them, without those of the group.

    Needs ``aif360``, ``BlackBoxAuditing`` and ``networkx``, which only a run of the study does.
    """
    from aif360.algorithms.preprocessing import DisparateImpactRemover
    from aif360.datasets import BinaryLabelDataset

    frame = pd.DataFrame(X, columns=[f"x{k}" for k in range(X.shape[1])])
    frame = frame.assign(young=(group == "young").astype(float), label=label.astype(float))
    table = BinaryLabelDataset(df=frame, label_names=["label"], protected_attribute_names=["young"])
    remover = DisparateImpactRemover(repair_level=1.0, sensitive_attribute="young")
    return np.asarray(remover.fit_transform(table).features[:, :-1])


class Reweighed(ClassifierMixin, BaseEstimator):
    """Kamiran and Calders (2012): label and group independent under the weights."""

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def fit(self, X: Any, y: Any, *, sensitive_features: Any) -> Reweighed:
        """Fit with the weights n_s·n_y / (n·n_sy)."""
        y = np.asarray(y)
        group = np.asarray(sensitive_features)
        weight = np.empty(len(y))
        for s in np.unique(group):
            for value in np.unique(y):
                cell = (group == s) & (y == value)
                weight[cell] = (group == s).mean() * (y == value).mean() / cell.mean()
        self.classes_ = np.unique(y)
        self.estimator_ = clone(self.estimator).fit(X, y, sample_weight=weight)
        return self

    def predict(self, X: Any) -> Any:
        """Labels."""
        return self.estimator_.predict(X)


class Ferm(ClassifierMixin, BaseEstimator):
    """Donini et al. (2018), ε = 0: equal mean scores of the groups' favourable training rows."""

    def __init__(self, kernel: str = "rbf", C: float = 1.0) -> None:
        self.kernel = kernel
        self.C = C

    def _kernel(self, X: Any) -> Any:
        from sklearn.metrics.pairwise import pairwise_kernels

        options = {"gamma": self.gamma_} if self.kernel == "rbf" else {}
        return pairwise_kernels(X, self.X_, metric=self.kernel, **options)

    def _projected(self, X: Any) -> Any:
        """The kernel of the features at right angles to u."""
        kernel = self._kernel(X)
        along = kernel @ self.direction_
        return kernel - np.outer(along, self.along_) / self.square_

    def fit(self, X: Any, y: Any, *, sensitive_features: Any) -> Ferm:
        """Project, then a support vector machine."""
        y = np.asarray(y)
        group = np.asarray(sensitive_features)
        self.X_, self.classes_ = np.asarray(X), np.unique(y)
        self.gamma_ = 1.0 / (self.X_.shape[1] * self.X_.var())  # scikit-learn's "scale"
        favourable = y == self.classes_[1]
        one, two = (favourable & (group == s) for s in np.unique(group))
        self.direction_ = one / one.sum() - two / two.sum()
        self.along_ = self._kernel(self.X_) @ self.direction_
        self.square_ = float(self.along_ @ self.direction_)
        self.machine_ = SVC(kernel="precomputed", C=self.C).fit(self._projected(self.X_), y)
        return self

    def decision_function(self, X: Any) -> Any:
        """Scores."""
        return self.machine_.decision_function(self._projected(np.asarray(X)))

    def predict(self, X: Any) -> Any:
        """Labels."""
        return self.machine_.predict(self._projected(np.asarray(X)))


def methods() -> dict[str, Any]:
    """Every method by name; those of `FELDMAN` are for the repaired columns."""
    from fairlearn.postprocessing import ThresholdOptimizer
    from fairlearn.reductions import ExponentiatedGradient, TruePositiveRateParity
    from sklearn.linear_model import LogisticRegression

    logit = LogisticRegression(max_iter=1000)
    svm = SVC(kernel="rbf", C=1.0)
    plain = {"LR": logit, "SVM": svm, "Lin. SVM": SVC(kernel="linear", C=0.1)}

    def hardt(estimator: Any) -> Any:
        return ThresholdOptimizer(
            estimator=estimator,
            constraints="equalized_odds",
            objective="balanced_accuracy_score",
            predict_method="predict",
        )

    return (
        plain
        | {name + HARDT: hardt(estimator) for name, estimator in plain.items()}
        | {
            "Kamiran + LR": Reweighed(logit),
            "Kamiran + SVM": Reweighed(svm),
            FELDMAN + "LR": logit,
            FELDMAN + "SVM": svm,
            "FERM": Ferm(),
            "LFERM": Ferm("linear", C=0.1),
            "Agarwal + LR": ExponentiatedGradient(logit, TruePositiveRateParity(), max_iter=20),
        }
    )
