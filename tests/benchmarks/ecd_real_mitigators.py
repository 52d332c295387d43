"""The mitigators of `ecd_real_data`: each gives scores of the favourable outcome for any rows.

- "EG": fairlearn's `ExponentiatedGradient`, as it predicts and with its predictors' probabilities
  mixed.
- "reweighing" (Kamiran and Calders 2012): weights P(group) P(label) / P(group, label) of the
  training rows.
- "Fair-SMOTE-like" (Chakraborty et al. 2021, by their description): every cell of group and label
  is filled up to the largest one by rows between a person and two neighbours of the cell; then rows
  go for which a logistic regression changes its prediction with the attribute.
- "CorrelationRemover", "ThresholdOptimizer", "GridSearch": fairlearn's, for demographic parity
  where asked.
- "MiniMax" (Diana et al. 2021) and "EcdSearch" with the same number of trained models, for LR and
  MLP.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

import fairstats as fs
from tests.benchmarks.ecd_real_sets import (
    MOST_TRAINING_ROWS,
    Mixture,
    Task,
    encoder,
    estimator,
    mitigated,
)

Score = Callable[[Any], np.ndarray]
#: Trained models of `EcdSearch` (the one as given included) and of MiniMax.
TRIALS = 9
#: Points of fairlearn's `GridSearch`.
GRID = 7
#: Of Fair-SMOTE: nearest neighbours, probability that a column changes, and by how much of a
#: difference.
NEIGHBOURS = 5
CROSSOVER = 0.8
STEP = 0.8
#: Models of the paper's RQ4.
SEARCHED = ("LR", "MLP")
TRAINING_SHARE = 0.6


@dataclass
class Data:
    """A random 60% of a data set for training, of them so many as the model gets, and the held-out
    rows.
    """

    task: Task
    model: str
    seed: int
    limit: int | None = None

    def __post_init__(self) -> None:
        self.frame, self.label = self.task.read()
        order = np.random.default_rng(self.seed).permutation(len(self.frame))[: self.limit]
        cut = int(TRAINING_SHARE * order.size)
        self.all_training, self.held_out = order[:cut], order[cut:]
        self.train = self.all_training[: MOST_TRAINING_ROWS[self.model]]
        self.y = self.label[self.train]
        self.group = self.frame[self.task.protected].to_numpy()[self.train]

    @property
    def rows(self) -> pd.DataFrame:
        """Training rows."""
        return self.frame.iloc[self.train]

    @cached_property
    def encoder(self) -> Any:
        return encoder(self.rows)

    @cached_property
    def X(self) -> np.ndarray:
        return np.asarray(self.encoder.transform(self.rows))

    @cached_property
    def fitted(self) -> Any:
        """The model as it is."""
        return self.new().fit(self.X, self.y)

    def new(self) -> Any:
        """An untrained model."""
        return estimator(self.model, self.seed)

    def score(self, fitted: Any, encode: Callable[[Any], np.ndarray] | None = None) -> Score:
        """Probability of the favourable outcome."""
        encode = encode or self.encoder.transform
        return lambda rows: np.asarray(fitted.predict_proba(encode(rows))[:, 1])


def gradient(data: Data) -> dict[str, Score]:
    """`ExponentiatedGradient`, hard and mixed."""
    found = mitigated(data.model, data.seed, data.X, data.y, data.group)
    mixture = Mixture(found, data.encoder.transform)
    return {"EG": mixture.hard, "EG, mixed": mixture.mixed}


def independent(group: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Weights that make group and label independent: P(group) P(label) / P(group, label)."""
    weight = np.empty(y.size)
    for value in np.unique(group):
        for label in (0, 1):
            cell = (group == value) & (y == label)
            if cell.any():
                weight[cell] = (group == value).mean() * (y == label).mean() / cell.mean()
    return weight


def reweighing(data: Data) -> dict[str, Score]:
    """Group and label independent in the weighted training rows."""
    weight = independent(data.group, data.y)
    return {"reweighing": data.score(data.new().fit(data.X, data.y, sample_weight=weight))}


def fair_smote(data: Data) -> dict[str, Score]:
    """Cells of equal size, without rows whose prediction hangs on the attribute."""
    rows, y = balanced(data)
    keep = unswayed(data, rows, y)
    if len(np.unique(y[keep])) < 2:
        raise ValueError("the rows that are kept have one label")
    X = np.asarray(data.encoder.transform(rows))
    return {"Fair-SMOTE-like": data.score(data.new().fit(X[keep], y[keep]))}


def balanced(data: Data) -> tuple[pd.DataFrame, np.ndarray]:
    """Training rows with so many made ones that all cells of group and label are equal.

    And labels.
    """
    rng = np.random.default_rng(data.seed)
    cells = [
        np.flatnonzero((data.group == group) & (data.y == label))
        for group in np.unique(data.group)
        for label in (0, 1)
    ]
    most = max(cell.size for cell in cells)
    parts = [data.rows]
    labels = [data.y]
    for cell in cells:
        if 2 < cell.size < most:
            parts.append(between(data.rows.iloc[cell], data.X[cell], most - cell.size, rng))
            labels.append(np.full(most - cell.size, data.y[cell[0]]))
    return pd.concat(parts, ignore_index=True), np.concatenate(labels)


def unswayed(data: Data, rows: pd.DataFrame, y: np.ndarray) -> np.ndarray:
    """Where a logistic regression predicts the same with the other value of the attribute."""
    from sklearn.linear_model import LogisticRegression

    name = data.task.protected
    values = (data.task.privileged, data.task.unprivileged)
    turned = rows.assign(**{name: rows[name].map(dict(zip(values, values[::-1], strict=True)))})
    encoded = [np.asarray(data.encoder.transform(each)) for each in (rows, turned)]
    judge = LogisticRegression(max_iter=1000).fit(encoded[0], y)
    same: np.ndarray = np.equal(*(judge.predict(X) for X in encoded))
    return same


def between(rows: pd.DataFrame, X: np.ndarray, n: int, rng: np.random.Generator) -> pd.DataFrame:
    """`n` rows near those of one cell.

    A + .8 (b − c) of numbers, a category of one of the three.
    """
    from sklearn.neighbors import NearestNeighbors

    size = min(NEIGHBOURS, len(rows) - 1)
    near = NearestNeighbors(n_neighbors=size + 1).fit(X).kneighbors(X, return_distance=False)[:, 1:]
    parent = rng.integers(0, len(rows), n)
    picks = [near[parent, rng.integers(0, size, n)] for _ in range(2)]
    made = {}
    for name, column in rows.items():
        values = column.to_numpy()
        three = [values[j] for j in (parent, *picks)]
        changes = rng.random(n) < CROSSOVER
        if pd.api.types.is_numeric_dtype(column):
            made[name] = np.where(changes, three[0] + STEP * (three[1] - three[2]), three[0])
        else:
            chosen = np.where(changes, rng.integers(0, 3, n), 0)
            made[name] = np.choose(chosen, three)
    return pd.DataFrame(made)


def correlation_remover(data: Data) -> dict[str, Score]:
    """The attribute's column taken out of the others by linear regression."""
    from fairlearn.preprocessing import CorrelationRemover

    names = [str(name) for name in data.encoder.get_feature_names_out()]
    own = [
        j
        for j, name in enumerate(names)
        if name.split("__")[1].startswith(f"{data.task.protected}_")
    ]
    remover = CorrelationRemover(sensitive_feature_ids=own).fit(data.X)
    fitted = data.new().fit(remover.transform(data.X), data.y)
    score = data.score(fitted, lambda rows: remover.transform(data.encoder.transform(rows)))
    return {"CorrelationRemover": score}


def threshold_optimizer(data: Data) -> dict[str, Score]:
    """Probability of the favourable prediction, each group with its own thresholds."""
    from fairlearn.postprocessing import ThresholdOptimizer

    chosen = ThresholdOptimizer(
        estimator=data.fitted,
        constraints="demographic_parity",
        prefit=True,
        predict_method="predict_proba",
    ).fit(data.X, data.y, sensitive_features=data.group)

    def score(rows: Any) -> np.ndarray:
        group = rows[data.task.protected].to_numpy()
        return chosen._pmf_predict(data.encoder.transform(rows), sensitive_features=group)[:, 1]

    return {"ThresholdOptimizer": score}


def grid_search(data: Data) -> dict[str, Score]:
    """The best of several weightings."""
    from fairlearn.reductions import DemographicParity, GridSearch

    found = GridSearch(data.new(), DemographicParity(), grid_size=GRID)
    found.fit(data.X, data.y, sensitive_features=data.group)
    return {"GridSearch": data.score(found.predictors_[found.best_idx_])}


def minimax(data: Data) -> dict[str, Score]:
    """The mean of models whose groups' weights grow with the groups' errors."""
    groups, code = np.unique(data.group, return_inverse=True)
    size = np.bincount(code)
    weight = size / size.sum()
    models = []
    for step in range(1, TRIALS + 1):
        models.append(
            data.new().fit(data.X, data.y, sample_weight=(weight / size)[code] * code.size)
        )
        wrong = models[-1].predict(data.X) != data.y
        weight = weight * np.exp(np.bincount(code, wrong, groups.size) / size / np.sqrt(step))
        weight = weight / weight.sum()
    scores = [data.score(fitted) for fitted in models]
    return {"MiniMax": lambda rows: np.mean([score(rows) for score in scores], axis=0)}


def searched(data: Data) -> dict[str, Score]:
    """`EcdSearch`, whose first part has as many rows as the model gets elsewhere."""
    from scipy.stats import loguniform
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    rows = data.all_training[: int(MOST_TRAINING_ROWS[data.model] / TRAINING_SHARE)]
    indicators = OneHotEncoder(handle_unknown="ignore", drop="if_binary", sparse_output=False)
    encode = make_column_transformer(
        (StandardScaler(), make_column_selector(dtype_include=np.number)),
        (indicators, make_column_selector(dtype_exclude=np.number)),
    )
    name = type(data.new()).__name__.lower()
    choices: dict[str, dict[str, Any]] = {
        "LR": {"C": loguniform(1e-4, 1e2), "class_weight": [None, "balanced"]},
        "MLP": {
            "alpha": loguniform(1e-4, 10),
            "learning_rate_init": loguniform(1e-4, 1e-2),
            "hidden_layer_sizes": [(64,) * 5, (64,) * 2, (32,), (16,)],
        },
    }
    frame = data.frame.iloc[rows].reset_index(drop=True)
    least = int(0.2 * frame[data.task.protected].value_counts().min())
    found = fs.EcdSearch(
        make_pipeline(encode, data.new()),
        {f"{name}__{key}": values for key, values in choices[data.model].items()},
        sensitive_features=data.task.protected,
        privileged=data.task.privileged,
        unprivileged=data.task.unprivileged,
        n_iter=TRIALS - 1,
        interactions=1000 if least >= 500 else 100,
        threshold=min(50, max(10, least // 4)),
        sampler="random",
        random_state=data.seed,
    ).fit(frame, data.label[rows])
    return {"EcdSearch": data.score(found.best_estimator_, lambda rows: rows)}


#: What may be run, in the order of value.
MITIGATORS: dict[str, Callable[[Data], dict[str, Score]]] = {
    "EG": gradient,
    "reweighing": reweighing,
    "Fair-SMOTE-like": fair_smote,
    "ThresholdOptimizer": threshold_optimizer,
    "CorrelationRemover": correlation_remover,
    "MiniMax": minimax,
    "EcdSearch": searched,
    "GridSearch": grid_search,
}
#: Scores that are probabilities of a prediction: accuracy and rates are expected ones.
HARD = ("EG", "ThresholdOptimizer")
