"""Data sets, models and the mitigator of `ecd_real_data`.

Seven data sets of table II of the paper: what is the favourable outcome, which two groups are
compared, and which columns the models see. Adult, COMPAS and German credit come with the package;
the others are read from ``../shared/data`` beside the project, in the layout of
`fairstats.datasets`."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import fairstats as fs

SHARED = Path(__file__).resolve().parents[2].parent / "shared" / "data"
MODELS = ("LR", "SVM", "RF", "MLP")
#: Training rows at most: an SVM's time grows with their square, and EG trains every model some 15
#: times.
MOST_TRAINING_ROWS = {"LR": 5000, "SVM": 800, "RF": 2000, "MLP": 1000}
#: Of `ExponentiatedGradient`: allowed violation of demographic parity, and rounds.
EPS = 0.01
ROUNDS = 3


@dataclass(frozen=True)
class Task:
    """A data set with its protected attribute.

    Attributes
    ----------
    name : str
    read : callable
        Gives (features, favourable outcome 0/1).
    protected, privileged, unprivileged : str
        Column of the features, and its two values.
    reverse : bool
        Whether table II of the paper calls the *un*favourable outcome label 1.
    """

    name: str
    read: Callable[[], tuple[pd.DataFrame, np.ndarray]]
    protected: str
    privileged: str
    unprivileged: str
    reverse: bool = False


class Missing(Exception):
    """A data set that is not here."""


def shared(name: str) -> pd.DataFrame:
    """A data set that the package does not carry."""
    file = SHARED / f"{name}.csv.gz"
    if not file.exists():
        raise Missing(f"../shared/data/{file.name} is not there")
    return pd.read_csv(file, keep_default_na=False, na_values=[""])


def adult_sex() -> tuple[pd.DataFrame, np.ndarray]:
    """All 14 attributes of the 32,561 training rows."""
    frame = fs.datasets.load_adult()[0]
    return frame.drop(columns="income"), favourable(frame["income"] == ">50K")


def adult_race() -> tuple[pd.DataFrame, np.ndarray]:
    """Rows of the two groups that the paper compares."""
    frame, label = adult_sex()
    two = frame["race"].isin(["White", "Black"]).to_numpy()
    return frame[two].reset_index(drop=True), label[two]


def compas_race() -> tuple[pd.DataFrame, np.ndarray]:
    """What is known before the score is; not COMPAS's own scores."""
    frame = fs.datasets.load_compas()[0]
    known = ["sex", "age", "age_cat", "race", "juv_fel_count", "juv_misd_count", "juv_other_count"]
    known += ["priors_count", "c_charge_degree"]
    label = favourable(frame["two_year_recid"] == 0)
    race = np.where(frame["race"] == "Caucasian", "Caucasian", "other")
    return frame[known].assign(race=race), label


def german_sex() -> tuple[pd.DataFrame, np.ndarray]:
    """Without `personal_status`, which says the sex a second time."""
    frame = fs.datasets.load_german_credit()[0]
    return frame.drop(columns=["credit", "personal_status"]), favourable(frame["credit"] == "good")


def bank_age() -> tuple[pd.DataFrame, np.ndarray]:
    """Old: 60 and over. Without `duration`, which is known only when the outcome is."""
    frame = shared("bank_full")
    age = np.where(frame["age"] >= 60, "old", "young")
    return frame.drop(columns=["y", "duration"]).assign(age=age), favourable(frame["y"] == "yes")


def default_sex() -> tuple[pd.DataFrame, np.ndarray]:
    """All 23 attributes; no default is favourable."""
    frame = shared("credit_default").rename(columns={"SEX": "sex"})
    label = favourable(frame["default_payment_next_month"] == 0)
    sex = np.where(frame["sex"] == 1, "male", "female")
    return frame.drop(columns="default_payment_next_month").assign(sex=sex), label


def heart_sex() -> tuple[pd.DataFrame, np.ndarray]:
    """The 297 complete rows; no disease is favourable."""
    frame = shared("heart_cleveland").dropna().reset_index(drop=True)
    sex = np.where(frame["sex"] == 1, "male", "female")
    return frame.drop(columns="num").assign(sex=sex), favourable(frame["num"] == 0)


def student_sex() -> tuple[pd.DataFrame, np.ndarray]:
    """All attributes with the marks G1 and G2, as in the paper.

    A final mark of 10 or more passes.
    """
    frame = shared("student")
    return frame.drop(columns="G3"), favourable(frame["G3"] >= 10)


def favourable(mask: pd.Series) -> np.ndarray:
    """0/1 of a mask."""
    return mask.to_numpy(dtype=bool).astype(int)


TASKS = (
    Task("Adult, race", adult_race, "race", "White", "Black"),
    Task("Adult, sex", adult_sex, "sex", "Male", "Female"),
    Task("COMPAS, race", compas_race, "race", "Caucasian", "other"),
    Task("German credit, sex", german_sex, "sex", "male", "female"),
    Task("Bank, age", bank_age, "age", "young", "old"),
    Task("Default, sex", default_sex, "sex", "male", "female", reverse=True),
    Task("Heart, sex", heart_sex, "sex", "male", "female", reverse=True),
    Task("Student, sex", student_sex, "sex", "M", "F"),
)


def estimator(model: str, seed: int) -> Any:
    """One of the four models: scikit-learn's defaults, but for the MLP."""
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.neural_network import MLPClassifier
    from sklearn.svm import SVC

    if model == "LR":
        return LogisticRegression(max_iter=1000)
    if model == "SVM":  # Platt's sigmoid of the out-of-fold decision values
        return CalibratedClassifierCV(SVC(), ensemble=False, cv=3)
    if model == "RF":
        return RandomForestClassifier(random_state=seed)
    return MLPClassifier(
        (64,) * 5, batch_size=64, max_iter=25, random_state=seed
    )  # Adam, rate .001


def encoder(frame: pd.DataFrame) -> Any:
    """Indicators of categories (one for two values), standardised numbers."""
    from sklearn.compose import make_column_transformer
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    numbers = frame.select_dtypes("number").columns.tolist()
    categories = [name for name in frame if name not in numbers]
    indicators = OneHotEncoder(handle_unknown="ignore", drop="if_binary", sparse_output=False)
    return make_column_transformer((indicators, categories), (StandardScaler(), numbers)).fit(frame)


class Mixture:
    """What `ExponentiatedGradient` found: predictors, one of which is drawn for each prediction.

    The probability of the favourable prediction, which `_pmf_predict` of fairlearn gives, is the
    sum of the weights of the predictors that predict it (`hard`). Mixing the predictors' own
    probabilities with the same weights gives a score without steps (`mixed`). The last answers are
    kept: both ask for the same rows."""

    def __init__(self, gradient: Any, encode: Callable[[Any], np.ndarray]) -> None:
        used = [
            (float(w), gradient.predictors_[t]) for t, w in gradient.weights_.items() if w > 1e-12
        ]
        self.weights = np.array([weight for weight, _ in used])
        self.predictors = [predictor for _, predictor in used]
        self.encode = encode
        self.known: dict[bytes, np.ndarray] = {}

    def hard(self, frame: pd.DataFrame) -> np.ndarray:
        """Probability of the favourable prediction."""
        return np.clip((self.probabilities(frame) > 0.5) @ self.weights, 0.0, 1.0)

    def mixed(self, frame: pd.DataFrame) -> np.ndarray:
        """Weighted mean of the predictors' probabilities."""
        return np.clip(self.probabilities(frame) @ self.weights, 0.0, 1.0)

    def probabilities(self, frame: pd.DataFrame) -> np.ndarray:
        """Of each predictor, shape (n, predictors)."""
        X = self.encode(frame)
        key = hashlib.sha256(np.ascontiguousarray(X).data).digest()
        if key not in self.known:
            self.known[key] = np.column_stack(
                [_of_one(predictor, X) for predictor in self.predictors]
            )
        return self.known[key]


def _of_one(predictor: Any, X: np.ndarray) -> np.ndarray:
    """Probability of class 1, also where a predictor knows one class only."""
    classes = list(predictor.classes_)
    if 1 not in classes:
        return np.zeros(len(X))
    return np.asarray(predictor.predict_proba(X)[:, classes.index(1)], dtype=float)


def mitigated(model: str, seed: int, X: np.ndarray, y: np.ndarray, group: np.ndarray) -> Any:
    """`ExponentiatedGradient` with demographic parity."""
    from fairlearn.reductions import DemographicParity, ExponentiatedGradient

    gradient = ExponentiatedGradient(
        estimator(model, seed), DemographicParity(), eps=EPS, max_iter=ROUNDS
    )
    return gradient.fit(X, y, sensitive_features=group)
