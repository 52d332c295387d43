"""`synthetic_quality`: how like the real rows synthetic ones are (table III of Monjezi et al.)."""

from __future__ import annotations

from collections.abc import Hashable
from math import nan
from typing import Any, ClassVar

import numpy as np

from fairstats.ground.checks import SeedOrGenerator, as_generator, check_confidence_level
from fairstats.ground.errors import InputError
from fairstats.ground.lazy import pd
from fairstats.ground.multiplicity import normal_quantile
from fairstats.ground.progress import under_way
from fairstats.ground.results import Comparison, Interval, Result
from fairstats.ground.serialise import serialisable
from fairstats.methods.ecd.generators import as_columns, as_people
from fairstats.numerics.evt.distributions import Floats

_BINS = 20
_FOLDS = 5


@serialisable()
class SyntheticQuality(Result):
    """Likeness of synthetic to real rows.

    * `frechet`: Fréchet distance of normal laws fitted to the encoded columns, per column: 0 for
      equal moments.
    * `kl_similarity`: mean over columns of 1/(1 + KL(real ‖ synthetic)), in (0, 1]: 1 for equal
      margins.
    * `detection`: 1 − (2·max(AUC, ½) − 1), in [0, 1], of a cross-validated logistic regression that
      tells real from synthetic rows: 1 where it cannot; `detection_interval` from the AUC's (Hanley
      & McNeil 1982).
    * `f1_loss`: F1 of a logistic regression trained on half of the real rows less F1 of one trained
      on the synthetic ones, both on the other half; NaN without a target.
    """

    title: ClassVar[str] = "Quality of synthetic rows"
    backend: ClassVar[str] = "scikit-learn"
    lacks: ClassVar[dict[str, str]] = {
        **dict.fromkeys(
            ("pvalue", "statistic", "verdict"), "the measures describe; nothing is tested"
        ),
        "__getitem__": "all groups are measured together; .comparisons has one entry per measure",
        "plot": "the measures are four numbers; see .to_frame()",
    }

    frechet: float
    kl_similarity: float
    detection: float
    detection_interval: Interval
    f1_loss: float
    n_real: int
    n_synthetic: int

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """One per measure; the detection has an interval."""
        none = Interval(
            low=nan,
            high=nan,
            confidence_level=self.detection_interval.confidence_level,
            method="none",
        )
        n = self.n_real + self.n_synthetic
        measures = (
            ("Fréchet distance", self.frechet, none),
            ("normalised KL", self.kl_similarity, none),
            ("logistic detection", self.detection, self.detection_interval),
            ("F1 loss", self.f1_loss, none),
        )
        result = []
        for name, value, interval in measures:
            result.append(
                Comparison(
                    metric=name,
                    estimate=value,
                    confidence_interval=interval,
                    n=n,
                    method="descriptive",
                )
            )
        return tuple(result)

    def sentences(self) -> list[str]:
        """The detection, which alone has a meaning by itself."""
        low, high = self.detection_interval
        rows = f"{self.n_synthetic:,} synthetic and {self.n_real:,} real rows"
        likeness = f"{self.detection:.3f} ({low:.3f} to {high:.3f}), 1 where it cannot tell them"
        return [f"{rows}: their likeness to a logistic regression is {likeness}."]


def synthetic_quality(
    real: Any,
    synthetic: Any,
    target: Hashable | None = None,
    *,
    confidence_level: float = 0.95,
    rng: SeedOrGenerator = None,
) -> SyntheticQuality:
    """Measure how like the real rows synthetic ones are.

    The interval of the detection is conservative where they are alike: 1 is the end of its range.

    Parameters
    ----------
    real, synthetic : DataFrame, shape (n, p) and (m, p)
        The same columns; numbers are standardised by the real rows, categories one-hot encoded.
    target : column, optional
        Binary outcome, for the downstream F1 loss.
    confidence_level : float
    rng : None, int or Generator
        Seeds the split of the real rows and the folds.

    Returns
    -------
    SyntheticQuality

    Raises
    ------
    InputError
        No frames, missing values, other columns, a target that has not two values.

    Notes
    -----
    The Fréchet distance is ‖μ₁ − μ₂‖² + tr(Σ₁ + Σ₂ − 2(Σ₁Σ₂)^½), divided by the number of encoded
    columns; the paper's is of an inception network's features, which tables have not.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> import fairstats as fs
    >>> r = np.random.default_rng(1)
    >>> real = pd.DataFrame({"age": r.normal(40, 9, 400), "sex": r.choice(["F", "M"], 400)})
    >>> noise = pd.DataFrame({"age": r.uniform(0, 99, 400), "sex": r.choice(["F", "M"], 400)})
    >>> found = fs.synthetic_quality(real, noise, rng=1)
    >>> found.detection < 1 and found.frechet > 0.5
    True
    """
    real_rows = as_people(real, "real")
    synthetic_rows = as_people(synthetic, "synthetic")
    level = check_confidence_level(confidence_level)
    if set(real_rows.columns) != set(synthetic_rows.columns):
        odd_columns = sorted(map(str, set(real_rows.columns) ^ set(synthetic_rows.columns)))
        got = f"columns that only one of the frames has: {', '.join(odd_columns)}"
        raise InputError(
            "synthetic",
            got=got,
            allowed="the columns of `real`",
            cure="select them first",
        )
    synthetic_rows = synthetic_rows[list(real_rows.columns)]
    generator, _ = as_generator(rng)
    real_encoded, synthetic_encoded = _encode_columns(real_rows, synthetic_rows)
    auc = _detection_auc(real_encoded, synthetic_encoded, generator)
    low, high = _auc_interval(auc, len(real_encoded), len(synthetic_encoded), level)
    least, most = sorted((_auc_to_similarity(low), _auc_to_similarity(high)))
    interval = Interval(
        low=least,
        high=1.0 if low <= 0.5 <= high else most,
        confidence_level=level,
        method="Hanley–McNeil",
    )
    return SyntheticQuality(
        frechet=_frechet_distance(real_encoded, synthetic_encoded) / real_encoded.shape[1],
        kl_similarity=_kl_similarity(real_rows, synthetic_rows),
        detection=_auc_to_similarity(auc),
        detection_interval=interval,
        n_real=len(real_rows),
        n_synthetic=len(synthetic_rows),
        f1_loss=nan if target is None else _f1_loss(real_rows, synthetic_rows, target, generator),
    )


def _encode_columns(first: pd.DataFrame, second: pd.DataFrame) -> tuple[Floats, Floats]:
    """Numbers standardised by the real rows, categories one-hot; constant columns carry nothing."""
    parts: list[tuple[Floats, Floats]] = []
    for column in as_columns(pd.concat([first, second])):
        first_values = first[column.name]
        second_values = second[column.name]
        if column.numeric:
            centre = float(first_values.mean())
            spread = float(first_values.std()) or 1.0
            parts.append(
                tuple(
                    ((column_values.to_numpy(float) - centre) / spread)[:, None]
                    for column_values in (first_values, second_values)
                )
            )
        elif column.kind == "category":
            # the last one follows from the others
            values = list(dict.fromkeys([*first_values, *second_values]))[:-1]
            a, b = (
                np.column_stack(
                    [(column_values == category).to_numpy(float) for category in values]
                )
                for column_values in (first_values, second_values)
            )
            parts.append((a, b))
    if not parts:
        raise InputError("real", got="constant columns only", allowed="columns that vary")
    return np.hstack([p[0] for p in parts]), np.hstack([p[1] for p in parts])


def _frechet_distance(a: Floats, b: Floats) -> float:
    """With tr (Σ₁Σ₂)^½ from the eigenvalues of Σ₁^½Σ₂Σ₁^½: right for singular covariances, too."""
    shift = a.mean(axis=0) - b.mean(axis=0)
    first, second = (np.atleast_2d(np.cov(rows_encoded, rowvar=False)) for rows_encoded in (a, b))
    values, vectors = np.linalg.eigh(first)
    covariance_root = vectors * np.sqrt(np.maximum(values, 0.0))
    crossed = np.sqrt(
        np.maximum(np.linalg.eigvalsh(covariance_root.T @ second @ covariance_root), 0.0)
    ).sum()
    return float(max(shift @ shift + np.trace(first) + np.trace(second) - 2 * crossed, 0.0))


def _kl_similarity(first: pd.DataFrame, second: pd.DataFrame) -> float:
    """Mean over columns of 1/(1 + KL(p‖q)), p and q shares of values, or of bins by quantiles of
    p.
    """
    similarities = []
    for column in as_columns(first):
        x = first[column.name]
        y = second[column.name]
        if column.numeric:
            edges = np.unique(np.quantile(x, np.linspace(0, 1, _BINS + 1)[1:-1]))
            p, q = (
                np.bincount(
                    np.searchsorted(edges, values_of_one, side="right"), minlength=edges.size + 1
                )
                for values_of_one in (x, y)
            )
        else:
            values = list(dict.fromkeys([*x, *y]))
            p, q = (
                np.array([(values_of_one == category).sum() for category in values])
                for values_of_one in (x, y)
            )
        # half a row each: no empty cell
        p, q = (
            (values_of_one + 0.5) / (values_of_one.sum() + 0.5 * values_of_one.size)
            for values_of_one in (p, q)
        )
        similarities.append(1.0 / (1.0 + float((p * np.log(p / q)).sum())))
    return float(np.mean(similarities))


@under_way("detecting synthetic rows")
def _detection_auc(a: Floats, b: Floats, rng: np.random.Generator) -> float:
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score
    from sklearn.model_selection import StratifiedKFold, cross_val_predict

    x = np.vstack([a, b])
    y = np.repeat([0, 1], [len(a), len(b)])
    split = StratifiedKFold(
        min(_FOLDS, len(a), len(b)), shuffle=True, random_state=int(rng.integers(2**31))
    )
    score = cross_val_predict(
        LogisticRegression(max_iter=1000), x, y, cv=split, method="predict_proba"
    )[:, 1]
    return float(roc_auc_score(y, score))


def _auc_to_similarity(auc: float) -> float:
    return 1.0 - (2.0 * max(auc, 0.5) - 1.0)


def _auc_interval(auc: float, n: int, m: int, level: float) -> tuple[float, float]:
    q1 = auc / (2 - auc)
    q2 = 2 * auc**2 / (1 + auc)
    variance = (auc * (1 - auc) + (n - 1) * (q1 - auc**2) + (m - 1) * (q2 - auc**2)) / (n * m)
    reach = normal_quantile((1 + level) / 2) * max(variance, 0.0) ** 0.5
    return max(auc - reach, 0.0), min(auc + reach, 1.0)


@under_way("models of both tables")
def _f1_loss(
    first: pd.DataFrame,
    second: pd.DataFrame,
    target: Hashable,
    rng: np.random.Generator,
) -> float:
    """F1 on unseen rows of `first` of a model fitted to `first`, minus that of one fitted to
    `second`.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import f1_score

    if target not in first.columns or first[target].nunique() != 2:
        allowed = f"a column with two values: {', '.join(map(repr, first.columns))}"
        raise InputError(
            "target",
            got=repr(target),
            allowed=allowed,
            cure="leave it out to skip the F1 loss",
        )
    positive = sorted(first[target].unique())[-1]
    a, b = _encode_columns(first.drop(columns=target), second.drop(columns=target))
    y, z = ((frame[target] == positive).to_numpy() for frame in (first, second))
    train, test = np.split(rng.permutation(len(a)), [len(a) // 2])
    scores = []
    for features, label in ((a[train], y[train]), (b, z)):
        if label.all() or not label.any():
            predicted = np.full(test.size, bool(label.all()))
        else:
            predicted = LogisticRegression(max_iter=1000).fit(features, label).predict(a[test])
        scores.append(float(f1_score(y[test], predicted, zero_division=0)))
    return scores[0] - scores[1]
