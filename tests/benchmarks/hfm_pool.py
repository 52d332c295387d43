"""Section 4.2 of Bian and Luo (2024), tables 1 and 3 to 5, figures 1, 2 and 6: rules that choose.

    OMP_NUM_THREADS=1 python -m tests.benchmarks.hfm_pool --out FILE --old-python PYTHON

The paper's pool (bagging, AdaBoost, LightGBM, FairGBM, AdaFair, and seven plain classifiers) on its
five data sets, five folds: α·error + (1 − α)·|fairness| on the training part chooses a classifier,
which is measured on the test part. LightGBM must be installed; FairGBM and AdaFair need a Python of
their own (`hfm_old_models`), and are left out without ``--old-python``. Every finished data set is at
once lines of JSON in FILE, one a sensitive attribute; a run that was broken off goes on.

What the paper does not give is chosen here, before any result was seen: default settings of every
library, categories one-hot, columns of COMPAS without dates and texts, at most 1,000 random rows of
a data set (the paper has up to 30,162), the first attribute of a data set for FairGBM (equal false
negative rates) and AdaFair. The record holds every run."""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

import fairstats as fs
from fairstats.datasets import load_adult, load_compas, load_german_credit, load_ricci, read_compas

RECORD = Path(__file__).with_suffix(".jsonl")
SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
OLD_MODELS = Path(__file__).with_name("hfm_old_models.py")
OLD = ("FairGBM", "AdaFair")
MOST_ROWS = 1_000
SEED = 1
DIGITS = 6
#: What the paper's columns are called here.
RULES = ("Accuracy", "DP", "EO", "PQP", "DR", "HFM", "HFM approx")
COMPAS_COLUMNS = (
    "age",
    "priors_count",
    "juv_fel_count",
    "juv_misd_count",
    "juv_other_count",
    "c_charge_degree",
)
DataSet = tuple[str, pd.DataFrame, np.ndarray, list[str]]


# ------------------------------------------------------------------------------------ the data


def encoded(features: pd.DataFrame, privileged: dict[str, pd.Series]) -> pd.DataFrame:
    """Sensitive columns, 1 where privileged, then features, categories one-hot; plain names."""
    others = pd.get_dummies(features, dtype=float)
    others.columns = [f"x{number}" for number in range(others.shape[1])]
    sensitive = pd.DataFrame({name: rows.astype(int) for name, rows in privileged.items()})
    return pd.concat([sensitive.reset_index(drop=True), others.reset_index(drop=True)], axis=1)


def data_sets(folder: Path) -> Iterator[DataSet]:
    """Name, columns, labels (1 favourable) and sensitive columns of the paper's data sets."""
    for name, features, label, privileged in _raw_data_sets(folder):
        table = encoded(features, privileged)
        y = label.to_numpy().astype(int)
        if len(y) > MOST_ROWS:
            rows = np.random.default_rng(SEED).choice(len(y), MOST_ROWS, replace=False)
            table = table.iloc[rows].reset_index(drop=True)
            y = y[rows]
        yield name, table, y, list(privileged)


def _raw_data_sets(folder: Path) -> Iterator[tuple[str, pd.DataFrame, pd.Series, dict[str, Any]]]:
    frame = load_ricci().frame
    features = frame.drop(columns=["Race", "Promoted"])
    yield (
        "ricci",
        features,
        frame["Promoted"].eq(_favourable(frame)),
        {"race": frame["Race"] == "W"},
    )
    frame = load_german_credit().frame
    features = frame.drop(columns=["credit", "sex", "age"])
    privileged = {"sex": frame["sex"] == "male", "age": frame["age"] >= 25}
    yield "credit", features, frame["credit"].eq("good"), privileged
    frame = load_adult().frame.dropna().reset_index(drop=True)
    features = frame.drop(columns=["income", "race", "sex"])
    privileged = {"race": frame["race"] == "White", "sex": frame["sex"] == "Male"}
    yield "income", features, frame["income"].eq(">50K"), privileged
    files = {"ppr": load_compas(subset="propublica").frame}
    violent = folder / "compas_two_years_violent.csv.gz"
    if violent.exists():
        files["ppvr"] = read_compas(violent).frame
    for name, data in files.items():
        frame = data.reset_index(drop=True)
        features = frame[list(COMPAS_COLUMNS)]
        privileged = {"sex": frame["sex"] == "Male", "race": frame["race"] == "Caucasian"}
        yield name, features, frame["two_year_recid"].astype(int).eq(1), privileged


def _favourable(ricci: pd.DataFrame) -> Any:
    """The label of those promoted: 70 points or more."""
    return ricci.loc[ricci["Combine"].idxmax(), "Promoted"]


# ------------------------------------------------------------------------------------ the pool


class OldModels:
    """The process that has FairGBM and AdaFair."""

    def __init__(self, python: str) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.process = subprocess.Popen(
            [python, str(OLD_MODELS)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def ask(self, **request: Any) -> None:
        """Send a request and wait for its answer."""
        if self.process.stdin is None or self.process.stdout is None:
            raise RuntimeError("no pipe to the other Python")
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        if not answer["done"]:
            raise RuntimeError(answer["error"])

    def fit(self, model: str, name: str, X: np.ndarray, y: np.ndarray, sensitive: int) -> None:
        """Fit a model there, under a name."""
        rows = self.folder / "rows.npz"
        np.savez(rows, X=X, y=y, sensitive=sensitive)
        self.ask(do="fit", model=model, file=str(rows), name=name)

    def predict(self, name: str, X: np.ndarray) -> np.ndarray:
        """Labels of rows by a model that was fitted there."""
        rows = self.folder / "rows.npz"
        out = self.folder / "labels.npy"
        np.savez(rows, X=X)
        self.ask(do="predict", file=str(rows), name=name, out=str(out))
        return np.asarray(np.load(out))

    def close(self) -> None:
        """End the process."""
        if self.process.stdin is not None:
            self.process.stdin.close()
        self.process.wait(timeout=30)


_OLD: list[OldModels] = []


class OldModel(ClassifierMixin, BaseEstimator):
    """FairGBM or AdaFair; the sensitive column is the first one."""

    def __init__(self, model: str) -> None:
        self.model = model

    def fit(self, X: Any, y: Any) -> OldModel:
        """Fit in the other Python."""
        self.classes_ = np.unique(y)
        self.name_ = f"{self.model} {_mark(X, y)}"
        _OLD[0].fit(self.model, self.name_, np.asarray(X, float), np.asarray(y), 0)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Labels from the other Python."""
        return _OLD[0].predict(self.name_, np.asarray(X, float))


def _mark(*arrays: Any) -> str:
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(np.ascontiguousarray(np.asarray(array, dtype=float)).tobytes())
    return digest.hexdigest()


_FITTED: dict[tuple[str, str], Any] = {}


class Kept(ClassifierMixin, BaseEstimator):
    """An estimator that is fitted once to the same rows, whatever is measured of it."""

    def __init__(self, name: str, estimator: Any) -> None:
        self.name = name
        self.estimator = estimator

    def fit(self, X: Any, y: Any) -> Kept:
        """Fit, or take what was fitted to these rows."""
        self.classes_ = np.unique(y)
        key = (self.name, _mark(X, y))
        if key not in _FITTED:
            _FITTED[key] = clone(self.estimator).fit(X, y)
        self.fitted_ = _FITTED[key]
        return self

    def predict(self, X: Any) -> Any:
        """Labels."""
        return self.fitted_.predict(X)


def pool() -> dict[str, Any]:
    """The classifiers by name, features scaled to [0, 1] as in the paper."""
    from lightgbm import LGBMClassifier
    from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.neural_network import MLPClassifier
    from sklearn.svm import SVC, LinearSVC
    from sklearn.tree import DecisionTreeClassifier

    models = {
        "bagging": BaggingClassifier(random_state=SEED),
        "AdaBoost": AdaBoostClassifier(random_state=SEED),
        "LightGBM": LGBMClassifier(random_state=SEED, n_jobs=1, verbose=-1),
        "DT": DecisionTreeClassifier(random_state=SEED),
        "NB": GaussianNB(),
        "KNN": KNeighborsClassifier(),
        "LR": LogisticRegression(max_iter=1_000),
        "SVM": SVC(),
        "linSVM": LinearSVC(random_state=SEED),
        "MLP": MLPClassifier(random_state=SEED),
    }
    if _OLD:
        models |= {name: OldModel(name) for name in OLD}
    return {
        name: Kept(name, make_pipeline(MinMaxScaler(), model)) for name, model in models.items()
    }


# ----------------------------------------------------------------------------------- the study


def lines_of(data_set: DataSet) -> Iterator[dict[str, Any]]:
    """Error, 1 − F1 and measures of every model, fold and part, one line an attribute."""
    name, table, y, sensitive = data_set
    strata = y + 2 * sum(2**place * table[column] for place, column in enumerate(sensitive))
    splitter = StratifiedKFold(5, shuffle=True, random_state=SEED)
    folds = list(splitter.split(table, strata))
    # the experiment wants two cases: of a data set with one attribute the other is left out below
    data = {name: (table, y, sensitive)}
    if len(sensitive) == 1:
        data["again"] = data[name]
    models, left_out = fitting(pool(), table, y, [train for train, _ in folds])
    found = fs.hfm_experiment(models, data, cv=folds, rng=SEED)
    by_f1 = fs.hfm_experiment(
        models, data, cv=folds, rng=SEED, error="f1", measures=("DP", "EO"), alpha=0.1
    )
    for case, (attribute, ratio) in enumerate(zip(sensitive, found.ratios, strict=False)):
        yield {
            "data": name,
            "attribute": attribute,
            "rows": len(y),
            "columns": table.shape[1],
            "models": list(models),
            "left_out": left_out,
            "ratio": round(ratio, DIGITS),
            "train": _plain(found.train[case]),
            "test": _plain(found.test[case]),
            "f1_train": _plain(by_f1.train[case][:, :, 0]),
            "f1_test": _plain(by_f1.test[case][:, :, 0]),
        }


def fitting(
    models: dict[str, Any], table: pd.DataFrame, y: np.ndarray, parts: list[np.ndarray]
) -> tuple[dict[str, Any], dict[str, str]]:
    """The models that can be fitted to every training part, and why the others cannot."""
    left_out: dict[str, str] = {}
    for name, model in models.items():
        try:
            for train in parts:
                clone(model).fit(table.iloc[train], y[train])
        except (RuntimeError, ValueError) as error:
            left_out[name] = str(error)[:160]
    return {name: model for name, model in models.items() if name not in left_out}, left_out


def _plain(values: np.ndarray) -> Any:
    """Nested lists of six digits, None where a measure is undefined."""
    if values.ndim > 1:
        return [_plain(part) for part in values]
    return [None if not np.isfinite(v) else round(float(v), DIGITS) for v in values]


def read(record: Path = RECORD) -> list[dict[str, Any]]:
    """Lines of the record."""
    return [json.loads(line) for line in record.read_text(encoding="utf-8").splitlines()]


@cache
def experiment(error: str = "accuracy") -> fs.results.HfmExperiment:
    """The record as an experiment: rules by accuracy (α = .05) or by F1 (α = .1)."""
    lines = read()
    train = []
    test = []
    for line in lines:
        parts = []
        for part in ("train", "test"):
            values = np.array(line[part], dtype=float)
            if error == "f1":
                values[:, :, 0] = np.array(line[f"f1_{part}"], dtype=float)
            parts.append(values)
        train.append(parts[0])
        test.append(parts[1])
    first = "Accuracy" if error == "accuracy" else "F1"
    return fs.results.HfmExperiment(
        rules=(first, *RULES[1:]),
        cases=tuple(f"{line['data']}, {line['attribute']}" for line in lines),
        train=tuple(train),
        test=tuple(test),
        ratios=tuple(line["ratio"] for line in lines),
        baseline="HFM approx",
        alpha=0.05 if error == "accuracy" else 0.1,
        confidence_level=0.95,
        seed=SEED,
    )


def main() -> None:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.hfm_pool",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--out", type=Path, default=RECORD)
    parser.add_argument("--data", type=Path, default=SHARED)
    parser.add_argument("--old-python", help="the Python that has FairGBM and AdaFair")
    options = parser.parse_args()
    if options.old_python:
        _OLD.append(OldModels(options.old_python))
    done = {line["data"] for line in read(options.out)} if options.out.exists() else set()
    for data_set in data_sets(options.data):
        if data_set[0] in done:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # unfinished optimisers; undefined gaps
            lines = list(lines_of(data_set))
        with options.out.open("a", encoding="utf-8") as file:
            for line in lines:
                file.write(json.dumps(line, separators=(",", ":")) + "\n")
        sys.stderr.write(f"{data_set[0]}: {data_set[1].shape}\n")
        _FITTED.clear()
    for old in _OLD:
        old.close()


if __name__ == "__main__":
    main()
